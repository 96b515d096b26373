# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What ibsm promises to scripts and to a running fabric, judged by stock programs and by the counts
of MADs that passed: statuses, the second start, what an unchanged fabric costs, faults while it
works."""
import json
import os
import pathlib
import pty
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "ibfabric"))
sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
from fabric import BIN, TESTS, Fabric, end_daemon, generate, wait_until  # noqa: E402
from json_schema import complaints  # noqa: E402

IBSM = BIN / "ibsm"
TREE = ("fat-tree", "--radix", "8", "--no-lids")
HOST = "host0001 HCA-1"

TWO_ISLANDS = """vendid=0x2c9
devid=0xbd36
switchguid=0x2c90200400000(2c90200400000)
Switch	4 "S-0002c90200400000"		# "sw1" enhanced port 0 lid 0 lmc 0
[1]	"H-0002c90300000000"[1](2c90300000001) 		# "bridge" lid 0 4xEDR

vendid=0x2c9
devid=0xbd36
switchguid=0x2c90200400100(2c90200400100)
Switch	4 "S-0002c90200400100"		# "sw2" enhanced port 0 lid 0 lmc 0
[1]	"H-0002c90300000000"[2](2c90300000002) 		# "bridge" lid 0 4xEDR

vendid=0x2c9
devid=0x1003
caguid=0x2c90300000000
Ca	2 "H-0002c90300000000"		# "bridge"
[1](2c90300000001) 	"S-0002c90200400000"[1]		# lid 0 lmc 0 "sw1" lid 0 4xEDR
[2](2c90300000002) 	"S-0002c90200400100"[1]		# lid 0 lmc 0 "sw2" lid 0 4xEDR
"""


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


class Sm(Fabric):
    """A fabric with room for a subnet manager's state."""

    def ibsm(self, *words, at=HOST, state="state"):
        return self.on(at, IBSM, "--state-dir", self.directory / state, "-f", self.directory / "log",
                       *words)

    def ibsm_ctl(self, *words):
        return subprocess.run([IBSM, "ctl", *words, "--state-dir", self.directory / "state"],
                              capture_output=True, text=True, timeout=60)

    def daemon(self, *words):
        """In the background, until SUBNET UP; gives the process id."""
        self.pid_file = self.directory / "pid"
        started = self.ibsm("-B", "--pidfile", self.pid_file, *words)
        assert started.returncode == 0, started.stdout + started.stderr
        assert started.stdout.startswith("SUBNET UP "), started.stdout
        return int(self.pid_file.read_text())

    def __exit__(self, *words):
        if getattr(self, "pid_file", None) and self.pid_file.exists():
            end_daemon(self.pid_file)
        super().__exit__(*words)

    def sets(self):
        rows = json.loads(self.ctl("stats", "--json").stdout)["mads"]
        return sum(r["mads"] for r in rows if r["method_name"] == "Set")

    def ups(self):
        return (self.directory / "log").read_text().count("SUBNET UP")

    def states(self):
        """States of all ports with a cable, as stock iblinkinfo sees them."""
        links = self.on(HOST, "iblinkinfo", "-l").stdout
        return set(re.findall(r"(\w+)/ *\w+\)==>", links)) - {"Down"}

    def lids(self):
        """(lid, lmc) by port, as stock ibnetdiscover sees them."""
        text = self.on(HOST, "ibnetdiscover").stdout
        found = dict(re.findall(r"^\[\d+\]\(([0-9a-f]+)\).*# (lid \d+ lmc \d+)", text, re.M))
        found.update(re.findall(r'^Switch\s+\d+ "(S-[0-9a-f]+)".*port 0 (lid \d+ lmc \d+)', text, re.M))
        return found


class Statuses(unittest.TestCase):
    def test_0_up_3_with_unmanaged_nodes_1_with_the_cable_out(self):
        with Sm(*TREE) as f:
            up = f.ibsm("-o")
            self.assertEqual((up.returncode, up.stdout.count("\n")), (0, 1), up.stdout + up.stderr)
            self.assertRegex(up.stdout, r"^SUBNET UP switches=12 cas=32 routers=0 links=64 lids=44 "
                                        r"mads=\d+ seconds=[\d.]+$")
            self.assertEqual(f.states(), {"Active"})
            self.assertEqual(f.ctl("node", "silent", "host0009 HCA-1").returncode, 0)
            partly = f.ibsm("-o")
            self.assertEqual(partly.returncode, 3, partly.stdout)
            self.assertIn(" unmanaged=1\n", partly.stdout)
            self.assertIn("\nunmanaged: ", partly.stdout)
            self.assertEqual(f.ctl("link", "down", HOST, "1").returncode, 0)
            out = f.ibsm("-o")
            self.assertEqual(out.returncode, 1, out.stdout)
            self.assertRegex(out.stdout, r'^SUBNET INCOMPLETE missing=1\nmissing: 0x\w+ "host0001 HCA-1" '
                                         r"port 1 is DOWN: the local port is down")

    def test_2_for_options_that_cannot_be_and_nothing_is_sent(self):
        with Sm(*TREE) as f:
            for wrong in (("-g", "zz"), ("-s", "-1"), ("-s", "1x"), ("-t", "60001"), ("-n", "1e3"),
                          ("-l", "8"), ("-R", "nonsense"), ("-D", "0x100"), ("--nope",), ("more",)):
                refused = f.ibsm("-o", *wrong)
                self.assertEqual(refused.returncode, 2, wrong)
                self.assertIn("expected", refused.stderr, wrong)
            unread = f.ibsm("-o", "-S", "/nosuch")
            self.assertEqual(unread.returncode, 2)
            self.assertIn("cannot read the SA dump: /nosuch: ", unread.stderr)
            self.assertEqual(f.ibsm("--help").returncode, 0)
            self.assertEqual(f.sets(), 0)
            self.assertFalse((f.directory / "state").exists())

    def test_2_for_a_log_whose_folder_is_not_there_and_none_is_made(self):
        with Sm(*TREE) as f:
            folder = f.directory / "mistyped"
            for how in ("-o", "-B"):
                refused = f.on(HOST, IBSM, how, "--state-dir", f.directory / "state", "-f", folder / "log")
                self.assertEqual(refused.returncode, 2, refused.stderr)
                self.assertEqual(refused.stderr, f"ibsm: cannot log to {folder}/log: there is no folder {folder}; "
                                                 "make it first, or name another file (--log_file)\n")
            self.assertFalse(folder.exists())
            self.assertFalse((f.directory / "state").exists())
            self.assertEqual(f.sets(), 0)

    def test_plan_to_a_full_disk_is_said(self):
        with Sm(*TREE) as f, open("/dev/full", "w") as full:
            for words in ((), ("--json",)):
                command = [str(IBSM), "plan", f.topology, *words]
                plan = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
                self.assertEqual(plan.returncode, 4)
                self.assertIn("cannot write", plan.stderr)

    def test_4_for_a_second_one_on_one_directory(self):
        with Sm(*TREE) as f:
            pid = f.daemon()
            for words in (("-o",), ("-B",)):
                second = f.ibsm(*words)
                self.assertEqual(second.returncode, 4)
                self.assertIn(f"in use by another ibsm (process {pid})", second.stderr)
            self.assertEqual(f.ibsm("-o", "-g", "0xdeadbeef", state="other").returncode, 4)

    def test_g_0_asks_on_a_terminal_and_lists_elsewhere(self):
        with Sm(*TREE) as f:
            listed = f.ibsm("-o", "-g", "0")
            self.assertEqual(listed.returncode, 0, listed.stderr)
            self.assertRegex(listed.stdout, r"^ibfabric0 port 1: GUID 0x[0-9a-f]{16} LID 0 INIT\n$")
            for typed, ending in ((b"7\n1\n", "SUBNET UP "), (b"0\n", "Which port")):
                ours, theirs = pty.openpty()
                os.write(ours, typed)
                asked = subprocess.run(
                    f.command(HOST, IBSM, "-o", "-g", "0", "--state-dir", f.directory / "state",
                              "-f", f.directory / "log"),
                    stdin=theirs, capture_output=True, text=True, timeout=60)
                os.close(theirs)
                os.close(ours)
                self.assertEqual(asked.returncode, 0, asked.stderr)
                self.assertIn("Which port, 1 to 1; 0 ends ibsm: ", asked.stdout)
                self.assertIn(ending, asked.stdout.splitlines()[-1], asked.stdout)

    def test_a_refused_second_one_leaves_the_pid_file_of_the_first(self):
        with Sm(*TREE) as f:
            pid = f.daemon()
            self.assertEqual(f.ibsm("-B", "-J", f.pid_file).returncode, 4)
            self.assertEqual(f.pid_file.read_text().strip(), str(pid))

    def test_4_when_nobody_can_read_the_result(self):
        with Sm(*TREE) as f, open("/dev/full", "w") as full:
            command = f.command(None, IBSM, "-o", "--state-dir", f.directory / "full",
                                "-f", f.directory / "log")
            up = subprocess.run([str(word) for word in command], stdout=full,
                                stderr=subprocess.PIPE, text=True, timeout=60)
            self.assertEqual(up.returncode, 4)
            self.assertIn("cannot write", up.stderr)

    def test_a_daemon_that_cannot_print_its_result_says_so_elsewhere_and_stays(self):
        def started(f, stderr, *words):
            command = f.command(None, IBSM, "-B", "--pidfile", f.directory / "pid",
                                "--state-dir", f.directory / "full", *words)
            return subprocess.run([str(word) for word in command], stdout=full, stderr=stderr,
                                  text=True, timeout=60)

        with Sm(*TREE) as f, open("/dev/full", "w") as full:
            log = f.directory / "log"
            f.pid_file = f.directory / "pid"
            deaf = started(f, full, "-f", "stderr")
            self.assertEqual(deaf.returncode, 4, "nobody learns of anything")
            self.assertTrue(wait_until(lambda: not f.pid_file.exists(), 10), "and nobody stays")
            up = started(f, subprocess.PIPE, "-f", log)
            self.assertEqual(up.returncode, 0, up.stderr)
            self.assertEqual(up.stderr, "ibsm: cannot write the result to stdout; the log has it\n")
            text = log.read_text()
            self.assertIn("SUBNET UP ", text)
            self.assertIn("W ibsm: cannot write the result to stdout\n", text)
            os.kill(int(f.pid_file.read_text()), 0)

    def test_2_for_an_engine_to_compare_that_there_is_not(self):
        with Sm(*TREE) as f:
            for words in (("--compare", "nosuch"), ("--compare=minhop,foo",)):
                plan = subprocess.run([str(IBSM), "plan", f.topology, *words],
                                      capture_output=True, text=True)
                self.assertEqual(plan.returncode, 2)
                self.assertIn("--compare: expected engines", plan.stderr)


