# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What ibfabric promises to scripts: statuses, environment, ctl, and libibumad's names."""
import ctypes
import ctypes.util
import errno
import json
import os
import pathlib
import re
import signal
import struct
import subprocess
import sys
import tempfile
import unittest

from fabric import BIN, IBFABRIC, LIB, Fabric, generate, run, stop, wait_until


def functions_of(library):
    """Names of the functions a library exports, versions cut off."""
    listing = run("nm", "-D", "--defined-only", library)
    assert listing.returncode == 0, listing.stderr
    rows = (line.split() for line in listing.stdout.splitlines())
    return {row[2].split("@")[0] for row in rows if len(row) == 3 and row[1] in "TW"}


def system_library(soname):
    for line in run("ldconfig", "-p").stdout.splitlines():
        words = line.split()
        if words and words[0] == soname:
            return words[-1]
    raise AssertionError(f"no {soname} on this system")


class Symbols(unittest.TestCase):
    def test_all_of_libibumad_is_supplied(self):
        system = functions_of(system_library("libibumad.so.3"))
        self.assertIn("umad_send", system)
        ours = functions_of(LIB / "libibfabric-umad.so")
        self.assertEqual(system - ours, set())
        # And nothing but that, one function of the vendor's libibumad, and the ways to open a file.
        self.assertEqual({name for name in ours - system if not name.lstrip("_").startswith("open")},
                         {"umad_update_threshold"})

    def test_the_library_needs_nothing_but_the_c_library(self):
        needed = run("objdump", "-p", LIB / "libibfabric-umad.so").stdout
        libraries = {line.split()[1] for line in needed.splitlines() if "NEEDED" in line}
        self.assertLessEqual(libraries, {"libc.so.6", "libdl.so.2", "libpthread.so.0"})


class Run(unittest.TestCase):
    def test_a_file_that_ends_in_the_middle_is_said_to(self):
        with tempfile.TemporaryDirectory() as directory:
            topology = pathlib.Path(generate(pathlib.Path(directory) / "t.topo", "fat-tree", "--radix", "4"))
            topology.write_bytes(topology.read_bytes()[:-200].replace(b"\n", b"\r\n"))
            place = f"ibfabric: {topology}:"
            quiet, verbose = (run(IBFABRIC, "run", *words, topology, "--", "true") for words in ((), ("-v",)))
            for result in (quiet, verbose):
                self.assertEqual(result.returncode, 0)
                self.assertRegex(result.stderr, re.escape(place) + ".*: it ends in the middle of line ")
            self.assertEqual(len(quiet.stderr.splitlines()), 1, quiet.stderr)
            self.assertIn("carriage returns", verbose.stderr)

    def test_a_daemon_that_the_command_left_behind_leaves_nothing(self):
        with tempfile.TemporaryDirectory() as directory:
            topology = pathlib.Path(directory) / "topo"
            generate(topology, "fat-tree", "--radix", "4")
            place = pathlib.Path(directory) / "tmp"
            place.mkdir()
            done = subprocess.run([IBFABRIC, "run", topology, "--", BIN / "ibsm", "-B", "-f", f"{directory}/log"],
                                  env={**os.environ, "TMPDIR": str(place)}, capture_output=True, text=True,
                                  check=False, timeout=60)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertEqual(list(place.iterdir()), [])

    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.topology = generate(pathlib.Path(self.directory.name) / "t.topo", "fat-tree",
                                 "--radix", "4")

    def tearDown(self):
        self.directory.cleanup()

    def test_exits_as_the_command_does(self):
        self.assertEqual(run(IBFABRIC, "run", self.topology, "--", "true").returncode, 0)
        self.assertEqual(run(IBFABRIC, "run", self.topology, "--", "sh", "-c", "exit 7").returncode, 7)
        killed = run(IBFABRIC, "run", self.topology, "--", "sh", "-c", "kill -9 $$")
        self.assertEqual(killed.returncode, 128 + 9)
        self.assertEqual(run(IBFABRIC, "run", self.topology, "--", "no-such-command").returncode, 127)

    def test_exits_125_when_it_cannot(self):
        missing = run(IBFABRIC, "run", "/no/such/file", "--", "true")
        self.assertEqual(missing.returncode, 125)
        self.assertIn("/no/such/file", missing.stderr)
        nowhere = run(IBFABRIC, "run", self.topology, "--at", "nobody", "--", "true")
        self.assertEqual(nowhere.returncode, 125)
        self.assertEqual(run(IBFABRIC, "run", self.topology).returncode, 125)
        for loss in ("x", "nan", "101"):
            refused = run(IBFABRIC, "run", self.topology, "--loss", loss, "--", "true")
            self.assertEqual(refused.returncode, 125)
            self.assertIn(f"expected a number from 0 to 100, got '{loss}'", refused.stderr)
        for option, value, expected in (
                ("--lids", "x", "none|keep"), ("--seed", "x", "a number from 0 to 18446744073709551615"),
                ("--seed", "-1", "a number from 0 to 18446744073709551615"),
                ("--sma-queue", "-1", "a number from 0 to 1000000"),
                ("--rcv-queue", "9999999", "a number from 0 to 1000000"),
                ("--vl15-buffer", "1.5", "a number from 0 to 1000000")):
            refused = run(IBFABRIC, "run", self.topology, option, value, "--", "true")
            self.assertEqual(refused.returncode, 125)
            self.assertIn(f"{option}: expected {expected}, got '{value}'\n", refused.stderr)

    def test_leaves_nothing_behind(self):
        result = run(IBFABRIC, "run", self.topology, "--", "sh", "-c", "echo $IBFABRIC_SOCKET")
        socket = result.stdout.strip()
        self.assertTrue(socket)
        self.assertFalse(os.path.exists(os.path.dirname(socket)))

    def test_starts_without_lids_or_with_the_files(self):
        self.assertIn("Base lid: 0", run(IBFABRIC, "run", self.topology, "--", "ibstat").stdout)
        kept = run(IBFABRIC, "run", self.topology, "--lids", "keep", "--", "ibstat").stdout
        self.assertNotIn("Base lid: 0\n", kept)

    def test_help_is_0_and_nonsense_2(self):
        self.assertEqual(run(IBFABRIC, "--help").returncode, 0)
        self.assertEqual(run(IBFABRIC, "run", "--help").returncode, 0)
        self.assertEqual(run(IBFABRIC, "gen", "--help").returncode, 0)
        self.assertEqual(run(IBFABRIC).returncode, 2)
        self.assertEqual(run(IBFABRIC, "dance").returncode, 2)
        self.assertEqual(run(IBFABRIC, "gen", "dance").returncode, 2)
        self.assertEqual(run(IBFABRIC, "serve", self.topology).returncode, 2)


