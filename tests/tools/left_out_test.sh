#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# left_out_test.sh CMAKE SOURCE: a tree with ENABLE_PERFMGR=OFF and ENABLE_CONSOLE_SOCKET=OFF can be
# configured, and its sources are compiled so (LeftOut.* has what they do then).
set -e
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
"$1" -S "$2" -B "$tree" -G Ninja -DENABLE_PERFMGR=OFF -DENABLE_CONSOLE_SOCKET=OFF > "$tree/log" 2>&1 || {
  cat "$tree/log"
  exit 1
}
for what in IBKIT_ENABLE_PERFMGR IBKIT_ENABLE_CONSOLE_SOCKET; do
  grep -q -e "-D$what=0" "$tree/build.ninja" || { echo "no source is compiled with $what=0"; exit 1; }
  if grep -q -e "-D$what=1" "$tree/build.ninja"; then echo "a source is compiled with $what=1"; exit 1; fi
done
