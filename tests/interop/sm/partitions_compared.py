# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The same partition files by stock opensm and by ibsm, read back with stock smpquery: P_Key tables of
all end ports and of the switch ports behind which hosts are on Debian's ibsim; on ibfabric
enforcement (which ibsim has not), packets, and what a change costs. What the examples of the manual are
to program is written out by hand, so that both are judged by it."""
import os
import pathlib
import re
import signal
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "ibfabric"))
from fabric import BIN, TESTS, Fabric, run, wait_until  # noqa: E402
from program import Sm  # noqa: E402
from under_ibsim import SM_HOST, programmed  # noqa: E402

IBSM = BIN / "ibsm"
TREE = ("fat-tree", "--radix", "8", "--leaves", "4", "--spines", "2", "--no-lids")
# Port GUIDs of the manual's examples: those of the other 15 hosts, in their order.
GUIDS = (0x123451, 0x123452, 0x123453, 0x123454, 0x123455, 0x123456, 0x123457, 0x123458, 0x123459,
         0x12345a, 0x12345b, 0x12345c, 0x12345d, 0x3456789034, 0x2134af2306)

DEFAULT = "Default=0x7fff : ALL, SELF=full ;\n"
# Of the manual, with the line ends that its text lost.
SHARE_IO = """ShareIO = 0x80 , defmember=full : 0x123451, 0x123452;
# 0x123453, 0x123454 will be limited
ShareIO = 0x80 : 0x123453, 0x123454, 0x123455=full;
ShareIO = 0x80 , defmember=full : 0x123459, 0x12345a;
ShareIO = 0x80 , defmember=full : 0x12345b, 0x12345c=limited, 0x12345d;
"""
# opensm does not read these two lines, and makes everybody a full member of the default partition.
TWO_COLONS = """# 0x123456, 0x123457 will be limited
ShareIO = 0x80 : defmember=limited : 0x123456, 0x123457, 0x123458=full;
"""
SHARED = {0x123451: "8080", 0x123452: "8080", 0x123453: "0080", 0x123454: "0080", 0x123455: "8080",
          0x123459: "8080", 0x12345a: "8080", 0x12345b: "8080", 0x12345c: "0080", 0x12345d: "8080"}


def topology():
    """To ibsim a port's GUID is its node's and its number added."""
    made = run(BIN / "ibfabric", "gen", *TREE)
    assert made.returncode == 0, made.stderr
    text = made.stdout
    for number, guid in enumerate(GUIDS, 1):
        own = 0x2c90300000000 + 0x10 * number
        text = text.replace(f"({own + 1:x})", f"({guid:x})").replace(f"{own:016x}", f"{guid - 1:016x}")
        text = text.replace(f"caguid=0x{own:x}\n", f"caguid=0x{guid - 1:x}\n")
    return text


def ports(ask):
    """(name, LID, port) of all end ports and of switch ports with a host behind them."""
    for block in ask("ibnetdiscover").split("\n\n"):
        node = re.search(r'^(Switch|Ca)\t[^#]*# "(.*?)"', block, re.M)
        if not node:
            continue
        lid = re.search(r" lid (\d+)", block).group(1)
        hosts = re.findall(r'^\[(\d+)\]\t"H-', block, re.M)
        for port in ["0", *hosts] if node.group(1) == "Switch" else ["1"]:
            yield node.group(2), lid, port


def tables(manager, file, *words):
    """The keys that `manager` has programmed under ibsim, by name and port."""
    with programmed(manager, topology(), {"partitions.conf": file}, "-P", "partitions.conf",
                    *words) as ask:
        return {(name, port): keys(ask("smpquery", "pkeys", lid, port))
                for name, lid, port in ports(ask)}


def keys(text):
    """In their order, gaps included, up to the last."""
    found = re.findall(r"0x([0-9a-f]{4})", text)
    while found and found[-1] == "0000":
        found.pop()
    return found


class Tables(unittest.TestCase):
    maxDiff = None

    def same(self, file, *words):
        """Both program the same; gives the keys of the manual's GUIDs beside the default partition's,
        and those of the subnet manager's host."""
        theirs, ours = tables("opensm", file, *words), tables("ibsm", file, *words)
        self.assertGreater(len(ours), 2 * len(GUIDS))
        self.assertEqual(theirs, ours)
        return self.of_guids(ours), ours[SM_HOST, "1"]

    def of_guids(self, programmed):
        by_guid = {}
        for number, guid in enumerate(GUIDS, 2):
            held = programmed[f"host{number:04d} HCA-1", "1"]
            self.assertIn(held[0], ("7fff", "ffff"))
            by_guid[guid] = held[1:]
        return {guid: held for guid, held in by_guid.items() if held}

    def test_manual_default_partition(self):
        self.assertEqual(self.same(DEFAULT), ({}, ["ffff"]))

    def test_manual_generated_key(self):
        given, own = self.same(
            "NewPartition , ipoib : 0x123456=full, 0x3456789034=limi, 0x2134af2306 ;\n")
        self.assertEqual(given, {0x123456: ["8001"], 0x3456789034: ["0001"], 0x2134af2306: ["0001"]})
        self.assertEqual(own, ["ffff"])

    def test_manual_one_key_twice(self):
        given, own = self.same("YetAnotherOne = 0x300 : SELF=full ;\n"
                               "YetAnotherOne = 0x300 : ALL=limited ;\n")
        self.assertEqual(given, {guid: ["0300"] for guid in GUIDS})
        self.assertEqual(own, ["ffff", "0300"], "the later line holds")

    def test_manual_default_membership(self):
        given, _ = self.same(SHARE_IO)
        self.assertEqual(given, {guid: [key] for guid, key in SHARED.items()})

    def test_manual_two_colons_are_read_by_ibsm_alone(self):
        ours = tables("ibsm", DEFAULT + SHARE_IO + TWO_COLONS)
        wanted = {**SHARED, 0x123456: "0080", 0x123457: "0080", 0x123458: "8080"}
        self.assertEqual(self.of_guids(ours), {guid: [key] for guid, key in wanted.items()})
        theirs = tables("opensm", DEFAULT + SHARE_IO + TWO_COLONS)
        self.assertEqual({tuple(held) for held in theirs.values()}, {("ffff",)})

    def test_manual_everybody_full(self):
        self.assertEqual(self.same("Default=0x7fff,ipoib:ALL=full;\n"), ({}, ["ffff"]))

    def test_managers_document_two_on_a_line(self):
        given, own = self.same("Default=0x7fff,ipoib:ALL=full;PartA=0x8001, sl=1, ipoib : ALL=full;\n")
        self.assertEqual(given, {guid: ["8001"] for guid in GUIDS})
        self.assertEqual(own, ["ffff", "8001"])

    def test_kinds_of_ports(self):
        given, _ = self.same(DEFAULT + "cas=0x11 : ALL_CAS=full ;\nswitches=0x12 : ALL_SWITCHES ;\n")
        self.assertEqual(given, {guid: ["8011"] for guid in GUIDS})

    def test_index_0(self):
        first = "first=0x21, indx0 : 0x123456=full, 0x123457 ;\n"
        theirs, ours = tables("opensm", DEFAULT + first), tables("ibsm", DEFAULT + first)
        self.assertEqual(theirs, ours)
        self.assertEqual(ours["host0007 HCA-1", "1"], ["8021", "7fff"])

    def test_decimal_guid_and_a_key_alone(self):
        given, _ = self.same(DEFAULT + "0x31 : 1193046=full ;\n")
        self.assertEqual(given, {0x123456: ["8031"]})

    def test_both_memberships(self):
        given, _ = self.same(DEFAULT + "b=0x41 : 0x123456=both, 0x123457=full, 0x123458 ;\n")
        self.assertEqual(given, {0x123456: ["8041"], 0x123457: ["8041"], 0x123458: ["0041"]})

    def test_both_memberships_in_one_table(self):
        """opensm puts the default partition's key to index 1 then, and at a switch port one key alone."""
        file = DEFAULT + "b=0x41 : 0x123456=both, 0x123457=full, 0x123458 ;\n"

        def of_end_ports(programmed):
            return {at: sorted(set(held) - {"0000"}) for at, held in programmed.items()
                    if at[0].startswith("host") or at[1] == "0"}

        theirs, ours = tables("opensm", file, "-W"), tables("ibsm", file, "-W")
        self.assertEqual(of_end_ports(theirs), of_end_ports(ours))
        self.assertEqual(self.of_guids(ours), {0x123456: ["8041", "0041"], 0x123457: ["8041"],
                                               0x123458: ["0041"]})


