# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What ibsm does with ports, LIDs and other subnet managers, and what the operator stops, judged by
stock programs."""
import json
import os
import pathlib
import re
import signal
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from program import TREE, HOST, Sm, Others  # noqa: E402
from fabric import TESTS, wait_until  # noqa: E402


TWO_PORTS = """vendid=0x2c9
devid=0xbd36
switchguid=0x2c90200400000(2c90200400000)
Switch	4 "S-0002c90200400000"		# "sw1" enhanced port 0 lid 0 lmc 0
[1]	"H-0002c90300000000"[1](2c90300000001) 		# "head" lid 0 4xEDR
[2]	"S-0002c90200400100"[2]		# "sw2" lid 0 4xEDR
[3]	"H-0002c90300000010"[1](2c90300000011) 		# "host" lid 0 4xEDR

vendid=0x2c9
devid=0xbd36
switchguid=0x2c90200400100(2c90200400100)
Switch	4 "S-0002c90200400100"		# "sw2" enhanced port 0 lid 0 lmc 0
[1]	"H-0002c90300000000"[2](2c90300000002) 		# "head" lid 0 4xEDR
[2]	"S-0002c90200400000"[2]		# "sw1" lid 0 4xEDR

vendid=0x2c9
devid=0x1003
caguid=0x2c90300000000
Ca	2 "H-0002c90300000000"		# "head"
[1](2c90300000001) 	"S-0002c90200400000"[1]		# lid 0 lmc 0 "sw1" lid 0 4xEDR
[2](2c90300000002) 	"S-0002c90200400100"[1]		# lid 0 lmc 0 "sw2" lid 0 4xEDR

