# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""ibtracer --from A B: the way between two other hosts, and who proves what of it."""
import json
import unittest

from fabric import BIN, TESTS, Fabric

HERE, A, B = "host0001 HCA-1", "host0003 HCA-1", "host0007 HCA-1"
WITHOUT = "host0005 HCA-1"  # an agent


class From(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.f = cls.enterClassContext(Fabric("fat-tree", "--radix", "4", "--no-lids"))
        cls.f.opensm(HERE)
        cls.f.start(A, BIN / "ibtracerd")

    def tracer(self, *words):
        return self.f.on(HERE, BIN / "ibtracer", *words)

    def trace(self, *words):
        traced = self.tracer(*words, "--json")
        return traced.returncode, json.loads(traced.stdout)

    def agent_is_there(self):
        for _ in range(50):
            if self.trace("--name", A)[1]["traces"][0]["hops"][-1]["agent"] == "answered":
                return
        self.fail("the agent does not answer")

    def test_each_hop_says_by_whom_it_is_proved(self):
        self.agent_is_there()
        traced = self.tracer("-v", "--from", A, "--name", B)
        self.assertEqual(traced.returncode, 0, traced.stdout + traced.stderr)
        lid = self.f.lid_of(B)
        lines = traced.stdout.splitlines()
        self.assertEqual(lines[0], f'From "{A}" to lid {lid}: "{A}" -> "{B}"')
        self.assertEqual(lines[1], f'  by packets of "{HERE}" that join the way at its first switch')
        self.assertTrue(lines[2].endswith("source"), lines[2])
        self.assertTrue(lines[3].endswith("verified by agent; the sender's cable, by which its agent got a packet of ours"))
        for line in lines[4:-1]:
            self.assertTrue(line.endswith("verified by LocalPortNum"), line)
        hops = len(lines) - 4
        self.assertEqual(lines[-1], f'VERIFIED from "{A}" to lid {lid} "{B}": all {hops} hops confirmed')

    def test_a_port_has_no_path_to_itself(self):
        refused = self.tracer("--from", A, "--name", A)
        self.assertEqual((refused.returncode, refused.stdout), (2, ""))
        self.assertIn("sender and target are one port", refused.stderr)

    def test_the_way_is_the_one_that_the_far_host_finds_itself(self):
        self.agent_is_there()
        status, document = self.trace("--from", A, "--name", B)
        self.assertEqual((status, document["traces"][0]["direction"]), (0, "between"))
        theirs = json.loads(self.f.on(A, BIN / "ibtracer", "--name", B, "--json").stdout)

        def way(of):
            return [(h["node_guid"], h["ingress_port"], h["egress_port"]) for h in of["traces"][0]["hops"]]

        self.assertEqual(way(document), way(theirs))

    def test_without_an_agent_the_first_cable_is_an_smps(self):
        _, document = self.trace("--from", WITHOUT, "--name", B)
        first = document["traces"][0]["hops"][1]
        self.assertEqual(first["proof"], "smp")
        self.assertIn("its agent did not say so", first["note"])

    def test_a_table_that_loses_the_packets_is_named(self):
        _, document = self.trace("--from", A, "--name", B)
        spine = document["traces"][0]["hops"][2]
        lid = self.f.lid_of(B)
        self.assertEqual(self.f.on(HERE, TESTS / "lft_poke", spine["lid"], lid, 255).returncode, 0)
        try:
            broken = self.tracer("--from", A, "--name", B)
            self.assertEqual(broken.returncode, 1, broken.stdout)
            self.assertRegex(broken.stdout.splitlines()[-1], f"^BROKEN lid {lid} after 2 hops: no LFT entry: switch ")
        finally:
            self.f.on(HERE, TESTS / "lft_poke", spine["lid"], lid, spine["egress_port"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
