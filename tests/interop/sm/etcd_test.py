# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The store on Debian's etcd: what clients registered outlives the host of the subnet manager, the one that
another has deposed writes nothing, and an etcd that is gone, slow or full is no reason to stop."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "ibfabric"))
from program import BIN, Sm, TREE  # noqa: E402
from fabric import end_daemon, wait_until  # noqa: E402
from state_test import MEMBER, PROBE, errors, register, registered, stop  # noqa: E402

OTHER_HOST = "host0017 HCA-1"
RETRY = 20  # seconds: ibsm tries every 5


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Etcd:
    """One member in a directory of its own."""

    def __init__(self, directory, *words, scheme="http"):
        self.directory, self.words, self.scheme = directory, words, scheme
        self.port, self.peer, self.process = free_port(), f"http://127.0.0.1:{free_port()}", None
        self.cluster = f"default={self.peer}"

    def start(self):
        self.run()
        assert wait_until(self.answers, 20), (self.directory / "etcd.log").read_text()

    def run(self):
        client = f"{self.scheme}://127.0.0.1:{self.port}"
        with open(self.directory / "etcd.log", "ab") as log:
            self.process = subprocess.Popen(
                ["etcd", "--data-dir", self.directory / "etcd", "--listen-client-urls", client,
                 "--advertise-client-urls", client, "--listen-peer-urls", self.peer,
                 "--initial-advertise-peer-urls", self.peer, "--initial-cluster", self.cluster, *self.words],
                stdout=log, stderr=log)

    def answers(self):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
            return self.scheme == "https" or self.ctl("endpoint", "health").returncode == 0
        return False

    def leads(self):
        """This member is the leader of its cluster, by its own word."""
        if not self.answers():
            return False
        status = json.loads(self.ctl("endpoint", "status", "-w", "json").stdout or "[]")
        return any(one["Status"]["leader"] == one["Status"]["header"]["member_id"] for one in status)

    def ctl(self, *words):
        return subprocess.run(["etcdctl", "--endpoints", f"{self.scheme}://127.0.0.1:{self.port}", *words],
                              capture_output=True, text=True, errors="replace", timeout=60,
                              env=dict(os.environ, ETCDCTL_API="3"))

    def kill(self):
        self.process.kill()
        self.process.wait()

    @property
    def place(self):
        return ("--store", f"etcd{'s' if self.scheme == 'https' else ''}://127.0.0.1:{self.port}")


@contextlib.contextmanager
def etcd(f, *words, **options):
    server = Etcd(f.directory, *words, **options)
    server.start()
    try:
        yield server
    finally:
        server.kill()


def log_of(f):
    return (f.directory / "log").read_text()


