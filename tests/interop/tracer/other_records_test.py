# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""ibtracer --sa where the SA is stock opensm's, which has no TraceRecords: the route comes from its other records."""
import json
import re
import unittest

from fabric import BIN, TESTS, Fabric

HERE, FAR = "host0001 HCA-1", "host0005 HCA-1"


class ByOpensmsRecords(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.f = cls.enterClassContext(Fabric("fat-tree", "--radix", "4", "--no-lids"))
        cls.f.opensm(HERE, "-l", "1")
        cls.base = cls.f.lid_of(FAR)

    def tracer(self, *words):
        return self.f.on(HERE, BIN / "ibtracer", *words)

    def hops(self, *words):
        traced = self.tracer(*words, "--json")
        document = json.loads(traced.stdout)
        return document, [[(h["node_guid"], h["port_guid"], h["lid"], h["name"], h["ingress_port"], h["egress_port"])
                           for h in trace["hops"]] for trace in document["traces"]]

    def test_the_route_is_the_one_that_the_tables_give(self):
        for words in (("-l", self.base), ("-l", self.base + 1), ("--name", FAR), ("--lmc-all", "-l", self.base),
                      ("--name", "spine-001"), ("--lmc-all", "-l", self.f.lid_of(HERE))):
            by_sa, sa_hops = self.hops("--sa", *words)
            by_tables, table_hops = self.hops(*words)
            self.assertEqual(sa_hops, table_hops, words)
            self.assertEqual(by_sa["verdict"], "VERIFIED")
            self.assertEqual(by_sa["route_source"], "SA LinkRecords and LinearForwardingTableRecords")
            self.assertEqual(by_tables["route_source"], "tables")

    def test_no_switch_is_asked_for_its_tables(self):
        traced = self.tracer("--sa", "-vv", "-l", self.base)
        self.assertEqual(traced.returncode, 0, traced.stderr)
        sent = [line for line in traced.stderr.splitlines() if " > " in line]
        asked = {re.search(r" > (.*) to LID \d+ tid ", line)[1] for line in sent}
        self.assertEqual({words for words in asked if not words.startswith("SubnAdm ")},
                         {"Get(NodeInfo)", "VendorIbtracer Get(ClassPortInfo)", "VendorIbtracer Get(SourceRoute)"})
        self.assertIn("SubnAdm GetTable(LinkRecord)", asked)
        self.assertIn("  route by SA LinkRecords and LinearForwardingTableRecords\n", traced.stdout)

    def test_a_lid_of_nobody_has_no_entry(self):
        traced = self.tracer("--sa", "-l", 48000)
        self.assertEqual(traced.returncode, 1, traced.stderr)
        self.assertRegex(traced.stdout.splitlines()[-1], r"^BROKEN lid 48000 after 1 hop: no LFT entry: switch ")

    def test_a_switch_whose_table_is_not_what_the_sa_believes_is_found_out(self):
        """The near leaf is told to send packets for the far leaf's own LID up by the other spine."""
        _, (hops,) = self.hops("-l", self.base)
        leaf, far_leaf = hops[1], hops[3]
        other = next(p for p in (3, 4) if p != leaf[5])
        poke = self.f.on(HERE, TESTS / "lft_poke", leaf[2], far_leaf[2], other)
        self.assertEqual(poke.returncode, 0, poke.stderr)
        try:
            traced = self.tracer("--sa", "-l", self.base)
            self.assertEqual(traced.returncode, 1, traced.stdout + traced.stderr)
            self.assertRegex(traced.stdout.splitlines()[-1], f'^MISMATCH lid {self.base} at hop 3 "{far_leaf[3]}": ')
            self.assertEqual(self.tracer("-l", self.base).returncode, 0, "the tables themselves agree with the packets")
        finally:
            self.f.on(HERE, TESTS / "lft_poke", leaf[2], far_leaf[2], leaf[5])


if __name__ == "__main__":
    unittest.main(verbosity=2)
