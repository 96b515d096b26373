# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The store on Debian's etcd: what clients registered outlives the host of the subnet manager, and the one that
another has deposed writes nothing."""
import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "ibfabric"))
from etcd import OTHER_HOST, etcd  # noqa: E402
from program import BIN, Sm, TREE  # noqa: E402
from fabric import end_daemon, wait_until  # noqa: E402
from state_test import PROBE, errors, register, registered, stop  # noqa: E402


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


class Relay:
    """Passes connections on to etcd until it is shut; nothing comes back any more from then on."""

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
            relay = Relay(server.port)
            f.daemon("--store", f"etcd://127.0.0.1:{relay.port}", "-p", "9")
            pid, log = f.directory / "standby.pid", f.directory / "standby.log"
            standby = f.on(OTHER_HOST, BIN / "ibsm", "-B", "--state-dir", f.directory / "standby", "-f", log,
                           "--pidfile", pid, *server.place)
            f.at_end(lambda: end_daemon(pid))
            self.assertTrue(standby.stdout.startswith("SUBNET STANDBY"), standby.stdout + standby.stderr)
            folder = "/ibkit/default/managers/"
            self.assertTrue(wait_until(lambda: len(server.ctl(
                "get", "--prefix", "--keys-only", folder).stdout.split()) == 2, 20))
            relay.shut()
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

    def test_the_service_manager_and_the_events_hear_of_each_state(self):
        with Sm(*TREE) as f, etcd(f) as server, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(str(f.directory / "notify"))
            manager.settimeout(30)

            def hears(text):
                said = []
                while not said or text not in said[-1]:
                    said.append(manager.recv(4096).decode())
                return said[-1]

            f.daemon(*server.place, "-p", "9")
            log = f.directory / "standby.log"
            f.start(OTHER_HOST, BIN / "ibsm", "--state-dir", f.directory / "standby", "-f", log, *server.place,
                    env=dict(os.environ, NOTIFY_SOCKET=str(f.directory / "notify")))
            self.assertIn("READY=1\n", hears("STATUS=SUBNET STANDBY master=0x"))
            stop(f, signal.SIGKILL)
            hears("STATUS=SUBNET DISCOVERING no subnet manager runs there any more")
            hears("STATUS=SUBNET UP ")
            told = re.findall(r"event: this subnet manager is (\w+):", log.read_text())
            self.assertEqual(told, ["discovering", "standby", "discovering", "master"], log.read_text())

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


class Access(unittest.TestCase):
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