class Background(unittest.TestCase):
    def test_unchanged_fabric_gets_no_set_by_light_or_full_sweeps(self):
        with Sm(*TREE) as f:
            pid = f.daemon("-s", "1")
            before = f.sets()
            for sweep in (2, 3, 4):
                os.kill(pid, signal.SIGHUP)
                self.assertTrue(wait_until(lambda: f.ups() >= sweep, 20))
            self.assertEqual(f.sets(), before)
            os.kill(pid, signal.SIGTERM)
            self.assertTrue(wait_until(lambda: not f.pid_file.exists(), 20))
            # Nor by the next process.
            self.assertEqual(f.ibsm("-o").returncode, 0)
            self.assertEqual(f.sets(), before)

    def test_log_says_once_whose_routes_stand(self):
        with Sm(*TREE) as f:
            self.assertEqual(f.ibsm("-o").returncode, 0)
            self.assertEqual(f.ibsm("-o", "-R", "nue").returncode, 0)
            said = re.findall(r"I plan: (routes .*)", (f.directory / "log").read_text())
        self.assertEqual(said, ["routes are those of ftree, on one VL",
                                "routes are those of nue, on several VLs"])

    def test_sigusr1_opens_the_log_again_for_logrotate(self):
        with Sm(*TREE) as f:
            pid = f.daemon()
            log, moved = f.directory / "log", f.directory / "log.1"
            log.rename(moved)
            before = moved.read_text()
            os.kill(pid, signal.SIGUSR1)
            self.assertTrue(wait_until(log.exists, 20))
            os.kill(pid, signal.SIGHUP)
            self.assertTrue(wait_until(lambda: "SUBNET UP" in log.read_text(), 20))
            self.assertRegex(log.read_text(), r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} I ")
            self.assertTrue(moved.read_text().startswith(before))
            # A file that cannot be opened leaves the one that is open.
            log.rename(f.directory / "log.2")
            log.mkdir()
            os.kill(pid, signal.SIGUSR1)
            self.assertTrue(wait_until(
                lambda: "the log goes on as it was" in (f.directory / "log.2").read_text(), 20))
            log.rmdir()

    def test_log_says_why_it_ended_when_its_port_went_away(self):
        with Sm(*TREE) as f:
            f.daemon()
            f.server.kill()
            self.assertTrue(wait_until(lambda: not f.pid_file.exists(), 30))
            last = (f.directory / "log").read_text().splitlines()[-1]
            self.assertRegex(last, r" E ibsm: receiving on ibfabric0 port 1: ")

    def test_works_on_the_port_it_was_started_at(self):
        with tempfile.TemporaryDirectory() as directory:
            islands = pathlib.Path(directory) / "islands.topo"
            islands.write_text(TWO_ISLANDS)
            with Sm(topology=islands) as f:
                up = f.ibsm("-o", at="bridge:2")
                self.assertEqual(up.returncode, 0, up.stdout + up.stderr)
                shown = [f.ctl("show", "bridge", str(port)).stdout for port in (1, 2)]
                self.assertIn("1 Init ", shown[0])
                self.assertIn("2 Active ", shown[1])

    def test_faults_while_it_works_leave_every_route_whole(self):
        with Sm(*TREE, options=("--sma-us", "2000")) as f:
            f.daemon("-s", "1")
            before = f.lids()
            for step in (("node", "reboot", "leaf-003"), ("link", "down", "leaf-002", "5"),
                         ("node", "reboot", "spine-002"), ("link", "up", "leaf-002", "5"),
                         ("node", "reboot", "host0012 HCA-1"), ("node", "reboot", "spine-004")):
                self.assertEqual(f.ctl(*step).returncode, 0, step)

            def whole():
                verdict = f.on(HOST, BIN / "ibroutes", "verify").stdout
                return ("unreachable: 0\n" in verdict and "loops: 0\n" in verdict
                        and f.states() == {"Active"} and f.lids() == before)

            self.assertTrue(wait_until(whole, 40), f.on(HOST, BIN / "ibroutes", "verify").stdout)


class Ends(unittest.TestCase):
    def test_a_short_run_ends_as_soon_as_it_is_done(self):
        """However its threads are caught: with a dump still to be written, too."""
        with Sm(*TREE) as f:
            for turn in range(40):
                start = time.monotonic()
                self.assertEqual(f.ibsm("-o", "-r").returncode, 0)
                self.assertLess(time.monotonic() - start, 20, turn)

    def test_a_long_computation_is_not_waited_for(self):
        """Routes that take seconds: the fabric hears nothing meanwhile."""
        with Sm("torus", "8x8x8", "--hosts", "4", "--no-lids") as f:
            log, state = f.directory / "log", f.directory / "state"
            sm = f.start(HOST, IBSM, "--state-dir", state, "-f", log, "-R", "nue", "--nue_max_num_vls", "4")

            def sent():
                return int(re.search(r"^sent (\d+)$", f.ctl("stats").stdout, re.M).group(1))

            def is_computing():
                before = sent()
                time.sleep(0.3)
                return before > 10_000 and sent() == before

            self.assertTrue(wait_until(is_computing), log.read_text())
            start = time.monotonic()
            sm.send_signal(signal.SIGTERM)
            self.assertEqual(sm.wait(20), 0)
            took = time.monotonic() - start
            said = log.read_text()
            self.assertTrue(" I ibsm: ending\n" in said and "routes are those of" not in said, said)
            self.assertLess(took, 2)
            self.assertFalse((state / "ibsm.db-wal").exists(), "the store is closed")


class SaLimits(unittest.TestCase):
    """`ibsm ctl sa`: limits against floods, read and set while it runs."""
    def test_are_read_set_and_counters_reset(self):
        with Sm(*TREE) as f:
            f.daemon("--force_log_flush")
            f.on(HOST, "saquery")
            said = json.loads(f.ibsm_ctl("sa", "--json").stdout)
            self.assertEqual(said["limits"], {"max_outstanding": 16, "queue_size": 1024, "time_sa_mad": 2000,
                                              "rx_threshold": 8192})
            self.assertGreater(said["counters"]["requests"], 0)
            done = f.ibsm_ctl("sa", "set", "queue_size=64", "rx_threshold=100")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("queue_size 64\n", done.stdout)
            ports = json.loads(f.ctl("thresholds", "--json").stdout)["ports"]
            self.assertEqual([p["threshold"] for p in ports], [100, 100], "QP0 and the SA's port")
            self.assertEqual(f.ibsm_ctl("sa", "reset").returncode, 0)
            after = json.loads(f.ibsm_ctl("sa", "--json").stdout)
            self.assertEqual((after["counters"]["requests"], after["counters"]["answers"]), (0, 0))
            self.assertEqual(after["limits"]["queue_size"], 64)
            words = "ibsm ctl sa set queue_size=64 rx_threshold=100"
            self.assertTrue(wait_until(lambda: words in (f.directory / "log").read_text()))
            for wrong in (("set", "queue_size=15"), ("set", "queue_size=64", "depth=1"), ("show",)):
                self.assertEqual(f.ibsm_ctl("sa", *wrong).returncode, 2, wrong)
            self.assertEqual(f.on(HOST, "saquery").returncode, 0)


class AddedMembers(unittest.TestCase):
    """Members of partitions by `ibsm ctl`, in P_Key tables as stock smpquery reads them."""
    HOST2, HOST3 = "host0002 HCA-1", "host0003 HCA-1"

    def p_keys(self, f, host):
        lid = f.on(HOST, "saquery", "-l", host).stdout.strip()
        return set(re.findall(r"0x[0-9a-f]{4}", f.on(HOST, "smpquery", "pkeys", lid).stdout)) - {"0x0000"}

    def guid(self, f, host):
        record = f.on(HOST, "saquery", "NR", host).stdout
        return re.search(r"port_guid\.+(0x[0-9a-f]+)", record).group(1)

    def test_a_key_that_has_added_members_is_generated_for_no_other_partition(self):
        with Sm(*TREE) as f:
            file = f.directory / "partitions.conf"
            file.write_text("Default=0x7fff : ALL=full ;\n")
            pid = f.daemon("-P", file)
            host2, host3 = self.guid(f, self.HOST2), self.guid(f, self.HOST3)
            self.assertEqual(f.ibsm_ctl("partition", "add", "1", host2).returncode, 0)
            self.assertTrue(wait_until(lambda: self.p_keys(f, self.HOST2) == {"0xffff", "0x8001"}))
            file.write_text(f"Default=0x7fff : ALL=full ;\ntenant : {host3}=full ;\n")
            os.kill(pid, signal.SIGHUP)
            self.assertTrue(wait_until(lambda: self.p_keys(f, self.HOST3) == {"0xffff", "0x8002"}))
            self.assertEqual(self.p_keys(f, self.HOST2), {"0xffff", "0x8001"})

    def test_added_kept_over_a_restart_and_a_reload_and_taken_away(self):
        with Sm(*TREE) as f:
            file = f.directory / "partitions.conf"
            file.write_text("Default=0x7fff, ipoib : ALL=full ;\nred=0x1 : SELF=full ;\n")
            f.daemon("-P", file)
            guid = self.guid(f, self.HOST2)
            added = f.ibsm_ctl("partition", "add", "0x8001", guid, "0xfeedf00d", "--owner", "slurm")
            self.assertEqual((added.returncode, added.stdout), (0, "added 2 members of P_Key 0x0001\n"), added.stderr)
            self.assertTrue(wait_until(lambda: self.p_keys(f, self.HOST2) == {"0xffff", "0x8001"}))
            rows = json.loads(f.ibsm_ctl("partition", "list", "--json").stdout)["members"]
            self.assertEqual(sorted((r["state"], r["owner"]) for r in rows),
                             [("absent", "slurm"), ("programmed", "slurm")])
            shown = f.ibsm("--show-config", "-P", file).stdout
            self.assertIn(f"partition_config_file {file}  # command line\n", shown)
            self.assertRegex(shown, rf"(?m)^# partition member 0x0001 {guid} full .*owner=slurm .*# ibsm ctl partition$")
            shown = json.loads(f.ibsm("--show-config=json").stdout)
            self.assertEqual(len(shown["added_partition_members"]), 2)
            os.kill(int(f.pid_file.read_text()), signal.SIGHUP)
            self.assertTrue(wait_until(lambda: f.ups() >= 3))
            self.assertEqual(self.p_keys(f, self.HOST2), {"0xffff", "0x8001"})
            os.kill(int(f.pid_file.read_text()), signal.SIGTERM)
            self.assertTrue(wait_until(lambda: not f.pid_file.exists(), 10))
            before = f.sets()
            f.daemon("-P", file)
            self.assertEqual(f.sets(), before, "a restart sets nothing")
            other = f.ibsm_ctl("partition", "remove", "1", guid, "--owner", "kubernetes")
            self.assertEqual(other.returncode, 1)
            self.assertIn("it was added by owner 'slurm'", other.stdout)
            self.assertEqual(f.ibsm_ctl("partition", "remove", "1", guid).returncode, 0)
            self.assertTrue(wait_until(lambda: self.p_keys(f, self.HOST2) == {"0xffff"}))

    def test_what_cannot_be_is_said_and_changes_nothing(self):
        with Sm(*TREE) as f:
            f.daemon()
            for words, status, text in (
                    (("add", "0", "0x1"), 2, "expected a P_Key from 0x1 to 0x7fff"),
                    (("add", "1", "nobody"), 1, "no node is named 'nobody'; nothing was changed"),
                    (("add", "1", "0x"), 2, "expected the GUID of a port (0x...), got '0x'"),
                    (("add", "1"), 2, "expected partition add P_KEY PORT..."),
                    (("remove", "1", "0x99"), 1, "it was not added"),
                    (("add", "0x7fff", self.guid(f, HOST), "--limited"), 1, "always a full member"),
                    (("add", "1", "0x99", "--limited", "--both"), 2, "expected --limited or --both, got both of them"),
                    (("add", "1", "0x99", "--both"), 2, "allow_both_pkeys (-W) is off")):
                answer = f.ibsm_ctl("partition", *words)
                self.assertEqual(answer.returncode, status, words)
                self.assertIn(text, answer.stdout + answer.stderr)
            self.assertEqual(f.ibsm_ctl("partition", "list").stdout, "no member was added\n")
            twice = f.ibsm_ctl("partition", "add", "9", "0x99", "0x99", "--json")
            said = json.loads(twice.stdout)
            self.assertEqual(complaints(said), [])
            self.assertEqual({key: said[key] for key in ("schema", "change", "p_key", "members", "refused")},
                             {"schema": "ibkit.ibsm-partitions-change/2", "change": "added", "p_key": "0x0009",
                              "members": 1, "refused": []})
            gone = json.loads(f.ibsm_ctl("partition", "remove", "9", "0x99", "0x98", "--json").stdout)
            self.assertEqual((gone["members"], [r["port_guid"] for r in gone["refused"]]), (1, ["0x0000000000000098"]))
            os.kill(int(f.pid_file.read_text()), signal.SIGTERM)
            self.assertTrue(wait_until(lambda: not f.pid_file.exists(), 10))
            nobody = f.ibsm_ctl("partition", "list")
            self.assertEqual(nobody.returncode, 4)
            self.assertIn("no ibsm listens at", nobody.stderr)


class PrefixRoutes(unittest.TestCase):
    def test_a_bad_line_ends_the_start_and_leaves_the_old_routes_at_sighup(self):
        with Sm(*TREE) as f:
            routes = f.directory / "routes"
            routes.write_text("* *\nfec0 2 3\n")
            words = ("--prefix_routes_file", routes)
            for how in ("-o", "-B"):
                refused = f.ibsm(how, *words)
                self.assertEqual(refused.returncode, 2)
                self.assertIn(f"{routes}:2:8: error: expected a subnet prefix", refused.stderr)
            routes.write_text("* *\n")
            pid = f.daemon(*words)
            log = f.directory / "log"
            routes.write_text("* *\n\n1 g\n")
            os.kill(pid, signal.SIGHUP)
            said = f"{routes}:3:3: error: expected a subnet prefix and a router's port GUID, each in hex or * for any, got '1 g'"
            self.assertTrue(wait_until(lambda: said in log.read_text(), 20), log.read_text())
            self.assertIn("what was in force stays in force, all of it", log.read_text())


