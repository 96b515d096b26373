#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Under ibsim's preload without an ibsim, libibumad waits for ever for its server. SIGTERM still ends our daemons; SIGHUP and
# SIGUSR1, which mean a daemon that runs, do not end ibsm.
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

env LD_PRELOAD="$umad2sim" "$bin"/ibsm -o --state-dir "$dir" -f "$dir"/log >"$dir/out" 2>&1 &
ibsm=$!
is_waiting() { [ $((0x$(awk '/^SigBlk:/ { print substr($2, 9) }' /proc/$ibsm/status) & 1)) = 1 ]; }
end=$((SECONDS + 20))
until is_waiting; do
  [ $SECONDS -lt $end ] && kill -0 $ibsm || { echo "FAILED: ibsm does not hold SIGHUP back"; cat "$dir/out"; exit 1; }
  sleep 0.05
done
kill -HUP $ibsm
kill -USR1 $ibsm
kill -TERM $ibsm
wait $ibsm
status=$?
[ $status = 143 ] || { echo "FAILED: ibsm ended with $status, not by SIGTERM"; cat "$dir/out"; exit 1; }
