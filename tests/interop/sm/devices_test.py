# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Devices as real ones are, which ibfabric plays by #device lines: each is managed as far as it goes, is
named where it does not, and disturbs nothing else."""
import pathlib
import re
import sys
import unittest

from program import HOST, TREE, Sm
from fabric import IBFABRIC, run

QOS = """qos TRUE
qos_max_vls 4
qos_high_limit 3
qos_vlarb_high 0:64,1:32
qos_vlarb_low 0:1,1:2,2:3,3:4
qos_sl2vl 0,1,2,3,0,1,2,3,0,1,2,3,0,1,2,3
"""
LINES = """#device leaf-001 optimized_sl2vl=2
#device leaf-002 optimized_sl2vl=3 unanswered=0xFF90
#device spine-001 optimized_sl2vl=0 unsupported=0xFF90
#device "host0005 HCA-1" 1 vl_cap=1 mtu_cap=1024
#device "host0006 HCA-1" p_keys=1 guid_cap=0
#device "host0007 HCA-1" refuse=VLArbitrationTable
#device "host0008 HCA-1" keep=SLtoVLMappingTable
#device "host0009 HCA-1" 1 vl_arb_cap=64
#device "host0010 HCA-1" loses_every=7 lid=0xFFFF
#device leaf-004 4 shows_state=5
#device "host0001 HCA-1" traps_without_lid=1
#device leaf-003 port_state_table=1 special=none lid=0xC001
#device "host0011 HCA-1" old_counters=1 planes=0
"""


class Devices(unittest.TestCase):
    def test_all_of_them_in_one_fabric(self):
        with Sm(*TREE) as plain:
            conf = plain.directory / "conf"
            text = plain.directory / "odd.topo"
            text.write_text(pathlib.Path(plain.topology).read_text() + LINES)
            conf.write_text(QOS)
            with Sm(topology=str(text)) as f:
                f.daemon("-F", conf, status=3)
                log = (f.directory / "log").read_text()
                # One host is behind the strange port of leaf-004, and no other is lost.
                self.assertRegex(log, r'unmanaged: .*"leaf-004" .*: port 4: PortState is 5; the port is left alone')
                states = f.states()
                self.assertLessEqual(states, {"Active", "Initialize"})
                # SL2VL of a switch that takes one row at a time is what it is to be.
                for leaf in ("leaf-001", "leaf-002", "spine-001"):
                    lid = self.lid(f, leaf)
                    table = f.on(HOST, "smpquery", "sl2vl", lid, "2").stdout
                    self.assertRegex(table, r"ports: in  1, out  2: \| 0\| 1\| 2\| 3\| 0")
                # What refuses is named, once for each table.
                refusals = [line for line in log.splitlines() if "host0007" in line]
                self.assertEqual(len(refusals), 1, refusals)
                self.assertIn('"host0007 HCA-1" port 1 block 1: status 0x001c (and so 1 other block)', refusals[0])
                # The trap of our own port came from LID 0 and asked for no sweep.
                self.assertNotIn("trap 144 from LID 0", log)

    def lid(self, f, name):
        return re.search(rf'"{name}" enhanced port 0 lid (\d+)|"{name}" base port 0 lid (\d+)',
                         f.on(HOST, "ibnetdiscover").stdout).group(1)

    def test_m_keys_are_given_and_remembered(self):
        with Sm(*TREE) as f:
            conf = f.directory / "conf"
            conf.write_text("m_key 0x1122334455667788\nm_key_protection_level 1\nm_key_lease_period 60\n")
            self.assertEqual(f.ibsm("-o", "-F", conf).returncode, 0)
            lid = self.lid(f, "leaf-001")
            shown = f.on(HOST, "smpquery", "-K", "portinfo", lid, "0").stdout
            self.assertRegex(shown, r"Mkey:\.*0x0000000000000000\n")
            self.assertRegex(shown, r"ProtectBits:\.*1\n")
            self.assertRegex(f.on(HOST, "smpquery", "-K", "-y", "0x1122334455667788", "portinfo", lid, "0").stdout,
                             r"Mkey:\.*0x1122334455667788\n")
            keys = (f.directory / "state" / "guid2mkey").read_text()
            self.assertEqual(keys.count(" 0x1122334455667788\n"), 44)
            # Another key: the file knows the one that ports have.
            conf.write_text("m_key 0x99\nm_key_protection_level 2\n")
            self.assertEqual(f.ibsm("-o", "-F", conf).returncode, 0)
            self.assertRegex(f.on(HOST, "smpquery", "-K", "-y", "0x99", "portinfo", lid, "0").stdout,
                             r"Mkey:\.*0x0000000000000099\n")
            # A file with a mistake is not read in part.
            (f.directory / "state" / "guid2mkey").rename(f.directory / "state" / "guid2mkey.bad")
            (f.directory / "state" / "guid2mkey").write_text("0x1 0x2\nrubbish\n")
            again = f.ibsm("-o", "-F", conf)
            self.assertEqual(again.returncode, 0, again.stdout)
            self.assertIn("guid2mkey:2:1: expected a port GUID (0x...), got 'rubbish'",
                          (f.directory / "log").read_text())

    def test_a_line_that_is_wrong_is_named(self):
        with Sm(*TREE) as f:
            text = f.directory / "bad.topo"
            fabric = pathlib.Path(f.topology).read_text()
            number = len(fabric.splitlines()) + 1
            for line, column, message in (
                    ("#device leaf-001 colour=red", 18, "unknown trait 'colour'; those that there are: vl_cap"),
                    (" #device\tleaf-001\tvl_cap=2 mtu_cap=3\r\r", 28, "mtu_cap: expected 256, 512, 1024"),
                    ("#device", 8, "expected device NODE [PORT] [NAME=VALUE]..."),
                    ("#device leaf-001 1", 19, "expected device NODE [PORT] [NAME=VALUE]..."),
                    ("#device nobody vl_cap=2", 9, "no node is named 'nobody'"),
                    ("#device leaf-001 99 vl_cap=2", 18, "leaf-001 has 8 ports, none is 99"),
                    ("#device leaf-001 vports=2", 18, "vports: expected a channel adapter, got a switch"),
                    ('#device "leaf-001 vl_cap=2', 9, "expected a closing quote")):
                text.write_text(fabric + line + "\n")
                result = run(IBFABRIC, "run", text, "--", "true")
                self.assertEqual(result.returncode, 125, line)
                self.assertIn(f"{text}:{number}:{column}: {message}", result.stderr)
            text.write_text(fabric + "#devices leaf-001 colour=red\n# device leaf-001 colour=red\n")
            self.assertEqual(run(IBFABRIC, "run", text, "--", "true").returncode, 0)


if __name__ == "__main__":
    sys.exit(unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]]))