def without_epoll_pwait2():
    """This process and its children are told that the kernel has no such call, as before Linux 5.11."""
    code = b"".join(struct.pack("HBBI", *step) for step in (
        (0x20, 0, 0, 0), (0x15, 0, 1, 441), (0x06, 0, 0, 0x00050000 | errno.ENOSYS), (0x06, 0, 0, 0x7FFF0000)))
    steps = ctypes.create_string_buffer(code)
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(steps)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, program, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "seccomp")


class Serve(unittest.TestCase):
    def test_serves_where_the_kernel_has_no_epoll_pwait2(self):
        with tempfile.TemporaryDirectory() as directory:
            topology = generate(pathlib.Path(directory) / "t.topo", "fat-tree", "--radix", "4")
            found = subprocess.run([IBFABRIC, "run", topology, "--", "smpquery", "-D", "nodedesc", "0,1"],
                                   preexec_fn=without_epoll_pwait2, capture_output=True, text=True, check=False,
                                   timeout=20)
            self.assertEqual((found.returncode, found.stderr), (0, ""))
            self.assertIn("leaf-001", found.stdout)

    def test_ends_on_sigterm_with_0_and_removes_its_socket(self):
        with Fabric("fat-tree", "--radix", "4") as f:
            self.assertTrue(os.path.exists(f.socket))
            f.server.send_signal(signal.SIGTERM)
            self.assertEqual(f.server.wait(10), 0)
            self.assertFalse(os.path.exists(f.socket))

    def test_refuses_a_bad_file_with_its_place(self):
        with tempfile.TemporaryDirectory() as directory:
            bad = pathlib.Path(directory) / "bad.topo"
            bad.write_text('Switch\t4 "S-0001" # "s" base port 0 lid 1 lmc 0\n[x]\t"H-0002"[1]\n')
            result = run(IBFABRIC, "serve", bad, "--socket", f"{directory}/s")
            self.assertEqual(result.returncode, 2)
            self.assertRegex(result.stderr, r"bad\.topo:\d+:\d+: expected ")

    def test_does_not_take_a_socket_somebody_listens_at(self):
        with Fabric("fat-tree", "--radix", "4") as f:
            second = run(IBFABRIC, "serve", f.topology, "--socket", f.socket)
            self.assertEqual(second.returncode, 4)
            self.assertEqual(f.on(None, "ibstat").returncode, 0)

    def test_takes_over_a_socket_left_behind(self):
        with Fabric("fat-tree", "--radix", "4") as f:
            f.server.kill()
            f.server.wait()
            self.assertTrue(os.path.exists(f.socket))
            again = subprocess.Popen([IBFABRIC, "serve", f.topology, "--socket", f.socket],
                                     stdout=subprocess.PIPE, text=True)
            try:
                self.assertEqual(again.stdout.readline(), f"ready {f.socket}\n")
            finally:
                stop(again)

    def test_leaves_the_socket_of_whoever_came_after(self):
        with Fabric("fat-tree", "--radix", "4") as f:
            os.unlink(f.socket)
            after = subprocess.Popen([IBFABRIC, "serve", f.topology, "--socket", f.socket],
                                     stdout=subprocess.PIPE, text=True)
            try:
                self.assertEqual(after.stdout.readline(), f"ready {f.socket}\n")
                f.server.send_signal(signal.SIGTERM)
                self.assertEqual(f.server.wait(10), 0)
                self.assertEqual(f.on(None, "ibstat").returncode, 0)
            finally:
                stop(after)

    def test_replaces_nothing_but_a_socket(self):
        with tempfile.TemporaryDirectory() as directory:
            place = pathlib.Path(directory)
            topology = generate(place / "t.topo", "fat-tree", "--radix", "4")
            precious = place / "precious"
            precious.write_text("precious\n")
            link = place / "link"
            link.symlink_to(precious)
            for path, what in ((precious, "a regular file"), (link, "a symbolic link"),
                               (place, "a directory")):
                refused = run(IBFABRIC, "serve", topology, "--socket", path)
                self.assertEqual(refused.returncode, 4, refused.stderr)
                self.assertIn(f"{path}: there is {what}", refused.stderr)
            self.assertTrue(link.is_symlink())
            self.assertEqual(precious.read_text(), "precious\n")

    def test_exec_says_what_is_wrong(self):
        with Fabric("fat-tree", "--radix", "4") as f:
            self.assertEqual(f.on("nobody", "true").returncode, 1)
            self.assertEqual(f.on("host0001 HCA-1:2", "true").returncode, 2)
            self.assertEqual(f.on(None, "no-such-command").returncode, 127)
        self.assertEqual(run(IBFABRIC, "exec", "--socket", "/no/such", "--", "true").returncode, 4)


