# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""ibtracer where ports have several LIDs, by the tables and by the SA."""
import json
import unittest

from fabric import BIN, Fabric, end_daemon

HERE, FAR = "host0001 HCA-1", "host0005 HCA-1"


class ManyLids(unittest.TestCase):
    def test_every_lid_of_the_target_is_traced_whoever_tells_the_route(self):
        with Fabric("fat-tree", "--radix", "4", "--no-lids") as f:
            pid = f.directory / "pid"
            up = f.on(HERE, BIN / "ibsm", "-B", "-l", "2", "-f", f.directory / "log", "--state-dir",
                      f.directory / "sm", "-J", pid)
            self.assertEqual(up.returncode, 0, up.stderr)
            f.at_end(lambda: end_daemon(pid))
            base = f.lid_of(FAR)
            self.assertEqual(base % 4, 0)
            for how in ((), ("--sa",)):
                for target, lids in ((base, 4), (base + 3, 4), (f.lid_of("leaf-002"), 1)):
                    traced = f.on(HERE, BIN / "ibtracer", *how, "--lmc-all", "--json", "-l", target)
                    self.assertEqual(traced.returncode, 0, traced.stderr)
                    first = base if lids == 4 else target
                    self.assertEqual([t["dlid"] for t in json.loads(traced.stdout)["traces"]],
                                     list(range(first, first + lids)), (how, target))


if __name__ == "__main__":
    unittest.main(verbosity=2)
