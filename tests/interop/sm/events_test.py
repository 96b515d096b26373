# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Events of ibsm that a sweep alone does not show: nodes that reboot, starts, followers."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "ibfabric"))
from program import BIN, HOST, IBSM, Sm, TREE  # noqa: E402
from fabric import end_daemon, generate, wait_until  # noqa: E402


class Changes(unittest.TestCase):
    def events(self, f):
        return [json.loads(line) for line in (f.directory / "events").read_text().splitlines()]

    def test_a_host_a_leaf_and_a_spine_that_reboot(self):
        with Sm(*TREE) as f:
            f.daemon("--event_file", f.directory / "events")
            for name in ("host0009 HCA-1", "leaf-004", "spine-002"):
                f.ctl("node", "reboot", name)

                def is_told():
                    return any(e["event"] == "node.rebooted" and e["node"]["name"] == name for e in self.events(f))

                self.assertTrue(wait_until(is_told, 20), name)
            f.ctl("link", "down", "leaf-002", "5")

            def since_the_cable():
                """Events since the first link.down."""
                events = self.events(f)
                downs = [i for i, e in enumerate(events) if e["event"] == "link.down"]
                return events[downs[0]:] if downs else []

            self.assertTrue(wait_until(lambda: any(e["event"] == "routes.made" for e in since_the_cable()), 20),
                            "a cable is told before the routes that follow it")
            made = next(e for e in since_the_cable() if e["event"] == "routes.made")
            self.assertGreater(made["load_before"], 0)
            self.assertGreaterEqual(made["load_after"], made["load_before"])
            self.assertNotIn("node.left", [e["event"] for e in self.events(f)])

    def test_a_fabric_that_comes_up_with_slow_links_names_each(self):
        """Five cables of 40 Gb/s between ports of 100."""
        with tempfile.TemporaryDirectory() as directory:
            topology = pathlib.Path(generate(pathlib.Path(directory) / "t.topo", *TREE))
            here, lines = "", []
            for line in topology.read_text(encoding="utf-8").splitlines():
                here = line.split('"')[3] if line.startswith(("Switch", "Ca")) else here
                is_slow = line.startswith("[5]") and here in {f"leaf-00{n}" for n in range(1, 6)} or \
                    here == "spine-001" and line[:3] in {f"[{n}]" for n in range(1, 6)}
                lines.append(line.replace("4xEDR", "4xQDR") if is_slow else line)
            topology.write_text("\n".join(lines) + "\n", encoding="utf-8")
            with Sm(topology=topology) as f:
                up = f.ibsm("-o", "--event_file", f.directory / "events")
                self.assertRegex(up.stdout, r"^SUBNET UP .* degraded=5\n")
                slow = [e for e in self.events(f) if e["event"] == "link.degraded"]
                self.assertEqual({(e["a"]["name"], e["b"]["name"], e["b"]["port"]) for e in slow},
                                 {(f"leaf-00{n}", "spine-001", n) for n in range(1, 6)})
                self.assertIn('W event: link below what both ends can do: "leaf-003" port 5 - "spine-001" port 3, 4x QDR\n',
                              (f.directory / "log").read_text())

    def test_a_node_that_gets_another_name(self):
        with Sm(*TREE) as f:
            f.daemon("--event_file", f.directory / "events")
            for was, name in (("host0009 HCA-1", "one"), ("one", "two")):
                f.ctl("node", "describe", was, name)
                self.assertTrue(wait_until(lambda: any(e["event"] == "node.renamed" and e["now"] == name
                                                       for e in self.events(f)), 20), self.events(f))

    def test_loads_are_routes_however_fast_the_links_are(self):
        with Sm(*TREE) as f:
            f.ctl("device", "leaf-002", "5", "runs_at=FDR")
            for engine in ("minhop", "dfsssp"):
                events = f.directory / f"{engine}.events"
                self.assertEqual(f.ibsm("-o", "-R", engine, "--event_file", events, state=engine).returncode, 0)
                made = [json.loads(line) for line in events.read_text().splitlines() if '"routes.made"' in line]
                verified = f.on(HOST, BIN / "ibroutes", "verify")
                self.assertIn(f"load-max: {made[-1]['load_after']}\n", verified.stdout, engine)

    def test_a_start_that_changes_nothing_has_no_routes_to_tell_of(self):
        with Sm(*TREE) as f:
            words = ("-o", "--event_file", f.directory / "events")
            self.assertEqual(f.ibsm(*words).returncode, 0)
            self.assertIn("routes.made", (f.directory / "events").read_text())
            for state in ("state", "another"):  # the other one is new, and switches hold the routes all the same
                (f.directory / "events").unlink()
                self.assertEqual(f.ibsm(*words, state=state).returncode, 0)
                self.assertNotIn("routes.made", (f.directory / "events").read_text(), state)

    def test_keys_that_come_and_go_with_a_reload(self):
        with Sm(*TREE) as f:
            partitions, events = f.directory / "partitions", f.directory / "events"
            red = 'Default=0x7fff, ipoib : ALL=full ;\nred=0x1 : "host0002 HCA-1" ;\n'
            partitions.write_text(red)
            pid = f.daemon("-P", partitions, "--event_file", events)

            def names():
                return [e["event"] for e in self.events(f) if e["event"].startswith("partition.member")]

            self.assertTrue(wait_until(lambda: names() == ["partition.member"], 20), "the first bring-up tells it, too")
            for text, wanted in ((red.splitlines()[0], ["partition.member-removed"]), (red, ["partition.member"])):
                before = names()
                partitions.write_text(text)
                os.kill(pid, signal.SIGHUP)
                self.assertTrue(wait_until(lambda: names() == before + wanted, 20), self.events(f))

    def test_a_follower_goes_on_after_a_restart(self):
        with Sm(*TREE) as f:
            f.daemon()
            follower = subprocess.Popen([IBSM, "ctl", "events", "--follow", "--state-dir", f.directory / "state"],
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            self.addCleanup(follower.stdout.close)
            said = bytearray()
            os.set_blocking(follower.stdout.fileno(), False)

            def hears(text):
                def heard():
                    said.extend(follower.stdout.read() or b"")
                    return text in said.decode()
                return wait_until(heard, 20)

            try:
                self.assertTrue(hears("this subnet manager is master"))
                f.ctl("link", "down", "leaf-002", "5")
                self.assertTrue(hears('link down: "leaf-002" port 5'))
                end_daemon(f.pid_file)
                said.clear()
                f.daemon()
                self.assertTrue(hears("1 20"), "numbers begin again")
                f.ctl("link", "down", "leaf-003", "5")
                self.assertTrue(hears('link down: "leaf-003" port 5'))
                self.assertIsNone(follower.poll())
                since = f.ibsm_ctl("events", "--since", "1")
                self.assertEqual(since.returncode, 0, since.stderr)
                self.assertTrue(since.stdout.startswith("2 "), since.stdout)
            finally:
                follower.kill()
                follower.wait(20)


if __name__ == "__main__":
    unittest.main()
