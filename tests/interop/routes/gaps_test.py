# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""ibroutes where part of the fabric does not answer: what is not found may be there."""
import json
import unittest

from fabric import BIN, Fabric

HERE, FAR, SILENT = "host0001 HCA-1", "host0032 HCA-1", "leaf-008"


class Gaps(unittest.TestCase):
    def ibroutes(self, f, status, *words):
        ran = f.on(HERE, BIN / "ibroutes", *words)
        self.assertEqual(ran.returncode, status, (words, ran.stdout, ran.stderr))
        return ran

    def test_who_is_not_found_may_be_among_those_that_do_not_answer(self):
        with Fabric("fat-tree", "--radix", "8", "--no-lids") as f:
            up = f.on(HERE, BIN / "ibsm", "-o", "-f", f.directory / "log", "--state-dir", f.directory / "sm")
            self.assertEqual(up.returncode, 0, up.stderr)
            lid = f.lid_of(FAR)
            whole = self.ibroutes(f, 0, "path", "1", lid).stdout.splitlines()
            self.assertIn("no port has LID 4000", self.ibroutes(f, 1, "path", "1", "4000").stderr)
            self.assertEqual(f.ctl("node", "silent", SILENT).returncode, 0)

            path = self.ibroutes(f, 3, "path", "1", lid)
            lines = path.stdout.splitlines()
            self.assertEqual(lines[:-1], whole[:3], "as far as the tables lead")
            self.assertRegex(lines[-1], "^BROKEN: 'spine-.* port 8 has a link, but its peer did not answer$")
            self.assertIn("no answer", path.stderr)
            document = json.loads(self.ibroutes(f, 3, "path", "1", lid, "--json").stdout)
            self.assertFalse(document["arrives"])
            self.assertFalse(document["complete"])
            self.assertEqual(document["errors"], [line.removeprefix("ibroutes: ") for line in path.stderr.splitlines()])

            for words in (("path", "1", FAR), ("path", lid, "1"), ("-S", SILENT)):
                ran = self.ibroutes(f, 3, *words)
                self.assertIn("no answer", ran.stderr)
                self.assertRegex(ran.stderr.splitlines()[-1], "^ibroutes: no.*, of those that answered$")
                document = json.loads(self.ibroutes(f, 3, *words, "--json").stdout)
                self.assertEqual(document["error"]["status"], 3)
                self.assertIn("no answer", document["errors"][0])
                self.assertEqual(document["errors"][-1], document["error"]["message"])

            self.assertEqual(f.ctl("link", "down", HERE, "1").returncode, 0)
            for words in (("path", "2", "5"), ("-S", "leaf-001"), (), ("verify",)):
                self.assertRegex(self.ibroutes(f, 4, *words).stderr, "^ibroutes: port .* is DOWN: ")


if __name__ == "__main__":
    unittest.main(verbosity=2)
