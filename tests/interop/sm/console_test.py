# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The console of ibsm beside stock opensm's on the same fabric, by TCP, on a terminal, and by
`ibsm ctl console`."""
import contextlib
import os
import pathlib
import pty
import re
import signal
import socket
import subprocess
import sys
import termios
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from program import HOST, IBSM, TREE, Sm  # noqa: E402
from fabric import wait_until  # noqa: E402

PROMPT = "OpenSM $ "
TYPED = ("status", "portstatus", "portstatus ca", "portstatus switch", "portstatus router", "portstatus x",
         "querylid 1", "querylid 0x2", "querylid 999", "querylid", "switchbalance", "switchbalance verbose",
         "switchbalance 0x1", "lidbalance", "lidbalance x", "perfmgr", "priority", "priority 99", "resweep",
         "sweep", "logflush maybe", "dump_portguid ^leaf 0009", "dump_portguid", "nonsense", "help",
         "loglevel 7", "loglevel", "priority 5", "priority", "sweep off", "status", "sweep on")

TYPED_TO_PERFMGR = ("perfmgr", "pm sweep_time 7", "pm nonsense", "pm set_rm_nodes", "pm clear_rm_nodes", "pm",
                    "pm set_query_cpi", "pm clear_query_cpi", "pm clear_inactive", "pm pe NOBODY", "pm pc NOBODY",
                    "pm pc NOBODY:3", "pm pc 0xDEAD", "pm pc 0xDEAD:1", "pm pe 0xdead", "pm clear_redir 0xdead", "pm dump_redir", "pm clear_redir", "pm disable", "pm", "pm enable", "reroute")

ONLY_OURS = ("pause", "resume", "rewrite")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Telnet:
    """One who types lines at the port and reads up to the prompt."""

    def __init__(self, port):
        def connect():
            with contextlib.suppress(OSError):
                self.socket = socket.create_connection(("127.0.0.1", port), 30)
                return True
            return False

        assert wait_until(connect, 20)
        self.read()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def read(self, end=PROMPT):
        text = b""
        while not text.endswith(end.encode()):
            piece = self.socket.recv(65536)
            if not piece:
                break
            text += piece
        return text.decode().removesuffix(PROMPT)

    def say(self, line, end=PROMPT):
        self.socket.sendall(line.encode() + b"\r\n")
        return self.read(end)


def fields(text):
    """Each line without what is another program's or another run's: "QP0 MADs rcvd : N"."""
    text = re.sub(r"( (?:MADs|unicasts) [\w ()]+: )\d+", r"\1N", text)
    text = re.sub(r"in \d+ us", "in N us", text)
    text = re.sub(r"(outstanding queries/max +: )-?\d+", r"\1N", text)
    text = re.sub(r"(sweep state +: )\w+", r"\1S", text)
    text = re.sub(r"(OpenSM Version +: ).*", r"\1V", text)
    text = re.sub(r"(Routing Engine +: )\w+", r"\1E", text)
    return text.splitlines()


class Loopback(unittest.TestCase):
    def answers(self, program, typed=TYPED, *more):
        port = free_port()
        words = ("-console", "loopback", "-console-port", str(port), *more)
        with Sm(*TREE) as f:
            f.daemon("-R", "minhop", *words) if program == "ibsm" else f.opensm(HOST, "-R", "minhop", *words)
            with Telnet(port) as console:
                return {(i, line): console.say(line) for i, line in enumerate(typed)}

    def test_each_answer_has_the_lines_of_opensms(self):
        ours, theirs = self.answers("ibsm"), self.answers("opensm")
        for at, text in theirs.items():
            line = at[1]
            mine, wanted = fields(ours[at]), fields(text)
            if line.startswith("switchbalance") and line != "switchbalance 0x1":
                # Routes are another program's; which ports there are is the fabric's.
                pattern = r"(?:Unbalanced )?Switch: \w+ \(\S+\)|Port \d+: \d+"
                for answer in (mine, wanted):
                    self.assertEqual([x for x in answer if not re.fullmatch(pattern, x)], [], line)
                if "verbose" in line:
                    def ports(answer):
                        return [re.sub(r"^Unbalanced |: \d+$", "", x) for x in answer]
                    self.assertEqual(ports(mine), ports(wanted))
            elif line in ("help", "nonsense"):
                def syntax(answer):
                    return [x.split(" -- ")[0] for x in answer]
                for command in ONLY_OURS:
                    mine.remove(command)
                self.assertEqual(syntax(mine), syntax(wanted), line)
            elif re.search(r"^(Invalid (resweep|sweep|logflush|switchguid)|Node type not|no LID)", text):
                # What follows is help, in our own words; opensm shows that of sweep for logflush.
                self.assertEqual(mine[0], wanted[0], line)
            elif line == "priority 99":
                self.assertEqual(mine[0], wanted[0], line)
            else:
                self.assertEqual(mine, wanted, line)

    def test_the_performance_manager_answers_like_opensms(self):
        ours, theirs = (self.answers(program, TYPED_TO_PERFMGR, "-perfmgr") for program in ("ibsm", "opensm"))
        for at, text in theirs.items():
            if at[1] == "pm clear_inactive":
                # opensm enters a node as inactive, and marks it active a moment later: who asks
                # between the two removes it (osm_perfmgr.c, perfmgr_query_counters).
                self.assertEqual(fields(ours[at]), ["Removed 0 nodes from Database"])
                self.assertRegex(text, r"^Removed \d+ nodes from Database\n$")
                continue
            self.assertEqual(fields(ours[at]), fields(text), at[1])

    def counted(self, program):
        """Answers where leaf-001 counted errors at its port 5."""
        typed = ("pm pe", "pm pe leaf-001", "pm pe leaf-002", "pm pe leaf-001:5", "pm print_errors 0x2c90200400000",
                 "pm pc leaf-001:5", "pm pc leaf-001:99", "pm pc leaf-001:x", "pm pc 0x2c90200400000:300",
                 "pm pc host0009 HCA-1", "pm pc host0009 HCA-1:1", "pm pc host0009 HCA-1:0", "pm dump_counters",
                 "pm dump_counters mach", "pm clear_counters", "pm pe", "pm sweep")
        port = free_port()
        words = ("-console", "loopback", "-console-port", str(port), "-perfmgr")
        with Sm(*TREE) as f:
            f.daemon(*words) if program == "ibsm" else f.opensm(HOST, *words)
            f.ctl("counters", "leaf-001", "5", "SymbolErrorCounter=7", "PortRcvErrors=3")
            with Telnet(port) as console:
                def has_counted():
                    console.say("pm sweep")
                    return "rcv_err" in console.say("pm pe leaf-001")

                self.assertTrue(wait_until(has_counted, 30))
                self.assertTrue(wait_until(lambda: "rcv_pkts" in console.say("pm pc host0009 HCA-1:1"), 30))
                return {(i, line): console.say(line) for i, line in enumerate(typed)}

    def test_counters_are_listed_like_opensms(self):
        ours, theirs = self.counted("ibsm"), self.counted("opensm")
        for at, text in theirs.items():
            def forms(answer):
                """Without times, and without amounts, which depend on what was asked."""
                answer = re.sub(r"(?m)(Last .*?:).*", r"\1", answer)
                return re.sub(r"(?m)(_(?:data|pkts) +: )\d+ \(.*", r"\1N", answer).splitlines()
            self.assertEqual(forms(ours[at]), forms(text), at[1])

    def test_orders_are_carried_out(self):
        port = free_port()
        with Sm(*TREE) as f, contextlib.ExitStack() as stack:
            f.daemon("-console", "loopback", "-console-port", str(port))
            console = stack.enter_context(Telnet(port))
            ups = f.ups()
            console.say("resweep heavy")
            self.assertTrue(wait_until(lambda: f.ups() == ups + 1, 20))
            sets = f.sets()
            console.say("reroute")
            self.assertTrue(wait_until(lambda: f.ups() == ups + 2, 20))
            self.assertEqual(f.sets(), sets)
            console.say("sweep off")
            f.ctl("link", "down", "host0009 HCA-1", "1")
            console.say("resweep heavy")
            self.assertIn("Sweeping enabled               : 0\n", console.say("status"))
            self.assertEqual(f.ups(), ups + 2)
            console.say("sweep on")
            self.assertTrue(wait_until(lambda: f.ups() == ups + 3, 20))
            self.assertRegex(console.say("dump_conf"), r"\nsm_priority 0\n")
            console.say("priority 7")
            self.assertRegex(console.say("dump_conf"), r"\nsm_priority 7\n")
            self.assertIn("sminfo: sm lid 1 ", f.on(HOST, "sminfo").stdout)
            self.assertIn("priority 7 state 3", f.on(HOST, "sminfo").stdout)
            console.say("loglevel 0x23")
            self.assertTrue(wait_until(lambda: " frame: " in (f.directory / "log").read_text(), 20))
            refused = console.say("dump_portguid file /tmp/elsewhere .")
            self.assertIn("Could not open file /tmp/elsewhere", refused)
            self.assertEqual(console.say("dump_portguid file guids ^leaf-001$"), "")
            self.assertEqual(len((f.directory / "state" / "console" / "guids").read_text().splitlines()), 1)
            self.assertIn('use "q<ret>" to quit loop\n', console.say("status loop", end="quit loop\n"))
            console.read(end="\n\n")  # the next round, or part of it
            console.socket.sendall(b"q\n")
            console.read()
            self.assertEqual(console.say("version").split()[0], "ibsm")
            self.assertEqual(console.say("quit", end="never"), "")

    def test_no_name_reaches_a_file_of_ibsms(self):
        port = free_port()
        with Sm(*TREE) as f, contextlib.ExitStack() as stack:
            dumps = f.directory / "dumps"
            dumps.mkdir()
            f.daemon("-console", "loopback", "-console-port", str(port), "-perfmgr", "--dump_files_dir", dumps,
                     "-D", "0x43", "--event_file", f.directory / "state" / "events")
            elsewhere = f.directory / "elsewhere"
            elsewhere.write_text("untouched")
            (dumps / "link").symlink_to(elsewhere)
            console = stack.enter_context(Telnet(port))
            self.assertTrue(wait_until(lambda: (dumps / "opensm-ftree-ca-order.dump").exists(), 20))  # the last one
            self.assertTrue(wait_until(lambda: (f.directory / "state" / "guid2lid").exists(), 20))

            def files():
                """What each file is known by: dumps, which ibsm writes again at times, by their content."""
                known = {p: p.lstat().st_ino for p in (f.directory / "state").iterdir() if p.name != "console"}
                known.update({p: p.read_bytes() for p in dumps.iterdir() if p.suffix != ".part" and p.is_file()})
                return known

            before = files()
            self.assertGreater(len(before), 8, before)
            for path in before:
                console.say(f"dump_portguid file {path.name} .")
            self.assertEqual({p: i for p, i in files().items() if p in before}, before)
            self.assertEqual(elsewhere.read_text(), "untouched")
            (dumps / "console" / "out").symlink_to(elsewhere)
            self.assertEqual(console.say("dump_portguid file out ."), "")
            self.assertEqual(elsewhere.read_text(), "untouched")
            self.assertEqual(len((dumps / "console" / "out").read_text().splitlines()), 44)
            ours = f.directory / "state" / "ibsm.db"
            refused = f.ibsm_ctl("console", "dump_portguid", "file", ours, ".")
            self.assertNotEqual(refused.returncode, 0)
            self.assertIn("for ibsm's own files", refused.stdout + refused.stderr)
            self.assertEqual(f.ibsm_ctl("sm").returncode, 0)

    def test_the_performance_manager(self):
        port = free_port()
        with Sm(*TREE) as f, contextlib.ExitStack() as stack:
            f.daemon("-console", "loopback", "-console-port", str(port), "-perfmgr")
            console = stack.enter_context(Telnet(port))
            self.assertTrue(wait_until(lambda: "leaf-001" in console.say("pm pc leaf-001:5"), 30))
            self.assertRegex(console.say("pm"), r"state +: Enabled\n")
            console.say("pm disable")
            console.say("pm sweep_time 7")
            self.assertRegex(console.say("pm"), r"state +: Disabled\n.*\n.*sweep time +: 7s\n")
            self.assertEqual(console.say("pm dump_counters mach"), "")
            self.assertIn("host0009 HCA-1\t", (f.directory / "state" / "opensm_port_counters.log").read_text())
            self.assertEqual(f.ibsm_ctl("counters", "list", "leaf-001", "5").stdout.splitlines()[0],
                             console.say("pm print_counters leaf-001:5").splitlines()[0])
            ctl = f.ibsm_ctl("console", "pm", "pc", "leaf-001:5")
            self.assertEqual((ctl.returncode, ctl.stdout), (0, console.say("pm pc leaf-001:5")))


class Ctl(unittest.TestCase):
    def test_the_same_commands_by_the_control_socket(self):
        with Sm(*TREE) as f:
            f.daemon()
            lid = f.ibsm_ctl("console", "querylid", "1")
            self.assertEqual(lid.returncode, 0)
            self.assertIn("Node Desc           : host0001 HCA-1\n", lid.stdout)
            wrong = f.ibsm_ctl("console", "nonsense")
            self.assertEqual((wrong.returncode, wrong.stdout), (2, ""))
            self.assertIn("nonsense : Command not found", wrong.stderr)
            self.assertEqual(f.ibsm_ctl("console", "status", "loop").returncode, 2)
            for words, status, said in ((("querylid", "999"), 1, "Invalid lid 999\n"), (("switchbalance", "0x1"), 1, "guid not found\n")):
                missing = f.ibsm_ctl("console", *words)
                self.assertEqual((missing.returncode, missing.stdout), (status, said), words)
            self.assertEqual(f.ibsm_ctl("console", "pm", "sweep").returncode, 4, "there is no performance manager")
            file = f.directory / "guids"
            self.assertEqual(f.ibsm_ctl("console", "dump_portguid", "file", file, ".*").returncode, 0)
            self.assertEqual(len(file.read_text().splitlines()), 44)


class Terminal(unittest.TestCase):
    def test_local_is_on_the_terminal_and_its_end_is_not_the_end_of_ibsm(self):
        with Sm(*TREE) as f:
            ours, theirs = pty.openpty()
            command = f.command(HOST, IBSM, "--state-dir", f.directory / "state", "-f", f.directory / "log",
                                "-console", "local")
            ibsm = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs,
                                    env=dict(os.environ, TERM="vt100"))
            os.close(theirs)
            said = ""

            def read_until(text):
                nonlocal said
                while text not in said:
                    said += os.read(ours, 65536).decode()
                found, said = said.split(text, 1)
                return found

            def edits():
                return not termios.tcgetattr(ours)[3] & termios.ICANON

            def type_keys(keys):
                # Between two lines the terminal is as it was, and would take keys for its own.
                self.assertTrue(wait_until(edits, 20))
                os.write(ours, keys)

            def say(line):
                type_keys(line.encode() + b"\n")
                read_until("\r\n")  # what was typed

            try:
                while not ("SUBNET UP" in said and PROMPT in said):
                    said += os.read(ours, 65536).decode()
                said = ""
                say("querylid 1")
                self.assertIn("Node Desc           : host0001 HCA-1", read_until(PROMPT))
                say("querylib\x7fd 2\x02\x04\x05")  # mistyped; back by one, delete, end of the line
                self.assertIn("no LID specified", read_until(PROMPT))
                say("\x1b[A\x1b[A")  # the line before the last
                self.assertIn("Node Desc           : host0001 HCA-1", read_until(PROMPT))
                say("quit")
                self.assertIn("Ctrl-C ends ibsm", read_until(PROMPT))
                say("status loop")
                read_until('use "q<ret>" to quit loop')
                read_until("SM State             : Master")
                say("q")
                read_until(PROMPT)
                type_keys(b"\x04")
                ups = f.ups()
                ibsm_pid = ibsm.pid
                self.assertTrue(f.ibsm_ctl("console", "resweep", "heavy").returncode == 0)
                self.assertTrue(wait_until(lambda: f.ups() == ups + 1, 20))
                os.kill(ibsm_pid, 0)
            finally:
                ibsm.terminate()
                ibsm.wait(20)
                os.close(ours)

    def test_the_terminal_is_as_it_was_when_ibsm_ends(self):
        with Sm(*TREE) as f:
            ours, theirs = pty.openpty()

            def echoes():
                return bool(termios.tcgetattr(theirs)[3] & termios.ECHO)

            command = f.command(HOST, IBSM, "--state-dir", f.directory / "state", "-f", f.directory / "log",
                                "-console", "local")
            ibsm = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs,
                                    env=dict(os.environ, TERM="vt100"))
            try:
                self.assertTrue(wait_until(lambda: not echoes(), 20))  # libedit shows what is typed
                self.assertTrue(wait_until(lambda: f.ups() == 1, 20))
                os.write(ours, b"half a li\x1b")  # the beginning of a key that never comes to its end
                ibsm.send_signal(signal.SIGINT)
                self.assertEqual(ibsm.wait(20), 0)
                self.assertTrue(echoes())
            finally:
                if ibsm.poll() is None:
                    ibsm.kill()
                    ibsm.wait(20)
                os.close(ours)
                os.close(theirs)

    def test_what_is_no_terminal_is_read_as_it_comes(self):
        with Sm(*TREE) as f:
            command = f.command(HOST, IBSM, "--state-dir", f.directory / "state", "-f", f.directory / "log",
                                "-console", "local")
            ibsm = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            try:
                while "SUBNET UP" not in ibsm.stdout.readline():
                    pass
                ibsm.stdin.write("querylid 1\nversion\n")
                ibsm.stdin.close()
                said = ""
                while "ibsm 0" not in said:
                    said += ibsm.stdout.readline()
                self.assertIn("Query results for LID 1\n", said)
                self.assertRegex(said, r"\nOpenSM \$ ibsm [\d.]+\n$")
                self.assertRegex(f.ibsm_ctl("console", "version").stdout, r"^ibsm [\d.]+\n$")  # it goes on
            finally:
                ibsm.terminate()
                ibsm.wait(20)
                ibsm.stdout.close()

    def test_in_the_background_there_is_none_and_that_is_said(self):
        with Sm(*TREE) as f:
            f.daemon("-console", "local")
            self.assertIn("console local is for an ibsm that stays in the foreground",
                          (f.directory / "log").read_text())


class Socket(unittest.TestCase):
    def test_addresses_that_are_not_listed_are_refused(self):
        port = free_port()
        with Sm(*TREE) as f:
            (f.directory / "conf").write_text(f"console socket\nconsole_port {port}\nconsole_allow 192.0.2.0/24\n")
            f.daemon("-F", f.directory / "conf")
            log = (f.directory / "log").read_text()
            self.assertIn("telnet asks for no password", log)
            with socket.create_connection(("127.0.0.1", port), 30) as s:
                self.assertEqual(s.recv(100), b"")
            self.assertIn("127.0.0.1 refused: it is not in console_allow", (f.directory / "log").read_text())

    def test_without_a_list_this_host_alone_is_served(self):
        port = free_port()
        with Sm(*TREE) as f:
            f.daemon("-console", "socket", "-console-port", str(port))
            with Telnet(port) as console:
                self.assertIn("Sweeping enabled", console.say("status"))


if __name__ == "__main__":
    unittest.main()