class Nested(unittest.TestCase):
    def test_other_places_are_reached_from_within(self):
        with tempfile.TemporaryDirectory() as directory:
            topology = generate(pathlib.Path(directory) / "t.topo", "fat-tree", "--radix", "4")
            script = (f"'{IBFABRIC}' exec --at 'host0005 HCA-1' -- smpquery -D nodedesc 0;"
                      f"'{IBFABRIC}' exec --at 'host0006 HCA-1' -- "
                      f"'{IBFABRIC}' exec --at spine-001 -- smpquery -D nodedesc 0;"
                      f"'{IBFABRIC}' ctl show 'host0005 HCA-1'; smpquery -D nodedesc 0")
            result = run(IBFABRIC, "run", topology, "--at", "host0002 HCA-1", "--", "sh", "-c", script)
            self.assertEqual(result.returncode, 0, result.stderr)
            names = [line.split(".")[-1] for line in result.stdout.splitlines()
                     if line.startswith("Node Description")]
            self.assertEqual(names, ["host0005 HCA-1", "spine-001", "host0002 HCA-1"])


class Ctl(unittest.TestCase):
    def test_statuses(self):
        with Fabric("fat-tree", "--radix", "4") as f:
            self.assertEqual(f.ctl("seed", "7").returncode, 0)
            for wrong in (("seed", "x"), ("link", "sideways", "leaf-001", "1"), ("show",),
                          ("show", "leaf-001", "99"), ("link", "down", "leaf-001"),
                          ("faults", "--loss", "101"), ("dance",),
                          ("cable", "move", "leaf-001", "1", "leaf-001", "99")):
                self.assertEqual(f.ctl(*wrong).returncode, 2, wrong)
            for unknown in (("show", "nobody"), ("node", "reboot", "nobody")):
                self.assertEqual(f.ctl(*unknown).returncode, 1, unknown)
        self.assertEqual(run(IBFABRIC, "ctl", "--socket", "/no/such", "stats").returncode, 4)

    def test_says_what_it_expected_before_it_asks_the_server(self):
        for words, expected in ((("dance",), "got 'dance'"), (("link", "down"), "NODE PORT"),
                                (("show",), "NODE [PORT]"), (("stats", "more"), "more")):
            result = run(IBFABRIC, "ctl", "--socket", "/no/such", *words)
            self.assertEqual(result.returncode, 2, words)
            self.assertRegex(result.stderr, r"^ibfabric ctl")
            self.assertIn(expected, result.stderr)
        result = run(IBFABRIC, "dance")
        self.assertIn("expected run|serve|exec|ctl|gen, got 'dance'", result.stderr)

    def test_documents_have_the_fields_that_are_written_down(self):
        page = (pathlib.Path(__file__).parents[3] / "doc/formats.md").read_text()
        section = page.split("\n## ibfabric ctl\n")[1].split("\n## ")[0]
        common = page.split("\n## JSON, everywhere\n")[1].split("\n## ")[0]
        known = set(re.findall(r"`\.*([a-z_0-9]+)(?:\[\])?`", section + common))

        def fields(value):
            if isinstance(value, dict):
                return set(value).union(*map(fields, value.values()))
            return set().union(*map(fields, value)) if isinstance(value, list) else set()

        with Fabric("fat-tree", "--radix", "4") as f:
            f.on(None, "smpquery", "-D", "nodeinfo", "0,1")
            for words in (("seed", "1"), ("faults",), ("faults", "--link", "leaf-001", "1"), ("stats",),
                          ("show", "leaf-001"), ("show", "host0001 HCA-1"), ("pcap", "off"),
                          ("link", "up", "leaf-001", "1"), ("flow", "list"), ("counters", "leaf-001", "1"),
                          ("device", "leaf-001", "vl_cap=2"), ("device", "leaf-001"),
                          ("node", "describe", "spine-001", "the spine"),
                          ("node", "reboot", "leaf-001")):
                result = f.ctl(*words, "--json")
                self.assertEqual(result.returncode, 0, result.stderr)
                document = json.loads(result.stdout)
                self.assertEqual(document["command"], words[0])
                self.assertEqual(fields(document) - known, set(), words)
                self.assertLessEqual({"schema", "tool", "version", "complete", "errors"},
                                     set(document))

    def test_a_device_gets_all_the_traits_of_a_command_or_none(self):
        with Fabric("fat-tree", "--radix", "4") as f:
            for wrong in ("colour=red", "mtu_cap=3", "vports=2"):
                self.assertEqual(f.ctl("device", "leaf-001", "vl_cap=2", wrong).returncode, 2, wrong)
            self.assertEqual(f.ctl("device", "leaf-001").stdout, "")
            self.assertEqual(f.ctl("device", "leaf-001", "1", "vl_cap=2", "mtu_cap=256").returncode, 0)
            self.assertEqual(f.ctl("device", "leaf-001").stdout, "port 1 vl_cap=2\nport 1 mtu_cap=256\n")

    def test_a_full_disk_is_said(self):
        with Fabric("fat-tree", "--radix", "4") as f, open("/dev/full", "w") as full:
            for words in (("ctl", "--socket", f.socket, "stats"), ("gen", "lab-like")):
                result = subprocess.run([IBFABRIC, *words], stdout=full, stderr=subprocess.PIPE)
                self.assertEqual(result.returncode, 4, words)
                self.assertIn(b"standard output", result.stderr)

    def test_show_by_name_id_and_guid(self):
        with Fabric("fat-tree", "--radix", "4") as f:
            by_name = json.loads(f.ctl("show", "leaf-001", "--json").stdout)
            self.assertEqual(by_name["node"]["type"], "switch")
            self.assertEqual(by_name["schema"], "ibkit.ibfabric/2")
            self.assertTrue(by_name["complete"])
            self.assertEqual(by_name["errors"], [])
            for other in (by_name["node"]["id"], by_name["node"]["node_guid"]):
                self.assertEqual(json.loads(f.ctl("show", other, "--json").stdout), by_name)
            port = json.loads(f.ctl("show", "leaf-001", "1", "--json").stdout)["ports"]
            self.assertEqual(len(port), 1)
            self.assertEqual(port[0]["state"], "init")
            self.assertIn("leaf-001", f.ctl("show", "leaf-001").stdout)
            self.assertEqual(f.ctl("node", "describe", "leaf-001", "leaf one").returncode, 0)
            self.assertIn("leaf one", f.on(None, "smpquery", "-D", "nodedesc", "0,1").stdout)
            self.assertIn("leaf one", f.ctl("show", "leaf one").stdout)

    def test_a_node_may_be_called_like_an_option(self):
        with tempfile.TemporaryDirectory() as directory:
            topology = pathlib.Path(generate(pathlib.Path(directory) / "t.topo", "fat-tree", "--radix", "4"))
            topology.write_text(topology.read_text().replace("leaf-002", "-h").replace("leaf-003", "--json"))
            with Fabric(topology=topology) as f:
                for name in ("-h", "--json"):
                    shown = f.ctl("show", "--json", "--", name, "1")
                    self.assertEqual(shown.returncode, 0, shown.stderr)
                    document = json.loads(shown.stdout)
                    self.assertEqual((document["node"]["name"], len(document["ports"])), (name, 1))
                self.assertEqual(f.ctl("link", "down", "--", "-h", "1").returncode, 0)
                self.assertIn("got 3 words", f.ctl("show", "--", "-h", "1", "2").stderr)
                self.assertIn("expected no words, got 1 words", f.ctl("stats", "--", "-h").stderr)

    def test_a_link_goes_down_and_comes_back(self):
        with Fabric("fat-tree", "--radix", "4") as f:
            def state():
                return json.loads(f.ctl("show", "leaf-001", "1", "--json").stdout)["ports"][0]["state"]

            self.assertEqual(f.ctl("link", "down", "leaf-001", "1").returncode, 0)
            self.assertEqual(state(), "down")
            self.assertIn("State: Down", f.on("host0001 HCA-1", "ibstat").stdout)
            self.assertEqual(f.ctl("link", "up", "leaf-001", "1").returncode, 0)
            self.assertTrue(wait_until(lambda: state() == "init", 10))

    def test_a_node_goes_and_comes_back(self):
        with Fabric("fat-tree", "--radix", "4") as f:
            def switches():
                return f.on("host0001 HCA-1", "ibnetdiscover").stdout.count("Switch\t")

            self.assertEqual(switches(), 6)
            self.assertEqual(f.ctl("node", "remove", "spine-001").returncode, 0)
            self.assertEqual(switches(), 5)
            self.assertEqual(f.ctl("node", "return", "spine-001").returncode, 0)
            self.assertTrue(wait_until(lambda: switches() == 6, 10))

    def test_a_cable_is_moved(self):
        with Fabric("fat-tree", "--radix", "8", "--missing-hosts", "50", "--seed", "3") as f:
            def ports(switch):
                whole = json.loads(f.ctl("show", switch, "--json").stdout)
                return [p for p in whole["ports"] if p["port"] > 0]

            leaves = [f"leaf-{n:03}" for n in range(1, 9)]
            free = next((leaf, str(p["port"])) for leaf in leaves for p in ports(leaf)
                        if "peer" not in p)
            used = next((leaf, str(p["port"]), p["peer"]["name"]) for leaf in leaves if leaf != free[0]
                        for p in ports(leaf) if p.get("peer", {}).get("name", "").startswith("host"))
            taken = f.ctl("cable", "move", *free, used[0], used[1])
            self.assertEqual(taken.returncode, 1, "there is no cable to move")
            moved = f.ctl("cable", "move", used[0], used[1], *free)
            self.assertEqual(moved.returncode, 0, moved.stderr)
            there = next(p for p in ports(free[0]) if str(p["port"]) == free[1])
            self.assertEqual(there["peer"]["name"], used[2])

    def test_stats_count_what_passed(self):
        with Fabric("fat-tree", "--radix", "4") as f:
            f.on(None, "smpquery", "-D", "nodeinfo", "0,1")
            stats = json.loads(f.ctl("stats", "--json").stdout)
            rows = {(r["class"], r["method"], r["attribute"]): r["mads"] for r in stats["mads"]}
            self.assertGreaterEqual(rows[0x81, 0x01, 0x11], 1)
            self.assertGreaterEqual(rows[0x81, 0x81, 0x11], 1)
            self.assertGreater(stats["totals"]["sent"], 0)


