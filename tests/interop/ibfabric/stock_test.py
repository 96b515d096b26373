# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Stock opensm and infiniband-diags on ibfabric, unchanged."""
import re
import unittest

from fabric import TESTS, Fabric, run, stop, wait_until

LEAVES, SPINES, HOSTS = 8, 4, 32  # fat tree of radix 8


def links(text):
    """The cables of ibnetdiscover's text: what stands in a port line up to the comment."""
    found, node = set(), None
    for line in text.splitlines():
        block = re.match(r'(?:Switch|Ca|Rt)\t\d+ "([^"]+)"', line)
        if block:
            node = block.group(1)
        port = re.match(r'\[(\d+)\](?:\([0-9a-f]+\))?\s*"([^"]+)"\[(\d+)\]', line)
        if port:
            found.add((node, port.group(1), port.group(2), port.group(3)))
    return found


class Discovery(unittest.TestCase):
    """Before any SM: the tools that need none."""

    def test_sees_the_topology_of_the_file(self):
        with Fabric("fat-tree", "--radix", "8") as f:
            with open(f.topology, encoding="utf-8") as file:
                wanted = links(file.read())
            found = f.on(None, "ibnetdiscover")
            self.assertEqual(found.returncode, 0, found.stderr)
            self.assertEqual(links(found.stdout), wanted)
            self.assertEqual(found.stdout.count("Switch\t"), LEAVES + SPINES)

            stat = f.on(None, "ibstat")
            self.assertIn("State: Initializing", stat.stdout)
            self.assertIn("Base lid: 0", stat.stdout)
            self.assertIn("Rate: 100", stat.stdout)

            info = f.on(None, "smpquery", "-D", "nodeinfo", "0,1")
            self.assertIn("Switch", info.stdout)
            self.assertIn("LocalPort:.......................1", info.stdout)

    def test_can_start_from_a_switch_and_from_any_host(self):
        with Fabric("fat-tree", "--radix", "8") as f:
            for at in ("spine-001", "host0017 HCA-1", "host0017 HCA-1:1"):
                found = f.on(at, "ibnetdiscover")
                self.assertEqual(found.stdout.count("Switch\t"), LEAVES + SPINES, found.stderr)
            hosts = f.on("spine-001", "smpquery", "-D", "nodedesc", "0")
            self.assertIn("spine-001", hosts.stdout)


