#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Maximum link load of each engine beside the incumbent's engine of the same name.

usage: routes.py BUILD_DIR [--cases FILE] [--only TEXT] [--fabrics DIR] [--judge SCRIPT]

Stock opensm routes each case on ibsim; its dump files and the tables of `ibsm plan` are judged by one verifier. A case
counts where opensm completes the engine it was asked for and what it programs has no credit loop (engines of one VL) and
loses no CA; the others are listed apart. --judge is another program, called as SCRIPT TOPOLOGY TABLES --json, that judges
both as well; where it does not agree with `ibroutes verify`, that is said.
"""
import argparse
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

from bench import Sim

HERE = pathlib.Path(__file__).resolve().parent
SEVERAL_VLS = {"lash", "dfsssp", "nue"}  # their tables alone do not say whether credit loops close
PATIENCE = 120


def cases(path):
    for line in path.read_text(encoding="ascii").splitlines():
        if line and not line.startswith("#"):
            words, engines = line.rsplit(":", 1)
            yield words.strip(), engines.split()


def run(command, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, errors="replace", check=False,
                          stdin=subprocess.DEVNULL, **options)


def figures(result, what):
    if result.returncode not in (0, 1) or not result.stdout.startswith("{"):
        raise SystemExit("routes: %s ended with %d: %s" % (what, result.returncode, result.stderr.strip()[:500]))
    return json.loads(result.stdout)


def incumbent_tables(sim, engine, state):
    """What `ibroutes --from` reads of opensm's dump files, or None, and why there are none. `state` is emptied first."""
    shutil.rmtree(state, ignore_errors=True)
    state.mkdir()
    options = ["-Q"] if engine in SEVERAL_VLS else []
    try:
        run(["opensm", "-o", "-R", engine, *options, "-D", "0x43", "-f", state / "log"], cwd=state, timeout=PATIENCE,
            env=dict(sim.client_env, OSM_CACHE_DIR=str(state), OSM_TMP_DIR=str(state)))
    except subprocess.TimeoutExpired:
        return None, "not done after %d s" % PATIENCE
    log = (state / "log").read_text(encoding="utf-8", errors="replace")
    done = re.findall(r"(\S+) tables configured on all switches", log)
    if not done:
        return None, "nothing programmed"
    if done[-1] != engine:
        return None, "falls back to " + done[-1]
    return "%s,%s" % (state / "opensm-subnet.lst", state / "opensm-lfts.dump"), ""


class Bench:
    def __init__(self, args, folder):
        self.bin = pathlib.Path(args.build).resolve() / "bin"
        self.fabrics, self.judge, self.folder = args.fabrics, args.judge, pathlib.Path(folder)

    def fabric(self, words):
        """A file with the fabric, or None where a real one is not at hand."""
        path = self.folder / "fabric.topo"
        if words.startswith("file:"):
            source = self.fabrics / words[5:]
            if not source.exists():
                return None
            shutil.copyfile(source, path)
            return path
        made = run([self.bin / "ibfabric", "gen", *words.split()])
        if made.returncode != 0:
            raise SystemExit("routes: gen %s: %s" % (words, made.stderr.strip()))
        path.write_text(made.stdout, encoding="utf-8")
        return path

    def judged(self, topology, tables, ours):
        """What the other judge finds different, in words."""
        if not self.judge:
            return ""
        theirs = figures(run(["/usr/bin/python3", self.judge, topology, tables, "--json"]), self.judge)
        wrong = [name for name in ("load_max", "unreachable") if theirs[name] != ours[name]]
        return "".join(" [judge: %s %s, not %s]" % (name, theirs[name], ours[name]) for name in wrong)

    def incumbent(self, sim, engine):
        """Figures of opensm's tables, or why there are none."""
        source, why = incumbent_tables(sim, engine, self.folder / "opensm")
        if source is None:
            return None, why
        found = figures(run([self.bin / "ibroutes", "verify", "--json", "--findings", "0", "--from", source]),
                        "ibroutes verify")
        remark = ""
        if self.judge:
            net = self.folder / "net.topo"
            net.write_text(run(["ibnetdiscover"], env=sim.client_env, cwd=self.folder).stdout, encoding="utf-8")
            remark = self.judged(net, source.rsplit(",", 1)[1], found)
        return found, remark

    def ours(self, topology, engine):
        dump = self.folder / "plan"
        shutil.rmtree(dump, ignore_errors=True)
        # A list with no_fallback: this engine or none. What it promises is verified with its VLs.
        words = ["--dump", dump] if self.judge else []
        plan = figures(run([self.bin / "ibsm", "plan", topology, "-R", engine + " no_fallback", "--allow-credit-loops", "--json",
                            *words]), "ibsm plan")
        if plan["verdict"] != "routes are verified" and not plan["verdict"].startswith("routes can deadlock"):
            return None, "%s: %s" % (plan["verdict"], "; ".join(plan["notes"]))
        return plan, self.judged(dump / "fabric.topo", dump / "dump_fts.txt", plan) if self.judge else ""


