# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""An etcd that is gone, emptied, full or without a leader is no reason to stop: what is registered meanwhile is
written when it can be."""
import contextlib
import pathlib
import shutil
import signal
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "ibfabric"))
from etcd import OTHER_HOST, RETRY, Etcd, etcd, log_of  # noqa: E402
from program import BIN, Others, Sm, TREE  # noqa: E402
from fabric import end_daemon, wait_until  # noqa: E402
from state_test import MEMBER, PROBE, errors, register, registered, small_disk, stop  # noqa: E402


@contextlib.contextmanager
def etcd_on(disk):
    server = Etcd(disk)
    server.start()
    try:
        yield server
    finally:
        server.kill()


class Outage(Others):
    def is_forwarded_as(self, f, tables):
        """No packet is forwarded differently: nobody wrote a forwarding table since they were counted."""
        self.assertEqual(self.sets_of_tables(f, (0x19,)), tables)

    def is_caught_up(self, f, server, lids, tables):
        """etcd is written again, and what it has is enough for the next ibsm."""
        self.assertTrue(wait_until(lambda: "etcd can be written again" in log_of(f), RETRY), log_of(f))
        stop(f, signal.SIGKILL)
        f.daemon(*server.place)
        self.assertTrue(registered(f))
        self.assertEqual(f.lids(), lids)
        self.is_forwarded_as(f, tables)


class Trouble(Outage, unittest.TestCase):
    def test_an_etcd_that_dies_and_comes_back(self):
        with Sm(*TREE) as f, etcd(f) as server:
            f.daemon(*server.place)
            lids, tables = f.lids(), self.sets_of_tables(f, (0x19,))
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
            self.is_forwarded_as(f, tables)

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
            lids, tables = f.lids(), self.sets_of_tables(f, (0x19,))
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
            self.is_caught_up(f, server, lids, tables)

    def test_the_file_system_below_etcd_is_full(self):
        """Not its quota: etcd itself ends by it."""
        with Sm(*TREE) as f, small_disk(f.directory / "small", 160 << 10) as disk, etcd_on(disk) as server:
            f.daemon(*server.place)
            lids, tables = f.lids(), self.sets_of_tables(f, (0x19,))
            with contextlib.suppress(OSError), open(disk / "everything else", "wb", buffering=0) as rest:
                while True:
                    rest.write(bytes(1 << 16))
            for i in range(1000):
                if server.ctl("put", "/others", "x" * 100000).returncode != 0:
                    break
            self.assertNotEqual(i, 999, "it is full")
            register(f)
            self.assertTrue(registered(f))
            self.assertTrue(wait_until(lambda: "managed from memory" in " ".join(errors(f)), 20), log_of(f))
            (disk / "everything else").unlink()
            server.kill()
            server.start()
            self.is_caught_up(f, server, lids, tables)


class Quorum(Outage, unittest.TestCase):
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
            lids, tables = f.lids(), self.sets_of_tables(f, (0x19,))
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
            self.is_forwarded_as(f, tables)

    def test_a_standby_takes_over_without_a_quorum(self):
        """Two of three members are gone, and then the master: clients are asked to register again, and nothing else
        changes; what the store had is added when it can be read."""
        with Sm(*TREE) as f, self.three(f) as (members, place):
            f.daemon(*place, "-p", "9")
            pid, log = f.directory / "standby.pid", f.directory / "standby.log"
            standby = f.on(OTHER_HOST, BIN / "ibsm", "-B", "--state-dir", f.directory / "standby", "-f", log,
                           "--pidfile", pid, *place)
            f.at_end(lambda: end_daemon(pid))
            self.assertTrue(standby.stdout.startswith("SUBNET STANDBY"), standby.stdout + standby.stderr)
            register(f)
            lids, tables = f.lids(), self.sets_of_tables(f, (0x19,))
            gone = [one for one in members if not one.leads()][:2]
            for one in gone:
                one.kill()
            stop(f, signal.SIGKILL)
            self.assertTrue(wait_until(lambda: "SUBNET UP" in log.read_text(), 60), log.read_text())
            self.assertIn("all clients are asked to register again", log.read_text())
            self.assertEqual(f.lids(), lids)
            self.is_forwarded_as(f, tables)
            for one in gone:
                one.run()
            self.assertTrue(wait_until(lambda: "etcd can be written again" in log.read_text(), RETRY * 2),
                            log.read_text())
            self.assertTrue(wait_until(lambda: registered(f), RETRY), "what was stored before")
            self.is_forwarded_as(f, tables)

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


if __name__ == "__main__":
    unittest.main()