QOS_POLICY = """# what runs here
port-groups
    port-group
        name: Storage
        port-name: "host0008 HCA-1/P1"
    end-port-group
end-port-groups
qos-levels
    qos-level
        name: DEFAULT
        sl: 0
    end-qos-level
    qos-level
        name: Batch
        sl: 7
        mtu-limit: 3
        rate-limit: 3
        packet-life: 15
    end-qos-level
end-qos-levels
qos-match-rules
    qos-match-rule
        qos-class: 3-5
        destination: Storage
        qos-level-name: Batch
    end-qos-match-rule
end-qos-match-rules
qos-ulps
    sdp : 1
    rds : 2
    ipoib : 4
    any, service-id 0x6234 : 6
    srp, target-port-guid {target} : 5
end-qos-ulps
"""


def path_to(f, to, *words):
    """Of the path that stock saquery gets for a kind of traffic."""
    lids = {}
    for name in (HOST, to):
        lids[name] = f.on(HOST, "saquery", "-l", name).stdout.strip()
    text = f.on(HOST, "saquery", "PR", "--slid", lids[HOST], "--dlid", lids[to], *words).stdout
    found = dict(re.findall(r"(sl|mtu|rate|pkt_life)\.+(\S+)", text))
    return {key: int(value, 0) for key, value in found.items()}


SDP, RDS, OTHER = ("--service_id", "0x10005"), ("--service_id", "0x10648ca"), ("--service_id", "0x6234")
IPOIB = ("--pkey", "0xffff")


class QosExamples(unittest.TestCase):
    """The deployments of the specification, with real GUIDs where it has names, and its lost line ends put back."""

    def run_with(self, f, policy, keys, partitions="Default=0x7fff, ipoib : ALL=full ;\n"):
        for name, text in (("policy", policy), ("partitions", partitions),
                           ("conf", f"qos TRUE\n{keys}qos_sl2vl 0,1,2,3,4,5,6,7,15,15,15,15,15,15,15,15\n")):
            (f.directory / name).write_text(text)
        f.daemon("-F", f.directory / "conf", "-Y", f.directory / "policy", "-P", f.directory / "partitions")
        lid = f.on(HOST, "saquery", "-l", HOST).stdout.strip()
        row = f.on(HOST, "smpquery", "sl2vl", lid, "1").stdout.split("|")[-17:-1]
        self.assertEqual([int(vl) for vl in row], [0, 1, 2, 3, 4, 5, 6, 7] + 8 * [15])
        return f.on(HOST, "smpquery", "vlarb", lid, "1").stdout

    def guid_of(self, f, name):
        """As the topology file has it: no subnet manager runs yet."""
        text = pathlib.Path(f.topology).read_text()
        return "0x" + re.search(rf'\nCa\t\d+ "[^"]+"\s+# "{name}"\n\[1\]\((\w+)\)', text).group(1)

    def entries(self, text, priority):
        block = text.partition(f"# {priority} priority")[2]
        vls, weights = (re.search(rf"^{what} *: \|(.*)\|", block, re.M).group(1).split("|") for what in ("VL", "WEIGHT"))
        return [(int(v, 0), int(w, 0)) for v, w in zip(vls, weights) if int(w, 0)]

    def check_sls(self, f, cases):
        for to, words, sl in cases:
            self.assertEqual(path_to(f, to, *words).get("sl"), sl, (to, words))

    def test_hpc_mpi_and_lustre(self):
        with Sm(*TREE) as f:
            osts, mdss = (["host%04d HCA-1" % i for i in numbers] for numbers in ((11, 12, 13, 14), (21, 22)))
            arbitration = self.run_with(
                f, "qos-ulps\n\tdefault :0 # default SL (for MPI)\n"
                f"\tany, target-port-guid {','.join(self.guid_of(f, n) for n in osts)} :1 # SL for Lustre OST\n"
                f"\tany, target-port-guid {','.join(self.guid_of(f, n) for n in mdss)} :2 # SL for Lustre MDS\n"
                "end-qos-ulps\n",
                "qos_max_vls 8\nqos_high_limit 0\nqos_vlarb_high 2:1\nqos_vlarb_low 0:96,1:224\n")
            self.assertEqual(self.entries(arbitration, "Low"), [(0, 96), (1, 224)])
            self.assertEqual(self.entries(arbitration, "High"), [(2, 1)])
            self.check_sls(f, [(n, words, 1) for n in osts for words in ((), SDP, OTHER)] +
                           [(n, words, 2) for n in mdss for words in ((), RDS)] +
                           [("host0006 HCA-1", words, 0) for words in ((), SDP, RDS, OTHER, IPOIB)])

    def test_edc_of_two_tiers_ipoib_and_srp(self):
        with Sm(*TREE) as f:
            targets = ["host0011 HCA-1", "host0012 HCA-1", "host0013 HCA-1"]
            arbitration = self.run_with(
                f, "qos-ulps\n default :0\n ipoib :1\n sdp :1\n"
                f" srp, target-port-guid {','.join(self.guid_of(f, n) for n in targets)} :2\nend-qos-ulps\n",
                "qos_max_vls 8\nqos_high_limit 0\nqos_vlarb_high 1:32,2:32\nqos_vlarb_low 0:1,\n")
            self.assertEqual(self.entries(arbitration, "Low"), [(0, 1)])
            self.assertEqual(self.entries(arbitration, "High"), [(1, 32), (2, 32)])
            self.check_sls(f, [("host0006 HCA-1", IPOIB, 1), ("host0006 HCA-1", SDP, 1), ("host0006 HCA-1", (), 0),
                               ("host0006 HCA-1", RDS, 0), ("host0006 HCA-1", OTHER, 0)] +
                           [(n, words, 2) for n in targets for words in ((), OTHER)] +
                           [(targets[0], IPOIB, 1), (targets[0], SDP, 1)])

    def test_edc_of_three_tiers_ipoib_rds_and_srp(self):
        with Sm(*TREE) as f:
            targets = ["host0011 HCA-1", "host0012 HCA-1", "host0013 HCA-1"]
            arbitration = self.run_with(
                f, "qos-ulps\n default :0\n ipoib, pkey 0x8001 :1\n ipoib, pkey 0x8002 :2\n rds :3\n"
                f" srp, target-port-guid {', '.join(self.guid_of(f, n) for n in targets)} :4\nend-qos-ulps\n",
                "qos_max_vls 8\nqos_high_limit 0\nqos_vlarb_high 1:32,2:96,3:96,4:96\nqos_vlarb_low 0:1\n",
                "Default=0x7fff,ipoib : ALL=full;PartA=0x8001, sl=1, ipoib : ALL=full;\n"
                "PartB=0x8002, sl=2, ipoib : ALL=full;\n")
            self.assertEqual(self.entries(arbitration, "High"), [(1, 32), (2, 96), (3, 96), (4, 96)])
            other = "host0006 HCA-1"
            self.check_sls(f, [(other, ("--pkey", "0x8001"), 1), (other, ("--pkey", "0x8002"), 2), (other, RDS, 3),
                               (other, (), 0), (other, SDP, 0), (other, IPOIB, 0)] + [(n, (), 4) for n in targets])
            groups = f.on(HOST, "saquery", "-g").stdout
            for key, sl in (("8001", 1), ("8002", 2), ("ffff", 0)):
                group = groups.partition(f"ff12:401b:{key}::ffff:ffff")[2]
                self.assertEqual(int(re.search(r"SL\.+(\S+)", group).group(1), 0), sl, key)

    def test_every_keyword_of_the_simple_policy(self):
        with Sm(*TREE) as f:
            target, ranged, other = "host0011 HCA-1", "host0012 HCA-1", "host0006 HCA-1"
            self.run_with(
                f, "qos-ulps\n default :0\n sdp, port-num 30000 :0\n sdp, port-num 10000-20000 : 0\n sdp :1\n rds :2\n"
                " ipoib, pkey 0x0001 :0\n ipoib :4\n any, service-id 0x6234 :6\n any, pkey 0x0ABC :6\n"
                f" srp, target-port-guid {self.guid_of(f, target)} : 5\n"
                f" any, target-port-guid {self.guid_of(f, ranged)}-{self.guid_of(f, ranged)} : 6\nend-qos-ulps\n", "",
                "Default=0x7fff, ipoib : ALL=full ;\none=0x1, ipoib : ALL=full ;\nten=0xabc : ALL=full ;\n")
            self.check_sls(f, [(other, ("--service_id", f"0x{0x10000 + 30000:x}"), 0),
                               (other, ("--service_id", f"0x{0x10000 + 10000:x}"), 0),
                               (other, ("--service_id", f"0x{0x10000 + 20000:x}"), 0),
                               (other, ("--service_id", f"0x{0x10000 + 20001:x}"), 1), (other, SDP, 1), (other, RDS, 2),
                               (other, ("--pkey", "0x8001"), 0), (other, IPOIB, 4), (other, OTHER, 6),
                               (other, ("--pkey", "0x8abc"), 6), (target, (), 5), (ranged, (), 6), (other, (), 0)])


