# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Routing chains: ibsm on ibfabric routes an island of a tree by an engine of its own."""
import os
import pathlib
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from program import BIN, HOST, IBSM, Sm  # noqa: E402
from fabric import wait_until  # noqa: E402

TREE = ("fat-tree", "--radix", "4", "--levels", "3", "--no-lids")
LEAF = "leaf-01-01"
NEIGHBOUR, FAR = "host0003 HCA-1", "host0009 HCA-1"  # on the other leaf of the pod, in another pod

GROUPS = """port-group
name: pod1
use: without one of its spines
port-regexp: ^(leaf-01|spine-01-0{spine})
end-port-group
port-group
name: pod1-hosts
port-name: hostname=host0001, hostname=host0002, hostname=host0003, hostname=host0004
end-port-group
port-group
name: pods
port-regexp: ^(leaf|spine)-0[23]
end-port-group
port-group
name: others
subtract-rule: ALL_CAS, pod1-hosts
end-port-group
"""
TOPOLOGIES = """topology
id: 1
sw-grp: pod1
hca-grp: pod1-hosts
end-topology
topology
id: 2
sw-grp: pods
hca-grp: others
end-topology
"""
STEPS = """unicast-step
id: 1
engine: minhop
end-unicast-step
unicast-step
id: 2
engine: {engine}
topology: 1
end-unicast-step
unicast-step
id: 3
engine: updn
topology: 2
end-unicast-step
"""


class Chain(unittest.TestCase):
    def files(self, f, spine=1, engine="ftree", engines="chain,minhop"):
        """The options file."""
        self.groups, self.steps = f.directory / "groups", f.directory / "steps"
        self.groups.write_text(GROUPS.format(spine=spine))
        (f.directory / "topo").write_text(TOPOLOGIES)
        self.steps.write_text(STEPS.format(engine=engine))
        conf = f.directory / "opts"
        conf.write_text(f"routing_engine {engines}\npgrp_policy_file {self.groups}\n"
                        f"topo_policy_file {f.directory / 'topo'}\nrch_policy_file {self.steps}\n")
        return conf

    def switches_to(self, f, host):
        """Names of the switches on the way there from the first host."""
        lids = [f.on(HOST, "saquery", "-l", name).stdout.strip() for name in (HOST, host)]
        path = f.on(HOST, BIN / "ibroutes", "path", *lids).stdout
        return [name for name in ("spine-01-01", "spine-01-02", "core-") if name in path]

    def test_an_island_has_its_engine_and_all_pairs_are_reached(self):
        with Sm(*TREE) as f:
            conf = self.files(f)
            checked = f.ibsm("--check-config", "-F", conf, "--against", f.topology)
            self.assertEqual((checked.returncode, checked.stderr), (0, ""))
            pid = f.daemon("-F", conf)
            log = (f.directory / "log").read_text()
            self.assertNotIn("routing engine chain", log)
            verified = f.on(HOST, BIN / "ibroutes", "verify")
            self.assertEqual(verified.returncode, 0, verified.stdout)
            self.assertEqual(self.switches_to(f, NEIGHBOUR), ["spine-01-01"])
            self.assertIn("core-", self.switches_to(f, FAR))
            # What the files say is read again; a mistake changes nothing.
            self.groups.write_text(GROUPS.format(spine=2))
            os.kill(pid, signal.SIGHUP)
            self.assertTrue(wait_until(lambda: self.switches_to(f, NEIGHBOUR) == ["spine-01-02"]))
            self.groups.write_text(GROUPS.format(spine=1) + "port-group\n")
            os.kill(pid, signal.SIGHUP)
            said = lambda: "is not closed: expected 'end-port-group'" in (f.directory / "log").read_text()  # noqa: E731
            self.assertTrue(wait_until(said))
            self.assertEqual(self.switches_to(f, NEIGHBOUR), ["spine-01-02"])
            self.assertEqual(f.on(HOST, BIN / "ibroutes", "verify").returncode, 0)

    def test_what_does_not_fit_is_named_and_the_next_engine_follows(self):
        with Sm(*TREE) as f:
            conf = self.files(f)
            self.steps.write_text(self.steps.read_text().replace("updn", "torus-2QoS"))
            up = f.ibsm("-o", "-F", conf)
            self.assertEqual(up.returncode, 0, up.stdout + up.stderr)
            self.assertIn("routing engine chain does not fit: step 3 (torus-2QoS on topology 2): ",
                          (f.directory / "log").read_text())
            self.assertEqual(f.on(HOST, BIN / "ibroutes", "verify").returncode, 0)

    def test_plan(self):
        with Sm(*TREE) as f:
            plan = subprocess.run([IBSM, "plan", f.topology, "-F", self.files(f)], capture_output=True, text=True,
                                  timeout=60)
            self.assertEqual(plan.returncode, 0, plan.stdout + plan.stderr)
            self.assertRegex(plan.stdout, r"(?m)^engine: +chain$")
            wrong = self.files(f, engine="tree")
            plan = subprocess.run([IBSM, "plan", f.topology, "-F", wrong], capture_output=True, text=True, timeout=60)
            self.assertEqual(plan.returncode, 2)
            self.assertIn(f"{self.steps}:7:9: error: expected an engine (minhop, ", plan.stderr)


if __name__ == "__main__":
    unittest.main()
