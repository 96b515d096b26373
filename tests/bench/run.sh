#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# usage: run.sh BUILD_DIR [NAME]: the benchmarks, or the one named; see bench.py and the micro benchmarks beside it.
set -u
build=$1
name=${2-all}
cd "$(dirname "$0")/../.." || exit 4
status=0
found=0
for micro in "$build"/bench/*; do
  [ -f "$micro" ] && [ -x "$micro" ] || continue
  if [ "$name" = all ] || [ "$name" = "$(basename "$micro")" ]; then
    found=1
    echo "== $(basename "$micro")"
    "$micro" --benchmark_color=false || status=1
  fi
done
for suite in bringup cost tools memory loss storm; do
  if [ "$name" = all ] || [ "$name" = "$suite" ]; then
    found=1
    /usr/bin/python3 tests/bench/bench.py "$build" "$suite" || status=1
  fi
done
if [ "$name" = all ] || [ "$name" = routes ]; then
  found=1
  /usr/bin/python3 tests/bench/routes.py "$build" || status=1
fi
[ $found = 1 ] || { echo "bench: no benchmark '$name'" >&2; exit 2; }
exit $status