class Kept(unittest.TestCase):
    def test_another_host_goes_on_with_all_that_was_registered(self):
        with Sm(*TREE) as f, etcd(f) as server:
            f.daemon(*server.place)
            register(f)
            lids = f.lids()
            stop(f, signal.SIGKILL)
            sets = f.sets()
            pid = f.directory / "pid"
            started = f.ibsm("-B", "--pidfile", pid, *server.place, at=OTHER_HOST, state="of another host")
            self.assertEqual(started.returncode, 0, started.stdout + started.stderr)
            self.assertTrue(registered(f))
            self.assertEqual(f.lids(), lids)
            self.assertEqual(errors(f), [])
            self.assertGreater(f.sets(), sets, "the ports learn who their subnet manager is")
            self.assertFalse((f.directory / "of another host" / "ibsm.db").exists())

    def test_an_etcd_that_is_empty_begins_with_what_the_state_directory_has(self):
        with Sm(*TREE) as f, etcd(f) as server:
            state = f.directory / "state"
            state.mkdir()
            port = re.search(r"Port GUID: (0x[0-9a-f]+)", f.on(OTHER_HOST, "ibstat").stdout).group(1)
            (state / "guid2lid").write_text(f"{port} 0x0064 0x0064\n")
            f.daemon(*server.place)
            self.assertIn("guid2lid: took the LIDs of 1 ports", (f.directory / "log").read_text())
            self.assertIn("Base lid: 100", f.on(OTHER_HOST, "ibstat").stdout)
            register(f)
            lids = f.lids()
            stop(f)
            server.ctl("del", "--prefix", "/")
            f.daemon(*server.place)
            self.assertIn("the store on etcd is empty, although an SA dump of ibsm is in", errors(f)[-1])
            self.assertTrue(registered(f))
            self.assertEqual(f.lids(), lids)

    def test_two_fabrics_share_an_etcd(self):
        with Sm(*TREE) as f, etcd(f) as server:
            options = f.directory / "options"
            options.write_text("store_prefix /ibkit/rail-1/\n")
            self.assertEqual(f.ibsm("-o", *server.place, "-F", options).returncode, 0)
            keys = server.ctl("get", "--prefix", "--keys-only", "/").stdout.split()
            self.assertTrue(keys)
            self.assertTrue(all(key.startswith("/ibkit/rail-1/") for key in keys), keys)

    def test_what_is_another_fabrics_is_left_alone(self):
        with Sm(*TREE) as f, etcd(f) as server:
            self.assertEqual(f.ibsm("-o", *server.place).returncode, 0)
            before = server.ctl("get", "--prefix", "/").stdout
            other = f.ibsm("-o", *server.place, "--subnet_prefix", "0xfe80000000000001", state="other")
            self.assertEqual(other.returncode, 4)
            self.assertIn("it is that of another fabric", other.stderr)
            self.assertEqual(server.ctl("get", "--prefix", "/").stdout, before)
            # One of a newer release.
            head = server.ctl("get", "--print-value-only", "/ibkit/default/head").stdout.strip()
            server.ctl("put", "/ibkit/default/head", head.replace("ibkit-store=1", "ibkit-store=2"))
            newer = f.ibsm("-o", *server.place)
            self.assertEqual(newer.returncode, 4)
            self.assertIn("a newer release wrote it", newer.stderr)


class Door:
    """A way to etcd that can be shut: of what goes by it nothing comes back any more."""

    def __init__(self, port):
        self.to, self.ends = port, []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                here, _ = self.listener.accept()
                there = socket.create_connection(("127.0.0.1", self.to))
                self.ends += [here, there]
                for one, other in ((here, there), (there, here)):
                    threading.Thread(target=self.pass_on, args=(one, other), daemon=True).start()

    def pass_on(self, one, other):
        with contextlib.suppress(OSError):
            while data := one.recv(1 << 16):
                other.sendall(data)
        with contextlib.suppress(OSError):
            other.shutdown(socket.SHUT_WR)

    def shut(self):
        self.listener.close()
        for end in self.ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


class CutOff(unittest.TestCase):
    """The master alone does not reach etcd, goes on from memory, and its host dies."""

    def test_whoever_takes_over_has_clients_register_again(self):
        with Sm(*TREE) as f, etcd(f) as server:
            door = Door(server.port)
            f.daemon("--store", f"etcd://127.0.0.1:{door.port}", "-p", "9")
            pid, log = f.directory / "standby.pid", f.directory / "standby.log"
            standby = f.on(OTHER_HOST, BIN / "ibsm", "-B", "--state-dir", f.directory / "standby", "-f", log,
                           "--pidfile", pid, *server.place)
            f.at_end(lambda: end_daemon(pid))
            self.assertTrue(standby.stdout.startswith("SUBNET STANDBY"), standby.stdout + standby.stderr)
            folder = "/ibkit/default/managers/"
            self.assertTrue(wait_until(lambda: len(server.ctl(
                "get", "--prefix", "--keys-only", folder).stdout.split()) == 2, 20))
            door.shut()
            register(f)
            self.assertTrue(registered(f), "answered, and in the journal of that host")
            # What the master says of itself there grows old, while the standby hears it on the fabric.
            turns = lambda: re.findall(r"state=2 turn=(\d+)", server.ctl(  # noqa: E731
                "get", "--prefix", "--print-value-only", folder).stdout)
            first = int(turns()[0])
            self.assertTrue(wait_until(lambda: int(turns()[0]) >= first + 4, 60))
            stop(f, signal.SIGKILL)
            self.assertTrue(wait_until(lambda: "SUBNET UP" in log.read_text(), 30), log.read_text())
            self.assertRegex(log.read_text(), "what the master before this one answered may not all be in the store, "
                             r"since etcd did not hear of it for \d+ s while it was there: all clients are asked")


