# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What ibsm promises to scripts and to a running fabric, judged by stock programs and by the counts
of MADs that passed: statuses, the second start, what an unchanged fabric costs, what is written."""
import json
import os
import pathlib
import pty
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
from program import IBSM, TREE, HOST, Sm  # noqa: E402
from fabric import BIN, wait_until  # noqa: E402
from json_schema import complaints  # noqa: E402


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
            f.daemon("--force_log_flush", "-perfmgr")
            f.on(HOST, "saquery")
            said = json.loads(f.ibsm_ctl("sa", "--json").stdout)
            self.assertEqual(said["limits"], {"max_outstanding": 16, "queue_size": 1024, "time_sa_mad": 2000,
                                              "rx_threshold": 8192})
            self.assertGreater(said["counters"]["requests"], 0)
            done = f.ibsm_ctl("sa", "set", "queue_size=64", "rx_threshold=100")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("queue_size 64\n", done.stdout)
            ports = json.loads(f.ctl("thresholds", "--json").stdout)["ports"]
            self.assertEqual([p["threshold"] for p in ports], [100] * 3, "QP0, the SA's port, that of managers")
            self.assertEqual(f.ibsm_ctl("sa", "reset").returncode, 0)
            after = json.loads(f.ibsm_ctl("sa", "--json").stdout)
            self.assertEqual((after["counters"]["requests"], after["counters"]["answers"]), (0, 0))
            self.assertEqual(after["limits"]["queue_size"], 64)
            words = "ibsm ctl sa set queue_size=64 rx_threshold=100"
            self.assertTrue(wait_until(lambda: words in (f.directory / "log").read_text()))
            for wrong in (("set", "queue_size=15"), ("set", "queue_size=64", "depth=1"), ("show",)):
                self.assertEqual(f.ibsm_ctl("sa", *wrong).returncode, 2, wrong)
            self.assertEqual(f.on(HOST, "saquery").returncode, 0)


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
                          ("counters", "list"), ("counters", "history", host), ("explain", host, other),
                          ("counters", "sweep"), ("counters", "dump"), ("counters", "clear")):
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
            for words in (("explain", host, other), ("partition", "add", "1", "host0009"), ("enable", "host0009:1")):
                self.assertRegex(f.ibsm_ctl(*words).stdout + f.ibsm_ctl(*words).stderr,
                                 r'"host0009 HCA-1" \(0x[0-9a-f]{16}\) left at [-0-9T:.]+Z; it was on "leaf-\d+" port \d+')
            followed = f.ibsm_ctl("pause", "--json")
            self.assertEqual(followed.returncode, 2)
            self.assertIn("ibsm ctl pause: expected an option, got '--json'", followed.stderr)


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


if __name__ == "__main__":
    unittest.main()