vendid=0x2c9
devid=0x1003
caguid=0x2c90300000010
Ca	1 "H-0002c90300000010"		# "host"
[1](2c90300000011) 	"S-0002c90200400000"[3]		# lid 0 lmc 0 "sw1" lid 0 4xEDR
"""


class Pause(unittest.TestCase):
    """ibsm ctl pause, resume and rewrite, by the MADs that pass and by what stock programs see."""

    def asked(self, f):
        """Requests of the subnet manager so far. Traps of devices, which it represses, are none."""
        rows = json.loads(f.ctl("stats", "--json").stdout)["mads"]
        return sum(r["mads"] for r in rows if r["method_name"] in ("Get", "Set"))

    def test_nothing_is_asked_until_resume_and_what_happened_is_made_up_for(self):
        with Sm(*TREE) as f:
            f.daemon("-s", "1")
            before = self.asked(f)
            self.assertTrue(wait_until(lambda: self.asked(f) > before), "a light sweep each second")
            paused = f.ibsm_ctl("pause")
            self.assertEqual((paused.returncode, paused.stderr), (0, ""))
            self.assertIn(paused.stdout, ("paused\n", "paused; what is under way is finished\n"))
            self.assertEqual(f.ibsm_ctl("pause").stdout, "paused already\n")
            self.assertTrue(wait_until(lambda: self.is_quiet(f)))
            f.ctl("link", "down", "host0009 HCA-1", "1")
            f.ctl("link", "up", "host0009 HCA-1", "1")
            self.assertTrue(self.is_quiet(f), "neither sweeps nor traps make it ask")
            self.assertEqual(f.states(), {"Active", "Initialize"})
            self.assertEqual(f.ibsm_ctl("pause", "now").returncode, 2)
            resumed = f.ibsm_ctl("resume")
            self.assertEqual((resumed.returncode, resumed.stdout), (0, "resumed\n"))
            self.assertTrue(wait_until(lambda: f.states() == {"Active"}))
            self.assertEqual(f.ibsm_ctl("resume").stdout, "it was not paused\n")
            log = (f.directory / "log").read_text()
            self.assertIn("paused: nothing is asked of devices and nothing set until `ibsm ctl resume`", log)
            self.assertIn("resumed", log)

    def is_quiet(self, f):
        """For longer than from one sweep to the next."""
        before = self.asked(f)
        time.sleep(2.5)
        return self.asked(f) == before

    def test_rewrite_sends_everything_again_and_links_stay_up(self):
        with Sm(*TREE) as f:
            f.daemon("-s", "0")

            def tables():
                rows = json.loads(f.ctl("stats", "--json").stdout)["mads"]
                return {r["attribute_name"]: r["mads"] for r in rows if r["method_name"] == "Set"}
            first, lids = tables(), f.lids()
            done = f.ibsm_ctl("rewrite")
            self.assertEqual((done.returncode, done.stdout), (0, "everything is sent again\n"), done.stderr)
            self.assertTrue(wait_until(lambda: f.ups() == 2))
            again = tables()
            self.assertGreaterEqual(again["LinearForwardingTable"] - first["LinearForwardingTable"], 12, "every switch")
            self.assertGreaterEqual(again["PortInfo"] - first["PortInfo"], 44, "every port with a LID")
            self.assertEqual((f.states(), f.lids()), ({"Active"}, lids))
            self.assertNotIn('"link.down"', f.ibsm_ctl("events", "--json").stdout)
            f.ibsm_ctl("pause")
            self.assertEqual(f.ibsm_ctl("rewrite").stdout, "everything is sent again after `ibsm ctl resume`\n")
            self.assertEqual(tables(), again)
            f.ibsm_ctl("resume")
            self.assertTrue(wait_until(lambda: f.ups() == 3))


class Enable(unittest.TestCase):
    def test_a_port_that_is_disabled_is_named_and_comes_back(self):
        with Sm(*TREE) as f:
            f.daemon("-s", "1")
            leaf = f.on(HOST, "ibnetdiscover").stdout
            name, lid = re.search(r'"(leaf-004)" \w+ port 0 lid (\d+)', leaf).groups()
            done = f.on(HOST, "ibportstate", lid, "2", "disable")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

            def events():
                return [json.loads(line)["event"] for line in f.ibsm_ctl("events", "--json").stdout.splitlines()]
            self.assertTrue(wait_until(lambda: "port.disabled" in events()), events())
            self.assertIn(f'disabled: "{name}" port 2', f.ibsm_ctl("events").stdout)
            for words, status in ((("nobody:1",), 1), ((name,), 2), ((f"{name}:99",), 2), ((f"{name}:0",), 2)):
                self.assertEqual(f.ibsm_ctl("enable", *words).returncode, status, words)
            enabled = f.ibsm_ctl("enable", f"{name}:2")
            self.assertEqual((enabled.returncode, enabled.stdout), (0, f'"{name}" port 2 is being enabled\n'))
            self.assertTrue(wait_until(lambda: "port.enabled" in events() and f.states() == {"Active"}), events())
            self.assertTrue(wait_until(lambda: f"{name}\" port 2 is enabled" in (f.directory / "log").read_text()))


class Babbling(unittest.TestCase):
    def test_a_port_that_floods_is_disabled_by_policy_alone(self):
        with Sm(*TREE) as f:
            conf = f.directory / "conf"
            conf.write_text("babbling_port_policy FALSE\n")
            f.daemon("-F", conf, "-s", "1")
            host = "host0009 HCA-1"

            def flood(traps):
                for _ in range(traps):
                    self.assertEqual(f.ctl("link", "errors", host, "1").returncode, 0)

            def events():
                return f.ibsm_ctl("events").stdout
            flood(260)
            time.sleep(1.5)  # a light sweep
            self.assertNotIn("disabled: ", events())
            conf.write_text("babbling_port_policy TRUE\n")
            os.kill(int(f.pid_file.read_text()), signal.SIGHUP)
            self.assertTrue(wait_until(lambda: "the configuration was read again" in events()), events())
            flood(260)
            self.assertTrue(wait_until(lambda: "disabled: " in events()), (f.directory / "log").read_text()[-2000:])
            log = (f.directory / "log").read_text()
            named = re.search(r'"host0009 HCA-1" port 1 sent trap 129 250 times: "(leaf-\d+)" port (\d+) is disabled until '
                              r"`ibsm ctl enable (0x[0-9a-f]{16}:\d+)`", log)
            self.assertTrue(named, log[-2000:])
            self.assertTrue(wait_until(lambda: f"left: {host} " in events()), events())
            self.assertEqual(f.ibsm_ctl("enable", named[3]).stdout, f'"{named[1]}" port {named[2]} is being enabled\n')
            self.assertTrue(wait_until(lambda: "enabled: " in events() and f.states() == {"Active"}), events())


class Ports(unittest.TestCase):
    GUIDS = "0x0002c90300000001,0x0002c90300000002"

    def fabric(self):
        with tempfile.NamedTemporaryFile("w", suffix=".topo", delete=False) as file:
            file.write(TWO_PORTS)
        self.addCleanup(os.unlink, file.name)
        return Sm(topology=file.name)

    def lids(self, f):
        text = f.on("host", "ibnetdiscover").stdout
        return dict(re.findall(r"^\[\d+\]\(([0-9a-f]+)\).*# lid (\d+) lmc", text, re.M))

    def test_a_port_that_dies_is_followed_by_the_next_one(self):
        with self.fabric() as f:
            f.pid_file = f.directory / "pid"
            up = f.ibsm("-B", "--pidfile", f.pid_file, "-g", self.GUIDS, at="head")
            self.assertTrue(up.stdout.startswith("SUBNET UP"), up.stdout + up.stderr)
            pid = f.pid_file.read_text()
            joined = f.on("host", TESTS / "join_probe", "create", "ff12:401b:ffff::1234")
            self.assertEqual(joined.returncode, 0, joined.stdout)
            before = self.lids(f)
            self.assertEqual(set(before), {"2c90300000001", "2c90300000002", "2c90300000011"})
            f.ctl("link", "down", "sw1", "1")
            log = f.directory / "log"
            moved = "the port with GUID 0x0002c90300000001 can no longer be used (its link is down): ibsm goes on from"
            self.assertTrue(wait_until(lambda: f.ups() == 2, 30), log.read_text())
            self.assertIn(moved + " 0x0002c90300000002", log.read_text())
            after = self.lids(f)
            del before["2c90300000001"]
            self.assertEqual({guid: after[guid] for guid in before}, before)
            answer = f.on("host", "saquery", "--smkey", "1", "-m")
            self.assertIn("ff12:401b:ffff::1234", answer.stdout, answer.stderr)
            self.assertIn(after["2c90300000002"], re.search(
                r"SM lid: *(\d+)", f.on("host", "ibstat").stdout)[1])
            self.assertEqual(f.pid_file.read_text(), pid, "it is the same process")
            # And back, when that one dies.
            f.ctl("link", "up", "sw1", "1")
            self.assertTrue(wait_until(lambda: "2c90300000001" in self.lids(f), 20))
            f.ctl("link", "down", "sw2", "1")
            self.assertTrue(wait_until(lambda: "goes on from 0x0002c90300000001" in log.read_text(), 30))
            self.assertTrue(wait_until(lambda: self.lids(f).get("2c90300000011") == before["2c90300000011"], 20))

    def test_the_first_that_is_up_is_taken(self):
        with self.fabric() as f:
            f.ctl("link", "down", "sw1", "1")
            up = f.ibsm("-o", "-g", self.GUIDS + ",0x0002c90300000011", at="head")
            self.assertTrue(up.stdout.startswith("SUBNET UP"), up.stdout + up.stderr)
            self.assertIn("this host has no port with GUID 0x0002c90300000011, which --guid lists",
                          (f.directory / "log").read_text())

    def test_with_no_other_port_it_stays(self):
        with self.fabric() as f:
            f.pid_file = f.directory / "pid"
            up = f.ibsm("-B", "--pidfile", f.pid_file, "-g", self.GUIDS, at="head")
            self.assertTrue(up.stdout.startswith("SUBNET UP"), up.stdout + up.stderr)
            f.ctl("link", "down", "sw2", "1")
            f.ctl("link", "down", "sw1", "1")
            f.ctl("link", "up", "sw1", "1")
            self.assertTrue(wait_until(lambda: set(self.lids(f)) == {"2c90300000001", "2c90300000011"}, 20))
            self.assertNotIn("goes on from", (f.directory / "log").read_text())


class Lids(unittest.TestCase):
    def test_survive_restarts_without_state_other_managers_and_lmc(self):
        with Sm(*TREE) as f:
            log = f.opensm(HOST, "-o")
            self.assertIn("SUBNET UP", log.read_text(errors="replace"))
            of_opensm = f.lids()
            self.assertEqual(len(of_opensm), 44)
            self.assertEqual(f.ibsm("-o").returncode, 0)
            self.assertEqual(f.lids(), of_opensm)
            for lmc in (2, 0, 7, 0):
                up = f.ibsm("-o", "-l", str(lmc))
                self.assertEqual(up.returncode, 0, up.stdout)
                taken = {}
                for port, text in f.lids().items():
                    first, bits = map(int, re.findall(r"\d+", text))
                    self.assertEqual(bits, 0 if port.startswith("S-") else lmc)
                    self.assertEqual(first % (1 << bits), 0, port)
                    for lid in range(first, first + (1 << bits)):
                        self.assertNotIn(lid, taken, port)
                        taken[lid] = port
                self.assertEqual(f.states(), {"Active"})
            self.assertEqual(f.ibsm("-o", "-r").returncode, 0)
            self.assertEqual(f.states(), {"Active"})
            fresh = f.lids()
            self.assertEqual(f.ibsm("-o", state="elsewhere").returncode, 0)
            self.assertEqual(f.lids(), fresh)


class Beside(Others, unittest.TestCase):
    def test_a_subnet_with_another_master_is_left_alone_unless_forced(self):
        with Sm(*TREE) as f:
            f.opensm(self.OTHER, "-p", "3")
            lids, master = f.lids(), f.on(HOST, "sminfo").stdout.split(" activity")[0]
            before = f.sets()
            once = f.ibsm("-o")
            self.assertEqual(once.returncode, 5, once.stdout + once.stderr)
            self.assertRegex(once.stdout, rf"^SUBNET STANDBY master={self.OTHER_GUID} lid=\d+ priority=3\n$")
            f.pid_file = f.directory / "pid"
            stays = f.ibsm("-B", "--pidfile", f.pid_file)
            self.assertEqual((stays.returncode, stays.stdout), (0, once.stdout), stays.stderr)
            text = f.ibsm_ctl("sm").stdout
            self.assertRegex(text, rf"{self.OTHER_GUID} +\d+ MASTER +3 +\d+s +\d+ \"{self.OTHER}\" port 1\n")
            self.assertRegex(text, r"\nSTANDBY since \d+ s: another subnet manager is master")
            self.assertEqual(f.lids(), lids)
            self.assertEqual(f.on(HOST, "sminfo").stdout.split(" activity")[0], master)
            os.kill(int(f.pid_file.read_text()), signal.SIGTERM)
            self.assertTrue(wait_until(lambda: not f.pid_file.exists(), 10))
            self.assertEqual(f.ibsm("-o", "--force").returncode, 0)
            self.assertGreater(f.sets(), before)

    def test_opensm_stands_by_and_takes_over_with_the_lids_there_are(self):
        with Sm(*TREE) as f:
            for how in (signal.SIGTERM, signal.SIGKILL):
                pid = f.daemon("-s", "1", "-p", "5")
                self.becomes(f, "MASTER")
                lids = f.lids()
                self.process = self.start_opensm(f, "-p", "4")
                self.says("Entering STANDBY state")
                self.assertNotIn("Entering MASTER state", self.said.read_text(errors="replace"))
                self.assertTrue(wait_until(lambda: [(m.get("state"), m.get("priority")) for m in self.subnet_managers(f)["managers"]
                                                    if not m["own"]] == [("STANDBY", 4)], 20))
                os.kill(pid, how)
                self.says("SUBNET UP")
                self.is_whole(f, lids)
                # The better one comes back: it stands by, and opensm hands over to it.
                f.pid_file.unlink(missing_ok=True)
                back = f.ibsm("-B", "--pidfile", f.pid_file, "-s", "1", "-p", "5")
                self.assertEqual(back.returncode, 0, back.stderr)
                self.becomes(f, "MASTER")
                self.says("Entering STANDBY state", 2)
                self.is_whole(f, lids)
                self.end_opensm(signal.SIGTERM)
                self.said.unlink()
                os.kill(int(f.pid_file.read_text()), signal.SIGTERM)
                self.assertTrue(wait_until(lambda: not f.pid_file.exists(), 10))

    def test_mastership_is_handed_over_to_a_better_opensm_and_taken_back_when_it_is_gone(self):
        with Sm(*TREE) as f:
            f.daemon("-s", "1")
            lids = f.lids()
            for round, how in enumerate((signal.SIGTERM, signal.SIGKILL)):
                self.process = self.start_opensm(f, "-p", "14")
                self.becomes(f, "STANDBY")
                self.says("SUBNET UP", round + 1)
                self.is_whole(f, lids)
                self.end_opensm(how)
                self.becomes(f, "MASTER")
                self.is_whole(f, lids)
            self.assertIn("mastership is handed over to \"host0032 HCA-1\" port 1",
                          (f.directory / "log").read_text())

    def test_an_ibsm_that_stands_by_takes_over_from_a_killed_one_without_a_set_of_tables(self):
        with Sm(*TREE) as f:
            pid = f.daemon()
            lids, second = f.lids(), f.directory / "pid2"
            beside = f.ibsm("-B", "--pidfile", second, at=self.OTHER, state="state2")
            self.assertEqual(beside.returncode, 0, beside.stderr)
            f.at_end(lambda: os.kill(int(second.read_text()), signal.SIGTERM))
            self.becomes(f, "STANDBY", "state2")
            tables = self.sets_of_tables(f)
            os.kill(pid, signal.SIGKILL)
            f.pid_file.unlink()
            self.becomes(f, "MASTER", "state2")
            self.is_whole(f, lids)
            self.assertEqual(self.sets_of_tables(f), tables)
            self.assertEqual(f.on(HOST, "saquery", "-N").returncode, 0)


if __name__ == "__main__":
    unittest.main()