class Standby(unittest.TestCase):
    def test_a_standby_has_what_was_registered_after_it_had_started(self):
        with Sm(*TREE) as f, etcd(f) as server:
            f.daemon(*server.place, "-p", "9")
            pid = f.directory / "standby.pid"
            log = f.directory / "standby.log"
            standby = f.on(OTHER_HOST, BIN / "ibsm", "-B", "--state-dir", f.directory / "standby", "-f", log,
                           "--pidfile", pid, *server.place)
            f.at_end(lambda: end_daemon(pid))
            self.assertTrue(standby.stdout.startswith("SUBNET STANDBY"), standby.stdout + standby.stderr)
            register(f)
            lids = f.lids()
            stop(f, signal.SIGKILL)
            self.assertTrue(wait_until(lambda: "SUBNET UP" in log.read_text(), 30), log.read_text())
            self.assertTrue(registered(f))
            self.assertEqual(f.lids(), lids)
            self.assertNotIn(" E store: ", log.read_text())
            self.assertNotIn("asked to register again", log.read_text())

    def test_one_that_wakes_up_deposed_writes_nothing(self):
        with Sm(*TREE) as f, etcd(f) as server:
            first = f.daemon(*server.place)
            os.kill(first, signal.SIGSTOP)
            pid = f.directory / "second.pid"
            log = f.directory / "second.log"
            second = f.on(OTHER_HOST, BIN / "ibsm", "-B", "--state-dir", f.directory / "second", "-f", log,
                          "--pidfile", pid, "--force", *server.place)
            self.assertTrue(second.stdout.startswith("SUBNET UP"), second.stdout + second.stderr)
            f.at_end(lambda: end_daemon(pid))
            register(f)
            os.kill(first, signal.SIGCONT)
            refused = f.ibsm_ctl("partition", "add", "0x7fff", "0x0002c90300000004")
            self.assertEqual(refused.returncode, 4, refused.stdout + refused.stderr)
            self.assertIn("another subnet manager has taken the store", refused.stderr + refused.stdout)
            stop(f, signal.SIGKILL)
            self.assertTrue(registered(f))


TWO_SWITCHES = """vendid=0x2c9
devid=0xd2f0
switchguid=0x2c90200400000(2c90200400000)
Switch	8 "S-0002c90200400000"		# "sw1" base port 0 lid 0 lmc 0
[1]	"H-0002c90300000000"[1](2c90300000001) 		# "h1" lid 0 4xEDR
[2]	"H-0002c90300000010"[1](2c90300000011) 		# "h2" lid 0 4xEDR
[8]	"S-0002c90200400100"[8]		# "sw2" lid 0 4xEDR

vendid=0x2c9
devid=0xd2f0
switchguid=0x2c90200400100(2c90200400100)
Switch	8 "S-0002c90200400100"		# "sw2" base port 0 lid 0 lmc 0
[1]	"H-0002c90300000020"[1](2c90300000021) 		# "h3" lid 0 4xEDR
[2]	"H-0002c90300000030"[1](2c90300000031) 		# "h4" lid 0 4xEDR
[8]	"S-0002c90200400000"[8]		# "sw1" lid 0 4xEDR
""" + "".join(f"""
vendid=0x2c9
devid=0x1003
caguid=0x2c903000000{i}0
Ca	1 "H-0002c903000000{i}0"		# "h{i + 1}"
[1](2c903000000{i}1) 	"S-0002c9020040{i // 2:02}00"[{1 + i % 2}]		# lid 0 lmc 0 "sw" lid 0 4xEDR
""" for i in range(4))