class QosPolicy(unittest.TestCase):
    """What stock saquery gets for each kind of traffic."""

    def path(self, f, to, *words):
        return path_to(f, to, *words)

    def test_each_application_gets_its_sl_and_a_reload_another(self):
        with Sm(*TREE) as f:
            policy, target = f.directory / "qos-policy.conf", "host0007 HCA-1"
            policy.write_text("")
            f.daemon("-Q", "-Y", policy)
            guid = f.on(HOST, "saquery", "-G", target).stdout.strip()
            other = "host0006 HCA-1"
            self.assertEqual(self.path(f, other, "--service_id", "0x10005")["sl"], 0)
            policy.write_text(QOS_POLICY.format(target=guid))
            os.kill(int(f.pid_file.read_text()), signal.SIGHUP)
            self.assertTrue(wait_until(
                lambda: self.path(f, other, "--service_id", "0x10005").get("sl") == 1, 20),
                (f.directory / "log").read_text())
            for words, sl in (((), 0), (("--service_id", "0x10648ca"), 2), (("--pkey", "0xffff"), 4),
                              (("--service_id", "0x6234"), 6), (("--service_id", "0x6235"), 0)):
                self.assertEqual(self.path(f, other, *words)["sl"], sl, words)
            self.assertEqual(self.path(f, target)["sl"], 5)
            self.assertEqual(self.path(f, "host0008 HCA-1", "-Q", "6")["sl"], 0)
            batch = self.path(f, "host0008 HCA-1", "-Q", "4")
            self.assertEqual(batch["sl"], 7)
            # saquery shows MTU, rate and life with the selector "exactly" (2 << 6).
            self.assertEqual({key: batch[key] & 0x3F for key in ("mtu", "rate", "pkt_life")},
                             {"mtu": 3, "rate": 3, "pkt_life": 15})

    def test_levels_have_sls_of_their_own_where_routes_use_several_vls(self):
        with Sm("torus", "5x5", "--no-lids") as f:
            policy = f.directory / "qos-policy.conf"
            policy.write_text("qos-ulps\n  default : 0\n  any, service-id 0x6234 : 3\nend-qos-ulps\n")
            f.daemon("-Q", "-Y", policy, "-R", "dfsssp")
            sls = {}
            for number in (1, 7, 13, 19, 25):
                lid = f.on(HOST, "saquery", "-l", f"host{number:04} HCA-1").stdout.strip()
                for level, words in (("low", ()), ("high", ("--service_id", "0x6234"))):
                    text = f.on(HOST, "saquery", "PR", "--slid", lid, *words).stdout
                    sls[level] = sls.get(level, []) + [int(sl, 0) for sl in
                                                       re.findall(r"sl\.+(\S+)", text)]
            # Layer by layer, SL for SL: 0, 1, 2, 4 for the one and 3, 5, 6, 7 for the other.
            self.assertEqual(len(set(zip(sls["low"], sls["high"]))), len(set(sls["low"])))
            low, high = set(sls["low"]), set(sls["high"])
            self.assertGreater(len(low), 1)
            self.assertEqual(len(low), len(high))
            self.assertFalse(low & high)
            self.assertIn(0, low)
            self.assertIn(3, high)
            # The VLs of the two, as a switch maps them from one neighbour to another.
            net = f.on(HOST, "ibnetdiscover").stdout
            switch = re.search(r"^Switch.*lid (\d+) ", net, re.M).group(1)
            text = f.on(HOST, "smpquery", "sl2vl", switch, "1").stdout
            row = re.search(r"in  ?2.*?\|(.*)\|", text).group(1).split("|")
            vl = [int(v) for v in row]
            self.assertFalse({vl[sl] for sl in low} & {vl[sl] for sl in high}, text)
            # Five levels are too many for this engine's two VLs each.
            policy.write_text("qos-ulps\n  default : 0\n" + "".join(
                f"  any, service-id 0x{sl} : {sl}\n" for sl in range(1, 5)) + "end-qos-ulps\n")
            told = subprocess.run(
                [IBSM, "-Q", "-Y", policy, "-R", "torus-2QoS", "--explain-policy", HOST,
                 "host0013 HCA-1", "--service-id", "4", "--against", f.topology, "--state-dir",
                 f.directory / "none"],
                capture_output=True, text=True, timeout=60)
            self.assertIn("qos: 2 levels of service (SL 3, SL 4) have the same VLs, since "
                          "torus-2QoS has VLs for 4 of 5", told.stderr)
            self.assertEqual(told.returncode, 0, told.stdout)

    def test_explain_says_beforehand_what_clients_get(self):
        """--explain-policy on the saved topology, the SA's answers, and ibpath explain."""
        with Sm(*TREE) as f:
            policy, other = f.directory / "qos-policy.conf", "host0006 HCA-1"
            policy.write_text("qos-ulps\n  default : 1\n  any, service-id 0x6234 : 6\n"
                              "  any, pkey 0x7fff : 2\nend-qos-ulps\n")
            f.daemon("-Q", "-Y", policy)
            lids = [f.on(HOST, "saquery", "-l", name).stdout.strip() for name in (HOST, other)]

            def document(shown):
                self.assertEqual(shown.returncode, 0, shown.stderr)
                return json.loads(shown.stdout)

            for stock, ours, sl, rule in (
                    ((), (), 1, f"{policy} (default)"),
                    (("--service_id", "0x6234"), ("--service-id", "0x6234"), 6, f"{policy}:3 "),
                    (("--pkey", "0x7fff"), ("--pkey", "0x7fff"), 2, f"{policy}:4 ")):
                planned = document(subprocess.run(
                    [IBSM, "-Q", "-Y", policy, "--explain-policy", HOST, other, *ours, "--against",
                     f.topology, "--json", "--state-dir", f.directory / "none"],
                    capture_output=True, text=True, timeout=60))
                reasons = {r["subject"]: r["value"] for r in planned["reasons"]}
                self.assertEqual(self.path(f, other, *stock)["sl"], sl)
                self.assertEqual(reasons["SL"], str(sl))
                self.assertTrue(reasons["rule"].startswith(rule), reasons)
                running = document(f.ibsm_ctl("explain", HOST, other, *ours, "--json"))
                self.assertEqual(running["reasons"], planned["reasons"])
                self.assertEqual([link["vl"] for link in running["links"]], 4 * [sl])
                seen, = document(f.on(HOST, BIN / "ibpath", "--json", *ours, "explain",
                                      *lids))["explained"]
                for links in (planned["links"], seen["links"]):
                    self.assertEqual([link["vl"] for link in links], 4 * [sl])
                same = ("from", "to", "mtu", "vls", "weight", "high_limit")
                of = [[[link[key] for key in same] for link in shown["links"]]
                      for shown in (planned, running, seen)]
                self.assertEqual(of[0], of[1])
                self.assertEqual(of[0], of[2])

    def test_a_mistake_ends_the_start_and_leaves_the_old_rules_at_sighup(self):
        with Sm(*TREE) as f:
            policy = f.directory / "qos-policy.conf"
            policy.write_text("qos-ulps\n  default : 0\n  sdb : 1\nend-qos-ulps\n")
            refused = f.ibsm("-o", "-Q", "-Y", policy)
            self.assertEqual(refused.returncode, 2)
            self.assertIn(f"{policy}:3:3: error: unknown application 'sdb'; ", refused.stderr)
            self.assertIn("sdb : 1\nibsm:     ^\n", refused.stderr)
            missing = f.ibsm("-o", "-Q", "-Y", f.directory / "nowhere")
            self.assertEqual(missing.returncode, 2)
            self.assertEqual(f.sets(), 0)
            policy.write_text("qos-ulps\n  default : 3\nend-qos-ulps\n")
            pid = f.daemon("-Q", "-Y", policy)
            self.assertEqual(self.path(f, "host0006 HCA-1")["sl"], 3)
            policy.write_text("qos-ulps\n  default : 16\nend-qos-ulps\n")
            os.kill(pid, signal.SIGHUP)
            log = f.directory / "log"
            self.assertTrue(wait_until(
                lambda: "what was in force stays in force, all of it" in log.read_text(), 20))
            self.assertEqual(self.path(f, "host0006 HCA-1")["sl"], 3)

    def test_a_level_whose_sl_the_mapping_drops_gets_no_record_and_is_named_once(self):
        with Sm(*TREE) as f:
            policy, conf = f.directory / "qos-policy.conf", f.directory / "conf"
            policy.write_text("qos-ulps\n  default : 0\n  any, service-id 0x6234 : 3\nend-qos-ulps\n")
            conf.write_text(f"qos TRUE\nqos_sl2vl 0,1,2,15,4,5,6,7,0,1,2,3,4,5,6,7\nqos_policy_file {policy}\n")
            said = (f"{policy}:3 (any, service-id 0x6234 : 3): SL 3 is mapped to VL 15 at all ports, so its packets are dropped and requests "
                    "for its paths get no record\n")
            checked = f.ibsm("--check-config", "-F", conf)
            self.assertEqual((checked.returncode, checked.stderr), (1, said))
            f.daemon("-F", conf, "-R", "ftree")
            other = "host0006 HCA-1"
            self.assertEqual(self.path(f, other)["sl"], 0)
            self.assertEqual(self.path(f, other, "--service_id", "0x6234"), {})
            self.path(f, other, "--service_id", "0x6234")
            self.assertEqual((f.directory / "log").read_text().count(f"W config: {said}"), 1)
            events = [json.loads(line) for line in f.ibsm_ctl("events", "--json").stdout.splitlines()]
            dropped, = (e for e in events if e["event"] == "qos.level-dropped")
            self.assertEqual((dropped["rule"], dropped["sl"]), (f"{policy}:3 (any, service-id 0x6234 : 3)", 3))
            conf.write_text(f"qos TRUE\nqos_policy_file {policy}\n")
            os.kill(int(f.pid_file.read_text()), signal.SIGHUP)
            self.assertTrue(wait_until(
                lambda: self.path(f, other, "--service_id", "0x6234").get("sl") == 3, 20))

    def test_a_level_that_a_host_drops_by_a_mapping_that_it_keeps_gets_no_record(self):
        with Sm(*TREE) as f:
            policy, conf = f.directory / "qos-policy.conf", f.directory / "conf"
            policy.write_text("qos-ulps\n  default : 0\n  any, service-id 0x6234 : 3\nend-qos-ulps\n")
            conf.write_text("qos TRUE\nqos_sl2vl 0,1,2,15,4,5,6,7,0,1,2,3,4,5,6,7\n")
            self.assertEqual(f.ibsm("-o", "-F", conf).returncode, 0)
            f.ctl("device", HOST, "keep=SLtoVLMappingTable")
            f.daemon("-Q", "-Y", policy)
            other = "host0006 HCA-1"
            self.assertEqual(self.path(f, other)["sl"], 0)
            self.assertEqual(self.path(f, other, "--service_id", "0x6234"), {})
            rule = f"{policy}:3 (any, service-id 0x6234 : 3)"
            where = f'"{HOST}" port 1, by the SLtoVLMappingTable that is kept there'
            log = (f.directory / "log").read_text()
            self.assertEqual(log.count(f"W qos: {rule}: SL 3 is dropped at {where}, and requests for such paths "
                                       "get no record\n"), 1, log)
            events = [json.loads(line) for line in f.ibsm_ctl("events", "--json").stdout.splitlines()]
            dropped, = (e for e in events if e["event"] == "qos.level-dropped")
            self.assertEqual((dropped["rule"], dropped["sl"], dropped["where"]), (rule, 3, where))
            refuses, = (e for e in events if e["event"] == "device.refuses")
            self.assertEqual((refuses["node"]["name"], refuses["table"]), (HOST, "SLtoVLMappingTable"))
            f.ctl("device", HOST, "keep=none")
            os.kill(int(f.pid_file.read_text()), signal.SIGHUP)
            self.assertTrue(wait_until(
                lambda: self.path(f, other, "--service_id", "0x6234").get("sl") == 3, 20))

    def test_check_config_names_levels_that_a_topology_would_merge(self):
        with Sm("torus", "5x5", "--no-lids") as f:
            policy = f.directory / "qos-policy.conf"
            policy.write_text("qos-ulps\n  default : 0\n" + "".join(
                f"  any, service-id 0x{sl} : {sl}\n" for sl in range(1, 5)) + "end-qos-ulps\n")

            def checked(engine):
                return subprocess.run([IBSM, "--check-config", "-Q", "-Y", policy, "-R", engine, "--against",
                                       f.topology, "--state-dir", f.directory / "none"],
                                      capture_output=True, text=True, timeout=60)

            merged = checked("torus-2QoS")
            self.assertEqual((merged.returncode, merged.stderr),
                             (1, "qos: 2 levels of service (SL 3, SL 4) have the same VLs, since torus-2QoS has VLs "
                                 "for 4 of 5\n"))
            policy.write_text("qos-ulps\n  default : 0\n  any, service-id 0x1 : 1\nend-qos-ulps\n")
            fits = checked("torus-2QoS")
            self.assertEqual((fits.returncode, fits.stderr), (0, ""))

    def test_without_q_no_policy_is_in_force_and_that_is_said(self):
        with Sm(*TREE) as f:
            policy = f.directory / "qos-policy.conf"
            policy.write_text("qos-ulps\n  default : 3\nend-qos-ulps\n")
            f.daemon("-Y", policy)
            self.assertEqual(self.path(f, "host0006 HCA-1")["sl"], 0)
            self.assertIn(f"{policy}: no QoS policy is in force without -Q",
                          (f.directory / "log").read_text())


