# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A hundred pairs of hosts: ibtracer at the first finds the way to the second that stock ibtracert reads from the tables, and each
hop proves it, with agents on all hosts and on a tenth of them."""
import json
import random
import re
import unittest

from fabric import BIN, Fabric, end_daemon

HOSTS = [f"host{number:04} HCA-1" for number in range(1, 33)]
PAIRS = 100


class Cases:
    with_agent = []

    @classmethod
    def setUpClass(cls):
        cls.f = f = cls.enterClassContext(Fabric("fat-tree", "--radix", "8", "--no-lids"))
        pid = f.directory / "pid"
        up = f.on(HOSTS[0], BIN / "ibsm", "-B", "-f", f.directory / "log", "--state-dir", f.directory / "sm", "-J", pid)
        assert up.returncode == 0, up.stderr
        f.at_end(lambda: end_daemon(pid))
        for host in cls.with_agent:
            f.start(host, BIN / "ibtracerd", "--user", "nobody")
        cls.lids = {host: str(f.lid_of(host)) for host in HOSTS}

    def trace(self, source, target):
        traced = self.f.on(source, BIN / "ibtracer", "--json", "-l", self.lids[target])
        document = json.loads(traced.stdout)
        return traced.returncode, document["verdict"], document["traces"][0]["hops"]

    def test_the_way_is_that_of_ibtracert_and_each_hop_proves_it(self):
        dice = random.Random(11)
        for _ in range(PAIRS):
            source, target = dice.sample(HOSTS, 2)
            status, verdict, hops = self.trace(source, target)
            self.assertEqual((status, verdict), (0, "VERIFIED"), (source, target, hops))
            walked = self.f.on(source, "ibtracert", "-n", self.lids[source], self.lids[target]).stdout
            steps = re.findall(r"^\[(\d+)\] -> \{0x(\w+)\}\[(\d+)\]", walked, re.M)
            found = [(str(a["egress_port"]), b["port_guid"][2:], str(b["ingress_port"])) for a, b in zip(hops, hops[1:])]
            self.assertEqual(found, steps, (source, target))
            self.assertEqual([hop["proof"] for hop in hops[1:]],
                             ["smp"] * (len(hops) - 2) + ["agent" if target in self.with_agent else "smp"])


class AgentsOnAllHosts(Cases, unittest.TestCase):
    with_agent = HOSTS


class AgentsOnATenth(Cases, unittest.TestCase):
    with_agent = HOSTS[9::10]


if __name__ == "__main__":
    unittest.main(verbosity=2)