class Cut(unittest.TestCase):
    """A subnet is cut in two between two subnet managers that share a store, and joined again."""

    def manager(self, f, host, *words):
        pid, state = f.directory / f"{host}.pid", f.directory / f"state of {host}"
        started = f.on(host, BIN / "ibsm", "-B", "--pidfile", pid, "--state-dir", state, "-f",
                       f.directory / f"{host}.log", "-s", "2", *words)
        self.assertEqual(started.returncode, 0, started.stdout + started.stderr)
        f.at_end(lambda: end_daemon(pid))
        return state

    def state_of(self, state):
        asked = subprocess.run([BIN / "ibsm", "ctl", "sm", "--json", "--state-dir", state], capture_output=True,
                               text=True)
        return json.loads(asked.stdout)["state"] if asked.returncode == 0 else asked.stderr

    def test_both_parts_are_managed_and_then_one_is(self):
        with tempfile.NamedTemporaryFile("w", suffix=".topo", delete=False) as file:
            file.write(TWO_SWITCHES)
        self.addCleanup(os.unlink, file.name)
        with Sm(topology=file.name) as f, etcd(f) as server:
            managers = [self.manager(f, "h1", "-p", "9", *server.place), self.manager(f, "h4", *server.place)]
            states = lambda: [self.state_of(m) for m in managers]  # noqa: E731
            logs = lambda: "".join((f.directory / f"{h}.log").read_text() for h in ("h1", "h4"))  # noqa: E731
            self.assertEqual(states(), ["MASTER", "STANDBY"])
            f.ctl("link", "down", "sw1", "8")
            self.assertTrue(wait_until(lambda: states() == ["MASTER", "MASTER"], 20), states())
            self.assertTrue(wait_until(lambda: "is cut in two" in logs(), 30), logs())
            # Neither takes the store from the other any more.
            for group in range(3):
                for host in ("h2", "h3"):
                    created = f.on(host, PROBE, "create", f"ff12:401b:ffff::{host[1]}{group:03}")
                    self.assertEqual(created.returncode, 0, created.stdout + logs())
            self.assertEqual(logs().count("is cut in two"), 1)
            f.ctl("link", "up", "sw1", "8")
            self.assertTrue(wait_until(lambda: states() == ["MASTER", "STANDBY"], 20), logs())
            self.assertTrue(wait_until(lambda: "all are asked to register again" in logs(), 30), logs())
            created = f.on("h3", PROBE, "create", "ff12:401b:ffff::4000")
            self.assertEqual(created.returncode, 0, created.stdout + logs())


class Configurations(unittest.TestCase):
    COMPARED = 45  # seconds: every 5, and twice before what another one says counts

    def other(self, f, *words):
        log, pid = f.directory / "standby.log", f.directory / "standby.pid"
        standby = f.on(OTHER_HOST, BIN / "ibsm", "-B", "--state-dir", f.directory / "standby", "-f", log,
                       "--pidfile", pid, *words)
        self.assertTrue(standby.stdout.startswith("SUBNET STANDBY"), standby.stdout + standby.stderr)
        f.at_end(lambda: pid.exists() and end_daemon(pid))
        return log, int(pid.read_text())

    def test_a_standby_with_another_configuration(self):
        with Sm(*TREE) as f, etcd(f) as server:
            ours, theirs = f.directory / "ours", f.directory / "theirs"
            ours.write_text("sm_priority 9\n")
            theirs.write_text("routing_engine minhop\nstandby_needs_same_config TRUE\n")
            f.daemon(*server.place, "-F", ours)
            log, pid = self.other(f, *server.place, "-F", theirs)
            differs = ") is configured otherwise than this one: routing_engine;"
            self.assertTrue(wait_until(lambda: differs in log_of(f), self.COMPARED), log_of(f))
            self.assertTrue(wait_until(lambda: differs in log.read_text(), self.COMPARED), log.read_text())
            self.assertTrue(wait_until(lambda: "NOTACTIVE: its configuration is not the master's" in log.read_text(),
                                       self.COMPARED), log.read_text())
            self.assertIn("configured otherwise: routing_engine", f.ibsm_ctl("sm").stdout)
            self.assertIn('"configured_otherwise": ["routing_engine"]', f.ibsm_ctl("sm", "--json").stdout)
            self.assertIn('"configuration.differs"', f.ibsm_ctl("events", "--json").stdout)
            # What a restart alone takes waits for one: it is the master that changes.
            ours.write_text("sm_priority 9\nrouting_engine minhop\n")
            stop(f)
            f.daemon(*server.place, "-F", ours)
            agrees = ") is configured as this one again"
            self.assertTrue(wait_until(lambda: agrees in log.read_text(), self.COMPARED), log.read_text())
            self.assertTrue(wait_until(lambda: "STANDBY: its configuration is the master's" in log.read_text(),
                                       self.COMPARED), log.read_text())
            keys = server.ctl("get", "--prefix", "--keys-only", "/ibkit/default/managers/").stdout.split()
            self.assertEqual(len(keys), 2)
            os.kill(pid, signal.SIGTERM)
            self.assertTrue(wait_until(lambda: len(server.ctl(
                "get", "--prefix", "--keys-only", "/ibkit/default/managers/").stdout.split()) == 1, 20))


