# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Clients of ibsm's SA on ibfabric: what subscribers are told, what services and alias GUIDs outlive,
and whose they are."""
import contextlib
import os
import pathlib
import re
import signal
import sqlite3
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "ibfabric"))
from fabric import BIN, TESTS, Fabric, wait_until  # noqa: E402

IBSM = BIN / "ibsm"
SUBSCRIBER = TESTS / "subscriber"
TREE = ("fat-tree", "--radix", "8", "--leaves", "4", "--hosts-per-leaf", "4", "--spines", "2", "--no-lids")
HOST, SECOND, THIRD, FOURTH, FIFTH = (f"host000{n} HCA-1" for n in (1, 2, 3, 4, 5))


def sum_of(table, blob):
    """Of a row of the store that is this one value (sm/store/row_sum.h)."""
    value = 0xCBF29CE484222325
    for byte in table.encode() + bytes([2]) + len(blob).to_bytes(8, "little") + blob:
        value = (value ^ byte) * 0x100000001B3 % (1 << 64)
    return value - (1 << 64) if value >> 63 else value


class Subnet(Fabric):
    """A fabric with ibsm on its first host."""

    def __enter__(self):
        super().__enter__()
        self.pid_file = self.directory / "pid"
        self.at_end(self.stop_sm)
        self.start_sm()
        return self

    def start_sm(self, *more):
        started = self.on(HOST, IBSM, *more, "-B", "--pidfile", self.pid_file, "--state-dir",
                          self.directory / "state", "-f", self.directory / "log", "-s", "2")
        assert started.returncode == 0, started.stdout + started.stderr
        self.pid = int(self.pid_file.read_text())

    def kill_sm(self):
        os.kill(self.pid, signal.SIGKILL)
        assert wait_until(lambda: not pathlib.Path(f"/proc/{self.pid}").exists())

    def stop_sm(self):
        if pathlib.Path(f"/proc/{self.pid}").exists():
            os.kill(self.pid, signal.SIGTERM)
            wait_until(lambda: not pathlib.Path(f"/proc/{self.pid}").exists(), 10)

    def subscriber(self, at, words, *traps):
        """Starts one and waits until it is subscribed; gives (process, lines())."""
        path = self.directory / f"heard-{len(self.background)}"
        process = self.start(at, SUBSCRIBER, "listen", path, words, *traps)

        def lines():
            return path.read_text().splitlines() if path.exists() else []

        assert wait_until(lambda: "ready" in lines()), lines()
        return process, lines

    def gid(self, at):
        guid = int(re.search(r"Port GUID: 0x([0-9a-f]+)", self.on(at, "ibstat").stdout).group(1), 16)
        words = [f"{guid >> shift & 0xFFFF:x}" for shift in (48, 32, 16, 0)]
        return "fe80::" + ":".join(words)


def reports(lines, number):
    return [line for line in lines() if line.startswith(f"report {number} ")]


class Notices(unittest.TestCase):
    def test_ports_that_leave_and_come_back(self):
        with Subnet(*TREE) as f:
            _, heard = f.subscriber(SECOND, "any", 64, 65, 128)
            gid = f.gid(THIRD)
            self.assertEqual(f.ctl("link", "down", THIRD, "1").returncode, 0)
            self.assertTrue(wait_until(lambda: reports(heard, 65)), heard())
            self.assertEqual(f.ctl("link", "up", THIRD, "1").returncode, 0)
            self.assertTrue(wait_until(lambda: reports(heard, 64)), heard())
            self.assertTrue(wait_until(lambda: reports(heard, 128)), heard())
            self.assertTrue(reports(heard, 65)[0].endswith(gid), heard())
            self.assertTrue(reports(heard, 64)[0].endswith(gid), heard())
            self.assertIn("type 3 producer 4", reports(heard, 64)[0])
            self.assertIn("type 1 producer 2", reports(heard, 128)[0])

    def test_every_trap_of_a_device_is_forwarded(self):
        told = (128, 129, 130, 131, 144, 145)
        security = (256, 257, 258, 259)
        with Subnet(*TREE) as f:
            _, heard = f.subscriber(SECOND, "trusted", *told, *security)
            _, all_else = f.subscriber(FOURTH, "any", *told, 0xFFFF)
            sent = f.on(THIRD, SUBSCRIBER, "trap", *told, *security)
            self.assertEqual(sent.returncode, 0, sent.stdout)
            lid = f.lid_of(THIRD)
            for number in told + security:
                kind = 2 if number in security else 1
                self.assertTrue(wait_until(lambda: reports(heard, number)), (number, heard()))
                self.assertEqual(reports(heard, number),
                                 [f"report {number} type {kind} producer 1 from {lid}"])
            # Without the key everything else is heard, also by a client that asks for all.
            for number in told:
                self.assertTrue(wait_until(lambda: reports(all_else, number)), (number, all_else()))
            self.assertEqual([line for n in security for line in reports(all_else, n)], [])
            refused = f.directory / "refused"
            refused.touch()
            f.start(FIFTH, SUBSCRIBER, "listen", refused, "any", 256)
            self.assertTrue(wait_until(lambda: "refused 0x0200" in refused.read_text()))

    def test_groups_that_begin_and_end(self):
        with Subnet(*TREE) as f:
            _, heard = f.subscriber(SECOND, "any", 66, 67)
            group = "ff12:401b:ffff::1234"
            self.assertIn("state 1", f.on(THIRD, TESTS / "join_probe", "create", group).stdout)
            self.assertTrue(wait_until(lambda: reports(heard, 66)), heard())
            f.on(THIRD, TESTS / "join_probe", "leave", group)
            self.assertTrue(wait_until(lambda: reports(heard, 67)), heard())
            for number in (66, 67):
                self.assertTrue(reports(heard, number)[0].endswith(group), heard())

    def test_srp_daemon_hears_of_a_target_and_subscribes_again(self):
        with Subnet(*TREE) as f:
            process, heard = f.subscriber(SECOND, "srp", 64, 144)
            _, watcher = f.subscriber(FOURTH, "any", 65)
            f.ctl("link", "down", THIRD, "1")
            self.assertTrue(wait_until(lambda: reports(watcher, 65)), watcher())
            self.assertEqual(reports(heard, 65), [])
            f.ctl("link", "up", THIRD, "1")
            self.assertTrue(wait_until(lambda: reports(heard, 64)), heard())
            # A new subnet manager asks clients to register again; the same words are one subscription.
            os.kill(process.pid, signal.SIGHUP)
            self.assertTrue(wait_until(lambda: "again" in heard()), heard())
            kept = f.on(SECOND, "saquery", "--smkey", "1", "IIR").stdout
            self.assertEqual(kept.count("InformInfoRecord"), 3, kept)

    def test_subscriptions_outlive_ibsm(self):
        with Subnet(*TREE) as f:
            _, heard = f.subscriber(SECOND, "any", 65)
            f.kill_sm()
            f.start_sm()
            f.ctl("link", "down", THIRD, "1")
            self.assertTrue(wait_until(lambda: reports(heard, 65)), heard())
            self.assertEqual([line for line in heard() if "ready" in line or "again" in line],
                             ["ready"], "it never asked again")

    def test_whom_a_process_could_not_ask_the_next_one_asks(self):
        with Subnet(*TREE) as f:
            def due(*guids):
                """Whose clients are stored to be asked; these as well."""
                with contextlib.closing(sqlite3.connect(f.directory / "state" / "ibsm.db")) as db:
                    for guid in guids:
                        db.execute("INSERT INTO client_to_ask VALUES (?, ?)", (guid, sum_of("client_to_ask", guid)))
                    db.commit()
                    return [guid for guid, in db.execute("SELECT port_guid FROM client_to_ask")]

            self.assertEqual(due(), [], "a first start is over when the subnet is up")
            f.ctl("link", "down", THIRD, "1")
            self.assertTrue(wait_until(due), "what it registered is dropped")
            f.ctl("link", "up", THIRD, "1")
            self.assertTrue(wait_until(lambda: not due()), "it is there again")

            def sets_of_a_restart(*whom):
                f.kill_sm()
                due(*whom)
                f.start_sm("-v")
                self.assertTrue(wait_until(lambda: not due()))
                return int(re.findall(r"(\d+) SubnSets", (f.directory / "log").read_text())[-1])

            self.assertEqual(sets_of_a_restart(), 0)
            port = re.search(r"Port GUID: (0x[0-9a-f]+)", f.on(SECOND, "ibstat").stdout).group(1)
            self.assertEqual(sets_of_a_restart(int(port, 16).to_bytes(8, "big")), 1)
            hosts = sum(line.startswith("Ca") for line in f.on(HOST, "ibnetdiscover").stdout.splitlines())
            self.assertEqual(sets_of_a_restart(bytes(8)), hosts, "those of all")

    def test_a_dead_subscriber_is_removed(self):
        with Subnet(*TREE) as f:
            _, heard = f.subscriber(SECOND, "deaf", 66, 67)
            for number in range(2):
                group = f"ff12:401b:ffff::{number + 0x500:x}"
                f.on(THIRD, TESTS / "join_probe", "create", group)
                f.on(THIRD, TESTS / "join_probe", "leave", group)

            def kept():
                return f.on(SECOND, "saquery", "--smkey", "1", "IIR").stdout

            self.assertIn("InformInfoRecord", kept())
            self.assertTrue(wait_until(lambda: "InformInfoRecord" not in kept()), kept())
            self.assertGreater(len(reports(heard, 66)), 1, "it was tried more than once")


class Registrations(unittest.TestCase):
    def test_services_have_owners_and_leases_and_outlive_ibsm(self):
        with Subnet(*TREE) as f:
            def service(at, *words):
                return f.on(at, SUBSCRIBER, "service", *words)

            def known():
                return set(re.findall(r"ServiceID\.+(0x[0-9a-f]+)", f.on(THIRD, "saquery", "SR").stdout))

            def ids(*numbers):
                return {f"0x{number:016x}" for number in numbers}

            self.assertEqual(service(SECOND, "set", "own", "1").stdout, "ok\n")
            self.assertEqual(service(SECOND, "set", "own", "2", "4").stdout, "ok\n")
            self.assertEqual(known(), ids(1, 2))
            stolen = service(THIRD, "set", f.gid(SECOND), "3")
            self.assertEqual(stolen.returncode, 1, stolen.stdout)
            self.assertEqual(service(THIRD, "delete", f.gid(SECOND), "1").returncode, 1)
            f.kill_sm()
            f.start_sm()
            self.assertIn(ids(1).pop(), known())
            self.assertTrue(wait_until(lambda: known() == ids(1), 15), "the lease ended meanwhile")
            self.assertEqual(service(SECOND, "delete", "own", "1").stdout, "ok\n")
            self.assertEqual(known(), set())

    def test_alias_guids_reach_the_port_and_outlive_ibsm_and_a_reboot(self):
        with Subnet(*TREE) as f:
            def table():
                text = f.on(HOST, "smpquery", "GI", str(f.lid_of(SECOND))).stdout
                return re.findall(r"0x[0-9a-f]{16}", text)

            alias = "0x00000000000abcde"
            self.assertEqual(f.on(SECOND, SUBSCRIBER, "alias", "set", "3", alias).stdout,
                             alias + "\n")
            self.assertTrue(wait_until(lambda: table()[3:4] == [alias]), table())
            taken = f.on(THIRD, SUBSCRIBER, "alias", "set", "1", alias)
            self.assertEqual(taken.stdout, "0x" + "0" * 16 + "\n", "another port gets none")
            made_up = f.on(SECOND, SUBSCRIBER, "alias", "set", "4", "0").stdout
            self.assertRegex(made_up, r"^0x0014050000[0-9a-f]{6}\n$")
            f.kill_sm()
            self.assertEqual(f.ctl("node", "reboot", SECOND).returncode, 0)
            f.start_sm()
            self.assertTrue(wait_until(lambda: table()[3:5] == [alias, made_up.strip()]), table())
            # Whose the alias is, its GID is.
            self.assertEqual(f.on(SECOND, SUBSCRIBER, "service", "set", "fe80::a:bcde", "9").stdout,
                             "ok\n")
            self.assertEqual(f.on(THIRD, SUBSCRIBER, "service", "set", "fe80::a:bcde", "8").returncode,
                             1)
            self.assertEqual(f.on(SECOND, SUBSCRIBER, "alias", "delete", "3", "0").returncode, 0)
            self.assertTrue(wait_until(lambda: table()[3:4] == ["0x" + "0" * 16]), table())

            # What was given back leaves the store when the port has heard of it, be it after a kill.
            def kept():
                path = f.directory / "state" / "ibsm.db"
                with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as store:
                    return [place for place, in store.execute("SELECT place FROM alias_guid")]
            self.assertTrue(wait_until(lambda: kept() == [4]), kept())
            self.assertEqual(f.on(SECOND, SUBSCRIBER, "alias", "delete", "4", "0").returncode, 0)
            f.kill_sm()
            f.start_sm()
            self.assertTrue(wait_until(lambda: table()[4:5] == ["0x" + "0" * 16]), table())
            self.assertTrue(wait_until(lambda: kept() == []), kept())


if __name__ == "__main__":
    unittest.main()