def managed(fabric, manager, file, *words):
    """`manager` brings `fabric` up by the text of a partition file."""
    path = fabric.directory / "partitions.conf"
    path.write_text(file)
    if manager == "opensm":
        fabric.opensm(SM_HOST, "-P", path, *words)
        return
    up = fabric.on(SM_HOST, IBSM, "-o", "--state-dir", fabric.directory / "state", "-f",
                   fabric.directory / "log", "-P", path, *words)
    assert up.returncode == 0, up.stdout + up.stderr


class Enforcement(unittest.TestCase):
    def programmed(self, manager, *words):
        """(inbound, outbound) of the switch ports with a host behind them."""
        with Fabric(*TREE) as f:
            managed(f, manager, DEFAULT, *words)

            def ask(*question):
                return f.on(SM_HOST, *question).stdout

            return {tuple(re.findall(r"PartEnforce(?:Inb|Outb):\.*(\d)",
                                     ask("smpquery", "portinfo", lid, port)))
                    for name, lid, port in ports(ask) if name.startswith("leaf") and port != "0"}

    def test_as_opensm_has_it(self):
        for words, wanted in (((), ("1", "1")), (("-N",), ("0", "0")), (("-Z", "in"), ("1", "0")),
                              (("-Z", "out"), ("0", "1")), (("-Z", "off"), ("0", "0"))):
            with self.subTest(words):
                self.assertEqual(self.programmed("ibsm", *words), {wanted})
                self.assertEqual(self.programmed("opensm", *words), {wanted})