class Partitions(unittest.TestCase):
    """What stock smpquery and saquery see of a partition file."""

    def lid(self, f, name):
        return f.on(HOST, "saquery", "-l", name).stdout.strip()

    def keys(self, f, name):
        text = f.on(HOST, "smpquery", "pkeys", self.lid(f, name), "1").stdout
        found = re.findall(r"0x[0-9a-f]{4}", text)
        return [key for key in found if key != "0x0000"]

    def test_tables_groups_and_paths_follow_the_file_and_its_reload(self):
        with Sm(*TREE) as f:
            file = f.directory / "partitions.conf"
            default = "Default=0x7fff, ipoib : ALL, SELF=full ;\n"
            file.write_text(default + 'red=0x1, ipoib : "host0002 HCA-1"=full, "host0003 HCA-1" ;\n'
                            'blue, ipoib : "host0004 HCA-1"=full ;\n')
            pid = f.daemon("-P", file)
            self.assertEqual(self.keys(f, HOST), ["0xffff"])
            self.assertEqual(self.keys(f, "host0002 HCA-1"), ["0x7fff", "0x8001"])
            self.assertEqual(self.keys(f, "host0003 HCA-1"), ["0x7fff", "0x0001"])
            self.assertEqual(self.keys(f, "host0004 HCA-1"), ["0x7fff", "0x8002"])
            for host, keys in (("host0003", {"ffff", "8001"}), ("host0004", {"ffff", "8002"}),
                               ("host0005", {"ffff"})):
                groups = f.on(f"{host} HCA-1", "saquery", "-g").stdout
                self.assertEqual(set(re.findall(r"401b:(\w+)::", groups)), keys, host)
            # Two limited members of the default partition share nothing.
            lids = [self.lid(f, f"host000{i} HCA-1") for i in (2, 3, 4)]
            paths = f.on("host0002 HCA-1", "saquery", "PR", "--slid", lids[0], "--dlid", lids[1]).stdout
            self.assertIn("pkey....................0x8001", paths)
            self.assertNotIn("pkey", f.on("host0002 HCA-1", "saquery", "PR", "--slid", lids[0],
                                          "--dlid", lids[2]).stdout)
            sets = f.sets()
            file.write_text(file.read_text() + 'red=0x1 : "host0004 HCA-1" ;\n')
            os.kill(pid, signal.SIGHUP)
            self.assertTrue(wait_until(
                lambda: self.keys(f, "host0004 HCA-1") == ["0x7fff", "0x8002", "0x0001"], 20))
            self.assertEqual(f.sets(), sets + 2)

    def test_a_restart_sets_nothing_and_generated_keys_stay(self):
        with Sm(*TREE) as f:
            file = f.directory / "partitions.conf"
            file.write_text('one : "host0002 HCA-1" ;\ntwo : "host0003 HCA-1" ;\n')
            self.assertEqual(f.ibsm("-o", "-P", file).returncode, 0)
            sets = f.sets()
            self.assertEqual(f.ibsm("-o", "-P", file).returncode, 0)
            self.assertEqual(f.sets(), sets)
            file.write_text('two : "host0003 HCA-1" ;\n')
            (f.directory / "state" / "partition-keys").unlink()  # the store has them
            f.daemon("-P", file)
            self.assertEqual(self.keys(f, "host0003 HCA-1"), ["0x7fff", "0x0002"])
            self.assertIn("0x0002 two\n", (f.directory / "state" / "partition-keys").read_text())

    def test_a_mistake_never_widens_access(self):
        with Sm(*TREE) as f:
            file, log = f.directory / "partitions.conf", f.directory / "log"
            file.write_text("Default=0x7fff : ALL, SELF=full\nred=0x1 ; ALL ;\n")
            refused = f.ibsm("-o", "-P", file)
            self.assertEqual(refused.returncode, 2, refused.stderr)
            self.assertIn(f"{file}:2:", refused.stderr)
            self.assertEqual(f.ibsm("-o", "-P", f.directory / "nowhere").returncode, 2)
            self.assertEqual(f.sets(), 0)
            good = 'Default=0x7fff : ALL, SELF=full ;\nred=0x1 : "host0002 HCA-1" ;\n'
            file.write_text(good)
            pid = f.daemon("-P", file)
            file.write_text(good + "blue=0x8000 : ALL ;\n")
            os.kill(pid, signal.SIGHUP)
            self.assertTrue(wait_until(
                lambda: "what was in force stays in force, all of it" in log.read_text(), 20))
            self.assertEqual(self.keys(f, "host0002 HCA-1"), ["0x7fff", "0x0001"])
            os.kill(pid, signal.SIGTERM)
            self.assertTrue(wait_until(lambda: not f.pid_file.exists(), 10))
            # A cold start with it takes the last good one, and says so.
            log.unlink()
            pid = f.daemon("-P", file)
            trouble = f"cannot use the partitions of {file}: the last copy that could be used is in force"
            self.assertIn(f"the last copy of {file} that could be used is in force", log.read_text())
            self.assertEqual(self.keys(f, "host0002 HCA-1"), ["0x7fff", "0x0001"])
            # An event, a line at each report, and one beside SUBNET UP, until it is mended.
            self.assertIn(f"the configuration is refused: {trouble}", f.ibsm_ctl("events").stdout)
            self.assertEqual(log.read_text().count(f" E config: {trouble}"), 1)
            os.kill(pid, signal.SIGHUP)
            self.assertTrue(wait_until(lambda: f.ups() == 2))
            self.assertEqual(len(re.findall(r" E config: cannot use the partitions of .*: what was in force before stays",
                                            log.read_text())), 1)
            file.write_text(good)
            os.kill(pid, signal.SIGHUP)
            self.assertTrue(wait_until(lambda: "the configuration is in order again" in log.read_text()))
            self.assertTrue(wait_until(lambda: f.ups() == 3))
            self.assertIn("the configuration was read again", f.ibsm_ctl("events").stdout)
            self.assertEqual(len(re.findall(" E config: cannot use the partitions of .*: ", log.read_text())), 2)
            os.kill(pid, signal.SIGTERM)
            self.assertTrue(wait_until(lambda: not f.pid_file.exists(), 10))
            file.write_text(good + "blue=0x8000 : ALL ;\n")
            once = f.ibsm("-o", "-P", file)
            self.assertEqual(once.returncode, 0)
            self.assertEqual(once.stdout.splitlines()[1:], [f"config: {trouble}"])
            checked = f.ibsm("--check-config", "-P", file)
            self.assertEqual(checked.returncode, 2)


# The keys of the specification's examples: a set for all, one for hosts, one for switches.
QOS_KEYS = """qos TRUE
qos_max_vls 8
qos_high_limit 6
qos_vlarb_high 0:64,1:128
qos_vlarb_low 2:64,3:64,4:128,
qos_sl2vl 0,1,2,3,4,5,6,7,15,15,15,15,15,15,15,15
qos_ca_sl2vl 0,0,1,1,2,2,3,3,15,15,15,15,15,15,15,15
qos_ca_high_limit 2
qos_swe_vlarb_high 1:255
qos_swe_sl2vl 1,1,1,1,1,1,1,1,15,15,15,15,15,15,15,15
"""


class QosTables(unittest.TestCase):
    """The qos_* keys on a fresh fabric, by stock opensm and by ibsm, read with smpquery."""

    def tables(self, f):
        """Of a host and of the ports of its switch: what smpquery prints, LIDs aside."""
        net = f.on(HOST, "ibnetdiscover").stdout
        switch = re.search(r"^Switch.*lid (\d+) ", net, re.M).group(1)
        host = f.on(HOST, "saquery", "-l", HOST).stdout.strip()
        found = []
        for lid, port in ((host, 1), (switch, 1), (switch, 5)):
            for what in ("vlarb", "sl2vl"):
                text = f.on(HOST, "smpquery", what, lid, str(port)).stdout
                found.append([line for line in text.splitlines() if "|" in line])
            info = f.on(HOST, "smpquery", "portinfo", lid, str(port)).stdout
            found.append(re.findall(r"(?:VLHighLimit|OperVLs):\.+(\S+)", info))
        return found

    def test_the_same_tables_as_opensm(self):
        found = {}
        for who in ("opensm", "ibsm"):
            with Sm(*TREE) as f:
                conf = f.directory / "conf"
                conf.write_text(QOS_KEYS)
                if who == "opensm":
                    f.opensm(HOST, "-Q", "-F", conf)
                else:
                    f.daemon("-F", conf)
                found[who] = self.tables(f)
                self.assertTrue(all(found[who]), found[who])
        self.assertEqual(found["ibsm"], found["opensm"])


class Reload(unittest.TestCase):
    """SIGHUP: the options file and all that it names, whole or not at all."""

    def hoq(self, f):
        lid = re.search(r"^Switch.*lid (\d+) ", f.on(HOST, "ibnetdiscover").stdout, re.M).group(1)
        return re.search(r"HoqLife:\.+(\d+)", f.on(HOST, "smpquery", "portinfo", lid, "5").stdout).group(1)

    def test_what_can_change_does_and_the_rest_waits_for_a_restart(self):
        with Sm(*TREE) as f:
            conf, log = f.directory / "conf", f.directory / "log"
            conf.write_text("head_of_queue_lifetime 0x10\n")
            pid = f.daemon("-F", conf)
            self.assertEqual(self.hoq(f), "16")
            conf.write_text("head_of_queue_lifetime 0x11\nlmc 2\n")
            os.kill(pid, signal.SIGHUP)
            self.assertTrue(wait_until(lambda: f.ups() == 2))
            self.assertEqual(self.hoq(f), "17")
            self.assertIn(" W config: lmc: the new value takes a restart of ibsm\n", log.read_text())
            self.assertEqual({lmc.split()[-1] for lmc in f.lids().values()}, {"0"})

    def test_one_mistake_anywhere_leaves_everything_and_is_said_until_it_is_mended(self):
        with Sm(*TREE) as f:
            conf, log, partitions = f.directory / "conf", f.directory / "log", f.directory / "partitions"
            partitions.write_text("Default=0x7fff : ALL, SELF=full ;\n")
            conf.write_text(f"head_of_queue_lifetime 0x10\npartition_config_file {partitions}\n")
            pid = f.daemon("-F", conf)
            for good, bad in ((conf, "head_of_queue_lifetime 99\n"), (partitions, "x=0x8000 : ALL ;\n")):
                before, sets = good.read_text(), f.sets()
                conf.write_text(conf.read_text().replace("0x10", "0x12"))
                good.write_text(bad)
                ups = f.ups()
                os.kill(pid, signal.SIGHUP)
                self.assertTrue(wait_until(lambda: f.ups() == ups + 1))
                self.assertEqual(self.hoq(f), "16")
                self.assertEqual(f.sets(), sets)
                self.assertIn("what was in force stays in force, all of it", log.read_text())
                self.assertIn(": what was in force before stays", log.read_text())
                good.write_text(before.replace("0x12", "0x10"))
                conf.write_text(conf.read_text().replace("0x12", "0x10"))
            os.kill(pid, signal.SIGHUP)
            self.assertTrue(wait_until(lambda: "the configuration is in order again" in log.read_text()))


def broken_files(name):
    """The texts of tests/golden/policy/NAME that are refused, as bytes."""
    cases = (pathlib.Path(__file__).parents[2] / "golden" / "policy" / name).read_text().split("\n=== ")
    for case in cases[1:]:
        text, messages = case.partition("\n")[2].partition("---\n")[::2]
        if ": error: " in messages:
            unescaped = re.sub(r"\\(x..|.)", lambda m: {"r": "\r"}.get(m[1], m[1]) if m[1][0] != "x"
                               else chr(int(m[1][1:], 16)), text[:-1])
            yield case.partition("\n")[0], unescaped.encode("latin-1")


class BrokenFiles(unittest.TestCase):
    """A reload with a broken file changes nothing on the fabric, whichever file it is."""

    def check(self, cases, key, good):
        with Sm(*TREE) as f:
            file, conf = f.directory / "file", f.directory / "conf"
            file.write_text(good)
            conf.write_text(f"{key} {file}\nqos TRUE\n")
            pid = f.daemon("-F", conf)
            sets, count = f.sets(), 0
            for name, text in broken_files(cases):
                file.write_bytes(text)
                ups = f.ups()
                os.kill(pid, signal.SIGHUP)
                self.assertTrue(wait_until(lambda: f.ups() == ups + 1), name)
                self.assertIn("what was in force stays in force, all of it", (f.directory / "log").read_text(), name)
                self.assertEqual(f.sets(), sets, name)
                count += 1
            self.assertGreater(count, 30)
            file.write_text(good)
            os.kill(pid, signal.SIGHUP)
            self.assertTrue(wait_until(
                lambda: "the configuration is in order again" in (f.directory / "log").read_text()))
            self.assertEqual(f.sets(), sets)

    def test_partitions(self):
        self.check("partitions.cases", "partition_config_file",
                   'Default=0x7fff : ALL, SELF=full ;\nred=0x1 : "host0002 HCA-1" ;\n')

    def test_qos_policy(self):
        self.check("qos-policy.cases", "qos_policy_file", "qos-ulps\n default : 1\nend-qos-ulps\n")

    def test_a_broken_qos_policy_at_the_start(self):
        """Without a last good one nothing starts; with one its rules are in force, and it is said."""
        with Sm(*TREE) as f:
            file, conf, log = f.directory / "file", f.directory / "conf", f.directory / "log"
            file.write_text("qos-ulps\n default : 17\nend-qos-ulps\n")
            conf.write_text(f"qos_policy_file {file}\nqos TRUE\n")
            refused = f.ibsm("-o", "-F", conf)
            self.assertEqual(refused.returncode, 2)
            self.assertIn("the QoS policy of", refused.stderr)
            file.write_text("qos-ulps\n default : 3\nend-qos-ulps\n")
            self.assertEqual(f.ibsm("-o", "-F", conf).returncode, 0)
            partitions = f.directory / "partitions"
            partitions.write_text("Default=0x7fff : ALL, SELF=full ;\n")
            conf.write_text(conf.read_text() + f"partition_config_file {partitions}\n")
            file.write_text("qos-ulps\n default : 17\nend-qos-ulps\n")
            self.assertEqual(f.ibsm("--check-config", "-F", conf).returncode, 2)
            f.daemon("-F", conf)
            self.assertIn(f"the last copy of {file} that could be used is in force", log.read_text())
            self.assertEqual(path_to(f, "host0002 HCA-1")["sl"], 3)

    def test_rates(self):
        self.check("rates.cases", "enhanced_qos_policy_file",
                   "BW_NAMES\nslow = 1000\nBW_RULES\ndefault = 1:slow\n")