class Opensm(unittest.TestCase):
    def test_brings_the_fabric_up_for_all_tools(self):
        with Fabric("fat-tree", "--radix", "8") as f:
            log = f.opensm()
            self.assertNotIn("ERR", log.read_text(errors="replace"))
            far = "host0032 HCA-1"
            self.assertIn("State: Active", f.on(far, "ibstat").stdout)

            records = f.on(far, "saquery").stdout
            self.assertEqual(records.count("NodeRecord dump"), LEAVES + SPINES + HOSTS)

            here, there = f.lid_of(None), f.lid_of(far)
            trace = f.on(None, "ibtracert", here, there)
            self.assertEqual(trace.returncode, 0, trace.stdout + trace.stderr)
            self.assertEqual(trace.stdout.count("-> switch port"), 3)
            self.assertIn(f'To ca', trace.stdout)

            tables = f.on(far, "dump_fts")
            self.assertEqual(tables.returncode, 0, tables.stderr)
            self.assertEqual(tables.stdout.count("Unicast lids"), LEAVES + SPINES)
            self.assertNotIn("DOWN", tables.stdout)

            link_lines = f.on(None, "iblinkinfo", "-l").stdout.splitlines()
            up = [line for line in link_lines if "Active/" in line]
            self.assertEqual(len(up), LEAVES * 8 + SPINES * 8 + HOSTS)

            counters = f.on(None, "perfquery", "-x", there, "1").stdout
            packets = int(re.search(r"PortRcvPkts:\.*(\d+)", counters).group(1))
            f.on(None, "perfquery", "-x", there, "1")
            again = f.on(None, "perfquery", "-x", there, "1").stdout
            more = int(re.search(r"PortRcvPkts:\.*(\d+)", again).group(1))
            self.assertGreater(more, packets)

            self.assertIn("SMINFO_MASTER", f.on(far, "sminfo").stdout)

    def test_perfquery_reads_wide_errors_where_a_device_has_them(self):
        with Fabric("fat-tree", "--radix", "4") as f:
            f.opensm()
            leaf = re.search(r'"leaf-001".* lid (\d+)', f.on(None, "ibswitches").stdout)[1]
            f.ctl("counters", "leaf-001", "1", "SymbolErrorCounter=70000")
            self.assertNotIn("SymbolErrorCounter", f.on(None, "perfquery", "-x", leaf, "1").stdout)
            f.ctl("device", "leaf-001", "wide_errors=1")
            self.assertRegex(f.on(None, "perfquery", "-x", leaf, "1").stdout, r"SymbolErrorCounter:\.*70000\n")
            self.assertRegex(f.on(None, "perfquery", leaf, "1").stdout, r"SymbolErrorCounter:\.*65535\n")

    def test_perfquery_reads_what_passed_by_vl_and_by_sl(self):
        with Fabric("fat-tree", "--radix", "4") as f:
            f.opensm()
            there = str(f.lid_of("host0008 HCA-1"))

            def read(option, counter, *more):
                shown = f.on(None, "perfquery", option, *more, there, "1")
                self.assertEqual(shown.returncode, 0, shown.stderr)
                return int(re.search(rf"{counter}:\.*(\d+)\n", shown.stdout).group(1))

            # A query is two packets each way, ClassPortInfo and what it asks for, of 72 words; it
            # sees its own two.
            packets = read("--vloppackets", "PortVLOpPackets0")
            self.assertEqual(read("--vloppackets", "PortVLOpPackets0"), packets + 2)
            self.assertEqual(read("--vlopdata", "PortVLOpData0"), (packets + 4) * 72)
            self.assertEqual(read("--rcvsl", "RcvDataSL0"), (packets + 6) * 72)
            self.assertEqual(read("--xmtsl", "XmtDataSL0"), (packets + 7) * 72)
            self.assertGreater(read("--vloppackets", "PortVLOpPackets15"), 0)
            self.assertEqual(read("--vloppackets", "PortVLOpPackets1"), 0)
            read("--vloppackets", "PortVLOpPackets0", "-r")
            self.assertEqual(read("--vloppackets", "PortVLOpPackets0"), 2)
            self.assertEqual(read("--rcverr", "PortVLMappingErrors"), 0)
            self.assertEqual(read("--xmtdisc", "PortInactiveDiscards"), 0)

    def test_a_port_is_looked_at_and_switched_off_by_its_lid(self):
        with Fabric("fat-tree", "--radix", "8") as f:
            f.opensm()
            leaf = re.search(r'"leaf-005".* lid (\d+)', f.on(None, "ibswitches").stdout)[1]
            # Both by LID to the leaf and from there by a directed route to what hangs off port 2.
            peer = f.on(None, "smpquery", "-c", "nodedesc", leaf, "0,2")
            self.assertIn("host0018 HCA-1", peer.stdout + peer.stderr)
            query = f.on(None, "ibportstate", leaf, "2", "query")
            self.assertEqual(query.returncode, 0, query.stdout + query.stderr)
            self.assertIn("Peer PortInfo:", query.stdout)
            # One switch by its GUID: its LID from the SA, its ports and their peers by such routes.
            guid = re.search(r'(0x\w+) ports \d+ "leaf-005"', f.on(None, "ibswitches").stdout)[1]
            links = f.on(None, "iblinkinfo", "-G", guid)
            self.assertEqual((links.returncode, links.stdout.count("Active/")), (0, 8), links.stderr)
            errors = f.on(None, "ibqueryerrors", "-G", guid)
            self.assertIn("8 ports checked, 0 ports have errors", errors.stdout, errors.stderr)
            disable = f.on(None, "ibportstate", leaf, "2", "disable")
            self.assertEqual(disable.returncode, 0, disable.stdout + disable.stderr)
            self.assertIn("State: Down", f.on("host0018 HCA-1", "ibstat").stdout)

    def test_heals_a_link_that_went_down(self):
        with Fabric("fat-tree", "--radix", "8") as f:
            f.opensm(None, "-s", "1")
            far = "host0032 HCA-1"
            here, there = f.lid_of(None), f.lid_of(far)
            hops = f.on(None, "ibtracert", here, there).stdout.splitlines()
            leaf, port = re.search(r'\[1\] -> .*"(leaf-\d+)"', "\n".join(hops)).group(1), None
            port = re.match(r"\[(\d+)\]", hops[2]).group(1)
            self.assertEqual(f.ctl("link", "down", leaf, port).returncode, 0)

            def healed():
                trace = f.on(None, "ibtracert", here, there)
                return trace.returncode == 0 and hops[2] not in trace.stdout

            self.assertTrue(wait_until(healed, 30), f.on(None, "ibtracert", here, there).stdout)


