#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# ibsim puts no messages together and carries one MAD of a table: ibpath takes no such piece for the
# whole, and what fits into the MAD it shows, with opensm and with ibsm as the SA.
#
#   cut_on_ibsim.sh BIN_DIR
set -u
bin=$1
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../ibsim.sh"
net=/usr/share/doc/ibsim-utils/net-examples/net.2sw2path4hca
command -v opensm >/dev/null || { echo "needs opensm"; exit 1; }

manager=
trap '[ -n "$manager" ] && kill "$manager" && wait "$manager"; stop_ibsim; rm -rf "$dir"' EXIT
fail() {
  echo "FAILED: $*"
  exit 1
}
on() { SIM_HOST=$1 LD_PRELOAD=$umad2sim "${@:2}"; }

# judge NAME COMMAND...: with the subnet manager that the command starts
judge() {
  start_ibsim "ibkit-cut-$$-$1" "$net" || fail "ibsim ended: $(tail -2 ibsim.log)"
  SIM_HOST=Hca1 LD_PRELOAD=$umad2sim "${@:2}" >"$1.out" 2>&1 &
  manager=$!
  for ((i = 0; i < 300; ++i)); do
    grep -qs "SUBNET UP" "$1.log" "$1.out" && break
    kill -0 "$manager" || fail "$1 ended: $(tail -2 "$1.out")"
    sleep 0.1
  done
  # opensm bounces links once more.
  for ((i = 0; i < 300; ++i)); do
    on Hca3 iblinkinfo -l >links 2>&1
    grep -q Active/ links && ! grep -Eq "Initialize/|Armed/" links && break
    sleep 0.1
  done

  on Hca2 "$bin/ibpath" nodes >nodes 2>complaint
  [ $? = 4 ] || fail "$1: six nodes in one MAD: status not 4"
  [ -s nodes ] && fail "$1: shown as if that were all: $(cat nodes)"
  grep -q "NodeRecord): the answer is cut: .* 1 whole record;" complaint || fail "$1: $(cat complaint)"

  on Hca2 "$bin/ibpath" SMIR >managers 2>&1 || fail "$1: $(cat managers)"
  [ "$(grep -c "SMInfoRecord dump" managers)" = 1 ] || fail "$1: of one record: $(cat managers)"
  on Hca2 "$bin/ibpath" name-of "$(sed -n 's/.*\<LID\.*//p' managers)" >name 2>&1 ||
    fail "$1: $(cat name)"
  [ "$(cat name)" = Hca1 ] || fail "$1: the subnet manager is on $(cat name)"

  kill "$manager" && wait "$manager"
  manager=
  stop_ibsim
}
mkdir cache && export OSM_CACHE_DIR=$dir/cache OSM_TMP_DIR=$dir
judge opensm opensm -f opensm.log
judge ibsm "$bin/ibsm" -f ibsm.log --state-dir "$dir/state"
echo PASS
