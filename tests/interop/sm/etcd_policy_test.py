# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Subnet managers that share a store on etcd: their configurations are compared, and the policy files that the
master has in force stand in for one that is broken."""
import os
import pathlib
import re
import signal
import socket
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "ibfabric"))
from etcd import OTHER_HOST, etcd, log_of  # noqa: E402
from program import BIN, Sm, TREE  # noqa: E402
from fabric import end_daemon, wait_until  # noqa: E402
from state_test import stop  # noqa: E402


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

    def test_a_second_one_with_a_broken_file(self):
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


if __name__ == "__main__":
    unittest.main()