class Policy(unittest.TestCase):
    """What the master has in force is with the store, for those whose own file is broken."""
    DEFAULT = "Default=0x7fff : ALL, SELF=full ;\n"
    GOOD = DEFAULT + 'red=0x1 : "host0002 HCA-1" ;\n'
    NEWER = DEFAULT + 'blue=0x2 : "host0002 HCA-1" ;\n'
    BROKEN = "Default=0x7fff : ALL, SELF=full\nred=0x1 ; ALL ;\n"
    KEY = "/ibkit/default/policy/partitions.conf"

    def keys(self, f, at=OTHER_HOST):
        text = f.on(at, "smpquery", "pkeys", self.lid_of(f, "host0002 HCA-1"), "1").stdout
        return [key for key in re.findall(r"0x[0-9a-f]{4}", text) if key != "0x0000"]

    def lid_of(self, f, host):
        return re.search(r"Base lid: (\d+)", f.on(host, "ibstat").stdout).group(1)

    def kept(self, server):
        return server.ctl("get", "--prefix", "--print-value-only", self.KEY + "/").stdout

    def other(self, f, server, file, *words):
        """A subnet manager on another host, with a state directory of its own."""
        log, pid = f.directory / "other.log", f.directory / "other.pid"
        started = f.on(OTHER_HOST, BIN / "ibsm", "-B", "--state-dir", f.directory / "other", "-f", log, "--pidfile",
                       pid, *server.place, "-P", file, *words)
        f.at_end(lambda: pid.exists() and end_daemon(pid))
        return started, log

    def test_a_standby_with_a_broken_file_goes_by_what_is_in_force_when_it_takes_over(self):
        with Sm(*TREE) as f, etcd(f) as server:
            ours, theirs = f.directory / "partitions.conf", f.directory / "theirs.conf"
            ours.write_text(self.GOOD)
            theirs.write_text(self.BROKEN)
            pid = f.daemon(*server.place, "-P", ours, "-p", "9")
            self.assertTrue(wait_until(lambda: "red" in self.kept(server), 20))
            standby, log = self.other(f, server, theirs)
            self.assertTrue(standby.stdout.startswith("SUBNET STANDBY"), standby.stdout + standby.stderr)
            whose = f"what the subnet manager on {socket.gethostname()} last had in force, its {ours}, is in force"
            self.assertIn(f"{theirs}:2:", log.read_text())
            self.assertIn(whose, log.read_text())
            # The master takes another one up while the standby stands by.
            ours.write_text(self.NEWER)
            os.kill(pid, signal.SIGHUP)
            self.assertTrue(wait_until(lambda: "blue" in self.kept(server), 20))
            self.assertNotIn("red", self.kept(server))
            stop(f, signal.SIGKILL)
            self.assertTrue(wait_until(lambda: "SUBNET UP" in log.read_text(), 30), log.read_text())
            self.assertEqual(self.keys(f), ["0x7fff", "0x0002"])
            # It is an alarm until the file is mended, and what is in force then is the master's.
            self.assertRegex(log.read_text(), f" E config: cannot use the partitions of {theirs}: {whose}")
            self.assertEqual(log.read_text().count(" E partitions: "), 1, "said once")
            self.assertIn("blue", self.kept(server), "a copy that stands in replaces none")

    def test_a_newcomer_with_a_broken_file(self):
        with Sm(*TREE) as f, etcd(f) as server:
            ours, theirs = f.directory / "partitions.conf", f.directory / "theirs.conf"
            theirs.write_text(self.BROKEN)
            refused, _ = self.other(f, server, theirs)
            self.assertEqual(refused.returncode, 2, "nobody knows of any")
            self.assertEqual(f.sets(), 0)
            # A long one: comments, in parts of 256 KiB.
            ours.write_text(self.GOOD + "# none of them\n" * 60000)
            self.assertEqual(f.ibsm("-o", *server.place, "-P", ours).returncode, 0)
            self.assertEqual(len(server.ctl("get", "--prefix", "--keys-only", self.KEY + "/").stdout.split()), 4)
            sets = f.sets()
            up, log = self.other(f, server, theirs)
            self.assertEqual(up.returncode, 0, up.stdout + up.stderr)
            self.assertIn("last had in force", up.stdout)
            self.assertEqual(self.keys(f), ["0x7fff", "0x0001"])
            self.assertEqual(log.read_text().count(" E partitions: "), 1, "said once")
            self.assertGreater(f.sets(), sets)
            # Without a word of etcd it would not have started, and nothing would have been sent.
            end_daemon(f.directory / "other.pid")
            sets = f.sets()
            server.kill()
            away, _ = self.other(f, server, theirs)
            self.assertEqual(away.returncode, 2)
            self.assertIn("does not answer", away.stderr)
            self.assertEqual(f.sets(), sets)

    def test_one_that_is_too_long_to_be_kept(self):
        with Sm(*TREE) as f, etcd(f) as server:
            ours, theirs = f.directory / "partitions.conf", f.directory / "theirs.conf"
            ours.write_text(self.GOOD)
            theirs.write_text(self.BROKEN)
            pid = f.daemon(*server.place, "-P", ours)
            self.assertTrue(wait_until(lambda: "red" in self.kept(server), 20))
            ours.write_text(self.NEWER + "# none of them\n" * 600000)
            os.kill(pid, signal.SIGHUP)
            self.assertTrue(wait_until(lambda: "is stored for other subnet managers" in log_of(f), 20), log_of(f))
            self.assertTrue(wait_until(lambda: self.kept(server) == "", 20), "the one before it is gone, too")
            added = f.ibsm_ctl("partition", "add", "0x0002", "0x0002c90300000004")
            self.assertIn("0x0002c90300000004", f.ibsm_ctl("partition", "list").stdout, added.stdout + added.stderr)
            refused, _ = self.other(f, server, theirs)
            self.assertEqual(refused.returncode, 2)
            self.assertIn("which is too long for it", refused.stderr)


