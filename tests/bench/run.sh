#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# usage: run.sh BUILD_DIR [NAME]: the benchmarks, or the one named; see bench.py and the micro benchmarks beside it.
#        run.sh --knows NAME: is there one of that name? Nothing needs to be built for that.
set -u
build=$1
name=${2-all}
cd "$(dirname "$0")/../.." || exit 4
suites="bringup cost tools memory loss storm tables congestion"
case " all routes $suites " in
  *" $name "*) ;;
  *) [[ $name = *_bench && -f tests/bench/$name.cpp ]] || { echo "bench: no benchmark '$name'" >&2; exit 2; } ;;
esac
[ "$build" = --knows ] && exit 0
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
if [[ $name = *_bench && $found = 0 ]]; then
  echo "bench: $build/bench has no $name; see tests/bench/CMakeLists.txt" >&2
  status=4
fi
for suite in $suites; do
  if [ "$name" = all ] || [ "$name" = "$suite" ]; then
    /usr/bin/python3 tests/bench/bench.py "$build" "$suite" || status=1
  fi
done
if [ "$name" = all ] || [ "$name" = routes ]; then
  /usr/bin/python3 tests/bench/routes.py "$build" || status=1
fi
exit $status
