#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Includes go one way: every #include "folder/..." must be allowed by the table below,
and heavy headers stay behind one file each. Usage: check_includes.py ROOT"""
import os
import re
import sys

# folder -> folders it may include from (itself always)
BASE = ["libdiag/base"]
WIRE = BASE + ["libdiag/wire"]
MAD = WIRE + ["libdiag/mad"]
FABRIC = WIRE + ["libdiag/fabric"]
# The files of libdiag/route itself are ROUTE_TOP: its folders stand on them, and they on no folder.
ROUTE_TOP = ["libdiag/route/engine.h", "libdiag/route/files.h", "libdiag/route/lids.h", "libdiag/route/option_use.h",
             "libdiag/route/options.h"]
ROUTE = FABRIC + ["libdiag/tables"] + ROUTE_TOP
WAYS = ROUTE + ["libdiag/route/spread", "libdiag/route/shape", "libdiag/route/reroute"]
ENGINES = WAYS + ["libdiag/route/up_down", "libdiag/route/ways", "libdiag/route/deadlock"]
LIBDIAG = ["libdiag"]
SA = LIBDIAG + ["sm/device", "sm/policy", "sm/store"]
ALLOWED = {
    "libdiag/base": BASE,
    "libdiag/cli": BASE,
    "libdiag/wire": WIRE,
    "libdiag/mad": MAD,
    "libdiag/fabric": FABRIC,
    "libdiag/discover": MAD + FABRIC,
    "libdiag/query": MAD + FABRIC,
    "libdiag/tables": MAD + FABRIC,
    "libdiag/route": ROUTE,
    "libdiag/route/adaptive": ROUTE + ["libdiag/route/spread"],
    "libdiag/route/spread": ROUTE,
    "libdiag/route/up_down": ROUTE + ["libdiag/route/spread"],
    "libdiag/route/shape": ROUTE + ["libdiag/route/spread", "libdiag/route/up_down"],
    "libdiag/route/reroute": ROUTE + ["libdiag/route/spread", "libdiag/route/up_down", "libdiag/route/shape"],
    "libdiag/route/ways": WAYS,
    "libdiag/route/deadlock": WAYS + ["libdiag/route/up_down", "libdiag/route/ways"],
    "libdiag/route/chain": ROUTE,
    "libdiag/route/engines": ENGINES + ["libdiag/route/chain"],
    "libdiag/route/choose": ROUTE + ["libdiag/route/spread", "libdiag/route/shape", "libdiag/route/reroute"],
    "libdiag/route/multicast": ROUTE,
    "libdiag/report": MAD + FABRIC + ["libdiag/tables", "libdiag/route", "libdiag/query"],
    "libdiag/plan": FABRIC + ["libdiag/cli", "libdiag/tables", "libdiag/route", "libdiag/report"],
    "libdiag/sim": MAD + FABRIC,
    "tools/common": LIBDIAG,
    "tools": LIBDIAG + ["tools/common"],
    "agent": LIBDIAG,
    "sm/store": BASE + ["libdiag/wire", "libdiag/mad"],
    "sm/policy": FABRIC,
    "sm/config": LIBDIAG + ["sm/policy", "sm/plan"],
    "sm/control": BASE,
    "sm/device": LIBDIAG + ["sm/policy"],
    "sm/device/tables": LIBDIAG + ["sm/device", "sm/policy"],
    "sm/plan": LIBDIAG + ["sm/device", "sm/policy"],
    "sm/apply": LIBDIAG + ["sm/device", "sm/plan"],
    "sm/core": LIBDIAG + ["sm/device", "sm/plan", "sm/apply", "sm/store"],
    "sm/events": LIBDIAG + ["sm/device", "sm/policy", "sm/store"],
    "sm/managers": LIBDIAG + ["sm/device", "sm/policy"],
    "sm/sa": SA,
    "sm/sa/subnet": SA,
    "sm/sa/registry": SA + ["sm/sa/subnet"],
    "sm/sa/reports": SA + ["sm/sa/subnet", "sm/sa/registry"],
    "sm/sa/records": SA + ["sm/sa/subnet", "sm/sa/registry"],
    "sm/sa/paths": SA + ["sm/sa/subnet", "sm/sa/registry", "sm/sa/records"],
    "sm/sa/intake": SA + ["sm/sa/subnet", "sm/sa/registry", "sm/sa/records", "sm/sa/paths"],
    "sm/console": LIBDIAG + ["sm/config", "sm/control", "sm/core", "sm/device", "sm/managers", "sm/sa"],
    "sm/daemon": LIBDIAG + ["sm"],
    "tests": LIBDIAG + ["tools", "agent", "sm", "tests"],
}
# header (a beginning) -> the only file that may include it
BEHIND = {"CLI/": "libdiag/cli/command_line.cpp"}


def folder_of(path):
    """The longest folder of the table that holds path."""
    parts = path.split("/")
    for n in (3, 2, 1):
        if "/".join(parts[:n]) in ALLOWED:
            return "/".join(parts[:n])
    return None


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else "."
    bad = 0
    seen = 0
    for top in ("libdiag", "tools", "agent", "sm", "tests"):
        for where, _, files in os.walk(os.path.join(root, top)):
            for name in files:
                if not name.endswith((".h", ".cpp")):
                    continue
                path = os.path.relpath(os.path.join(where, name), root)
                folder = folder_of(path)
                seen += 1
                if folder is None:
                    print(f"{path}: is in no folder of the table")
                    bad += 1
                    continue
                # What lies in a folder of libdiag/route is not libdiag/route's own.
                own = {"tools": "/".join(path.split("/")[:2]), "libdiag/route": "libdiag/route/engine.h"}
                allowed = ALLOWED[folder] + [own.get(folder, folder)]
                with open(os.path.join(root, path), encoding="utf-8") as source:
                    for number, line in enumerate(source, 1):
                        m = re.match(r'\s*#\s*include\s+(["<])([^">]+)[">]', line)
                        if not m:
                            continue
                        target = m[2]
                        behind = next((BEHIND[h] for h in BEHIND if target.startswith(h)), path)
                        if behind != path:
                            print(f"{path}:{number}: {target} stays behind {behind}")
                            bad += 1
                        if m[1] == "<":
                            continue
                        if not any(target == a or target.startswith(a + "/") for a in allowed):
                            print(f"{path}:{number}: {folder} may not include {target}")
                            bad += 1
    print(f"includes: {seen} files, {bad} wrong")
    return 1 if bad or not seen else 0


sys.exit(main())