class Trouble(unittest.TestCase):
    def test_an_etcd_that_dies_and_comes_back(self):
        with Sm(*TREE) as f, etcd(f) as server:
            f.daemon(*server.place)
            lids = f.lids()
            server.kill()
            register(f)
            self.assertTrue(registered(f))
            self.assertTrue(wait_until(lambda: "managed from memory" in " ".join(errors(f)), 5), log_of(f))
            server.start()
            self.assertTrue(wait_until(lambda: "etcd can be written again" in log_of(f), RETRY), log_of(f))
            self.assertEqual(len(errors(f)), 1, "said once")
            stop(f, signal.SIGKILL)
            f.daemon(*server.place)
            self.assertTrue(registered(f))
            self.assertEqual(f.lids(), lids)

    def test_what_is_registered_meanwhile_outlives_ibsm(self):
        with Sm(*TREE) as f, etcd(f) as server:
            f.daemon(*server.place)
            lids = f.lids()
            server.kill()
            register(f)
            stop(f, signal.SIGKILL)
            journal = f.directory / "state" / "etcd-journal"
            self.assertEqual(journal.stat().st_mode & 0o777, 0o600)
            server.start()
            f.daemon(*server.place)
            self.assertTrue(registered(f))
            self.assertIn("what was registered while etcd was away is in the store now", log_of(f))
            self.assertFalse(journal.exists())
            self.assertEqual(f.lids(), lids)
            stop(f, signal.SIGKILL)
            again = f.ibsm("-B", "--pidfile", f.pid_file, *server.place, state="of another host")
            self.assertEqual(again.returncode, 0, again.stderr)
            self.assertTrue(registered(f), "it is in etcd")

    def test_a_start_without_etcd(self):
        with Sm(*TREE) as f, etcd(f) as server:
            f.daemon(*server.place)
            register(f)
            lids = f.lids()
            stop(f)
            server.kill()
            f.daemon(*server.place)
            self.assertIn("does not answer", " ".join(errors(f)))
            self.assertTrue(registered(f), "by the backup beside it")
            self.assertEqual(f.lids(), lids)
            server.start()
            self.assertTrue(wait_until(lambda: "etcd can be written again" in log_of(f), RETRY), log_of(f))

    def test_what_etcd_has_is_in_force_as_soon_as_it_can_be_read(self):
        """ibsm started without etcd: neither a group nor a member of a partition is forgotten for long."""
        with Sm(*TREE) as f, etcd(f) as server:
            f.daemon(*server.place, "--sa_db_dump", "0")
            register(f)
            member = "0x0002c90300000041"
            added = f.ibsm_ctl("partition", "add", "0x8002", member)
            self.assertEqual(added.returncode, 0, added.stderr)
            server.kill()
            stop(f, signal.SIGKILL)
            f.daemon(*server.place, "--sa_db_dump", "0")
            self.assertFalse(registered(f), "it is in etcd alone")
            server.start()
            self.assertTrue(wait_until(lambda: registered(f), RETRY), log_of(f))
            self.assertTrue(wait_until(lambda: member in f.ibsm_ctl("partition", "list").stdout, RETRY))
            self.assertEqual(f.ibsm_ctl("partition", "remove", "0x8002", member).returncode, 0)

    def test_an_etcd_that_begins_anew_gets_everything(self):
        with Sm(*TREE) as f, etcd(f) as server:
            f.daemon(*server.place)
            register(f)
            server.kill()
            shutil.rmtree(server.directory / "etcd")
            server.start()
            created = f.on(MEMBER, PROBE, "create", "ff12:401b:ffff::77")
            self.assertEqual(created.returncode, 0, created.stdout)
            self.assertTrue(wait_until(lambda: "was gone" in " ".join(errors(f)), RETRY), log_of(f))
            self.assertTrue(registered(f))
            stop(f, signal.SIGKILL)
            again = f.ibsm("-B", "--pidfile", f.pid_file, *server.place, state="of another host")
            self.assertEqual(again.returncode, 0, again.stderr)
            self.assertTrue(registered(f))

    def test_a_disk_that_is_full(self):
        with Sm(*TREE) as f, etcd(f, "--quota-backend-bytes", str(256 << 10)) as server:
            f.daemon(*server.place)
            for i in range(40):
                if server.ctl("put", f"/others/{i}", "x" * 50000).returncode != 0:
                    break
            self.assertIn("NOSPACE", server.ctl("alarm", "list").stdout)
            register(f)
            self.assertTrue(registered(f))
            self.assertTrue(wait_until(lambda: "database space exceeded" in " ".join(errors(f)), 5), log_of(f))
            server.ctl("del", "--prefix", "/others/")
            revision = server.ctl("endpoint", "status", "-w", "json").stdout.split('"revision":')[1].split(",")[0]
            self.assertEqual(server.ctl("compact", revision).returncode, 0)
            self.assertEqual(server.ctl("defrag").returncode, 0)
            self.assertEqual(server.ctl("alarm", "disarm").returncode, 0)
            self.assertTrue(wait_until(lambda: "etcd can be written again" in log_of(f), RETRY), log_of(f))
            stop(f, signal.SIGKILL)
            f.daemon(*server.place)
            self.assertTrue(registered(f))


