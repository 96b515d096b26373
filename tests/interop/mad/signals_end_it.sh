#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Under ibsim's preload without an ibsim, libibumad waits for ever for its server. SIGTERM still ends our daemons.
#
#   signals_end_it.sh BIN
set -u
bin=$1
. "$(dirname "$(readlink -f "$0")")/../ibsim.sh"
export IBSIM_SOCKNAME=nobody$$

for program in "ibsm -o --state-dir $dir -f $dir/log" "ibtracerd"; do
  # shellcheck disable=SC2086
  timeout -k 10 -s TERM 1 env LD_PRELOAD="$umad2sim" "$bin"/$program >"$dir/out" 2>&1
  status=$? # 124: it waited and SIGTERM ended it; 137: it had to be killed
  [ $status != 137 ] || { echo "FAILED: $program ignores SIGTERM"; cat "$dir/out"; exit 1; }
done
exit 0
