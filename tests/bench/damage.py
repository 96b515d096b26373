#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Figures of every engine on one fabric, whole and with random damage, beside the incumbent's on the same.

usage: damage.py BUILD_DIR [--plot FILE.svg] [--seed N] [--fabric WORDS]

A table for each damage: what `ibsm plan --figures` says of our routes, and `ibroutes verify --figures` of those that stock
opensm programs on ibsim, where it is installed. The plot shows load against its floor and contention, by damage.
"""
import argparse
import json
import pathlib
import random
import re
import shutil
import sys
import tempfile
import time

from bench import Sim
from routes import SEVERAL_VLS, figures, incumbent_tables, run

FABRIC = "fat-tree --radix 36"  # 648 hosts
DAMAGES = [("whole", 0, 0), ("0.1 % of links", 0.1, 0), ("0.5 % of links", 0.5, 0), ("1 % of links", 1, 0),
           ("5 % of links", 5, 0), ("1 switch", 0, 1), ("2 switches", 0, 2), ("3 switches", 0, 3)]
OURS = ["default", "ftree", "minhop", "updn", "dnup", "sssp", "dfsssp", "lash", "nue", "dfp"]
THEIRS = ["ftree", "minhop", "updn", "dnup", "sssp", "dfsssp", "lash", "nue"]
HEAD = ["engine", "VLs", "floor", "load max", "mean", "all-to-all", "shifts", "permutations", "bisection", "disjoint paths"]


class Damaged:
    """One fabric, as a file, and what is known of it."""

    def __init__(self, programs, folder, whole, name, percent, switches, seed):
        self.bin, self.folder, self.name = programs, folder, name
        dump = folder / "damaged"
        shutil.rmtree(dump, ignore_errors=True)
        words = ["--damage", percent] if percent else []
        guids = re.findall(r"switchguid=(0x[0-9a-f]+)", whole.read_text(encoding="utf-8"))
        for guid in random.Random(seed).sample(guids, switches):
            words += ["--without", guid]
        figures(run([self.bin / "ibroutes", "plan", whole, "-R", "minhop", "--allow-credit-loops", "--seed", seed, "--json",
                     "--dump", dump, *words]), "ibroutes plan")
        self.topology = dump / "fabric.topo"

    def ours(self, engine):
        """Figures, or why there are none."""
        words = [] if engine == "default" else ["-R", engine + " no_fallback"]
        plan = figures(run([self.bin / "ibsm", "plan", self.topology, "--figures", "--json", *words]), "ibsm plan")
        if plan["verdict"] != "routes are verified":
            return plan["verdict"]
        if engine == "default":
            plan["name"] = "ibsm default (%s)" % plan["engine"]
        return plan

    def theirs(self, sim, engine):
        tables, why = incumbent_tables(sim, engine, self.folder / "opensm")
        if tables is None:
            return why
        found = figures(run([self.bin / "ibroutes", "verify", "--json", "--figures", "--findings", "0", "--from", tables]),
                        "ibroutes verify")
        if found["failures"]:
            return "CAs it does not reach"
        if found["credit_loop_channels"] and engine not in SEVERAL_VLS:
            found["name"] = "opensm %s (credit loops)" % engine
        found["vls"] = "-"  # tables alone do not say
        return found


def cells(name, found):
    if isinstance(found, str):
        return [name, found]
    f = found["figures"]
    patterns = ["%d; %.2f" % (f[kind]["worst"], f[kind]["mean"]) for kind in ("shifts", "permutations")]
    return [found.get("name", name), str(found["vls"]), "%d" % round(f["weighted_load_floor"]),
            "%d" % round(f["weighted_load_max"]), "%d" % round(f["weighted_load_mean"]), "%.2f" % f["all_to_all"], *patterns,
            "%.3f" % f["bisection_mean"], "%.2f of %.2f" % (f["disjoint_paths"]["mean"], f["disjoint_paths"]["possible"])]


def table(title, rows):
    lines = [HEAD] + rows
    widths = [max(len(row[i]) for row in lines if len(row) == len(HEAD)) for i in range(len(HEAD))]
    widths[0] = max(len(row[0]) for row in lines)
    print("\n" + title)
    for row in lines:
        print(("  " + "  ".join(word.ljust(width) for word, width in zip(row, widths))).rstrip(), flush=True)


def plot(path, found):
    """Our engines in lines that are drawn through, the incumbent's dashed in the same colour."""
    import matplotlib
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "ibkit"  # the same picture for the same figures
    matplotlib.rcParams["svg.fonttype"] = "none"
    from matplotlib import pyplot
    names = [name for name, _, _ in DAMAGES]
    panels = [("Load of the most loaded link, by its floor", lambda f: f["weighted_load_max"] / f["weighted_load_floor"]),
              ("Contention of shifts, mean", lambda f: f["shifts"]["mean"]),
              ("Contention of random permutations, mean", lambda f: f["permutations"]["mean"])]
    colours = {engine: "C%d" % i for i, engine in enumerate(e for e in OURS if e != "default")}
    figure, axes = pyplot.subplots(1, len(panels), figsize=(16, 6))
    for axis, (title, value) in zip(axes, panels):
        for (who, engine), points in found.items():
            values = [value(points[n]["figures"]) if not isinstance(points.get(n, ""), str) else float("nan") for n in names]
            if all(v != v for v in values):
                continue
            style = {"linestyle": "-" if who == "ibsm" else "--", "marker": "o" if who == "ibsm" else "x"}
            if engine == "default":
                axis.plot(names, values, color="black", linewidth=3, alpha=0.5, label="ibsm default", **style)
            else:
                axis.plot(names, values, color=colours[engine], linewidth=1, markersize=4, label="%s %s" % (who, engine), **style)
        axis.set_yscale("log")
        axis.yaxis.set_major_formatter(matplotlib.ticker.FormatStrFormatter("%g"))
        axis.yaxis.set_minor_formatter(matplotlib.ticker.FormatStrFormatter("%g"))
        axis.set_title(title, fontsize=11)
        axis.tick_params(axis="x", rotation=60)
        axis.grid(True, which="both", alpha=0.3)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncol=6, fontsize=9)
    figure.tight_layout(rect=(0, 0.13, 1, 1))
    figure.savefig(path, metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build")
    parser.add_argument("--plot", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--fabric", default=FABRIC)
    args = parser.parse_args()
    programs = pathlib.Path(args.build).resolve() / "bin"
    start, found = time.monotonic(), {}
    with tempfile.TemporaryDirectory(prefix="ibkit-damage.") as name:
        folder = pathlib.Path(name)
        whole = folder / "whole.topo"
        whole.write_text(run([programs / "ibfabric", "gen", *args.fabric.split()]).stdout, encoding="utf-8")
        print("%s, random damage of seed %d; loads are routes over a link, weighed by its capacity; contention is flows on the"
              "\nmost loaded link, the worst pattern and the mean; all-to-all: 1 where the links of hosts are what limits it"
              % (args.fabric, args.seed))
        for damage, percent, switches in DAMAGES:
            fabric, rows = Damaged(programs, folder, whole, damage, percent, switches, args.seed), []
            sim = Sim(str(fabric.topology), folder) if shutil.which("opensm") and shutil.which("ibsim") else None
            try:
                asked = [("ibsm", e, fabric.ours) for e in OURS]
                if sim:
                    asked += [("opensm", e, lambda engine: fabric.theirs(sim, engine)) for e in THEIRS]
                for who, engine, ask in asked:
                    answer = ask(engine)
                    found.setdefault((who, engine), {})[damage] = answer
                    rows.append(cells("%s %s" % (who, engine), answer))
            finally:
                if sim:
                    sim.stop()
            table(damage, rows)
    if args.plot:
        plot(args.plot, found)
    print("\n%.0f s" % (time.monotonic() - start))
    return 0


if __name__ == "__main__":
    sys.exit(main())
