# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What ibsm has answered it keeps: killed with SIGKILL in the middle of a storm of joins it has every
join that was answered; and with `store_sync full` the disk has it before the answer."""
import ipaddress
import os
import signal
import subprocess
import threading
import unittest

from fabric import BIN, LIB, PATIENCE, TESTS, Fabric, end_daemon, is_gone, wait_until
from records_compared import BY_NAME, Request, Subnet, ask

HERE = "host0001 HCA-1"
HOSTS = [f"host{number:04} HCA-1" for number in range(2, 10)]
CREATE = 0x130C7
GROUPS = ipaddress.IPv6Address("ff12:401b:ffff::8:0").packed[:14]
# While no ibsm listens: nothing, or what a kernel says of a method and attribute nobody has an agent for.
UNHEARD = ("silent", "000c")
TREE = ("fat-tree", "--radix", "4", "--leaves", "3", "--spines", "1", "--hosts-per-leaf", "3")


def join(group, gid):
    """Makes the group if there is none, as IPoIB does."""
    mgid = GROUPS + group.to_bytes(2, "big")
    record = (mgid + gid + (0xB1B).to_bytes(4, "big") + bytes(4) + b"\xff\xff" + bytes(6) + b"\x21" +
              bytes(3))
    return Request(BY_NAME["MCMemberRecord"], "set", CREATE, record)


class Manager:
    """ibsm as a daemon with its state in the fabric's directory."""

    def __init__(self, f, *words, disk):
        """`disk`: what the library between ibsm's store and the disk is told."""
        self.f, self.words, self.pid_file = f, words, f.directory / "pid"
        # The fabric's own library is preloaded already.
        self.before = ["env", disk, "sh", "-c",
                       f'LD_PRELOAD="$LD_PRELOAD:{LIB / "libwatched-disk.so"}" exec "$@"', "sh"]
        self.start()
        f.at_end(self.end)

    def start(self):
        up = self.f.on(HERE, *self.before, BIN / "ibsm", "-B", "--state-dir", self.f.directory / "state",
                       "-f", self.f.directory / "log", "--pidfile", self.pid_file, *self.words)
        assert up.returncode == 0 and up.stdout.startswith("SUBNET UP"), up.stdout + up.stderr

    def kill(self):
        self.pid = int(self.pid_file.read_text(encoding="ascii"))
        os.kill(self.pid, signal.SIGKILL)

    def start_again(self):
        assert wait_until(lambda: is_gone(self.pid), 10)
        self.start()

    def end(self):
        end_daemon(self.pid_file)


def gids(f):
    return Subnet(*(answer.records for answer in ask(
        f, HOSTS[0], [Request(BY_NAME["NodeRecord"]), Request(BY_NAME["PortInfoRecord"])]))).gids


class JoinStorm:
    """Hosts that join one group after the other, each as soon as the one before is answered. Goes by
    the number of answers, never by the clock: the host whose answer is due kills ibsm."""

    def __init__(self, f, hosts):
        self.f, self.changed = f, threading.Condition()
        self.joined = []  # (group, GID), as they were answered
        self.refused = []
        self.unheard = 0
        self.kill, self.kill_at, self.killed_with = None, 0, None
        self.most, self.waiting, self.over = 0, 0, False
        self.probes = [subprocess.Popen(f.command(host, TESTS / "raw_sa_probe"), text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                       for host in hosts]
        f.background += self.probes
        known = gids(f)
        self.threads = [threading.Thread(target=self.join_all, args=(probe, known[host]))
                        for probe, host in zip(self.probes, hosts)]
        f.at_end(self.end)
        for thread in self.threads:
            thread.start()

    def join_all(self, probe, gid):
        group = 0
        while self.may_go_on():
            try:
                probe.stdin.write(join(group, gid).line() + "\n")
                probe.stdin.flush()
                status, count = probe.stdout.readline().split()
                for _ in range(int(count)):
                    probe.stdout.readline()
            except (OSError, ValueError):  # the probe was ended
                return
            self.was_answered(status, group, gid)
            if status == "0000":
                group += 1

    def may_go_on(self):
        with self.changed:
            self.waiting += 1
            self.changed.notify_all()
            self.changed.wait_for(lambda: len(self.joined) < self.most or self.over)
            self.waiting -= 1
            return not self.over

    def was_answered(self, status, group, gid):
        with self.changed:
            if status in UNHEARD:  # asked again, as clients do
                self.unheard += 1
            elif status != "0000":
                self.refused.append((status, group, gid.hex()))
            else:
                self.joined.append((group, gid))
                if self.killed_with is None and len(self.joined) == self.kill_at:
                    self.kill()
                    self.killed_with = list(self.joined)
            self.changed.notify_all()

    def run_until_killed(self, kill, answers):
        """Kills at the `answers`-th answer from now, and gives what was answered by then; the storm
        goes on until there are as many again."""
        with self.changed:
            self.kill, self.kill_at, self.killed_with = kill, len(self.joined) + answers, None
            self.most = self.kill_at + answers
            self.changed.notify_all()
            assert self.changed.wait_for(lambda: self.killed_with is not None, PATIENCE), self.said()
            return self.killed_with

    def wait_for_calm(self):
        """Everything that was asked has its answer."""
        with self.changed:
            assert self.changed.wait_for(lambda: self.waiting == len(self.threads), PATIENCE), self.said()

    def said(self):
        return f"{len(self.joined)} joined, {self.unheard} unheard, refused: {self.refused[:10]}"

    def end(self):
        with self.changed:
            self.over = True
            self.changed.notify_all()
        for probe in self.probes:
            probe.terminate()
        for thread in self.threads:
            thread.join()
        for probe in self.probes:
            probe.stdin.close()


class Storm(unittest.TestCase):
    KILLS = 2
    ANSWERS = 300  # before each kill, and again after each start

    def members(self, f):
        answer, = ask(f, HOSTS[0], [Request(BY_NAME["MCMemberRecord"])])
        self.assertEqual(answer.status, "0000")
        return {record[:32] for record in answer.records}

    def assert_there(self, joined, members):
        self.assertEqual([(group, gid.hex()) for group, gid in joined
                          if join(group, gid).record[:32] not in members], [])

    def test_what_was_answered_is_there_after_a_kill(self):
        with Fabric(*TREE) as f:
            # Commits take so long that an answer which does not wait for its own comes well before it.
            sm = Manager(f, "--sa_etm_max_num_mcgs", "100000", disk="IBKIT_WRITE_US=1000")
            storm = JoinStorm(f, HOSTS)
            for _ in range(self.KILLS):
                before = storm.run_until_killed(sm.kill, self.ANSWERS)
                sm.start_again()
                # Nobody asks again for what was answered.
                self.assert_there(before, self.members(f))
                storm.wait_for_calm()
                self.assertEqual(storm.refused, [])
            self.assertGreaterEqual(len(storm.joined), 2 * self.KILLS * self.ANSWERS)
            members = self.members(f)
            self.assert_there(storm.joined, members)
            # And nothing that nobody asked for: every request was answered in the end.
            ours = {join(group, gid).record[:32] for group, gid in storm.joined}
            self.assertEqual(len(ours), len(storm.joined))
            self.assertEqual({member for member in members if member.startswith(GROUPS)}, ours)
            self.assertEqual(list((f.directory / "state").glob("*damaged*")), [])


class Syncs(unittest.TestCase):
    JOINS = 20

    def syncs_of_joins(self, *words):
        with Fabric(*TREE) as f:
            count = f.directory / "syncs"
            Manager(f, *words, disk=f"IBKIT_SYNCS={count}")
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
