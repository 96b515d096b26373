# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A state directory that is lost, damaged or cannot be written: the subnet comes up, and the log says what
became of what was kept there."""
import contextlib
import os
import pathlib
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "ibfabric"))
from program import IBSM, Sm, TREE  # noqa: E402
from fabric import TESTS, is_gone, wait_until  # noqa: E402

MEMBER = "host0002 HCA-1"
GROUP = "ff12:401b:ffff::1234"
PROBE = TESTS / "join_probe"
REFRESH = 30  # seconds: ibsm tries every 10


def stop(f, how=signal.SIGTERM):
    pid = int(f.pid_file.read_text())
    os.kill(pid, how)
    assert wait_until(lambda: is_gone(pid), 20)
    f.pid_file.unlink(missing_ok=True)


def register(f):
    """A group with a member, and a service."""
    created = f.on(MEMBER, PROBE, "create", GROUP)
    assert created.returncode == 0, created.stdout + created.stderr
    assert f.on(MEMBER, PROBE, "serve", "a service").returncode == 0


def registered(f):
    groups = f.on(MEMBER, "saquery", "--smkey", "1", "-m").stdout
    services = f.on(MEMBER, "saquery", "--smkey", "1", "SR").stdout
    return GROUP in groups and "a service" in services


def errors(f):
    return [line for line in (f.directory / "log").read_text().splitlines() if " E store: " in line]


@contextlib.contextmanager
def small_disk(directory, kilobytes):
    directory.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", directory], check=True)
    try:
        yield directory
    finally:
        subprocess.run(["umount", "-l", directory], check=True)


class Lost(unittest.TestCase):
    def test_a_store_that_is_gone_is_learned_from_the_dump(self):
        with Sm(*TREE) as f:
            f.daemon()
            register(f)
            lids = f.lids()
            for how in ("gone", "empty"):
                stop(f)
                store = f.directory / "state" / "ibsm.db"
                store.unlink()
                if how == "empty":
                    store.touch()
                f.daemon()
                self.assertIn(f"ibsm.db is {how}, although a store was kept here", errors(f)[-1])
                self.assertIn("with 1 members, 1 services", (f.directory / "log").read_text())
                self.assertTrue(registered(f))
                self.assertEqual(f.lids(), lids)
            stop(f, signal.SIGKILL)
            f.daemon()
            self.assertTrue(registered(f), "and it is in the store again")
            self.assertEqual(len(errors(f)), 2, "which was lost twice")

    def test_lids_come_back_to_ports_that_lost_them_too(self):
        with tempfile.TemporaryDirectory() as directory:
            state = pathlib.Path(directory) / "state"
            with Sm(*TREE) as f:
                # Not the order in which they would be given.
                self.assertEqual(f.ibsm("-o", at="host0017 HCA-1", state=state).returncode, 0)
                lids = f.lids()
            (state / "ibsm.db").unlink()
            with Sm(*TREE) as f:
                self.assertEqual(f.ibsm("-o", state=state).returncode, 0)
                self.assertEqual(f.lids(), lids)
                self.assertIn("guid2lid: took the LIDs of 44 ports", (f.directory / "log").read_text())

    def test_a_first_start_is_none(self):
        with Sm(*TREE) as f:
            self.assertEqual(f.ibsm("-o").returncode, 0)
            self.assertEqual(errors(f), [])


class Foreign(unittest.TestCase):
    """A state directory that came here from another fabric."""

    def kept(self, state):
        """All that is in it, the store as SQL."""
        with contextlib.closing(sqlite3.connect(state / "ibsm.db")) as db:
            rows = list(db.iterdump())
        return rows, {file.name: file.read_bytes() for file in sorted(state.iterdir())
                      if file.is_file() and not file.name.startswith("ibsm.")}

    def test_its_store_is_refused_and_nothing_is_written(self):
        with tempfile.TemporaryDirectory() as directory:
            state, partitions = pathlib.Path(directory) / "state", pathlib.Path(directory) / "partitions"
            with Sm(*TREE) as f:
                self.assertEqual(f.ibsm("-o", state=state).returncode, 0)
                # The same with other GUIDs, but for the head node, which has moved.
                text = pathlib.Path(f.topology).read_text()
                head = re.search(r'"H-000(\w+)"\s+# "host0001 HCA-1"\n\[1\]\((\w+)\)', text).groups()
                other = pathlib.Path(directory) / "other.topo"
                text = text.replace("2c9", "2ca")
                for guid in head:
                    text = text.replace(guid.replace("2c9", "2ca"), guid)
                other.write_text(text)
            before = self.kept(state)
            partitions.write_text("Default=0x7fff,ipoib:ALL=full;\nkeyless:ALL=full;\n")
            with Sm(topology=str(other)) as f:
                refused = f.ibsm("-o", "--Pconfig", partitions, state=state)
                self.assertEqual(refused.returncode, 4, refused.stdout + refused.stderr)
                self.assertRegex(refused.stderr, r"/state/ibsm.db is another fabric's: LIDs of 44 ports are stored, and "
                                 r"none of them is among the 43 others on this fabric. Nothing is written to it")
                self.assertEqual(self.kept(state), before)
                self.assertEqual(f.sets(), 0)
                # One of its own; and this one all the same, where the operator says so.
                self.assertEqual(f.ibsm("-o", state="own").returncode, 0)
                self.assertEqual(f.ibsm("-o", "-r", state=state).returncode, 0)
                self.assertEqual(f.ibsm("-o", state=state).returncode, 0)


class Guid2Lid(unittest.TestCase):
    """Ports without LIDs, a new store, and the guid2lid of the other program."""

    def started_by_opensm(self, f, cache):
        f.start("host0001 HCA-1", "opensm", "-f", f.directory / "log", "-d", "2",
                env=dict(os.environ, OSM_CACHE_DIR=str(cache), OSM_TMP_DIR=str(cache)))
        log = f.directory / "log"
        self.assertTrue(wait_until(lambda: log.exists() and "SUBNET UP" in log.read_text(errors="replace")))
        return f.lids()

    def started_by_ibsm(self, f, cache):
        command = f.command("host0001 HCA-1", IBSM, "-o", "-f", f.directory / "log")
        up = subprocess.run(command, env=dict(os.environ, OSM_CACHE_DIR=str(cache)), capture_output=True, text=True,
                            timeout=60)
        self.assertEqual(up.returncode, 0, up.stderr)
        return f.lids()

    def planted(self, cache):
        """LIDs that nobody would choose: 1000 more than those that are there."""
        file = cache / "guid2lid"
        text = re.sub(r"(?<= )0x\w+", lambda lid: f"0x{int(lid[0], 16) + 1000:04x}", file.read_text())
        for other in cache.iterdir():
            other.unlink()
        file.write_text(text)
        return {guid: int(lid, 16) for guid, lid in re.findall(r"^0x(\w+) (0x\w+)", text, re.M)}

    def test_each_starts_from_the_others(self):
        for first, second in ((self.started_by_opensm, self.started_by_ibsm),
                              (self.started_by_ibsm, self.started_by_opensm)):
            with tempfile.TemporaryDirectory() as directory, self.subTest(second.__name__):
                cache = pathlib.Path(directory)
                with Sm(*TREE) as f:
                    first(f, cache)
                wanted = self.planted(cache)
                self.assertEqual(len(wanted), 44)
                with Sm(*TREE) as f:
                    lids = second(f, cache)
                self.assertEqual(sorted(lids.values()), sorted(f"lid {lid} lmc 0" for lid in wanted.values()))
                for port, lid in lids.items():
                    guid = port.removeprefix("S-").zfill(16)
                    self.assertEqual(lid, f"lid {wanted[guid]} lmc 0", port)

    def test_one_that_is_not_whole_is_not_taken_at_all(self):
        with tempfile.TemporaryDirectory() as directory:
            cache = pathlib.Path(directory)
            with Sm(*TREE) as f:
                plain = self.started_by_ibsm(f, cache)
            self.planted(cache)
            with (cache / "guid2lid").open("a") as file:
                file.write("0x1 0x2\n")
            with Sm(*TREE) as f:
                self.assertEqual(self.started_by_ibsm(f, cache), plain)
                self.assertRegex(errors(f)[0], r"guid2lid is kept as .*\.unread-1: none of its LIDs is used: .*/guid2lid:"
                                               r"\d+:8: expected the last LID")


class Damaged(unittest.TestCase):
    def test_of_a_damaged_store_all_is_used_that_can_be_read(self):
        with Sm(*TREE) as f:
            f.daemon()
            register(f)
            lids, store = f.lids(), f.directory / "state" / "ibsm.db"
            for sql in ("PRAGMA user_version=-1", "DROP TABLE lid", "UPDATE mc_member SET join_state=4"):
                stop(f)
                with contextlib.closing(sqlite3.connect(store)) as db:
                    db.execute(sql)
                    db.commit()
                f.daemon()
                self.assertTrue(any("ibsm.db is damaged (" in line for line in errors(f)), errors(f))
                self.assertTrue(registered(f), sql)
                self.assertEqual(f.lids(), lids)
            self.assertTrue(any("mc_member mgid=ff12401bffff" in line for line in errors(f)), errors(f))


class Unwritable(unittest.TestCase):
    def comes_up_and_writes_later(self, f, repair):
        f.daemon()
        self.assertIn("the subnet is managed from memory", " ".join(errors(f)))
        register(f)
        self.assertTrue(registered(f))
        lids = f.lids()
        repair()
        log = f.directory / "log"
        self.assertTrue(wait_until(lambda: "can be written now" in log.read_text(), REFRESH), log.read_text())
        stop(f, signal.SIGKILL)
        f.daemon()
        self.assertTrue(registered(f))
        self.assertEqual(f.lids(), lids)

    def test_no_directory(self):
        with Sm(*TREE) as f:
            state = f.directory / "state"
            state.write_text("a file where the directory should be")
            self.comes_up_and_writes_later(f, state.unlink)

    @unittest.skipUnless(os.geteuid() == 0, "root mounts")
    def test_a_disk_that_is_full_at_the_first_start(self):
        with Sm(*TREE) as f, small_disk(f.directory / "state", 512) as state:
            with contextlib.suppress(OSError), open(state / "others", "wb") as others:
                others.write(bytes(1 << 20))
            self.comes_up_and_writes_later(f, (state / "others").unlink)
            stop(f)

    @unittest.skipUnless(os.geteuid() == 0, "root mounts")
    def test_a_read_only_file_system_with_a_store(self):
        with Sm(*TREE) as f, small_disk(f.directory / "state", 4096) as state:
            f.daemon()
            register(f)
            lids = f.lids()
            stop(f)
            subprocess.run(["mount", "-o", "remount,ro", state], check=True)
            f.daemon()
            self.assertIn("the subnet is managed from memory", " ".join(errors(f)))
            self.assertTrue(registered(f), "what is there can be read")
            self.assertEqual(f.lids(), lids)
            subprocess.run(["mount", "-o", "remount,rw", state], check=True)
            log = f.directory / "log"
            self.assertTrue(wait_until(lambda: "can be written now" in log.read_text(), REFRESH))
            stop(f)


if __name__ == "__main__":
    unittest.main()