class BrokenTable(unittest.TestCase):
    def test_breaks_the_trace_and_the_ping(self):
        with Fabric("fat-tree", "--radix", "8") as f:
            f.opensm()
            far = "host0032 HCA-1"
            here, there = f.lid_of(None), f.lid_of(far)
            f.start(far, "ibping", "-S")
            self.assertTrue(wait_until(
                lambda: "0% packet loss" in f.on(None, "ibping", "-c", "1", there).stdout))
            hops = f.on(None, "ibtracert", here, there).stdout
            first_switch = re.search(r"\[1\] -> switch port \S+ lid (\d+)", hops).group(1)

            stop(f.sm)  # it would put the table right again at the next trap
            poke = f.on(None, TESTS / "lft_poke", first_switch, there, 255)
            self.assertEqual(poke.returncode, 0, poke.stderr)
            broken = f.on(None, "ibtracert", here, there)
            self.assertNotEqual(broken.returncode, 0)
            self.assertNotIn("To ca", broken.stdout)
            ping = f.on(None, "ibping", "-c", "1", there)
            self.assertIn("100% packet loss", ping.stdout)


class Ping(unittest.TestCase):
    def test_goes_both_ways_between_two_hosts(self):
        with Fabric("fat-tree", "--radix", "4") as f:
            f.opensm()
            ends = ("host0001 HCA-1", "host0008 HCA-1")
            for end in ends:
                f.start(end, "ibping", "-S")
            for at, to in (ends, ends[::-1]):
                lid = f.lid_of(to)
                self.assertTrue(wait_until(
                    lambda: "2 received, 0% packet loss"
                    in f.on(at, "ibping", "-c", "2", lid).stdout))


class Osmtest(unittest.TestCase):
    def test_finds_nothing_wrong_with_opensm_as_seen_from_another_host(self):
        with Fabric("fat-tree", "--radix", "4") as f:
            f.opensm()
            far = "host0008 HCA-1"
            guid = re.search(r"Port GUID: (0x\w+)", f.on(far, "ibstat").stdout).group(1)
            inventory = f.directory / "inventory"
            for flow in ("c", "v", "m"):
                test = f.on(far, "osmtest", "-g", guid, "-i", inventory, "-t", "300", "-f", flow,
                            "-l", f.directory / "osmtest.log")
                self.assertIn("PASS", test.stdout.splitlines()[-1], test.stdout[-2000:])
                self.assertEqual(test.returncode, 0)


class LargeTable(unittest.TestCase):
    def test_of_a_thousand_nodes_comes_whole(self):
        with Fabric("fat-tree", "--radix", "48") as f:
            f.opensm()
            for at in (None, "host1000 HCA-1"):
                records = f.on(at, "saquery").stdout
                self.assertEqual(records.count("NodeRecord dump"), 1152 + 72)
            ports = f.on(None, "saquery", "PIR").stdout
            self.assertEqual(ports.count("PortInfoRecord dump"), 1152 + 72 * 49)


class Captured(unittest.TestCase):
    def test_tshark_reads_what_was_sent(self):
        with Fabric("fat-tree", "--radix", "4") as f:
            file = f.directory / "mads.erf.pcap"
            self.assertEqual(f.ctl("pcap", file).returncode, 0)
            f.on(None, "smpquery", "-D", "portinfo", "0,1", "2")
            self.assertEqual(f.ctl("pcap", "off").returncode, 0)
            fields = ("mgmtclass", "method", "attributeid", "transactionid")
            words = [word for field in fields for word in ("-e", f"infiniband.mad.{field}")]
            read = run("tshark", "-r", file, "-T", "fields", *words)
            self.assertEqual(read.returncode, 0, read.stderr)
            rows = [[int(word, 16) for word in line.split("\t")] for line in read.stdout.splitlines()]
            asked = [r for r in rows if r[:3] == [0x81, 0x01, 0x15]]
            answered = [r for r in rows if r[:3] == [0x81, 0x81, 0x15]]
            self.assertEqual(len(asked), 1, read.stdout)
            self.assertEqual(len(answered), 1, read.stdout)
            self.assertEqual(asked[0][3], answered[0][3])

    def test_a_file_that_cannot_be_written_is_refused(self):
        with Fabric("fat-tree", "--radix", "4") as f:
            self.assertEqual(f.ctl("pcap", "/no/such/place").returncode, 2)
            self.assertEqual(f.on(None, "smpquery", "-D", "nodedesc", "0").returncode, 0)


if __name__ == "__main__":
    unittest.main()
