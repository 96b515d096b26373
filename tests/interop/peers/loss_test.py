# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A fabric of 576 hosts that loses MADs each way comes up whole and in time, and SUBNET UP is not
said before it is.

usage: loss_test.py PERCENT SEEDS    the median of the seeds 1..SEEDS counts
"""
import statistics
import sys
import time

from fabric import BIN, Fabric
from side_by_side import SUBNET_UP

SWITCHES, HOSTS = 36, 576
TREE = ("fat-tree", "--levels", "2", "--radix", "36", "--leaves", "24", "--hosts-per-leaf", "24",
        "--spines", "12")
SECONDS = {0: 3, 1: 3, 5: 5, 10: 10}


def bring_up(percent, seed):
    """Seconds that ibsm took, all of its life counted."""
    with Fabric(*TREE) as f:
        assert f.ctl("seed", seed).returncode == 0
        assert f.ctl("faults", "--loss", percent).returncode == 0
        begin = time.monotonic()
        up = f.on(None, BIN / "ibsm", "-o", "--state-dir", f.directory / "state", "-f",
                  f.directory / "log")
        took = time.monotonic() - begin
        what = f"loss {percent} %, seed {seed}: status {up.returncode}: {up.stdout}{up.stderr}"
        assert up.returncode == 0, what
        line = SUBNET_UP.match(up.stdout)
        assert line and line.group(1, 2) == (str(SWITCHES), str(HOSTS)), what
        # ibsm is gone; whatever is not ACTIVE now was not when it said so.
        assert f.ctl("faults", "--loss", 0).returncode == 0
        links = f.on(None, "iblinkinfo", "-l").stdout
        assert links.count("Active/") == 2 * (HOSTS + 24 * 12), what
        assert "Initialize/" not in links and "Armed/" not in links, what
        print(f"loss {percent} %, seed {seed}: {took:.2f} s, {up.stdout}", end="", flush=True)
        return took


def main():
    percent, seeds = int(sys.argv[1]), int(sys.argv[2])
    median = statistics.median(bring_up(percent, seed) for seed in range(1, seeds + 1))
    print(f"median {median:.2f} s of at most {SECONDS[percent]} s")
    return 0 if median <= SECONDS[percent] else 1


if __name__ == "__main__":
    sys.exit(main())
