#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# ibsm is killed with SIGKILL and started again on its state directory: LIDs, groups, members,
# services, subscriptions and alias GUIDs are as they were, as stock saquery sees them. A second
# ibsm on the directory is refused.
#
#   survives_kill.sh BIN PROBE
set -u
bin=$1
probe=$2
group=ff12:401b:ffff::1234
broadcast=ff12:401b:ffff::ffff:ffff
alias=0x1234567800000001

fail() {
  echo "FAILED: $*"
  exit 1
}

start() {
  timeout 60 "$bin/ibsm" -B --state-dir state -f ibsm.log --pidfile pid >up 2>&1 ||
    fail "ibsm: $(cat up)"
  grep -q '^SUBNET UP ' up || fail "$(cat up)"
}

look() {
  timeout 20 saquery NR 2>&1 | grep -E $'^\t\t(lid|port_guid)' | paste - - | sort >"lids.$1"
  timeout 20 saquery -g >"groups.$1" 2>&1
  timeout 20 saquery --smkey 1 -m >"members.$1" 2>&1
  # What other ports hold is read in the background.
  timeout 20 saquery --smkey 1 GIR 2>&1 | grep -i "${alias#0x}" >"guids.$1"
  timeout 20 saquery --smkey 1 SR >"services.$1" 2>&1
  timeout 20 saquery --smkey 1 IIR >"subscriptions.$1" 2>&1
}

inside() {
  cd "$3" || exit 1
  start
  trap 'kill "$(cat pid)"' EXIT
  [ "$("$probe" join $broadcast)" = "mlid 0xc000 state 1" ] || fail "join"
  [ "$("$probe" create $group)" = "mlid 0xc001 state 1" ] || fail "create"
  [ "$("$probe" serve "a service")" = "service 0x1234" ] || fail "serve"
  [ "$("$probe" subscribe 66)" = "subscribed" ] || fail "subscribe"
  [ "$("$probe" alias $alias)" = "alias $alias" ] || fail "alias"
  look before
  [ -s guids.before ] || fail "no alias"
  grep -q "ServiceName.*a service" services.before || fail "services: $(cat services.before)"
  grep -q "trap_num\.*66" subscriptions.before ||
    fail "subscriptions: $(cat subscriptions.before)"
  grep -q "MGID\.*$group" groups.before || fail "no group: $(cat groups.before)"
  [ "$(grep -c 'NodeDescription\.*host0001 HCA-1$' members.before)" = 2 ] ||
    fail "members: $(cat members.before)"

  "$bin/ibsm" -o --state-dir state >second 2>&1
  [ $? = 4 ] || fail "a second ibsm on the directory: status $? $(cat second)"
  grep -q 'in use by another ibsm' second || fail "message: $(cat second)"

  for round in 1 2; do
    pid=$(cat pid)
    kill -9 "$pid"
    while kill -0 "$pid" 2>/dev/null; do sleep 0.01; done
    start
    look "after$round"
    for what in lids groups members services subscriptions guids; do
      diff $what.before "$what.after$round" || fail "$what differ after the kill"
    done
  done
  [ -e state/ibsm.db.damaged-1 ] && fail "the store was damaged"
  # The group lives as long as its member.
  "$probe" leave $group >/dev/null || fail "leave"
  timeout 20 saquery -g | grep -q $group && fail "the group outlived its last member"
  exit 0
}

if [ "${3:-}" != "" ]; then inside "$@"; fi

command -v saquery >/dev/null || { echo "needs the package infiniband-diags"; exit 1; }
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
"$bin/ibfabric" gen fat-tree --radix 8 --leaves 4 --hosts-per-leaf 4 --spines 2 \
  >"$dir/fabric.topo" || exit 1
"$bin/ibfabric" run "$dir/fabric.topo" -- "$0" "$bin" "$probe" "$dir"
