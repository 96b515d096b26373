# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Stock osmtest against ibsm on ibfabric, on ibsim's two switches and four HCAs: every flow, with and
without GRH, with one LID a port and with several, and with loss. The harness itself is held
against stock opensm. osmtest's flow `a` ends before multicast, so `m` runs by itself."""
import os
import pathlib
import re
import subprocess
import sys
import time
import unittest

import net_file
from fabric import Fabric, wait_until
from retry_limit import gave_up
from side_by_side import ibsm

NET = "/usr/share/doc/ibsim-utils/net-examples/net.2sw2path4hca"
SM_HOST = "Hca1"
HOSTS = ("Hca2", "Hca3", "Hca4", "Hca1")  # the subnet manager's own host last
# osmtest fills the subnet with groups.
MANY_GROUPS = ("--sa_etm_max_num_mcgs", "100000")
LOAD_QUERIES = {1: 100_000, 2: 4_000, 3: 20_000, 4: 100_000}


class Net:
    """The fabric with a subnet manager on it."""

    def __init__(self, manager="ibsm", *words):
        self.manager, self.words = manager, words

    def __enter__(self):
        self.nodes = net_file.read(NET)
        self.f = Fabric()
        self.topology = pathlib.Path(os.environ.get("TMPDIR", "/tmp")) / f"net-{os.getpid()}.topo"
        self.topology.write_text(net_file.to_topology(self.nodes), encoding="ascii")
        self.f.topology = self.topology
        self.f.__enter__()
        if self.manager == "opensm":
            self.f.opensm(SM_HOST, *self.words)
        else:
            ibsm(self.f, SM_HOST, "-R", "minhop", "-V", *self.words)
            log = self.f.directory / "ibsm.log"
            nodes = len(self.nodes)
            read = f"tables: read of {nodes} nodes"
            assert wait_until(lambda: read in log.read_text(errors="replace")), log.read_text()
        return self

    def __exit__(self, *what):
        self.f.__exit__(*what)
        self.topology.unlink()

    def osmtest(self, host, flow, *words, timeout_ms=300, patience=100):
        """(passed, seconds, log) of one flow, run on `host`."""
        log = self.f.directory / "osmtest.log"
        log.unlink(missing_ok=True)
        guid = net_file.port_guid(self.nodes, host, 1)
        began = time.monotonic()
        done = subprocess.run(
            self.f.command(host, "osmtest", "-g", hex(guid), "-i", self.f.directory / "inventory",
                           "-l", log, "-t", timeout_ms, "-f", flow, *words),
            capture_output=True, text=True, errors="replace", timeout=patience,
            cwd=self.f.directory, stdin=subprocess.DEVNULL)
        seconds = time.monotonic() - began
        passed = done.returncode == 0 and re.search(r'^OSMTEST: TEST ".*" PASS$', done.stdout, re.M)
        text = log.read_text(errors="replace") if log.exists() else ""
        return bool(passed), seconds, text + done.stdout[-1500:]


class Osmtest(unittest.TestCase):
    def flow(self, net, host, flow, *words, **options):
        passed, seconds, log = net.osmtest(host, flow, *words, **options)
        self.assertTrue(passed, f"-f {flow} {words} on {host}: {log[-3000:]}")
        return seconds


class Harness(Osmtest):
    """What is asked here passes with the incumbent, so what fails is not the fabric's fault."""

    def test_opensm_passes(self):
        with Net("opensm") as net:
            for flow in ("c", "v", "q", "s"):
                self.flow(net, "Hca2", flow)
            for mode in "12":
                self.flow(net, "Hca2", "m", "-M", mode)


def inventory_words(lmc):
    """osmtest's half world of paths lacks the LIDs beside the base ones."""
    return ("-d", "4") if lmc else ()


class Flows(Osmtest):
    def every_flow(self, host, lmc, *words):
        with Net("ibsm", "-l", str(lmc), *MANY_GROUPS) as net:
            self.flow(net, host, "c", *inventory_words(lmc), *words)
            seconds = [self.flow(net, host, "v", *words) for _ in range(1 if lmc else 5)]
            if not lmc:
                # Whatever is asked has an answer, so nothing is waited for; the best of some runs,
                # for other programs may hold one up.
                self.assertLess(min(seconds), 0.5)
            for flow in ("q", "s"):
                self.flow(net, host, flow, *words)
            for mode in "1234":
                self.flow(net, host, "m", "-M", mode, *words)
            # It also asks with a wrong key and takes silence for an answer.
            self.flow(net, host, "a", *words)

    def test_one_lid_a_port(self):
        self.every_flow("Hca2", 0)

    def test_one_lid_a_port_with_grh(self):
        self.every_flow("Hca2", 0, "-G")

    def test_four_lids_a_port(self):
        self.every_flow("Hca2", 2)

    def test_four_lids_a_port_with_grh(self):
        self.every_flow("Hca2", 2, "-G")


class Load(Osmtest):
    def test_stress(self):
        with Net() as net:
            self.flow(net, "Hca2", "c")
            for mode in LOAD_QUERIES:
                seconds = self.flow(net, "Hca2", "f", "-s", str(mode), patience=250)
                print(f"-s {mode}: {LOAD_QUERIES[mode] / seconds:.0f} queries a second",
                      file=sys.stderr)


class Loss(Osmtest):
    """5 per cent of MADs lost each way. osmtest gives a query four attempts: that all of them are
    lost is its limit and not the subnet manager's fault, and such a run is repeated, once."""

    def lossy(self, net, flow, *words):
        for attempt in (1, 2):
            passed, _, log = net.osmtest("Hca2", flow, *words, timeout_ms=1000)
            if passed:
                return
            self.assertTrue(gave_up(log), f"-f {flow} {words}: {log[-3000:]}")
            print(f"-f {flow} {words}: all attempts of one query were lost, run {attempt}", file=sys.stderr)
        self.fail(f"-f {flow} {words}: twice all attempts of one query were lost")

    def test_five_per_cent(self):
        with Net() as net:
            self.assertEqual(net.f.ctl("faults", "--loss", "5").returncode, 0)
            for flow in ("c", "v", "q", "s"):
                self.lossy(net, flow)
            for mode in "12":
                self.lossy(net, "m", "-M", mode)


class Nightly(Osmtest):
    def test_every_host_and_lmc(self):
        for lmc in range(4):
            for host in HOSTS:
                for words in ((), ("-G",)):
                    with self.subTest(lmc=lmc, host=host, words=words):
                        Flows.every_flow(self, host, lmc, *words)


if __name__ == "__main__":
    unittest.main(verbosity=2)