def compare(bench, words, engine, sim, topology):
    """A row: name, our load, theirs, why it does not count, remarks."""
    ours, our_remark = bench.ours(topology, engine)
    theirs, their_remark = bench.incumbent(sim, engine)
    apart = []
    if theirs is None:
        apart.append(their_remark)
    else:
        if theirs["failures"]:
            apart.append("CAs it does not reach")
        if engine not in SEVERAL_VLS and theirs["credit_loop_channels"]:
            apart.append("%d channels in credit loops" % theirs["credit_loop_channels"])
    remark = our_remark if ours is None or theirs is None else our_remark + their_remark
    return {"case": words, "engine": engine, "ours": ours and ours["load_max"], "theirs": theirs and theirs["load_max"],
            "apart": ", ".join(apart), "remark": remark}


def print_row(row):
    ratio = "%6.3f" % (row["ours"] / row["theirs"]) if row["ours"] and row["theirs"] else "     -"
    print("  %-72s %-7s %7s %7s %s  %s" % (row["case"], row["engine"], row["ours"] or "-", row["theirs"] or "-", ratio,
                                         (row["apart"] + row["remark"]).strip()), flush=True)


def summary(rows):
    counted = [r for r in rows if not r["apart"] and r["ours"] is not None]
    print("apart: the incumbent's routing is unusable there")
    for row in rows:
        if row["apart"]:
            print_row(row)
    lost = [r for r in rows if r["ours"] is None and not r["apart"]]
    ratios = sorted((r["ours"] / r["theirs"], r["case"], r["engine"]) for r in counted)
    if not ratios:
        print("no case counts")
        return 1
    mean = math.exp(sum(math.log(r[0]) for r in ratios) / len(ratios))
    print("%d cases of %d count: geometric mean of the ratios %.3f, worst %.3f (%s, %s); %d above 1.00, %d above 1.10" % (
        len(ratios), len(rows), mean, ratios[-1][0], ratios[-1][2], ratios[-1][1],
        sum(r[0] > 1.0 for r in ratios), sum(r[0] > 1.1 for r in ratios)))
    for row in lost:
        print("the incumbent routes and we do not: %s, %s: %s" % (row["engine"], row["case"], row["remark"]))
    return 1 if lost or mean > 1.0 or ratios[-1][0] > 1.1 else 0


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build")
    parser.add_argument("--cases", type=pathlib.Path, default=HERE / "routes_cases.txt")
    parser.add_argument("--only", default="")
    parser.add_argument("--fabrics", type=pathlib.Path, default=pathlib.Path(
        os.environ.get("IBKIT_FABRICS", HERE.parents[2] / "shared" / "fabrics")))
    parser.add_argument("--judge")
    args = parser.parse_args()
    start, rows = time.monotonic(), []
    with tempfile.TemporaryDirectory(prefix="ibkit-routes.") as folder:
        bench = Bench(args, folder)
        print("maximum link load: ours, opensm's, ratio")
        for words, engines in cases(args.cases):
            engines = [e for e in engines if args.only in words + ": " + e]
            topology = bench.fabric(words) if engines else None
            if topology is None:
                continue
            sim = Sim(str(topology), folder)
            try:
                for engine in engines:
                    rows.append(compare(bench, words, engine, sim, topology))
                    if not rows[-1]["apart"]:
                        print_row(rows[-1])
            finally:
                sim.stop()
    status = summary(rows)
    print("%.0f s" % (time.monotonic() - start))
    return status


if __name__ == "__main__":
    sys.exit(main())
