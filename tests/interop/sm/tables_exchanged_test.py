# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Forwarding tables (-U) and hop counts (-M): opensm starts from the dumps of ibsm, and ibsm from those of opensm.
Each file has a change that neither would have made, and switches hold it, as stock ibroute shows."""
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from program import HOST, TREE, Sm  # noqa: E402
from fabric import stop, wait_until  # noqa: E402

LEAF, UP = "leaf-001", 5  # ports 5 to 8 lead to the four spines
SWITCHES = 12


class Exchanged(unittest.TestCase):
    def run_ibsm(self, f, *words):
        up = f.ibsm("-o", *words, state="state" + str(len(words)))
        self.assertEqual(up.returncode, 0, up.stdout + up.stderr)

    def run_opensm(self, f, *words):
        log = f.opensm(HOST, *words)
        stop(f.sm)
        self.assertNotRegex(log.read_text(errors="replace"), "ERR 63|cannot open|can't")

    def dump(self, f, program, name):
        """The text of a dump file of this program, routed by minhop."""
        folder = f.directory / "dumps"
        folder.mkdir()
        program(f, "-R", "minhop", "-D", "0x43", "--dump_files_dir", folder)
        file = folder / name
        self.assertTrue(wait_until(lambda: file.exists() and file.read_text().lower().count("guid 0x") >= SWITCHES, 20))
        return file.read_text()

    def leaf(self, f):
        """LID and GUID of the leaf whose part of a file is changed."""
        found = re.search(rf'"S-(\w+)"\s+# "{LEAF}" .* lid (\d+) lmc', f.on(HOST, "ibnetdiscover").stdout)
        return found[2], "0x" + found[1]

    def held(self, f, lid):
        """Ports by LID in a switch, as stock ibroute reads them."""
        return {int(a, 16): int(b) for a, b in re.findall(r"^(0x\w+) (\d+) :", f.on(HOST, "ibroute", lid).stdout, re.M)}

    def changed(self, text, guid, change):
        """The file with `change` of the rows of one switch."""
        parts = re.split(r"(?m)^(?=Switch: |Unicast lids )", text)
        self.assertEqual(sum(guid in part.splitlines()[0] for part in parts if part), 1, text[:500])
        return "".join(change(part) if part and guid in part.splitlines()[0] else part for part in parts)

    def both_ways(self, name, option, change, check):
        """`check` gets the ports by which hosts beyond the spines are reached, before and after."""
        for first, second in ((self.run_ibsm, self.run_opensm), (self.run_opensm, self.run_ibsm)):
            with self.subTest(second.__name__), Sm(*TREE) as f:
                text = self.dump(f, first, name)
                lid, guid = self.leaf(f)
                hosts = {int(where.split()[1]) for port, where in f.lids().items() if not port.startswith("S-")}
                before = {to: port for to, port in self.held(f, lid).items() if to in hosts and port >= UP}
                self.assertEqual(len(before), 28)
                planted = f.directory / "planted"
                planted.write_text(self.changed(text, guid, lambda part: change(part, before)))
                second(f, "-R", "file", option, planted)
                held = self.held(f, lid)
                check(before, {to: held[to] for to in before})

    def test_tables(self):
        """Each host beyond the spines is reached by the next port up."""
        def moved(port):
            return UP + (port - UP + 1) % 4

        def change(part, before):
            return re.sub(r"(?m)^(0x\w+) (\d{3})", lambda row: f"{row[1]} {moved(int(row[2])):03}"
                          if int(row[1], 16) in before else row[0], part)

        self.both_ways("opensm-lfts.dump", "-U", change, lambda before, after: self.assertEqual(
            after, {lid: moved(port) for lid, port in before.items()}))

    def test_hop_counts(self):
        """By one of the ports up nothing is reached that another one leads to as well."""
        def without(row):
            hops = row[2].split()
            if hops.count(hops[UP]) > 2:
                hops[UP] = "ff"
            return f"{row[1]} {' '.join(hops)}"

        def check(before, after):
            self.assertEqual(set(before.values()), {UP, UP + 1, UP + 2, UP + 3})
            self.assertEqual(set(after.values()), {UP + 1, UP + 2, UP + 3})

        self.both_ways("opensm-lid-matrix.dump", "-M",
                       lambda part, _: re.sub(r"(?m)^(0x\w+:)((?: \w\w)+)", without, part), check)


if __name__ == "__main__":
    unittest.main()