class Faults(unittest.TestCase):
    def test_all_lost_is_all_lost(self):
        with Fabric("fat-tree", "--radix", "4") as f:
            self.assertEqual(f.ctl("faults", "--loss", "100").returncode, 0)
            lost = f.on(None, "smpquery", "-t", "50", "-D", "nodeinfo", "0,1")
            self.assertNotEqual(lost.returncode, 0)
            self.assertEqual(f.ctl("faults", "--loss", "0").returncode, 0)
            found = f.on(None, "smpquery", "-D", "nodeinfo", "0,1")
            self.assertEqual(found.returncode, 0, found.stderr)

    def test_one_link_loses_and_the_others_do_not(self):
        with Fabric("fat-tree", "--radix", "4") as f:
            self.assertEqual(
                f.ctl("faults", "--link", "leaf-002", "1", "--loss", "100").returncode, 0)
            clean = f.on("host0001 HCA-1", "smpquery", "-D", "nodeinfo", "0,1")
            self.assertEqual(clean.returncode, 0, clean.stderr)
            name = json.loads(f.ctl("show", "leaf-002", "1", "--json").stdout)
            peer = name["ports"][0]["peer"]["name"]
            self.assertNotEqual(
                f.on(peer, "smpquery", "-t", "50", "-D", "nodeinfo", "0,1").returncode, 0)

    def test_are_shown_as_set(self):
        with Fabric("fat-tree", "--radix", "4", options=("--sma-us", "7", "--sma-queue", "16")) as f:
            shown = json.loads(f.ctl("faults", "--json").stdout)["faults"]
            self.assertEqual((shown["sma_us"], shown["sma_queue"]), (7, 16))
            f.ctl("faults", "--delay-ms", "1.5", "--rcv-queue", "99")
            shown = json.loads(f.ctl("faults", "--json").stdout)["faults"]
            self.assertEqual((shown["delay_ms"], shown["receive_queue"], shown["sma_us"]), (1.5, 99, 7))


    def test_without_an_option_shows_all(self):
        with Fabric("fat-tree", "--radix", "4", options=("--loss", "2.5")) as f:
            shown = f.ctl("faults")
            self.assertEqual(shown.returncode, 0, shown.stderr)
            lines = dict(line.split() for line in shown.stdout.splitlines())
            self.assertEqual((lines["loss_percent"], lines["sma_queue"]), ("2.5", "64"))
            self.assertEqual(f.ctl("stats").returncode, 0)

    def test_of_a_link_are_its_own_and_stay(self):
        with Fabric("fat-tree", "--radix", "4", options=("--loss", "2")) as f:
            def of_link(*options):
                result = f.ctl("faults", "--link", "leaf-002", "1", *options, "--json")
                self.assertEqual(result.returncode, 0, result.stderr)
                return json.loads(result.stdout)["faults"]

            none = {"loss_percent": 0, "duplicate_percent": 0, "delay_ms": 0}
            self.assertEqual(of_link(), none)
            of_link("--loss", "50")
            self.assertEqual(of_link("--delay-ms", "3"), {**none, "loss_percent": 50, "delay_ms": 3})
            self.assertEqual(of_link(), {**none, "loss_percent": 50, "delay_ms": 3})
            self.assertEqual(json.loads(f.ctl("faults", "--json").stdout)["faults"]["loss_percent"], 2)

    def test_what_cannot_be_is_refused_and_changes_nothing(self):
        with Fabric("fat-tree", "--radix", "4") as f:
            before = f.ctl("faults", "--json").stdout
            for wrong in (("--link", "leaf-001", "0", "--loss", "1"),
                          ("--link", "leaf-001", "1", "--sma-us", "1"), ("--sma-queue", "1.5"),
                          ("--loss", "3", "--rcv-queue", "x"), ("--loss", "nan"),
                          ("--delay-ms", "-1")):
                self.assertEqual(f.ctl("faults", *wrong).returncode, 2, wrong)
            self.assertEqual(f.ctl("faults", "--json").stdout, before)