class RateLimits(unittest.TestCase):
    def test_what_a_limit_holds_back_is_counted_by_sl_and_is_no_wait_of_the_port(self):
        with Sm(*TREE) as f:
            conf, rates = f.directory / "conf", f.directory / "rates"
            rates.write_text("BW_NAMES\nslow = 1000\nBW_RULES\ndefault = 0:slow\n")
            conf.write_text(f"qos TRUE\nenhanced_qos_policy_file {rates}\n")
            f.daemon("-F", conf)
            self.assertEqual(f.ctl("flow", "add", "host0002 HCA-1", "host0030 HCA-1").returncode, 0)

            def counters():
                rows = json.loads(f.ctl("counters", "host0002 HCA-1", "1", "--json").stdout)["counters"]
                return {row["name"]: row["value"] for row in rows}

            self.assertTrue(wait_until(lambda: counters().get("RateWaitSL0", 0) > 0))
            lid = f.on(HOST, "saquery", "-l", "host0002 HCA-1").stdout.strip()
            self.assertRegex(f.on(HOST, "perfquery", lid, "1").stdout, r"PortXmitWait:\.*0\n")
            refused = f.ctl("counters", "host0002 HCA-1", "1", "RateWaitSL0=1")
            self.assertNotEqual(refused.returncode, 0)


class DumpFiles(unittest.TestCase):
    """opensm's dump files, by opensm and by ibsm on the same fabric."""
    NAMES = ("opensm-lid-matrix.dump", "opensm-subnet.lst", "opensm.mcfdbs", "opensm-lfts.dump", "opensm.fdbs")

    def test_the_same_files_as_opensm_by_the_same_tables(self):
        texts = {}
        with Sm(*TREE) as f:
            ours = f.directory / "ours"
            self.assertEqual(f.ibsm("-o", "-R", "updn", "-D", "0x43", "--dump_files_dir", ours).returncode, 0)
            texts["ibsm"] = {name: (ours / name).read_text() for name in self.NAMES}
            self.assertEqual((ours / "opensm-updn-roots.dump").read_text().count("0x"), 4)
            # opensm takes our tables, and dumps what it programmed.
            theirs = f.directory / "theirs"
            theirs.mkdir()
            f.opensm(HOST, "-R", "file", "-U", ours / "opensm-lfts.dump", "-D", "0x43",
                     "--dump_files_dir", theirs)
            wait_until(lambda: all((theirs / name).exists() for name in self.NAMES), 10)
            texts["opensm"] = {name: (theirs / name).read_text() for name in self.NAMES}
        for name in ("opensm-lid-matrix.dump", "opensm-lfts.dump", "opensm.fdbs"):
            self.assertEqual(texts["ibsm"][name], texts["opensm"][name], name)
        ends = {who: sorted(re.findall(r"PortGUID:(\w+) .*?LID:(\w+) PN:(\w+) .*PortGUID:(\w+) .*?LID:(\w+) PN:(\w+) "
                                       r".*LOG=(\w+)", text["opensm-subnet.lst"])) for who, text in texts.items()}
        self.assertEqual(len(ends["ibsm"]), 128)
        self.assertEqual(ends["ibsm"], ends["opensm"])

    def test_sl2vl_is_what_devices_hold(self):
        with Sm(*TREE) as f:
            folder = f.directory / "dumps"
            self.assertEqual(f.ibsm("-o", "-Q", "-R", "minhop", "-D", "0x43", "--dump_files_dir", folder).returncode, 0)
            switch = f.on(HOST, "smpquery", "sl2vl", "-D", "0,1", "1").stdout
            host = f.on(HOST, "smpquery", "sl2vl", "-D", "0").stdout
            held = {tuple(int(vl) for vl in re.findall(r"\|\s*(\d+)", line)) for line in (switch + host).splitlines()
                    if "ports:" in line}
            dumped = {tuple(int(vl) for vl in row.split()) for row in
                      re.findall(r"^ *\d+ +\d+ *: *((?:\d+ +){15}\d+)", (folder / "opensm-sl2vl.dump").read_text(), re.M)}
            self.assertTrue(held, switch + host)
            self.assertEqual(dumped, held)

    def test_without_the_flag_the_links_alone_and_the_order_of_ftree(self):
        with Sm(*TREE) as f:
            folder = f.directory / "dumps"
            self.assertEqual(f.ibsm("-o", "-R", "ftree", "--dump_files_dir", folder).returncode, 0)
            self.assertEqual({p.name for p in folder.iterdir()}, {"opensm-subnet.lst", "opensm-ftree-ca-order.dump"})
            order = (folder / "opensm-ftree-ca-order.dump").read_text().splitlines()
            self.assertEqual(len(order), 32)
            self.assertRegex(order[0], r"^0x[0-9a-f]{4}\thost\d+ HCA-1$")

    def test_the_folder_of_the_environment(self):
        with Sm(*TREE) as f:
            folder = f.directory / "dumps"
            command = f.command(HOST, IBSM, "-o", "--state-dir", f.directory / "state", "-f", f.directory / "log")
            up = subprocess.run(command, env=dict(os.environ, OSM_TMP_DIR=str(folder)), capture_output=True, timeout=60)
            self.assertEqual(up.returncode, 0)
            self.assertTrue((folder / "opensm-subnet.lst").exists())

    def test_a_folder_that_cannot_be_written_is_an_error_in_the_log_and_no_end(self):
        with Sm(*TREE) as f:
            blocked = f.directory / "blocked"
            blocked.write_text("a file")
            self.assertEqual(f.ibsm("-o", "--dump_files_dir", blocked / "in").returncode, 0)
            self.assertIn("dump files are as they were", (f.directory / "log").read_text())


class DebugOptions(unittest.TestCase):
    def test_d3_leaves_multicast_alone(self):
        with Sm(*TREE) as f:
            f.daemon("-d3")
            groups = f.on(HOST, "saquery", "-g").stdout
            self.assertNotIn("MCMemberRecord", groups)
            rows = json.loads(f.ctl("stats", "--json").stdout)["mads"]
            self.assertFalse([r for r in rows if r["method_name"] == "Set" and "Multicast" in r["attribute_name"]])

    def test_frames_are_in_the_log_with_their_fields(self):
        with Sm(*TREE) as f:
            self.assertEqual(f.ibsm("-o", "-D", "0x23").returncode, 0)
            log = (f.directory / "log").read_text()
            self.assertRegex(log, r"T frame: > Get\(NodeInfo\) to DR path 0 tid 0x")
            self.assertRegex(log, r"T frame: < GetResp\(NodeInfo\) from DR path 0 tid 0x\w+ status 0x0000")
            self.assertRegex(log, r"T frame:     NodeType:\.+")

    def test_exit_on_fatal_ends_where_two_nodes_have_one_guid(self):
        with Sm(*TREE) as f:
            self.assertEqual(f.ibsm("-o").returncode, 0)
            self.assertEqual(f.ibsm("-o", "--exit-on-fatal").returncode, 0)


class Counters(unittest.TestCase):
    """--perfmgr: totals of all ports, beside what stock perfquery reads."""

    def counters(self, f, *words):
        return f.ibsm_ctl("counters", "list", *words)

    def test_totals_are_those_of_perfquery_and_can_be_dumped(self):
        with Sm(*TREE) as f:
            f.daemon("-perfmgr", "-perfmgr_sweep_time_s", "3600")
            self.assertTrue(wait_until(lambda: self.counters(f, "leaf-001", "5").returncode == 0))
            host = "host0009 HCA-1"
            f.start(host, "ibping", "-S")
            f.on(HOST, "ibping", "-c", "20", "-f", str(f.lid_of(host)))

            def packets(text, name):
                return int(re.search(rf"{name}[ .:]+(\d+)", text).group(1))

            def theirs():
                return packets(f.on(HOST, "perfquery", "-x", str(f.lid_of(host)), "1").stdout, "PortRcvPkts")

            def ours():
                return packets(self.counters(f, host, "1").stdout, "rcv_pkts")

            before = theirs()
            self.assertGreater(before, 20)
            f.ibsm_ctl("counters", "sweep")
            self.assertTrue(wait_until(lambda: ours() >= before))
            self.assertLessEqual(ours(), theirs())
            rows = json.loads(self.counters(f, "--json").stdout)["ports"]
            self.assertEqual(len(rows), 140, "both ends of 64 cables, and 12 ports 0")
            self.assertEqual({row["active"] for row in rows}, {True})
            dumped = f.ibsm_ctl("counters", "dump", "mach")
            self.assertEqual(dumped.returncode, 0, dumped.stderr)
            table = (f.directory / "state" / "opensm_port_counters.log").read_text().splitlines()
            self.assertEqual(len([line for line in table if line.startswith("host0009 HCA-1\t0x")]), 1)
            self.assertEqual(self.counters(f, "--errors").stdout, "no port has counted errors\n")

    def test_errors_above_their_threshold_are_an_event_and_the_history_has_them(self):
        with Sm(*TREE) as f:
            conf = f.directory / "conf"
            conf.write_text("perfmgr TRUE\nperfmgr_sweep_time_s 1\nperfmgr_window_s 60\n"
                            f"perfmgr_error_thresholds PortRcvErrors=2,VL15Dropped=off\nevent_file {f.directory}/events\n")
            pid = f.daemon("-F", conf)
            host = "host0009 HCA-1"
            self.assertTrue(wait_until(lambda: self.counters(f, host, "1").returncode == 0))
            f.ctl("counters", host, "1", "PortRcvErrors=3", "SymbolErrorCounter=10", "VL15Dropped=1000")

            def events():
                return [json.loads(line) for line in (f.directory / "events").read_text().splitlines()]

            self.assertTrue(wait_until(lambda: any(e["event"] == "port.errors" for e in events())))
            event = next(e for e in events() if e["event"] == "port.errors")
            self.assertEqual((event["a"]["type"], event["a"]["name"], event["a"]["port"]), ("ca", host, 1))
            self.assertRegex(event["b"]["name"], r"leaf-\d+")
            self.assertEqual([event[k] for k in ("counter", "category", "count", "threshold")],
                             ["PortRcvErrors", "integrity", 3, 2])
            self.assertIn(f'errors above the threshold: "{host}" port 1 - ', f.ibsm_ctl("events").stdout)
            shown = f.ibsm_ctl("counters", "history", host, "1")
            self.assertIn("SymbolErrorCounter +10, PortRcvErrors +3, VL15Dropped +1000", shown.stdout, shown.stderr)
            ports = json.loads(f.ibsm_ctl("counters", "history", host, "--json").stdout)["ports"]
            self.assertEqual(len(ports), 1)
            self.assertEqual({key: ports[0][key] for key in event["a"]}, event["a"])
            self.assertEqual(ports[0]["peer"], event["b"])
            # Every name that another command takes.
            for word in ("host0009", "host0009:HCA-1", host + ":1"):
                self.assertEqual(self.counters(f, word).stdout.count(f'"{host}"'), 1, word)
            unknown = self.counters(f, "host0O09")
            self.assertEqual((unknown.returncode, unknown.stdout.split(";")[0]), (1, "no node is named 'host0O09'"))
            self.assertEqual(ports[0]["windows"][-1]["counts"].get("PortRcvErrors") or
                             ports[0]["windows"][-2]["counts"]["PortRcvErrors"], 3)
            # A threshold that is read again is in force at once.
            conf.write_text(conf.read_text().replace("PortRcvErrors=2", "SymbolErrorCounter=9"))
            os.kill(pid, signal.SIGHUP)
            self.assertTrue(wait_until(lambda: any(e.get("counter") == "SymbolErrorCounter" for e in events())))
            self.assertFalse([e for e in events() if e.get("counter") == "VL15Dropped"])

    def test_a_restart_goes_on_with_totals_windows_and_thresholds(self):
        with Sm(*TREE) as f:
            conf, host = f.directory / "conf", "host0009 HCA-1"
            conf.write_text("perfmgr TRUE\nperfmgr_sweep_time_s 1\nperfmgr_window_s 604800\n"
                            f"event_file {f.directory}/events\n")

            def history():
                return f.ibsm_ctl("counters", "history", host, "1").stdout

            pid = f.daemon("-F", conf)
            self.assertTrue(wait_until(lambda: self.counters(f, host, "1").returncode == 0))
            f.ctl("counters", host, "1", "SymbolErrorCounter=8")
            self.assertTrue(wait_until(lambda: "SymbolErrorCounter +8" in history()))
            database = sqlite3.connect(f.directory / "state" / "ibsm.db")

            def stored():
                return database.execute("select count(*), max(length(counters)), max(read_ms) from counted_window").fetchone()

            last = stored()[2]
            self.assertTrue(wait_until(lambda: stored()[2] > last + 1000))
            self.assertEqual(stored()[0], 2 * 140, "what runs, and what was before, of each port")
            self.assertLess(stored()[1], 120)
            os.kill(pid, signal.SIGKILL)
            self.assertTrue(wait_until(lambda: not pathlib.Path(f"/proc/{pid}").exists()))
            f.ctl("counters", host, "1", "SymbolErrorCounter=13")
            f.daemon("-F", conf)
            self.assertTrue(wait_until(lambda: "SymbolErrorCounter +13" in history()), history())
            events = [json.loads(line) for line in (f.directory / "events").read_text().splitlines()]
            above = [(e["count"], e["threshold"]) for e in events if e["event"] == "port.errors"]
            self.assertEqual(above, [(13, 10)])
            self.assertEqual(f.ibsm_ctl("counters", "clear").returncode, 0)
            self.assertTrue(wait_until(lambda: "port.errors-cleared" in (f.directory / "events").read_text()))
            f.ibsm_ctl("counters", "sweep")
            self.assertTrue(wait_until(lambda: "SymbolErrorCounter" not in history()))

    def test_without_the_option_nothing_is_read_and_that_is_said(self):
        with Sm(*TREE) as f:
            f.daemon()
            refused = self.counters(f)
            self.assertEqual(refused.returncode, 4)
            self.assertIn("start ibsm with --perfmgr", refused.stderr)
            rows = json.loads(f.ctl("stats", "--json").stdout)["mads"]
            self.assertFalse([r for r in rows if r["class_name"].startswith("Perf")])

    def test_beside_opensm_it_counts_and_sets_nothing(self):
        with Sm(*TREE) as f:
            f.opensm("host0032 HCA-1", "-p", "3")
            for words, state, errors in (("-I",), "NOTACTIVE", 3), ((), "STANDBY", 8):
                log = f.directory / "log"
                log.unlink(missing_ok=True)
                f.pid_file = f.directory / "pid"
                started = f.ibsm("-B", "--pidfile", f.pid_file, "-D", "0x23", *words,
                                 "-perfmgr", "-perfmgr_sweep_time_s", "1")
                self.assertEqual(started.returncode, 0, started.stdout + started.stderr)
                self.assertTrue(started.stdout.startswith("SUBNET " + state), started.stdout)
                self.assertTrue(wait_until(lambda: len(json.loads(
                    self.counters(f, "--json").stdout or '{"ports": []}')["ports"]) == 140, 20))
                self.assertIn('beside the master: "host0032 HCA-1" port 1, ', log.read_text())
                planted = f.ctl("counters", "host0009 HCA-1", "1", f"SymbolErrorCounter={errors}")
                self.assertEqual(planted.returncode, 0, planted.stderr)
                said = re.compile(r'"host0009 HCA-1" port 1 - "leaf-\d+" port \d+: SymbolErrorCounter \+\d+ in \d+ s')
                self.assertTrue(wait_until(lambda: said.search(log.read_text()), 10), log.read_text()[-3000:])
                sent = set(re.findall(r"frame: > .*?(\w+\(\w+)\)", log.read_text()))
                self.assertLessEqual({"Get(PortInfo", "Get(PortCounters"}, sent)
                self.assertFalse([what for what in sent if "Set(" in what])
                os.kill(int(f.pid_file.read_text()), signal.SIGTERM)
                self.assertTrue(wait_until(lambda: not f.pid_file.exists(), 10))


