# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What ibsm has answered it keeps: with `store_sync full` the disk has it before the answer."""
import ipaddress
import unittest

from fabric import BIN, LIB, Fabric, end_daemon
from records_compared import BY_NAME, Request, Subnet, ask

HERE = "host0001 HCA-1"
HOSTS = [f"host{number:04} HCA-1" for number in range(2, 10)]
CREATE = 0x130C7
TREE = ("fat-tree", "--radix", "4", "--leaves", "3", "--spines", "1", "--hosts-per-leaf", "3")


def join(group, gid):
    """Makes the group if there is none, as IPoIB does."""
    mgid = ipaddress.IPv6Address(f"ff12:401b:ffff::8:{group:x}").packed
    record = (mgid + gid + (0xB1B).to_bytes(4, "big") + bytes(4) + b"\xff\xff" + bytes(6) + b"\x21" +
              bytes(3))
    return Request(BY_NAME["MCMemberRecord"], "set", CREATE, record)


class Manager:
    """ibsm as a daemon with its state in the fabric's directory."""

    def __init__(self, f, *words, syncs=None):
        self.f, self.words, self.pid_file = f, words, f.directory / "pid"
        # The fabric's own library is preloaded already.
        self.before = [] if syncs is None else [
            "sh", "-c", f'IBKIT_SYNCS="{syncs}" LD_PRELOAD="$LD_PRELOAD:{LIB / "libsync-counter.so"}" exec "$@"',
            "sh"]
        self.start()
        f.at_end(self.end)

    def start(self):
        up = self.f.on(HERE, *self.before, BIN / "ibsm", "-B", "--state-dir", self.f.directory / "state",
                       "-f", self.f.directory / "log", "--pidfile", self.pid_file, *self.words)
        assert up.returncode == 0 and up.stdout.startswith("SUBNET UP"), up.stdout + up.stderr

    def end(self):
        end_daemon(self.pid_file)


def gids(f):
    return Subnet(*(answer.records for answer in ask(
        f, HOSTS[0], [Request(BY_NAME["NodeRecord"]), Request(BY_NAME["PortInfoRecord"])]))).gids


class Syncs(unittest.TestCase):
    JOINS = 20

    def syncs_of_joins(self, *words):
        with Fabric(*TREE) as f:
            count = f.directory / "syncs"
            Manager(f, *words, syncs=count)
            gid = gids(f)[HOSTS[0]]
            before = count.stat().st_size if count.exists() else 0
            # One after the other: each has a transaction of its own.
            for answer in ask(f, HOSTS[0], [join(n, gid) for n in range(self.JOINS)]):
                self.assertEqual(answer.status, "0000")
            return (count.stat().st_size if count.exists() else 0) - before

    def test_full_syncs_every_transaction_before_its_answer(self):
        self.assertGreaterEqual(self.syncs_of_joins("--store_sync", "full"), self.JOINS)

    def test_normal_does_not(self):
        self.assertLess(self.syncs_of_joins("--store_sync", "normal"), self.JOINS // 2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