# Asks the own SMA twenty times by a port that takes five MADs, reads what is there, and prints what came,
# what `ctl thresholds` said before it was read, and after a reset.
FLOODED = r'''
import ctypes, errno, json, subprocess, sys
umad = ctypes.CDLL(None, use_errno=True)
def port():
    fd = umad.umad_open_port(None, 0)
    return fd, umad.umad_register(fd, 0x81, 1, 0, None)
def ask(fd, agent, tid):
    buffer = ctypes.create_string_buffer(64 + 256)
    umad.umad_set_addr(buffer, 0xffff, 0, 0, 0)
    mad = bytearray(256)
    mad[0:4], mad[15], mad[17], mad[32:36] = bytes([1, 0x81, 1, 1]), tid, 0x11, b"\xff" * 4
    buffer[64:320] = bytes(mad)
    assert umad.umad_send(fd, agent, buffer, 256, 5000, 0) == 0
def read(fd, wait):
    length = ctypes.c_int(256)
    return umad.umad_recv(fd, ctypes.create_string_buffer(64 + 256), ctypes.byref(length), wait) >= 0
def thresholds():
    out = subprocess.run([sys.argv[1], "ctl", "thresholds", "--json"], capture_output=True, check=True).stdout
    return [{k: p[k] for k in ("threshold", "unread", "dropped")} for p in json.loads(out)["ports"]]
fd, agent = port()
status = umad.umad_update_threshold(fd, 5)
for tid in range(20): ask(fd, agent, tid)
umad.umad_register(fd, 4, 1, 0, None)  # by now the server has taken all of them
other = port()
ask(*other, 1)
assert read(other[0], 5000)            # and the SMA has answered all of them
ports = thresholds()
came = 0
while read(fd, 0): came += 1
subprocess.run([sys.argv[1], "ctl", "thresholds", "reset"], check=True)
print(json.dumps({"status": status, "errno": errno.errorcode.get(ctypes.get_errno()), "came": came,
                  "ports": ports, "after": thresholds()[0],
                  "refused": [umad.umad_update_threshold(fd, -1), umad.umad_update_threshold(999, 5)]}))
'''