class Documents(unittest.TestCase):
    """What ibsm says in JSON is as its schema files have it, what it refuses included."""

    def test_every_answer_has_its_schema_and_names_ports_in_one_shape(self):
        with Sm(*TREE) as f:
            f.daemon("-perfmgr", "-perfmgr_sweep_time_s", "1")
            self.assertTrue(wait_until(lambda: f.ibsm_ctl("counters", "list", "leaf-001", "5").returncode == 0))
            host, other = "host0001", "host0009:HCA-1"
            self.assertEqual(f.ibsm_ctl("partition", "add", "1", other, "0x99").returncode, 0)
            f.ctl("link", "down", "leaf-002", "5")
            self.assertTrue(wait_until(lambda: "link.down" in f.ibsm_ctl("events", "--json").stdout))
            documents = {}
            for words in (("sm",), ("sa",), ("partition", "list"), ("partition", "add", "1", host),
                          ("counters", "list"), ("counters", "history", host), ("explain", host, other)):
                answer = f.ibsm_ctl(*words, "--json")
                self.assertEqual((answer.returncode, answer.stderr), (0, ""), words)
                documents[words] = json.loads(answer.stdout)
                self.assertEqual(complaints(documents[words]), [], words)
            self.assertEqual(documents[("explain", host, other)]["source"]["name"], "host0001 HCA-1")
            self.assertEqual(documents[("sm",)]["managers"][0]["name"], HOST)
            shown = json.loads(f.ibsm("--show-config=json").stdout)
            self.assertEqual(complaints(shown), [])
            events = [json.loads(line) for line in f.ibsm_ctl("events", "--json").stdout.splitlines()]
            self.assertEqual([line for event in events for line in complaints(event)], [])
            # What there is none of is a document of the same kind, and a sentence.
            for words, status, said in (
                    (("explain", "1", "999"), 1, "no port has LID 999"), (("explain", "1", "70000"), 2, "up to 0xbfff"),
                    (("counters", "list", "nobody"), 1, "no node is named 'nobody'"), (("sm", "x"), 2, "got 'x'"),
                    (("sa", "set", "x=1"), 2, "sa set"), (("partition", "add", "1", "nobody"), 1, "nothing was changed"),
                    (("events", "x"), 2, "those after that number"), (("sa", "--nonsense"), 2, "got '--nonsense'")):
                answer = f.ibsm_ctl(*words, "--json")
                self.assertEqual(answer.returncode, status, (words, answer.stderr))
                self.assertIn(said, answer.stderr, words)
                document = json.loads(answer.stdout)
                self.assertEqual(complaints(document), [], words)
                self.assertEqual(document["error"]["status"], status, words)
                self.assertRegex(document["schema"], r"^ibkit\.ibsm-", words)
            # A host that left: since when, and where it was.
            f.ctl("node", "remove", "host0009 HCA-1")
            self.assertTrue(wait_until(lambda: f.ibsm_ctl("explain", host, other).returncode == 1))
            for words in (("explain", host, other), ("partition", "add", "1", "host0009")):
                self.assertRegex(f.ibsm_ctl(*words).stdout + f.ibsm_ctl(*words).stderr,
                                 r'"host0009 HCA-1" \(0x[0-9a-f]{16}\) left at [-0-9T:.]+Z; it was on "leaf-\d+" port \d+')
            followed = f.ibsm_ctl("pause", "--json")
            self.assertEqual(followed.returncode, 2)
            self.assertIn("ibsm ctl pause: expected an option, got '--json'", followed.stderr)


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


class RouterAliases(unittest.TestCase):
    """rtr_aguid_enable: aliases that end with the LID, as stock saquery and smpquery see them, on a fabric with a router."""

    def topology(self):
        directory = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        path = pathlib.Path(generate(directory / "tree.topo", "fat-tree", "--radix", "4", "--no-lids"))
        text = path.read_text(encoding="utf-8")
        guid = re.search(r'Ca\t1 "H-([0-9a-f]{16})"\s+# "host0008 HCA-1"', text)[1]
        text = re.sub(rf"caguid=(0x0*{guid.lstrip('0')}\nCa\t)", lambda m: "rtguid=" + m[1], text)
        text = text.replace(f'Ca\t1 "H-{guid}"', f'Rt\t1 "R-{guid}"').replace(f'"H-{guid}"', f'"R-{guid}"')
        path.write_text(text, encoding="utf-8")
        return path

    def test_each_host_has_one_until_they_are_taken_back(self):
        with Sm(topology=self.topology()) as f:
            conf, prefixes = f.directory / "conf", f.directory / "prefixes"
            prefixes.write_text("* *\n")
            conf.write_text(f"rtr_aguid_enable 1\nprefix_routes_file {prefixes}\n")
            f.daemon("-F", conf)
            lids = {n: int(f.on(HOST, "saquery", "-l", f"host000{n} HCA-1").stdout) for n in range(1, 9)}

            def aliases():
                told = f.on(HOST, "saquery", "--smkey", "1", "GIR").stdout.lower()
                return sorted(int(lid, 16) for lid in re.findall(r"0x001405000100([0-9a-f]{4})", told))

            hosts = sorted(lids[n] for n in range(1, 8))
            self.assertTrue(wait_until(lambda: aliases() == hosts), (aliases(), hosts))
            # The port has it, too.
            def held(n):
                return f.on(HOST, "smpquery", "guidinfo", str(lids[n])).stdout.lower()
            self.assertTrue(wait_until(lambda: f"0x001405000100{lids[3]:04x}" in held(3)), held(3))
            # A path from an alias to one on another subnet leads to the router.
            def path(source, target):
                return f.on(HOST, "saquery", "PR", "--sgid", source, "--dgid", target).stdout
            found = path(f"fe80::14:500:100:{lids[1]:x}", "fec0:0:0:7:14:500:100:3")
            self.assertRegex(found, rf"(?m)^\s*dlid\.+{lids[8]}$")
            # And within the subnet it is the host's.
            found = path(f"fe80::14:500:100:{lids[1]:x}", f"fe80::14:500:100:{lids[3]:x}")
            self.assertRegex(found, rf"(?m)^\s*dlid\.+{lids[3]}$")
            end_daemon(f.pid_file)
            conf.write_text("rtr_aguid_enable 2\n")
            f.daemon("-F", conf)
            self.assertTrue(wait_until(lambda: aliases() == []))
            self.assertTrue(wait_until(lambda: "0x0014050001" not in held(3)), held(3))


class Events(unittest.TestCase):
    """What changed: in the log, as JSON lines, in the activity report, over the control socket."""

    def test_a_cable_a_node_and_a_partition(self):
        with Sm(*TREE) as f:
            conf, partitions = f.directory / "conf", f.directory / "partitions"
            partitions.write_text("Default=0x7fff, ipoib : ALL=full ;\n")
            conf.write_text(f"activity_report_subjects all\nevent_file {f.directory}/events\n"
                            f"partition_config_file {partitions}\n")
            pid = f.daemon("-F", conf)
            for words, event in ((("link", "down", "leaf-002", "5"), "link.down"),
                                 (("link", "up", "leaf-002", "5"), "link.up"),
                                 (("node", "remove", "host0009 HCA-1"), "node.left")):
                f.ctl(*words)
                self.assertTrue(wait_until(lambda: f'"{event}"' in (f.directory / "events").read_text()), event)
            partitions.write_text('Default=0x7fff, ipoib : ALL=full ;\nred=0x1 : "host0002 HCA-1" ;\n')
            os.kill(pid, signal.SIGHUP)
            self.assertTrue(wait_until(lambda: "partition.member" in (f.directory / "events").read_text()))
            events = [json.loads(line) for line in (f.directory / "events").read_text().splitlines()]
            self.assertEqual([e["number"] for e in events], list(range(1, len(events) + 1)))
            down = next(e for e in events if e["event"] == "link.down")
            self.assertEqual([(down[end]["name"], down[end]["port"]) for end in "ab"],
                             [("leaf-002", 5), ("spine-001", 2)])
            self.assertIn('W event: link down: "leaf-002" port 5 - "spine-001" port 2\n',
                          (f.directory / "log").read_text())
            asked = f.ibsm_ctl("events", "--json", str(down["number"] - 1)).stdout.splitlines()
            self.assertEqual(json.loads(asked[0]), down)
            self.assertEqual(len(f.ibsm_ctl("events").stdout.splitlines()), len(events))
            os.kill(pid, signal.SIGTERM)
            self.assertTrue(wait_until(lambda: not f.pid_file.exists(), 10))
            report = (f.directory / "state" / "opensm-activity.dump").read_text()
            for line in (r" 2 mcg_change mlid=0xc000 mgid=ff12:401b:ffff::ffff:ffff change=0$",
                         r" 9 routing_succeed engine=ftree entries=\d+ switches=12 load_before=0 load_after=\d+$",
                         r" 4 prtn_create p_key=0x0001 name=red$",
                         r" 3 prtn_guid_add port_guid=0x\w+ p_key=0x0001 block_index=0 p_key_index=1$",
                         r" 5 prtn_delete p_key=0x0001 reason=2$"):
                self.assertRegex(report, "(?m)" + line)
            self.assertNotIn("link", report)


