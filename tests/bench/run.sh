#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# usage: run.sh BUILD_DIR [NAME]: the benchmarks, or the one named; see bench.py and the micro benchmarks beside it. What
#        they print is put into doc/figures.md, too.
#        run.sh --knows NAME: is there one of that name? Nothing needs to be built for that.
set -u
build=$1
name=${2-all}
cd "$(dirname "$0")/../.." || exit 4
suites="bringup cost tools memory loss storm tables congestion"
managers="takeover perfmgr events"
case " all routes damage $suites $managers " in
  *" $name "*) ;;
  *) [[ $name = *_bench && -f tests/bench/$name.cpp ]] || { echo "bench: no benchmark '$name'" >&2; exit 2; } ;;
esac
[ "$build" = --knows ] && exit 0
status=0
found=0
log=$(mktemp) || exit 4
trap 'rm -f "$log"' EXIT
# run NAME COMMAND...: prints its output, and keeps it for the page.
run() {
  echo "== $1" | tee -a "$log"
  shift
  "$@" | tee -a "$log"
  [ "${PIPESTATUS[0]}" = 0 ] || status=1
}
for micro in "$build"/bench/*; do
  [ -f "$micro" ] && [ -x "$micro" ] || continue
  if [ "$name" = all ] || [ "$name" = "$(basename "$micro")" ]; then
    found=1
    run "$(basename "$micro")" "$micro" --benchmark_color=false
  fi
done
if [[ $name = *_bench && $found = 0 ]]; then
  echo "bench: $build/bench has no $name; see tests/bench/CMakeLists.txt" >&2
  status=4
fi
for suite in $suites; do
  if [ "$name" = all ] || [ "$name" = "$suite" ]; then
    run "$suite" /usr/bin/python3 tests/bench/bench.py "$build" "$suite"
  fi
done
for suite in $managers; do
  if [ "$name" = all ] || [ "$name" = "$suite" ]; then
    run "$suite" /usr/bin/python3 tests/bench/managers.py "$build" "$suite"
  fi
done
if [ "$name" = all ] || [ "$name" = routes ]; then
  run routes /usr/bin/python3 tests/bench/routes.py "$build"
fi
if [ "$name" = all ] || [ "$name" = routes ] || [ "$name" = damage ]; then
  run damage /usr/bin/python3 tests/bench/damage.py "$build" --plot doc/damage.svg
fi
[ -s "$log" ] && { /usr/bin/python3 tests/bench/figures.py doc/figures.md "$log" || status=1; }
exit $status
