# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The same options files by stock opensm and by ibsm under Debian's ibsim: SL2VL, VL arbitration, high
limits and VLs in operation, read back with stock smpquery of hosts and of ports of a leaf and of a spine.
Where they differ, doc/qos.md says why."""
import re
import sys
import pathlib
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from qos_keys import QOS_KEYS  # noqa: E402
from under_ibsim import BIN, SM_HOST, programmed, run  # noqa: E402

TREE = ("fat-tree", "--radix", "8", "--leaves", "4", "--spines", "2", "--no-lids")
NODES = (SM_HOST, "host0006 HCA-1", "leaf-001", "spine-001")

FEW_VLS = """qos TRUE
qos_max_vls 4
qos_sl2vl 0,1,2,3,0,1,2,3,0,1,2,3,0,1,2,3
qos_vlarb_low 0:1,1:2,2:3,3:4
qos_vlarb_high 3:200,2:100
"""
SHORT = """qos TRUE
qos_sl2vl 0,1,2,3,4,5,6,7,0,1,2,3,4,5,6,7
qos_ca_sl2vl 0,3,2,
qos_swe_sl2vl 2,1
"""
LIMITS = "qos TRUE\nqos_swe_high_limit 255\nqos_swe_vlarb_low 1:7,0:9,1:7,\nqos_ca_vlarb_high 3:0,0:3\n"


def entries(lines):
    """VL and weight of each table's entries that count, in their order."""
    tables = []
    for vls, weights in zip(lines[::2], lines[1::2]):
        pairs = zip(re.findall(r"0x(\w+)", vls), re.findall(r"0x(\w+)", weights))
        tables.append([pair for pair in pairs if pair[1] != "0"])
    return tables


def tables(manager, options):
    """By node, port and table; those of port 0 by themselves."""
    external, port0 = {}, {}
    topology = run(BIN / "ibfabric", "gen", *TREE).stdout
    with programmed(manager, topology, {"conf": options}, "-F", "conf") as ask:
        for block in ask("ibnetdiscover").split("\n\n"):
            node = re.search(r'^(Switch|Ca)\t[^#]*# "(.*?)"', block, re.M)
            if not node or node.group(2) not in NODES:
                continue
            lid = re.search(r" lid (\d+)", block).group(1)
            numbers = re.findall(r"^\[(\d+)\]", block, re.M)
            for port in ["0", *numbers[::3]] if node.group(1) == "Switch" else numbers:
                def read(what, lid=lid, port=port):
                    return [line for line in ask("smpquery", what, lid, port).splitlines() if "|" in line]
                held = port0 if port == "0" else external
                info = ask("smpquery", "portinfo", lid, port)
                held[node.group(2), port] = (
                    read("sl2vl")[1:], entries(read("vlarb")),
                    re.findall(r"(?:VLHighLimit|OperVLs):\.+(\S+)", info))
    return external, port0


class Tables(unittest.TestCase):
    maxDiff = None

    def compare(self, options, same=3):
        """The first `same` of mapping, arbitration and limits; gives the rest."""
        (theirs, their_port0), (ours, our_port0) = (tables(who, options) for who in ("opensm", "ibsm"))
        self.assertEqual(theirs.keys(), ours.keys())
        self.assertEqual(len(ours), 8)
        for where, (rows, _, limits) in ours.items():
            with self.subTest(where):
                self.assertTrue(rows and limits)
                for one, other in list(zip(theirs[where], ours[where]))[:same]:
                    self.assertEqual(one, other)
        self.limits = {tuple(at[where][2]) for at in (theirs, ours) for where in at}
        return their_port0, our_port0

    def test_each_kind_of_port_has_its_set(self):
        their_port0, our_port0 = self.compare(QOS_KEYS)
        # Towards port 0 opensm maps by qos_swe_, as if it were another external port.
        for where, (rows, *_) in our_port0.items():
            self.assertEqual({row.partition(": | ")[2] for row in rows[1:]},
                             {"0| 1| 2| 3| 4| 5| 6| 7|15|15|15|15|15|15|15|15|"}, where)
            self.assertEqual({row.partition(": | ")[2] for row in their_port0[where][0][1:]},
                             {"1| 1| 1| 1| 1| 1| 1| 1|15|15|15|15|15|15|15|15|"}, where)

    def test_caps_of_vls(self):
        # opensm reads qos_max_vls and leaves OperationalVLs as they are.
        self.compare(FEW_VLS, same=2)
        self.assertEqual(self.limits, {("0", "VL0-7"), ("0", "VL0-3")})

    def test_short_mappings(self):
        self.compare(SHORT)

    def test_limits_commas_and_weights_of_0(self):
        self.compare(LIMITS)

    def test_what_is_built_in(self):
        self.compare("qos TRUE\n")


if __name__ == "__main__":
    unittest.main()