class NodeNames(unittest.TestCase):
    """--node_name_map: what people call nodes, wherever they read of them."""

    def test_replace_descriptions_but_in_the_sa_and_change_with_a_reload(self):
        with Sm(*TREE) as f:
            hosts = f.on(HOST, "ibnetdiscover").stdout
            guid = re.search(r'caguid=(0x\w+)\nCa\t\d+ "\S+"\s+# "host0009 HCA-1"', hosts).group(1)
            names, partitions = f.directory / "names", f.directory / "partitions"
            names.write_text(f'# who stands where\n{guid} "rack 7 slot 2"\n')
            partitions.write_text('Default=0x7fff : ALL=full ;\nred=0x1 : "rack 7 slot 2"=full ;\n')
            words = ("-P", partitions, "--node_name_map", names, "--event_file", f.directory / "events",
                     "--dump_files_dir", f.directory)
            pid = f.daemon(*words)
            records = f.on(HOST, "saquery", "-N").stdout
            self.assertTrue("host0009 HCA-1" in records and "rack 7" not in records, "they say what nodes say")
            self.assertIn("rack 7 slot 2", (f.directory / "opensm-subnet.lst").read_text())
            keys = f.on("host0009 HCA-1", "smpquery", "-D", "pkeys", "0", "1").stdout
            self.assertIn("0x7fff 0x8001", keys.replace("0xffff", "0x7fff"))
            names.write_text(f"{guid} nobody\n")
            os.kill(pid, signal.SIGHUP)
            self.assertTrue(wait_until(lambda: f"{names}:1:{len(guid) + 2}: error: expected a name in quotes"
                                       in (f.directory / "log").read_text()))
            self.assertTrue(wait_until(lambda: f.ups() == 2))
            names.write_text(f'{guid} "moved"\n')
            partitions.write_text('Default=0x7fff : ALL=full ;\nred=0x1 : "moved"=full ;\n')
            sets, ups = f.sets(), f.ups()
            os.kill(pid, signal.SIGHUP)
            self.assertTrue(wait_until(lambda: f.ups() > ups))
            self.assertEqual(f.sets(), sets, "a name changes nothing on the fabric")
            f.ctl("node", "remove", "host0009 HCA-1")
            self.assertTrue(wait_until(lambda: '"node.left"' in (f.directory / "events").read_text()))
            self.assertIn('"moved"', (f.directory / "events").read_text())

    def test_a_map_that_cannot_be_read_ends_the_start_with_its_place(self):
        with Sm(*TREE) as f:
            names = f.directory / "names"
            missing = f.ibsm("-o", "--node_name_map", names)
            self.assertEqual((missing.returncode, missing.stderr), (2, f"ibsm: {names}: No such file or directory\n"))
            names.write_text('0x1 "one"\n0x2 "two\n')
            broken = f.ibsm("-o", "--node_name_map", names)
            self.assertEqual(broken.returncode, 2)
            self.assertIn(f"{names}:2:9: error: expected a closing quote, got the end of the line\n", broken.stderr)
            self.assertEqual(f.sets(), 0)


class SaKey(unittest.TestCase):
    def test_known_key_is_warned_of_and_a_secret_one_is_kept_secret(self):
        with Sm(*TREE) as f:
            log = f.directory / "log"
            self.assertEqual(f.ibsm("-o").returncode, 0)
            self.assertIn("sa_key is 1", log.read_text())
            log.unlink()
            self.assertEqual(f.ibsm("-o", "--sa_key", "auto").returncode, 0)
            self.assertNotIn("sa_key is 1", log.read_text())
            self.assertIn(f"sa_key auto: the key was made and is in {f.directory}/state/sa_key;", log.read_text())
            key = f.directory / "state" / "sa_key"
            self.assertEqual(key.stat().st_mode & 0o777, 0o600)
            made = key.read_text()
            self.assertRegex(made, r"^0x[0-9a-f]{16}\n$")
            # The next start has the same one, and serves.
            f.daemon("--sa_key", "auto")
            self.assertEqual(key.read_text(), made)
            self.assertIn(f"sa_key auto: the key is that of {f.directory}/state/sa_key;", log.read_text())
            self.assertNotIn(made.strip(), log.read_text())
            asked = f.on("host0002 HCA-1", "saquery", "--smkey", "1", "NR")
            self.assertIn("NodeRecord dump", asked.stdout, asked.stderr)
            os.kill(int(f.pid_file.read_text()), signal.SIGTERM)
            self.assertTrue(wait_until(lambda: not f.pid_file.exists(), 20))
            key.chmod(0o644)
            refused = f.ibsm("-o", "--sa_key", "auto")
            self.assertEqual(refused.returncode, 4)
            self.assertIn("chmod 600", refused.stderr)

    def test_counters_are_in_the_log_at_the_end(self):
        with Sm(*TREE) as f:
            f.daemon()
            f.on("host0002 HCA-1", "saquery", "NR")
            os.kill(int(f.pid_file.read_text()), signal.SIGTERM)
            self.assertTrue(wait_until(lambda: not f.pid_file.exists(), 20))
            self.assertRegex((f.directory / "log").read_text(), r"sa: requests=\d+ answers=\d+ records=\d+")


class DryRun(unittest.TestCase):
    def test_prints_what_differs_and_sends_no_set(self):
        with Sm(*TREE) as f:
            first = f.ibsm("--dry-run")
            self.assertEqual(first.returncode, 1, first.stdout + first.stderr)
            self.assertRegex(first.stdout, r"^DRY RUN slots=\d+ nodes=44\n")
            self.assertIn("\ntable: LinearForwardingTable slots=12 nodes=12\n", first.stdout)
            self.assertEqual(f.sets(), 0)
            self.assertFalse((f.directory / "state").exists())
            self.assertFalse((f.directory / "log").exists())

            self.assertEqual(f.ibsm("-o").returncode, 0)
            sets = f.sets()
            same = f.ibsm("--dry-run")
            self.assertEqual((same.returncode, same.stdout, same.stderr), (0, "DRY RUN slots=0 nodes=0\n", ""))
            other = f.ibsm("--dry-run", "--json", "-R", "dfsssp")
            self.assertEqual(other.returncode, 1, other.stdout + other.stderr)
            document = json.loads(other.stdout)
            self.assertEqual((document["schema"], document["complete"]), ("ibkit.ibsm-dry-run/2", True))
            self.assertEqual(document["slots"], len(document["differences"]))
            self.assertIn("LinearForwardingTable", {row["table"] for row in document["tables"]})
            self.assertEqual(f.ctl("node", "silent", "host0009 HCA-1").returncode, 0)
            partly = f.ibsm("--dry-run")
            self.assertEqual(partly.returncode, 3, partly.stdout + partly.stderr)
            self.assertIn("\nunmanaged: ", partly.stdout)
            self.assertEqual(f.sets(), sets)

    def test_beside_a_master_that_goes_on(self):
        with Sm(*TREE) as f:
            f.daemon()
            sets = f.sets()
            beside = f.ibsm("--dry-run")
            self.assertEqual((beside.returncode, beside.stdout), (0, "DRY RUN slots=0 nodes=0\n"), beside.stderr)
            self.assertIn("warning: ", beside.stderr)
            elsewhere = f.ibsm("--dry-run", at="host0002 HCA-1", state="other")
            self.assertEqual(elsewhere.returncode, 1, elsewhere.stdout)
            self.assertNotIn("LinearForwardingTable", elsewhere.stdout)
            self.assertEqual((f.sets(), f.ups()), (sets, 1))


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
            moved = "the port with GUID 0x0002c90300000001 is of no use any more (its link is down): ibsm goes on from"
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


class Others:
    """Another subnet manager, stock opensm or ibsm, on another host."""
    OTHER, OTHER_GUID = "host0032 HCA-1", "0x0002c903000001f1"

    def start_opensm(self, f, *words):
        """Without waiting for anything; polls soon and gives up soon. Its process."""
        home = f.directory / "opensm"
        home.mkdir(exist_ok=True)
        config = home / "conf"
        config.write_text("sminfo_polling_timeout 200\npolling_retry_number 2\n")
        self.said = home / "log"
        return f.start(self.OTHER, "opensm", "-F", config, "-f", self.said, "-D", "0x43", "-d", "2", *words,
                       env=dict(os.environ, OSM_CACHE_DIR=str(home), OSM_TMP_DIR=str(home)))

    def says(self, text, times=1):
        """opensm does, within 20 seconds."""
        log = lambda: self.said.read_text(errors="replace") if self.said.exists() else ""  # noqa: E731
        self.assertTrue(wait_until(lambda: log().count(text) >= times, 20), f"{text}\n{log()[-3000:]}")

    def end_opensm(self, how):
        """The process by which ibfabric runs it is opensm itself."""
        self.process.send_signal(how)
        self.process.wait(20)

    def standing(self, f, state="state"):
        said = subprocess.run([IBSM, "ctl", "sm", "--json", "--state-dir", f.directory / state],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(said.returncode, 0, said.stderr)
        return json.loads(said.stdout)

    def becomes(self, f, state, where="state"):
        self.assertTrue(wait_until(lambda: self.standing(f, where)["state"] == state, 20),
                        (f.directory / "log").read_text()[-3000:])

    def is_whole(self, f, lids):
        self.assertTrue(wait_until(lambda: f.states() == {"Active"}, 20), f.states())
        self.assertEqual(f.lids(), lids)


    def sets_of_tables(self, f, attributes=(0x19, 0x1B)):
        rows = json.loads(f.ctl("stats", "--json").stdout)["mads"]
        return sum(r["mads"] for r in rows if r["method_name"] == "Set"
                   and int(str(r["attribute"]), 0) in attributes)


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
                self.assertTrue(wait_until(lambda: [(m.get("state"), m.get("priority")) for m in self.standing(f)["managers"]
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


class Lanes(unittest.TestCase):
    """Routes on several VLs: dfsssp breaks the circle of a ring with a second one."""

    def test_a_restart_sends_no_set(self):
        with Sm("torus", "6", "--no-lids") as f:
            self.assertEqual(f.ibsm("-o", "-R", "dfsssp").returncode, 0)
            before = f.sets()
            self.assertEqual(f.ibsm("-o", "-R", "dfsssp").returncode, 0)
            self.assertEqual(f.sets(), before)

    def test_verify_takes_sls_from_the_sa_or_says_that_it_could_not(self):
        with Sm("torus", "6", "--no-lids") as f:
            f.daemon("-R", "dfsssp")
            whole = f.on(HOST, BIN / "ibroutes", "verify", "--sl2vl")
            self.assertEqual(whole.returncode, 0, whole.stdout)
            self.assertIn("credit-loop-channels: 0\n", whole.stdout)
            self.assertIn("note: SLs are those of the SA's path records for 30 pairs", whole.stdout)
            # Without SL2VL all is on VL 0, where a ring's shortest paths close a circle.
            one_vl = f.on(HOST, BIN / "ibroutes", "verify")
            self.assertEqual(one_vl.returncode, 1)
            self.assertIn("credit-loop-channels: 12\n", one_vl.stdout)
            self.assertIn("note: SL2VL tables are unknown", one_vl.stdout)
            os.kill(int(f.pid_file.read_text()), signal.SIGTERM)
            self.assertTrue(wait_until(lambda: not f.pid_file.exists(), 10))
            alone = f.on(HOST, BIN / "ibroutes", "verify", "--sl2vl", "-t", "50")
            self.assertEqual(alone.returncode, 1)
            self.assertIn("note: SL 0 is assumed for all paths: ", alone.stdout)
            self.assertIn("credit-loop-channels: 12\n", alone.stdout)


if __name__ == "__main__":
    unittest.main()
