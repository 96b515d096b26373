# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""ibsm beside stock opensm on Debian's ibsim: both roles, handover to ibsm, and the master killed
with -9. One master each time, and no LID changes. Handover to opensm is shown on ibfabric alone
(rounds_test.py): ibsim drops TrapRepress, and there an opensm that has sent trap 144 asks its own
port as master and then nothing more."""
import glob
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "ibfabric"))
from fabric import BIN, wait_until  # noqa: E402

NET = "/usr/share/doc/ibsim-utils/net-examples/net.2sw2path4hca"
PRELOAD = glob.glob("/usr/lib/*/umad2sim/libumad2sim.so")[0]
HOSTS, WATCHER = ("Hca1", "Hca2"), "Hca3"
GUIDS = (0x100001, 0x100004)
OPTIONS = "sminfo_polling_timeout 2000\npolling_retry_number 2\n"


class Pair:
    """ibsim, and subnet managers at its first two hosts."""

    def __init__(self, folder):
        self.at = pathlib.Path(folder)
        self.name = f"ibkit-two-{os.getpid()}-{self.at.name}"
        self.managers = [None, None]
        (self.at / "options").write_text(OPTIONS)
        self.simulator = subprocess.Popen(
            ["ibsim", "-s", "-n", NET], env=self.environment(None), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        sockets = pathlib.Path("/proc/net/unix")
        assert wait_until(lambda: f"@{self.name}:ctl" in sockets.read_text(encoding="ascii"))

    def environment(self, host):
        place = {"SIM_HOST": host, "LD_PRELOAD": PRELOAD} if host else {}
        return {**os.environ, "IBSIM_SOCKNAME": self.name, "OSM_CACHE_DIR": str(self.at),
                "OSM_TMP_DIR": str(self.at), **place}

    def log(self, number):
        log = self.at / f"log{number}"
        return log.read_text(errors="replace") if log.exists() else ""

    def start(self, number, program, priority):
        words = {"ibsm": (BIN / "ibsm", "--state-dir", self.at / f"state{number}", "-R", "minhop"),
                 "opensm": ("opensm",)}[program]
        self.managers[number] = subprocess.Popen(
            [str(w) for w in (*words, "-F", self.at / "options", "-f", self.at / f"log{number}",
                              "-p", priority)],
            env=self.environment(HOSTS[number]), cwd=self.at, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def ask(self, *words):
        return subprocess.run(words, env=self.environment(WATCHER), cwd=self.at, capture_output=True,
                              text=True, stdin=subprocess.DEVNULL, errors="replace", timeout=60,
                              check=False).stdout

    def state(self, number):
        """As its log has it: MASTER, STANDBY or another one."""
        said = re.findall(r"Entering (\w+) state|SUBNET (UP|STANDBY)", self.log(number))
        return {"UP": "MASTER"}.get(said[-1][1], said[-1][0] or said[-1][1]) if said else ""

    def told_of(self):
        """The GUID of the subnet manager that a host is told of, if that one says that it is master."""
        said = re.search(r"sm guid (0x[0-9a-f]+),.* state 3 ", self.ask("sminfo"))
        return int(said.group(1), 16) if said else 0

    def lids(self):
        return sorted(re.findall(r'"[HS]-[0-9a-f]+".* lid \d+', self.ask("ibnetdiscover")))

    def stop(self):
        for process in (*self.managers, self.simulator):
            if process is not None:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(5)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()


class TwoOnIbsim(unittest.TestCase):
    def play(self, first, second):
        """Each is (program, priority). The better one is master, then the other after its death."""
        with tempfile.TemporaryDirectory(prefix="ibkit-two-") as folder:
            pair = Pair(folder)
            try:
                pair.start(0, *first)
                self.assertTrue(wait_until(lambda: pair.state(0) == "MASTER"), pair.log(0)[-2000:])
                lids = pair.lids()
                pair.start(1, *second)
                best = 0 if first[1] > second[1] else 1
                logs = lambda: pair.log(0)[-2000:] + "\n--\n" + pair.log(1)[-2000:]  # noqa: E731
                states = lambda: (pair.state(best), pair.state(1 - best))  # noqa: E731
                self.assertTrue(wait_until(lambda: states() == ("MASTER", "STANDBY")), logs())
                self.assertTrue(wait_until(lambda: pair.told_of() == GUIDS[best]), logs())
                self.assertEqual(pair.lids(), lids)
                pair.managers[best].kill()
                self.assertTrue(wait_until(lambda: pair.state(1 - best) == "MASTER"), logs())
                self.assertTrue(wait_until(lambda: pair.told_of() == GUIDS[1 - best]), logs())
                self.assertEqual(pair.lids(), lids)
            finally:
                pair.stop()

    def test_better_ibsm_comes_to_opensm(self):
        self.play(("opensm", 2), ("ibsm", 10))

    def test_opensm_stands_by(self):
        self.play(("ibsm", 10), ("opensm", 2))

    def test_ibsm_stands_by(self):
        self.play(("opensm", 10), ("ibsm", 2))


if __name__ == "__main__":
    unittest.main(verbosity=2)
