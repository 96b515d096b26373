# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What takes too long for every change: the largest fabrics, every kind near 3,456 end ports, and
the flows of osmtest that wait."""
import re
import unittest

import fabric
from fabric import BIN, Fabric
from side_by_side import end_ports, ibsm, lines, tables
from peers_test import agree_with_judges, lacking_active

fabric.PATIENCE = 400


class Kinds(unittest.TestCase):
    """Every kind that the generator knows, as large as is tried before every change."""
    KINDS = (
        ("fat-tree", "--radix", "24", "--levels", "3"),
        ("fat-tree", "--radix", "24", "--levels", "3", "--missing", "3"),
        ("fat-tree", "--levels", "2", "--radix", "36", "--oversubscription", "2"),
        ("torus", "8x8x8", "--hosts", "6"),
        ("mesh", "8x8x8", "--hosts", "6"),
        ("hypercube", "9", "--hosts", "6"),
        ("hyperx", "12x12", "--hosts", "24"),
        ("dragonfly-plus", "--groups", "12", "--leaves", "12", "--spines", "12", "--hosts", "24",
         "--cables", "12"),
        ("dragonfly", "--groups", "24", "--routers", "12", "--hosts", "12", "--global", "2"),
        ("random", "--switches", "256", "--links", "1024", "--hosts", "13"),
        ("kautz", "--degree", "4", "--diameter", "4", "--hosts", "10"),
    )

    def test_each_comes_up_and_the_judges_agree(self):
        for words in self.KINDS:
            with self.subTest(kind=words), Fabric(*words) as f:
                up = ibsm(f)
                print(" ".join(words), up.group(0), end="", flush=True)
                self.assertEqual(lacking_active(f), [])
                self.assertEqual(tables(f.on(None, BIN / "ibroutes").stdout),
                                 tables(f.on(None, "dump_fts").stdout))
                agree_with_judges(self, f, ibdmchk_too=False)


class Largest(unittest.TestCase):
    def test_11664_end_ports_come_up_and_every_tool_copes(self):
        with Fabric("fat-tree", "--radix", "36", "--levels", "3") as f:
            up = ibsm(f)
            self.assertEqual([int(n) for n in up.groups()[:5]], [1620, 11664, 0, 34992, 13284])
            print(up.group(0), end="", flush=True)
            self.assertEqual(lacking_active(f), [])
            net = f.on(None, "ibnetdiscover", "-o", "32").stdout
            self.assertEqual(lines(f.on(None, BIN / "ibtopo").stdout), lines(net))
            lids = sorted(end_ports(net))
            self.assertEqual(len(lids), 11664)
            for far in lids[1::2000]:
                trace = f.on(None, "ibtracert", lids[0], far)
                self.assertEqual(trace.returncode, 0, trace.stdout + trace.stderr)
                self.assertEqual(f.on(None, BIN / "ibroutes", "path", lids[0], far).stdout,
                                 trace.stdout)
            figures = agree_with_judges(self, f, ibdmchk_too=False)
            self.assertEqual(figures["credit-loop-channels"], "0")
            records = f.on("host11664 HCA-1", "saquery", "-t", "20000").stdout
            self.assertEqual(records.count("NodeRecord dump"), 1620 + 11664)


class SlowOsmtest(unittest.TestCase):
    def test_opensm_as_seen_from_another_host(self):
        with Fabric("fat-tree", "--radix", "8") as f:
            f.opensm()
            far = "host0032 HCA-1"
            guid = re.search(r"Port GUID: (0x\w+)", f.on(far, "ibstat").stdout).group(1)
            for flow in (("c",), ("v",), ("m",), ("f",), ("e",), ("s",), ("s", "-s", "1"),
                         ("s", "-s", "2")):
                test = f.on(far, "osmtest", "-g", guid, "-i", f.directory / "inventory", "-t", "300",
                            "-f", *flow, "-l", f.directory / "osmtest.log")
                self.assertIn("PASS", test.stdout.splitlines()[-1], test.stdout[-2000:])


if __name__ == "__main__":
    unittest.main(verbosity=2)