class Thresholds(unittest.TestCase):
    def flooded(self, *options):
        with Fabric("fat-tree", "--radix", "4", options=options) as f:
            done = f.on(None, sys.executable, "-c", FLOODED, IBFABRIC)
            self.assertEqual(done.returncode, 0, done.stderr)
            return json.loads(done.stdout)

    def test_what_comes_above_it_is_dropped_and_counted(self):
        said = self.flooded()
        self.assertEqual((said["status"], said["came"], said["refused"]), (0, 5, [-1, -1]))
        self.assertEqual(said["ports"], [{"threshold": 5, "unread": 5, "dropped": 15},
                                         {"threshold": None, "unread": 0, "dropped": 0}])
        self.assertEqual(said["after"], {"threshold": 5, "unread": 0, "dropped": 0})

    def test_is_refused_without_the_module_option(self):
        said = self.flooded("--no-rx-threshold")
        self.assertEqual((said["status"], said["came"]), (-1, 20))
        self.assertEqual(said["ports"][0], {"threshold": None, "unread": 20, "dropped": 0})

    def test_is_set_on_every_port_that_our_programs_open(self):
        with Fabric("fat-tree", "--radix", "4") as f:
            def thresholds():
                text = f.ctl("thresholds").stdout
                said = (line.split(" threshold ")[1].split()[0] for line in text.splitlines())
                return [int(word) for word in said if word != "none"]  # none: open, not yet set

            f.start(None, BIN / "ibsm", "-f", f.directory / "log", "--state-dir", f.directory / "state")
            self.assertTrue(wait_until(lambda: thresholds() == [8192] * 2), "QP0 and QP1 of ibsm")
            f.start("host0002 HCA-1", BIN / "ibtracerd", "--rx_threshold", "77")
            self.assertTrue(wait_until(lambda: thresholds() == [8192, 8192, 77]), thresholds())
            f.ctl("faults", "--loss", "100")  # a tool has nothing to do but wait
            for number, tool in enumerate((("ibtopo",), ("ibpath", "1", "2"), ("ibtracer", "-l", "1"),
                                           ("ibroutes",)), 100):
                name, *words = tool
                f.start("host0003 HCA-1", BIN / name, "--rx_threshold", number, *words)
                self.assertTrue(wait_until(lambda n=number: n in thresholds()), tool)
                wrong = f.on(None, BIN / name, "--rx_threshold", "63", *words)
                self.assertEqual(wrong.returncode, 2, tool)
                self.assertIn("64", wrong.stderr)