class Groups(unittest.TestCase):
    maxDiff = None

    def made(self, manager, file, *words):
        """MCMemberRecords by MGID, as stock saquery has them."""
        with Sm(*TREE) as f:
            if manager == "opensm":
                managed(f, manager, file, *words)
            else:
                (f.directory / "partitions.conf").write_text(file)
                f.daemon("-P", f.directory / "partitions.conf", *words)
            dumped = f.on(SM_HOST, "saquery", "MCMR").stdout.split("MCMember Record dump:")[1:]
        groups = [dict(re.findall(r"(\w+)\.+(\S+)", group)) for group in dumped]
        return {group.pop("MGID"): group for group in groups}

    def test_of_ipoib_and_mgid_lines(self):
        file = """Default=0x7fff, ipoib : ALL=full ;
PartA=0x8001, ipoib, rate=7, mtu=5 : ALL=full ;
PartC=0x3, ipoib, Q_Key=0x1234, FlowLabel=7 :
 mgid=ff12:401b::1, TClass=3
 mgid=ff12:601b::2, sl=2
 mgid=ff18::7,Q_Key=0x99,rate=3,mtu=1
 ALL=full ;
"""
        ours = self.made("ibsm", file)
        self.assertEqual(sorted(ours), ["ff12:401b:8001::ffff:ffff", "ff12:401b:8003::1",
                                        "ff12:401b:8003::ffff:ffff", "ff12:401b:ffff::ffff:ffff",
                                        "ff12:601b:8003::2", "ff12::7"])
        self.assertEqual(self.made("opensm", file), ours)

    def test_scope_and_sl_of_a_partition_hold_with_ibsm(self):
        """opensm 3.3.23 makes the group link-local. Without QoS both have SL 0."""
        file = "Default=0x7fff, ipoib : ALL=full ;\nPartA=0x1, ipoib, sl=1, scope=2, scope=5 : ALL=full ;\n"
        for words, sl in ((("-Q",), "0x1"), ((), "0x0")):
            ours = self.made("ibsm", file, *words)
            self.assertEqual({mgid: (group["SL"], group["Scope"]) for mgid, group in ours.items()},
                             {"ff12:401b:ffff::ffff:ffff": ("0x0", "0x2"),
                              "ff12:401b:8001::ffff:ffff": (sl, "0x2"),
                              "ff15:401b:8001::ffff:ffff": (sl, "0x5")})
        theirs = self.made("opensm", file)
        self.assertEqual(theirs["ff12:401b:8001::ffff:ffff"]["SL"], "0x0")


