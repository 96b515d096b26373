# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Sourced by what runs under Debian's ibsim. From here on the script is in $dir, a folder of its own
# that goes with it, and so does the ibsim it has started.
#
#   $umad2sim                  the library to preload into ibsim's clients
#   start_ibsim NAME WORD...   `ibsim -s -n WORD...` as the instance NAME, ready when this returns;
#                              1: it ended, and ibsim.log says why
#   stop_ibsim

umad2sim=$(ls /usr/lib/*/umad2sim/libumad2sim.so 2>/dev/null | head -1)
[ -n "$umad2sim" ] || { echo "needs the package ibsim-utils"; exit 1; }
dir=$(mktemp -d) || exit 1
sim=
stop_ibsim() {
  [ -n "$sim" ] && kill "$sim" 2>/dev/null && wait "$sim" 2>/dev/null
  sim=
}
trap 'stop_ibsim; rm -rf "$dir"' EXIT
cd "$dir" || exit 1

start_ibsim() {
  export IBSIM_SOCKNAME=$1
  ibsim -s -n "${@:2}" >ibsim.log 2>&1 </dev/null &
  sim=$!
  until grep -q "@$IBSIM_SOCKNAME:ctl" /proc/net/unix; do
    kill -0 "$sim" 2>/dev/null || return 1
    sleep 0.05
  done
}
