# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""How every program ends when it cannot give what it was asked for (doc/formats.md)."""
import json
import os
import pathlib
import re
import pty
import subprocess
import sys
import tempfile
import unittest

from fabric import BIN, IBFABRIC, Fabric, end_daemon, run

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import json_schema  # noqa: E402 (the folder must be known first)

HERE, FAR = "host0001 HCA-1", "host0005 HCA-1"


class Failures(unittest.TestCase):
    def refusal(self, result, status, schema):
        """The document of a run that had nothing else to print."""
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        self.assertNotEqual(result.stderr, "")
        document = json.loads(result.stdout)
        self.assertEqual(document["schema"], schema)
        if schema != "ibkit.plan/2":
            self.assertEqual(document["tool"], schema[6:-2])
        self.assertEqual(json_schema.complaints(document), [])
        self.assertFalse(document["complete"])
        self.assertEqual(document["error"]["status"], status)
        self.assertEqual(document["errors"], [document["error"]["message"]])
        return document["error"]

    def test_a_usage_error_is_a_document_where_json_was_asked_for(self):
        for program, words in (("ibpath", ["1"]), ("ibtracer", ["--sl", "16", "1"]),
                               ("ibtracer", ["1", "-l", "2"]), ("ibtopo", ["--dot"]),
                               ("ibtopo", ["--load", "x", "-m", "2"]), ("ibpath", ["--sl", "1", "nodes"]),
                               ("ibtopo", ["--nonsense"]), ("ibroutes", ["verify", "--findings", "x"]),
                               ("ibroutes", ["nonsense"])):
            error = self.refusal(run(BIN / program, *words, "--json"), 2, f"ibkit.{program}/2")
            self.assertEqual(error["kind"], "usage", (program, words))
            self.assertEqual(run(BIN / program, *words).stdout, "", (program, words))
        for words in (["70000"], ["-l", "70000"], ["0xc001"], ["-l", "0xc001"]):
            self.assertIn(f"expected a LID up to 0xbfff, got '{words[-1]}'", run(BIN / "ibtracer", *words).stderr)
        for option, kind in (("--svg", "a file"), ("--dump", "a folder")):
            for nowhere in ("-", ""):
                error = self.refusal(run(BIN / "ibsm", "plan", "/no/such", option, nowhere, "--json"), 2,
                                     "ibkit.plan/2")
                self.assertEqual(error["message"], f"{option}: expected {kind}, got '{nowhere}'")
        self.refusal(run(BIN / "ibsm", "plan", "/no/such", "--json"), 2, "ibkit.plan/2")
        self.refusal(run(BIN / "ibsm", "plan", "/no/such", "--json", "-R", "x"), 2, "ibkit.plan/2")

    def test_no_server_and_no_device_are_documents_too(self):
        self.refusal(run(IBFABRIC, "ctl", "--socket", "/no/such", "stats", "--json"), 4,
                     "ibkit.ibfabric/2")
        self.refusal(run(IBFABRIC, "ctl", "--socket", "/no/such", "show", "--json"), 2,
                     "ibkit.ibfabric/2")
        with Fabric("fat-tree", "--radix", "4") as f:
            for words in (("show", "nobody"), ("node", "reboot", "nobody")):
                error = self.refusal(f.ctl(*words, "--json"), 1, "ibkit.ibfabric/2")
                self.assertEqual(error["kind"], "not found")
            several = self.refusal(f.ctl("show", "host0001 HCA-1", "9", "--json"), 2, "ibkit.ibfabric/2")
            self.assertEqual(several["kind"], "usage")
            for program, *words in (("ibpath", "1", "2"), ("ibtracer", "-l", "2"), ("ibtopo",),
                                    ("ibroutes",), ("ibroutes", "verify")):
                result = f.on(HERE, BIN / program, *words, "-C", "nosuch", "--json")
                error = self.refusal(result, 4, f"ibkit.{program}/2")
                self.assertEqual(error["kind"], "unavailable")
                self.assertRegex(error["message"], "^no local port of nosuch; there is ")
            result = f.on(HERE, BIN / "ibtopo", "-P", "9")
            self.assertRegex(result.stderr, "^ibtopo: no local port 9; there is ")

    def test_a_name_that_does_not_exist_is_a_finding_everywhere(self):
        with Fabric("fat-tree", "--radix", "4", "--no-lids") as f:
            f.start(HERE, BIN / "ibsm", "-f", f.directory / "log", "--state-dir", f.directory / "sm",
                    "-B", "--pidfile", f.directory / "pid").wait()
            f.at_end(lambda: end_daemon(f.directory / "pid"))
            for nobody, kind in (("nobody at all", "n"), ("0x0002c903deadbeef", "g")):
                for program, *words in (("ibpath", HERE, nobody), ("ibpath", nobody, HERE),
                                        ("ibtracer", nobody), ("ibroutes", "path", HERE, nobody),
                                        ("ibroutes", "path", nobody, HERE),
                                        ("ibroutes", "-S", nobody)):
                    result = f.on(HERE, BIN / program, *words, "--json")
                    error = self.refusal(result, 1, f"ibkit.{program}/2")
                    self.assertEqual(error["kind"], "not found", (program, words))
            for words in (("lid-of", "nosuch"), ("guid-of", "nosuch"), ("name-of", "0x123"),
                          ("name-of", "0x0002c903deadbeef")):
                result = f.on(HERE, BIN / "ibpath", *words, "--json")
                self.refusal(result, 1, "ibkit.ibpath/2")
            # A GID of another subnet: for ibtracer it does not exist, for ibpath it is the end of no path.
            self.refusal(f.on(HERE, BIN / "ibtracer", "-g", "2001::1", "--json"), 1, "ibkit.ibtracer/2")
            for words in (("1", "2001::1"), ("1", "::"), ("PathRecord", "SLID=1", "DGID=2001::1"),
                          ("--smkey", "1", "members", "0xc123")):
                result = f.on(HERE, BIN / "ibpath", *words, "--json")
                self.assertEqual(result.returncode, 1, (words, result.stderr))
                self.assertNotEqual(result.stderr, "", words)
                self.assertNotIn("error", json.loads(result.stdout), words)
            # A directed route by a port that is not ours is broken for ibtracer, and does not exist for ibpath.
            result = f.on(HERE, BIN / "ibtracer", "-r", "1", "-D", "0,9", "--json")
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertEqual(json.loads(result.stdout)["verdict"], "BROKEN")
            self.refusal(f.on(HERE, BIN / "ibpath", "0", "0,9", "--json"), 1, "ibkit.ibpath/2")
            # The name exists and no path leads to it.
            self.assertEqual(f.ctl("link", "down", FAR, "1").returncode, 0)
            result = f.on(HERE, BIN / "ibpath", "1", "0xbffe", "--json")
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertNotIn("error", json.loads(result.stdout))

    def test_two_hosts_back_to_back_have_nothing_to_route(self):
        with tempfile.TemporaryDirectory() as directory:
            topology = pathlib.Path(directory) / "pair.topo"
            topology.write_text(
                'Ca\t1 "H-0000000000000001"\t# "left HCA-1"\n'
                '[1](2) \t"H-0000000000000003"[1] (4) \t# lid 1 lmc 0 "right HCA-1" lid 2 4xEDR\n\n'
                'Ca\t1 "H-0000000000000003"\t# "right HCA-1"\n'
                '[1](4) \t"H-0000000000000001"[1] (2) \t# lid 2 lmc 0 "left HCA-1" lid 1 4xEDR\n',
                encoding="ascii")
            with Fabric(topology=topology, options=("--lids", "keep")) as f:
                result = f.on("left HCA-1", BIN / "ibroutes", "compare", "--json")
                error = self.refusal(result, 2, "ibkit.plan/2")
                self.assertIn("it has no switch", error["message"])

    def test_saved_tables_are_what_they_are_taken_for(self):
        with tempfile.TemporaryDirectory() as directory, Fabric("fat-tree", "--radix", "4") as f:
            made = f.on(HERE, BIN / "ibsm", "-o", "-f", f.directory / "log", "--state-dir",
                        f.directory / "sm")
            self.assertEqual(made.returncode, 0, made.stderr)
            # What the engine would make of the fabric is what ibsm made of it.
            result = f.on(HERE, BIN / "ibroutes", "plan", "--json")
            self.assertEqual(result.returncode, 0, result.stderr)
            document = json.loads(result.stdout)
            self.assertEqual((document["schema"], document["verdict"], document["entries_to_change"],
                              document["blocks_to_write"]), ("ibkit.plan/2", "routes are verified", 0, 0))
            result = f.on(HERE, BIN / "ibroutes", "dump", directory, "--json")
            self.assertEqual(result.returncode, 0, result.stderr)
            document = json.loads(result.stdout)
            self.assertEqual((document["schema"], document["what"], document["complete"]),
                             ("ibkit.ibroutes/2", "dump", True))
            self.assertEqual(sorted(document["files"]),
                             sorted(str(p) for p in pathlib.Path(directory).iterdir()))
            topology, tables = f"{directory}/opensm-subnet.lst", f"{directory}/opensm-lfts.dump"

            def routes(*words, of=tables):
                return run(BIN / "ibroutes", *words, "--from", f"{topology},{of}", "--json")

            groups = pathlib.Path(directory) / "groups"
            guid = json.loads(routes().stdout)["switches"][0]["node_guid"]
            groups.write_text(f"Switch {guid}\nLID    : Out Port(s)\n0xC000 : 0x001 0x002 \n", encoding="ascii")
            whole = json.loads(routes().stdout)["switches"][0]["lft"]
            for part in (routes("5", "7"), f.on(HERE, BIN / "ibroutes", "--json", "5", "7")):
                table = json.loads(part.stdout)["switches"]
                row = next(row["lft"] for row in table if row["node_guid"] == guid)
                self.assertEqual(row[5:8], whole[5:8])
                self.assertEqual(set(row[:5] + row[8:]), {None})
            one = json.loads(routes("-S", "leaf-002").stdout)
            self.assertEqual([s["name"] for s in one["switches"]], ["leaf-002"])
            self.refusal(routes("-S", "nobody"), 1, "ibkit.ibroutes/2")
            self.refusal(routes("-S", HERE), 2, "ibkit.ibroutes/2")
            trees = json.loads(routes("-M", of=groups).stdout)
            self.assertEqual(trees["switches"][0]["mft"], [{"mlid": 0xC000, "ports": [1, 2]}])
            for words, of, complaint in (
                    (("-M",), tables, "expected multicast tables, got unicast ones alone"),
                    (("verify",), groups,
                     "expected unicast tables, got multicast ones alone")):
                error = self.refusal(routes(*words, of=of), 2, "ibkit.ibroutes/2")
                self.assertEqual(error["message"], f"{of}: {complaint}")
            self.assertIn("these files have no multicast tables",
                          json.loads(routes("verify", "-M").stdout)["notes"])
            for words in (("verify", "--sl2vl"), ("dump", "--sl2vl", directory),
                          ("verify", "--sl2vl", "/no/such"), ("verify", "--sls", topology)):
                self.refusal(routes(*words), 2, "ibkit.ibroutes/2")
            self.refusal(routes("plan", "--sl2vl"), 2, "ibkit.plan/2")

    def test_what_never_ends_is_no_file(self):
        with tempfile.TemporaryDirectory() as directory:
            topology = pathlib.Path(directory) / "tree"
            topology.write_text(run(IBFABRIC, "gen", "fat-tree", "--radix", "4").stdout, encoding="ascii")
            for program, *words in (("ibroutes", "verify", "--from", f"{topology},/dev/zero"),
                                    ("ibtopo", "-l", topology, "--node-name-map", "/dev/zero"),
                                    ("ibpath", "--smkey-file", "/dev/zero", "1", "2"),
                                    ("ibpath", "batch", "/dev/zero")):
                error = self.refusal(run(BIN / program, *words, "--json"), 2, f"ibkit.{program}/2")
                self.assertIn("/dev/zero: expected a regular file or a pipe", error["message"])
            key = pathlib.Path(directory) / "key"
            key.write_text("secret\n", encoding="ascii")
            error = self.refusal(run(BIN / "ibpath", "--smkey-file", key, "1", "2", "--json"), 2,
                                 "ibkit.ibpath/2")
            self.assertEqual(error["message"], f"{key}:1:1: expected a number, got something else")

    def test_a_person_at_a_terminal_is_told_of_a_silent_sa(self):
        with Fabric("fat-tree", "--radix", "4", "--no-lids") as f:
            up = f.on(HERE, BIN / "ibsm", "-o", "-f", f.directory / "log", "--state-dir", f.directory / "sm")
            self.assertEqual(up.returncode, 0, up.stderr)
            terminal, inside = pty.openpty()
            self.addCleanup(os.close, terminal)
            asks = subprocess.Popen(f.command(FAR, BIN / "ibpath", "1", "2"), stdout=subprocess.DEVNULL, stderr=inside)
            os.close(inside)
            try:
                self.assertRegex(os.read(terminal, 1000).decode(), r"^ibpath: waiting for the SA at LID \d+ \.\.\.")
            finally:
                asks.kill()
                asks.wait()

    def test_closed_standard_files_are_nobody_elses(self):
        """What is printed must not get into the device, socket or store that was opened instead."""
        with Fabric("fat-tree", "--radix", "4", "--no-lids") as f:

            def closed(closings, *words):
                return run("sh", "-c", f'exec "$@" {closings}', "sh", *f.command(HERE, *words))

            result = closed(">&-", BIN / "ibsm", "-o", "-f", f.directory / "log", "--state-dir",
                            f.directory / "once")
            self.assertEqual(result.returncode, 4, result.stderr)
            self.assertIn("cannot write", result.stderr)
            self.assertNotRegex((f.directory / "log").read_text(encoding="ascii"), "(?m)^SUBNET")
            for closings in (">&- 2>&- <&-", ">&-", "<&- 2>&-"):
                pid_file = f.directory / "pid"
                result = closed(closings, BIN / "ibsm", "-B", "-f", f.directory / "log", "--state-dir",
                                f.directory / "sm", "-J", pid_file)
                self.assertEqual(result.returncode, 0, closings + result.stderr)
                answer = f.on(FAR, BIN / "ibpath", "--json", "nodes")
                self.assertEqual(answer.returncode, 0, answer.stderr)
                self.assertEqual(len(json.loads(answer.stdout)["records"]), 14)
                for program, *words in (("ibtopo",), ("ibroutes",), ("ibpath", "0", "0"), ("ibtracer", "-D", "0")):
                    result = closed(">&- <&-", BIN / program, *words)
                    self.assertEqual(result.returncode, 4, program)
                    self.assertIn("standard output: ", result.stderr)
                end_daemon(pid_file)
            result = f.on(HERE, "sh", "-c", f"exec {IBFABRIC} exec --socket {f.socket} --at '{FAR}' -- "
                                            "sh -c 'echo >&1' >&-")
            self.assertNotEqual(result.returncode, 0)

    def test_help_texts_have_one_form(self):
        """Texts of options and verbs begin with a capital letter, and how a program ends is said in one way."""
        verbs = {"ibsm": ["plan", "ctl", "ctl sa", "ctl partition", "ctl counters", "ctl sm", "ctl pause", "ctl explain",
                          "ctl events"],
                 "ibtracer": [], "ibpath": [], "ibtopo": [], "ibroutes": ["verify", "path", "plan", "compare", "dump"],
                 "ibfabric": ["run", "serve", "exec", "ctl", "ctl link", "ctl faults", "ctl flow"]}
        for program, names in verbs.items():
            for verb in ("", *names):
                text = run(BIN / program, *verb.split(), "--help").stdout
                lower = [line for line in re.findall(r"^  -.*? {2,}([a-z].*)$", text, re.M)
                         if not re.match(r"(ib|lash|nue|torus)", line)]  # names of programs and engines
                self.assertEqual(lower, [], (program, verb))
                if not verb.startswith("ctl") or program == "ibsm" and " " in verb:
                    self.assertRegex(text.replace("\n", " "), r"Exit +status( of --once)?: ", (program, verb))
                self.assertNotIn("exit status", text, (program, verb))
        self.assertIn("ibroutes compare", run(BIN / "ibroutes", "--help").stdout)
        plan = run(BIN / "ibsm", "plan", "--help").stdout
        self.assertRegex(plan, r"--lmc .*default: as in the topology")
        self.assertNotIn("(default 0); 0 to 7", plan)

    def test_a_name_of_the_map_is_what_programs_find_and_print(self):
        with tempfile.TemporaryDirectory() as directory, Fabric("fat-tree", "--radix", "4") as f:
            made = f.on(HERE, BIN / "ibsm", "-o", "-f", f.directory / "log", "--state-dir", f.directory / "sm")
            self.assertEqual(made.returncode, 0, made.stderr)
            names = pathlib.Path(directory) / "map"
            tables = json.loads(f.on(HERE, BIN / "ibroutes", "--json").stdout)
            names.write_text("".join(f'{s["node_guid"]} "rack {i}"\n' for i, s in enumerate(tables["switches"])),
                             encoding="ascii")
            words = ("--node_name_map", names, "--m_key", "0")
            lid = next(port["lid"] for port in tables["destinations"] if port["name"] == FAR)
            traced = f.on(HERE, BIN / "ibtracer", "-v", *words, str(lid))
            walked = f.on(HERE, BIN / "ibroutes", "path", *words, HERE, FAR)
            for result in (traced, walked):
                self.assertIn('"rack ', result.stdout, result.stderr)
                self.assertNotIn("leaf-", result.stdout)
            self.assertIn("rack 0", f.on(HERE, BIN / "ibroutes", "-S", "rack 0", *words).stdout)

    def test_help_to_a_full_disk_is_no_success(self):
        for program in ("ibsm", "ibtracer", "ibtracerd", "ibpath", "ibtopo", "ibroutes", "ibfabric"):
            for words in (("--help",), ("--version",)):
                with open("/dev/full", "w", encoding="ascii") as full:
                    result = subprocess.run([str(BIN / program), *words], stdout=full,
                                            stderr=subprocess.PIPE, check=False)
                self.assertEqual(result.returncode, 4, (program, words))
                self.assertIn(b"standard output: ", result.stderr)
                self.assertEqual(run(BIN / program, *words).returncode, 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