class Packets(unittest.TestCase):
    """Stock ibping speaks with the key at index 0."""

    def pings(self, f, source, target):
        asked = f.on(f"host{source:04d} HCA-1", "ibping", "-c", "1", "-t", "200",
                     str(f.lid_of(f"host{target:04d} HCA-1")))
        return " 1 received" in asked.stdout

    def guid(self, host):
        return f"0x{0x2c90300000001 + 0x10 * (host - 1):x}"

    def test_hosts_of_different_partitions_and_limited_ones_are_apart(self):
        guid = self.guid
        file = (DEFAULT + f"red=0x1, indx0 : {guid(2)}=full, {guid(3)}, {guid(5)} ;\n"
                f"blue=0x2, indx0 : {guid(4)}=full, {guid(6)} ;\n")
        for manager in ("ibsm", "opensm"):
            with self.subTest(manager), Fabric(*TREE) as f:
                managed(f, manager, file)
                for host in (3, 4, 5):
                    f.start(f"host{host:04d} HCA-1", "ibping", "-S")
                # Each server answers somebody, so that silence towards others is the partitions'.
                for source, target in ((2, 3), (2, 5), (6, 4)):
                    self.assertTrue(wait_until(lambda: self.pings(f, source, target), 20),
                                    (source, target))
                for source, target in ((5, 3), (3, 5), (2, 4), (6, 3), (1, 4)):
                    self.assertFalse(self.pings(f, source, target), (source, target))

    def constraint_errors(self, f, switch, port):
        return int(re.search(r"RcvConstraintErrors:\.*(\d+)", f.on(SM_HOST, "perfquery", switch, port).stdout)[1])

    def test_a_forged_key_stops_at_the_switch_and_the_manager_hears_of_it(self):
        """Host 5 writes a partition's key into its own table: its switch knows better."""
        file = DEFAULT + f"red=0x1, indx0 : {self.guid(2)}=full, {self.guid(3)}=full ;\n"
        for manager in ("ibsm", "opensm"):
            with self.subTest(manager), Sm(*TREE) as f:
                (f.directory / "partitions.conf").write_text(file)
                if manager == "ibsm":
                    f.daemon("-P", f.directory / "partitions.conf")
                    log = f.directory / "log"
                else:
                    log = f.opensm(SM_HOST, "-P", f.directory / "partitions.conf")
                f.start("host0003 HCA-1", "ibping", "-S")
                self.assertTrue(wait_until(lambda: self.pings(f, 2, 3), 20))
                leaf, port = next(
                    (re.search(r" lid (\d+)", block)[1], re.search(r'^\[(\d+)\].*"host0005 ', block, re.M)[1])
                    for block in f.on(SM_HOST, "ibnetdiscover").stdout.split("\n\n")
                    if "\nSwitch" in f"\n{block}" and '"host0005 ' in block)
                before = self.constraint_errors(f, leaf, port)
                lid = f.lid_of("host0005 HCA-1")
                self.assertEqual(f.on("host0005 HCA-1", TESTS / "pkey_poke", lid, "0x8001").returncode, 0)
                self.assertFalse(self.pings(f, 5, 3))
                self.assertGreater(self.constraint_errors(f, leaf, port), before)
                told = {"ibsm": f"trap 259 from LID {leaf}: port {port} stopped a packet from 0x0002c90300000040 ",
                        "opensm": "num:259"}[manager]
                self.assertTrue(wait_until(lambda: told in log.read_text(errors="replace"), 10),
                                log.read_text(errors="replace")[-2000:])


class LargeFabric(unittest.TestCase):
    def test_one_member_more_of_3456_sets_two_blocks(self):
        with Sm("fat-tree", "--radix", "24", "--levels", "3", "--no-lids") as f:
            file = f.directory / "partitions.conf"
            file.write_text(DEFAULT + "red=0x1 : 0x2c90300000011=full ;\n")
            pid = f.daemon("-P", file, "-D", "7")
            before = f.sets()
            os.kill(pid, signal.SIGHUP)
            self.assertTrue(wait_until(lambda: f.ups() == 2))
            self.assertEqual(f.sets(), before, "the same file again")
            file.write_text(file.read_text() + "red=0x1 : 0x2c90300000021 ;\n")
            os.kill(pid, signal.SIGHUP)
            self.assertTrue(wait_until(lambda: f.ups() == 3))
            # By its own count: on a busy machine a request may be sent twice.
            counts = re.findall(r"(\d+) SubnSets", (f.directory / "log").read_text())
            self.assertEqual(counts[-1], "2", "the host's table and that of its switch port")
            added = f.ibsm_ctl("partition", "add", "0x1", "0x2c90300000031")
            self.assertEqual((added.returncode, added.stdout), (0, "added 1 member of P_Key 0x0001\n"))
            self.assertTrue(wait_until(lambda: " programmed " in f.ibsm_ctl("partition", "list").stdout))
            self.assertTrue(wait_until(lambda: f.ups() == 4))
            self.assertRegex((f.directory / "log").read_text(),
                             r"full sweep: partitions changed\n(.*\n)*.* of them retries, 2 SubnSets\n")


if __name__ == "__main__":
    unittest.main()
