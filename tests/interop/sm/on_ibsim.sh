#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# ibsm -o under Debian's ibsim, judged by stock tools: ibnetdiscover finds the whole fabric, iblinkinfo
# no port between DOWN and ACTIVE, ibtracert walks from the first to other LIDs, and the tables that
# dump_fts reads reach every LID without a loop, by ibroutes and by a judge of its own.
#
#   on_ibsim.sh BIN_DIR TOPOLOGY...        a TOPOLOGY is a file, or `gen:WORDS` for ibfabric gen
#   $IBKIT_PATIENCE                        seconds any one program may take
set -u
patience=${IBKIT_PATIENCE:-100}
bin=$1
here=$(dirname "$(readlink -f "$0")")
judge=$here/../../tools/route_judge.py
shift
. "$here/../ibsim.sh"
fail() {
  echo "$topology: $*"
  head -c 2000 stderr 2>/dev/null
  exit 1
}
stock() { LD_PRELOAD=$umad2sim timeout "$patience" "$@" 2>>stderr; }

number=0
for topology in "$@"; do
  number=$((number + 1))
  : >stderr
  case $topology in
    # shellcheck disable=SC2086
    gen:*) "$bin/ibfabric" gen ${topology#gen:} >file.topo || fail "gen: status $?" ;;
    *) cp "$topology" file.topo || fail "cannot be read" ;;
  esac
  start_ibsim "ibkit-sm-$$-$number" -N 60000 -S 4000 -P 300000 -L 49151 file.topo ||
    fail "ibsim ended: $(tail -2 ibsim.log)"

  rm -rf state
  LD_PRELOAD=$umad2sim timeout "$patience" "$bin/ibsm" -o -f sm.log --state-dir state >up 2>stderr
  status=$?
  [ $status = 0 ] || fail "ibsm -o: status $status: $(cat up)"
  switches=$(grep -c '^Switch' file.topo)
  cas=$(grep -c '^Ca' file.topo)
  grep -q "^SUBNET UP switches=$switches cas=$cas " up ||
    fail "wanted switches=$switches cas=$cas, got: $(cat up)"
  [ "$(wc -l <up)" = 1 ] || fail "more than one line: $(cat up)"

  stock ibnetdiscover >net || fail "ibnetdiscover: status $?"
  [ "$(grep -c '^Switch' net)" = "$switches" ] || fail "ibnetdiscover misses switches"
  [ "$(grep -c '^Ca' net)" = "$cas" ] || fail "ibnetdiscover misses hosts"
  stock iblinkinfo -l >links || fail "iblinkinfo: status $?"
  grep -E 'Initialize|Armed' links | head -3 >unfinished
  [ -s unfinished ] && fail "not ACTIVE: $(cat unfinished)"
  # What ibsm counted is there: a cable has a line at each end, and no LID is given twice.
  grep -q " links=$(($(grep -c '^\[' net) / 2)) " up || fail "ibnetdiscover has $(grep -c '^\[' net) ends of cables: $(cat up)"
  sed -n 's/.*# lid \([0-9]*\) lmc.*/\1/p; s/^Switch.* port 0 lid \([0-9]*\) lmc.*/\1/p' net | sort -n >all_lids
  [ -z "$(uniq -d all_lids)" ] || fail "LIDs given twice: $(uniq -d all_lids | head)"
  grep -q " lids=$(wc -l <all_lids) " up || fail "ibnetdiscover has $(wc -l <all_lids) LIDs: $(cat up)"
  stock dump_fts >fts || fail "dump_fts: status $?"
  "$bin/ibroutes" verify --from net,fts >verdict
  for figure in 'unreachable: 0' 'loops: 0'; do
    grep -q "^$figure$" verdict || fail "tables: wanted $figure, got: $(cat verdict)"
  done
  # Where a second opinion takes seconds and not minutes: one that shares no code with ours.
  if [ "$cas" -lt 2000 ]; then
    /usr/bin/python3 "$judge" net fts >judged
    for figure in 'unreachable: 0' 'loops: 0'; do
      grep -q "^$figure$" judged || fail "the other judge: wanted $figure, got: $(cat judged)"
    done
  fi
  lids=$(sed -n 's/.*# lid \([0-9]*\) lmc.*/\1/p' net | sort -un | awk 'NR % 97 == 2' | head -5)
  [ -n "$lids" ] || fail "no LIDs to walk to"
  for lid in $lids; do
    stock ibtracert -n 1 "$lid" >trace || fail "ibtracert 1 $lid: status $?: $(tail -1 trace)"
  done
  stop_ibsim
  echo "$topology: $(cat up)"
done