# As an administrator and his scripts would: by path, from a shell.
LIMITS = r'''
cd /
d=/sys/class/infiniband/ibfabric0/mad_sa_cc/1
for f in max_outstanding queue_size time_sa_mad drops; do read -r v < $d/$f; echo $f $v; done
echo 32 > $d/max_outstanding
echo 15 > $d/queue_size
echo 20000 > $d/time_sa_mad
echo x > $d/time_sa_mad
echo 7 > $d/drops
cat $d/max_outstanding $d/queue_size $d/time_sa_mad
'''
# A program that asks the SA (nobody is there) forty times at once.
ASKS = r'''
import ctypes, os, sys
umad = ctypes.CDLL(None)
fd = umad.umad_open_port(None, 0)
agent = umad.umad_register(fd, 3, 2, 0, None)
for tid in range(40):
    buffer = ctypes.create_string_buffer(64 + 256)
    umad.umad_set_addr(buffer, 9, 1, 0, 0x80010000 - (1 << 32))
    mad = bytearray(256)
    mad[0:4], mad[15], mad[17] = bytes([1, 3, 2, 1]), tid, 0x35
    buffer[64:320] = bytes(mad)
    assert umad.umad_send(fd, agent, buffer, 256, 3000, 0) == 0
status = []
while len(status) < int(sys.argv[1]):
    buffer, length = ctypes.create_string_buffer(64 + 256), ctypes.c_int(256)
    assert umad.umad_recv(fd, buffer, ctypes.byref(length), 10000) >= 0
    status.append(umad.umad_status(buffer))
print(status.count(11), status.count(110))
d = "/sys/class/infiniband/ibfabric0/mad_sa_cc/1/drops"
drops = open(d).read()
open(d, "w").write("0\n")
print(drops.strip(), open(d).read().strip())
'''