class Quorum(unittest.TestCase):
    @contextlib.contextmanager
    def three(self, f):
        """Three members, and what ibsm calls them."""
        with contextlib.ExitStack() as servers:
            members = [Etcd(f.directory / f"member{i}", "--name", f"member{i}") for i in range(3)]
            cluster = ",".join(f"member{i}={one.peer}" for i, one in enumerate(members))
            for one in members:
                one.cluster = cluster
                one.directory.mkdir()
                one.run()
                servers.callback(one.kill)
            self.assertTrue(wait_until(lambda: any(one.leads() for one in members), 20))
            yield members, ("--store", "etcd://" + ",".join(f"127.0.0.1:{one.port}" for one in members))

    def written_again(self, f):
        return wait_until(lambda: "etcd can be written again" in log_of(f), RETRY * 2)

    def test_two_of_three_are_gone_for_a_while(self):
        with Sm(*TREE) as f, self.three(f) as (members, place):
            f.daemon(*place)
            lids = f.lids()
            follower = next(one for one in members if not one.leads())
            follower.kill()
            register(f)
            self.assertTrue(registered(f))
            self.assertEqual(errors(f), [], "two of three are enough")
            another = next(one for one in members if one is not follower)
            another.kill()
            more = "ff12:401b:ffff::77"
            self.assertEqual(f.on(MEMBER, PROBE, "create", more).returncode, 0)
            self.assertTrue(wait_until(lambda: "managed from memory" in " ".join(errors(f)), 10), log_of(f))
            for one in (follower, another):
                one.run()
            self.assertTrue(self.written_again(f), log_of(f))
            stop(f, signal.SIGKILL)
            f.daemon(*place)
            self.assertTrue(registered(f))
            self.assertIn(more, f.on(MEMBER, "saquery", "--smkey", "1", "-m").stdout)
            self.assertEqual(f.lids(), lids)

    def test_the_leader_is_gone(self):
        """Until there is another one nothing can be written: clients are answered all the same."""
        with Sm(*TREE) as f, self.three(f) as (members, place):
            f.daemon(*place)
            next(one for one in members if one.leads()).kill()
            register(f)
            self.assertTrue(registered(f))
            self.assertTrue(wait_until(lambda: not errors(f) or "etcd can be written again" in log_of(f),
                                       RETRY * 2), log_of(f))
            stop(f, signal.SIGKILL)
            f.daemon(*place)
            self.assertTrue(registered(f))


