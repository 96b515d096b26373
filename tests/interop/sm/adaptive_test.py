# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Adaptive routing: ibsm on ibfabric's switches, by the keys of the armgr plug-in."""
import json
import os
import signal
import sys
import unittest

from program import HOST, TREE, Sm, wait_until

AR_ATTRIBUTES = {0xFF20, 0xFF21, 0xFF23}


class Adaptive(Sm):
    def manager(self, settings, engine="updn"):
        """Options that turn it on, with this text in its file."""
        self.conf = self.directory / "ar_mgr.conf"
        self.conf.write_text(settings)
        file = self.directory / "opts"
        file.write_text(f"event_plugin_name armgr\nrouting_engine {engine}\n"
                        f"event_plugin_options armgr --conf_file {self.conf}\n")
        return file

    def switches(self):
        rows = json.loads(self.on(HOST, os.environ["IBKIT_BIN"] + "/ibtopo", "--json").stdout)["nodes"]
        return [r["node_guid"] for r in rows if r["type"] == "switch"]

    def know_it(self):
        self.all = self.switches()
        for guid in self.all:
            done = self.ctl("device", guid, "adaptive_routing=64")
            assert done.returncode == 0, done.stderr

    def adaptive(self):
        return [json.loads(self.ctl("show", guid, "--json").stdout)["adaptive_routing"] for guid in self.all]

    def on_in(self):
        return sum(a["enabled"] for a in self.adaptive())

    def ar_sets(self):
        rows = json.loads(self.ctl("stats", "--json").stdout)["mads"]
        return sum(r["mads"] for r in rows if r["method_name"] == "Set" and r["attribute"] in AR_ATTRIBUTES)

    def log(self):
        return (self.directory / "log").read_text()


class Tree(unittest.TestCase):
    def test_all_switches_choose_and_a_second_run_sets_nothing(self):
        with Adaptive(*TREE) as f:
            f.know_it()
            opts = f.manager("ENABLE: true;\nAR_ALGORITHM: TREE;\n")
            up = f.ibsm("-o", "-F", opts)
            self.assertEqual(up.returncode, 0, up.stdout + up.stderr)
            self.assertIn(f"adaptive routing: {len(f.all)} switches, ", f.log())
            self.assertEqual(f.on_in(), len(f.all))
            self.assertTrue(all(a["fast_recovery"] for a in f.adaptive()))
            before = f.sets()
            again = f.ibsm("-o", "-F", opts)
            self.assertEqual(again.returncode, 0, again.stdout + again.stderr)
            self.assertEqual(f.sets(), before)

    def test_a_lost_link_a_reload_and_off(self):
        with Adaptive(*TREE) as f:
            f.know_it()
            opts = f.manager("AR_ALGORITHM: TREE;\n")
            pid = f.daemon("-F", opts)
            self.assertEqual(f.on_in(), len(f.all))
            before = f.ar_sets()
            self.assertEqual(f.ctl("link", "down", "leaf-001", "5").returncode, 0)
            wait_until(lambda: f.ar_sets() > before and f.on_in() == len(f.all))
            f.conf.write_text("ENABLE: maybe;\n")
            os.kill(pid, signal.SIGHUP)
            wait_until(lambda: "ar_mgr.conf:1:9: error: expected true or false, got 'maybe'" in f.log())
            self.assertEqual(f.on_in(), len(f.all))
            f.conf.write_text("ENABLE: false;\n")
            os.kill(pid, signal.SIGHUP)
            wait_until(lambda: f.on_in() == 0)


class Others(unittest.TestCase):
    def test_switches_that_do_not_know_it_are_not_asked_to(self):
        with Adaptive(*TREE) as f:
            opts = f.manager("AR_ALGORITHM: TREE;\n")
            up = f.ibsm("-o", "-F", opts)
            self.assertEqual(up.returncode, 0, up.stdout + up.stderr)
            self.assertEqual(f.ar_sets(), 0)
            self.assertIn("adaptive routing: 0 switches", f.log())

    def test_what_is_not_proved_stays_off(self):
        with Adaptive("mesh", "3x3", "--no-lids") as f:
            f.know_it()
            opts = f.manager("AR_ALGORITHM: TREE;\n", engine="dor")
            f.ibsm("-o", "-F", opts)
            self.assertIn("adaptive routing is off: routing engine dor has no tree", f.log())
            self.assertEqual((f.on_in(), f.ar_sets()), (0, 0))

    def test_parallel_cables_are_chosen_among_without_a_tree(self):
        with Adaptive("mesh", "3x3", "--cables", "2", "--no-lids") as f:
            f.know_it()
            up = f.ibsm("-o", "-F", f.manager("", engine="dor"))
            self.assertEqual(up.returncode, 0, up.stdout + up.stderr)
            self.assertIn("adaptive routing: 9 switches, 4 groups at most, algorithm LAG", f.log())
            self.assertEqual(f.on_in(), 9)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[1:], verbosity=2)