class SaCongestion(unittest.TestCase):
    def test_its_files_are_read_and_written(self):
        with Fabric("fat-tree", "--radix", "4", options=("--mad-sa-cc",)) as f:
            for shell in ("sh", "bash"):
                said = f.on("host0001 HCA-1" if shell == "sh" else "host0002 HCA-1", shell, "-c", LIMITS)
                self.assertEqual(said.stdout.split(), (
                    "max_outstanding 16 queue_size 16 time_sa_mad 20 drops 0 32 16 20").split(), said.stderr)

    def test_what_is_too_much_is_dropped_counted_and_told(self):
        with Fabric("fat-tree", "--radix", "4", options=("--mad-sa-cc",)) as f:
            said = f.on(None, sys.executable, "-c", ASKS, 24)
            self.assertEqual(said.stdout.split(), ["8", "16", "8", "0"], said.stderr)

    def test_our_own_tools_take_its_limits_and_have_nothing_dropped(self):
        with Fabric("fat-tree", "--radix", "4", options=("--mad-sa-cc",)) as f:
            f.start(None, BIN / "ibsm", "-f", f.directory / "log", "--state-dir", f.directory / "state")
            self.assertTrue(wait_until(lambda: (f.directory / "log").exists() and
                                       "SUBNET UP" in (f.directory / "log").read_text()))
            at = "host0002 HCA-1"
            d = "/sys/class/infiniband/ibfabric0/mad_sa_cc/1"
            f.on(at, "sh", "-c", f"echo 2 > {d}/max_outstanding")
            pairs = f.directory / "pairs"
            pairs.write_text("".join(f"{a} {b}\n" for a in range(1, 12) for b in range(1, 12) if a != b))
            done = f.on(at, BIN / "ibpath", "batch", pairs)
            self.assertIn(done.returncode, (0, 1), done.stderr)
            self.assertEqual(f.on(at, "cat", f"{d}/drops").stdout, "0\n")

    def test_there_are_none_without_such_a_driver(self):
        with Fabric("fat-tree", "--radix", "4") as f:
            none = f.on(None, "cat", "/sys/class/infiniband/ibfabric0/mad_sa_cc/1/drops")
            self.assertIn("No such file", none.stderr)


class Nodes(unittest.TestCase):
    def test_a_name_borne_by_several_is_refused_with_their_guids(self):
        with tempfile.TemporaryDirectory() as directory:
            topology = pathlib.Path(generate(pathlib.Path(directory) / "t.topo", "fat-tree",
                                             "--radix", "4"))
            text = topology.read_text().replace("leaf-002", "leaf-001")
            topology.write_text(text)
            with Fabric(topology=topology) as f:
                refused = f.ctl("show", "leaf-001")
                self.assertEqual(refused.returncode, 2)
                self.assertEqual(refused.stderr.count("0x"), 2, refused.stderr)
                for guid, number in re.findall(r"(0x[0-9a-f]+) \((@\d+)\)", refused.stderr):
                    shown = f.ctl("show", number, "--json")
                    self.assertEqual(json.loads(shown.stdout)["node"]["node_guid"], guid)
                self.assertEqual(f.ctl("node", "reboot", "leaf-001").returncode, 2)
                self.assertEqual(f.on("leaf-001", "true").returncode, 2)


if __name__ == "__main__":
    unittest.main()
