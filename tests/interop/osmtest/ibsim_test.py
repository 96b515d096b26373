# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""osmtest's flows against opensm and then ibsm on Debian's ibsim. That simulator cuts MADs to 224
bytes and puts no messages together, so `-f v`, `-f s`, `-f a` and `-M 1` fail or hang there
with every subnet administration. What opensm passes, ibsm passes."""
import glob
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

NET = "/usr/share/doc/ibsim-utils/net-examples/net.2sw2path4hca"
PRELOAD = glob.glob("/usr/lib/*/umad2sim/libumad2sim.so")[0]
IBSM = pathlib.Path(os.environ["IBKIT_BIN"]) / "ibsm"
SM_HOST, CLIENT, CLIENT_GUID = "Hca1", "Hca2", "0x100004"
# The cells that opensm passes; `-M 1` needs a table of groups that is whole.
QUICK = (("-f", "c"), ("-f", "m", "-M", "2"), ("-f", "q"), ("-f", "f", "-s", "2"), ("-f", "e"),
         ("-f", "t"))
SLOW = (("-f", "c"), ("-f", "m", "-M", "2"), ("-f", "m", "-M", "3"), ("-f", "m", "-M", "4"),
        ("-f", "f", "-s", "1"), ("-f", "f", "-s", "3"), ("-f", "f", "-s", "4"))


def stop(process):
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class Simulated:
    """ibsim with a subnet manager on it."""

    def __init__(self, manager):
        self.manager, self.processes = manager, []
        self.name = f"ibkit-osmtest-{os.getpid()}-{manager}"

    def __enter__(self):
        try:
            return self.bring_up()
        except BaseException:
            self.__exit__()
            raise

    def bring_up(self):
        self.folder = tempfile.TemporaryDirectory(prefix="ibsim-osmtest-")
        self.at = pathlib.Path(self.folder.name)
        self.start(None, "ibsim", "-s", "-n", NET)
        assert self.wait(lambda: f"@{self.name}:ctl" in
                         pathlib.Path("/proc/net/unix").read_text(encoding="ascii")), "no ibsim"
        log = self.at / "sm.log"
        words = {"opensm": ("opensm", "-f", log, "-d", "2"),
                 "ibsm": (IBSM, "-f", log, "-V", "--state-dir", self.at / "state", "-R", "minhop",
                          "--sa_etm_max_num_mcgs", "100000")}[self.manager]
        self.start(SM_HOST, *words)
        assert self.wait(lambda: log.exists() and
                         "SUBNET UP" in log.read_text(errors="replace")), f"no {self.manager}"
        # opensm bounces the links afterwards; a MAD that is lost here is never repeated.
        assert self.wait(self.all_active), "some links are not up"
        if self.manager == "ibsm":  # what devices hold is read behind the bring-up
            assert self.wait(lambda: "tables: read of" in log.read_text(errors="replace")), \
                "no tables"
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):  # the subnet manager first: it outlives ibsim
            stop(process)
        self.folder.cleanup()

    def environment(self, host):
        place = {"SIM_HOST": host, "LD_PRELOAD": PRELOAD} if host else {}
        return {**os.environ, "IBSIM_SOCKNAME": self.name, "OSM_CACHE_DIR": str(self.at),
                "OSM_TMP_DIR": str(self.at), **place}

    def start(self, host, *words):
        self.processes.append(subprocess.Popen(
            [str(w) for w in words], env=self.environment(host), cwd=self.at,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def run(self, host, *words, patience=100):
        return subprocess.run([str(w) for w in words], env=self.environment(host), cwd=self.at,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              errors="replace", timeout=patience)

    def all_active(self):
        links = self.run(CLIENT, "iblinkinfo", "-l").stdout
        return "Active/" in links and "Initialize/" not in links and "Armed/" not in links

    def wait(self, condition, seconds=60):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if condition():
                return True
            assert all(p.poll() is None for p in self.processes), "a program ended"
            time.sleep(0.05)
        return False

    def osmtest(self, *words):
        """(passed, what it said)"""
        log = self.at / "osmtest.log"
        log.unlink(missing_ok=True)
        done = self.run(CLIENT, "osmtest", "-g", CLIENT_GUID, "-i", self.at / "inventory", "-l",
                        log, "-t", "300", *words)
        passed = done.returncode == 0 and re.search(r'^OSMTEST: TEST ".*" PASS$', done.stdout, re.M)
        text = log.read_text(errors="replace") if log.exists() else ""
        return bool(passed), text[-3000:] + done.stdout[-1500:]


class OnIbsim(unittest.TestCase):
    def both_pass(self, cells):
        for manager in ("opensm", "ibsm"):
            with Simulated(manager) as sim:
                for words in cells:
                    began = time.monotonic()
                    passed, said = sim.osmtest(*words)
                    self.assertTrue(passed, f"{manager}: {' '.join(words)}: {said}")
                    print(f"{manager} {' '.join(words)}: {time.monotonic() - began:.1f} s",
                          file=sys.stderr)


class Quick(OnIbsim):
    def test_cells(self):
        self.both_pass(QUICK)


class Nightly(OnIbsim):
    def test_cells(self):
        self.both_pass(SLOW)


if __name__ == "__main__":
    unittest.main(verbosity=2)