class Doors(unittest.TestCase):
    def test_tls_user_and_password(self):
        with Sm(*TREE) as f:
            key, certificate = f.directory / "key.pem", f.directory / "cert.pem"
            subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
                            "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out",
                            certificate], check=True, capture_output=True)
            with etcd(f, "--cert-file", certificate, "--key-file", key, scheme="https") as server:
                def ctl(*words):
                    done = server.ctl("--cacert", certificate, *words)
                    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                    return done.stdout
                ctl("user", "add", "root:secret")
                ctl("user", "grant-role", "root", "root")
                ctl("user", "add", "ibsm:word")
                ctl("role", "add", "ibsm")
                ctl("role", "grant-permission", "ibsm", "--prefix=true", "readwrite", "/ibkit/default/")
                ctl("user", "grant-role", "ibsm", "ibsm")
                ctl("auth", "enable")

                password = f.directory / "password"
                password.write_text("word\n")
                password.chmod(0o600)
                options = f.directory / "options"
                options.write_text(f"store_user ibsm\nstore_password_file {password}\n")
                strange = f.ibsm("-o", *server.place, "-F", options, state="strange")
                self.assertEqual(strange.returncode, 0, strange.stderr)
                self.assertIn("certificate", " ".join(errors(f)), "of nobody who is known")
                options.write_text(options.read_text() + f"store_ca {certificate}\n")
                (f.directory / "log").unlink()
                good = f.ibsm("-o", *server.place, "-F", options)
                self.assertEqual(good.returncode, 0, good.stderr)
                self.assertNotIn("etcd", " ".join(errors(f)))
                self.assertIn("/ibkit/default/head", ctl("--user", "root:secret", "get", "--prefix",
                                                         "--keys-only", "/"))
                password.write_text("another\n")
                wrong = f.ibsm("-o", *server.place, "-F", options)
                self.assertEqual(wrong.returncode, 4)
                self.assertIn("authentication failed", wrong.stderr)
                password.chmod(0o644)
                self.assertIn("chmod 600", f.ibsm("-o", *server.place, "-F", options).stderr)


if __name__ == "__main__":
    unittest.main()
