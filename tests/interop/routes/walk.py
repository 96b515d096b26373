#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`ibsm -R ENGINE` under Debian's ibsim, then stock ibtracert between random pairs of hosts: every walk must end at
the port it was told to, without an error.

    walk.py BIN_DIR ENGINE PAIRS "WORDS FOR ibfabric gen"
"""
import glob
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

PATIENCE = 60


def run(*command, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, errors="replace", check=False,
                          timeout=PATIENCE, stdin=subprocess.DEVNULL, **options)


def hosts(topology):
    """(LID, port GUID) of every CA port of an ibnetdiscover text."""
    found, is_ca = [], False
    for line in topology.splitlines():
        if re.match(r"(Switch|Ca|Rt)\t", line):
            is_ca = line.startswith("Ca")
        port = re.match(r"\[\d+\]\(([0-9a-f]+)\)\s.*# lid (\d+) lmc", line)
        if is_ca and port:
            found.append((int(port[2]), int(port[1], 16)))
    return found


def start_ibsim(folder, environment):
    name = environment["IBSIM_SOCKNAME"]
    log = open(folder / "ibsim.log", "w", encoding="utf-8")
    sim = subprocess.Popen(["ibsim", "-s", "-n", "-N", "60000", "-S", "4000", "-P", "300000", "-L", "49151", "fabric.topo"],
                           cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    end = time.monotonic() + PATIENCE
    while "@%s:ctl" % name not in pathlib.Path("/proc/net/unix").read_text(encoding="ascii"):
        if sim.poll() is not None or time.monotonic() > end:
            sys.exit("ibsim did not start: " + (folder / "ibsim.log").read_text(encoding="utf-8")[-500:])
        time.sleep(0.02)
    return sim


def routing_words(bin_dir, engine, folder):
    """Words for ibsm. Engine `file` takes over what another engine planned."""
    words = ["-R", engine + " no_fallback", "--allow-credit-loops"]
    if engine != "file":
        return words
    planned = run(bin_dir / "ibsm", "plan", folder / "fabric.topo", "-R", "updn", "--dump", folder / "plan")
    if planned.returncode != 0:
        sys.exit("ibsm plan: status %d: %s" % (planned.returncode, planned.stderr))
    return [*words, "-U", folder / "plan" / "opensm-lfts.dump"]


def main():
    bin_dir, engine, pairs, words = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2], int(sys.argv[3]), sys.argv[4].split()
    preload = glob.glob("/usr/lib/*/umad2sim/libumad2sim.so")
    if not preload:
        sys.exit("needs the package ibsim-utils")
    environment = dict(os.environ, IBSIM_SOCKNAME="ibkit-walk-%d" % os.getpid())
    environment["PATH"] += ":/usr/sbin:/sbin"
    environment.pop("SIM_HOST", None)
    client = dict(environment, LD_PRELOAD=preload[0])
    with tempfile.TemporaryDirectory(prefix="ibkit-walk.") as name:
        folder = pathlib.Path(name)
        made = run(bin_dir / "ibfabric", "gen", *words, "--output", folder / "fabric.topo")
        if made.returncode != 0:
            sys.exit("ibfabric gen: " + made.stderr)
        routing = routing_words(bin_dir, engine, folder)
        sim = start_ibsim(folder, environment)
        try:
            up = run(bin_dir / "ibsm", "-o", *routing, "-f", folder / "log", "--state-dir", folder / "state", env=client,
                     cwd=folder)
            if up.returncode != 0 or not up.stdout.startswith("SUBNET UP"):
                sys.exit("ibsm -o -R %s: status %d: %s%s" % (engine, up.returncode, up.stdout, up.stderr))
            ports = hosts(run("ibnetdiscover", env=client, cwd=folder).stdout)
            dice = random.Random(engine)
            failures = 0
            for _ in range(pairs):
                (source, _), (target, guid) = dice.sample(ports, 2)
                walk = run("ibtracert", "-n", source, target, env=client, cwd=folder)
                lines = walk.stdout.strip().splitlines()
                arrived = len(lines) > 1 and lines[-2].split("] -> ")[-1].startswith("{0x%016x}" % guid)
                # ibsim's library greets on stderr.
                complaints = [line for line in walk.stderr.splitlines() if line and "sim_connect: attached" not in line]
                if walk.returncode != 0 or complaints or not arrived:
                    failures += 1
                    print("ibtracert -n %d %d: status %d: %s%s" % (source, target, walk.returncode, walk.stdout[-800:],
                                                                  walk.stderr[-400:]))
        finally:
            sim.kill()
            sim.wait()
    print("%s on %s: %d pairs of %d hosts, %d failures" % (engine, " ".join(words), pairs, len(ports), failures))
    return 1 if failures or pairs == 0 else 0


sys.exit(main())
