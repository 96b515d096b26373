#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A whole fabric on a machine without an HCA: comes up, is traced, loses a link, is traced again, is drawn.
# usage: demo.sh BIN_DIR [TOPOLOGY]       exit: 0 all of it worked, 1 something did not, 2 that is no topology
set -u
bin=$(readlink -f "$1")
topology=${2-}
given=$topology
work=$(mktemp -d "${TMPDIR:-/tmp}/ibkit-demo.XXXXXX")
socket=$work/fabric.sock
export PATH=$bin:$PATH
picture=${IBKIT_DEMO_SVG:-$PWD/build/demo.svg}

finish() {
  local pids
  pids=$(jobs -p)
  # shellcheck disable=SC2086
  [ -n "$pids" ] && kill $pids 2>/dev/null
  wait 2>/dev/null
  # ibsm goes with its fabric and writes its SA dump on the way out, after the shell that started it.
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    rm -rf "$work" 2>/dev/null && return
    sleep 0.1
  done
  rm -rf "$work"
}
trap finish EXIT
die() { printf 'demo: %s\n' "$*" >&2; exit 1; }
say() { printf '\n\033[1m== %s\033[0m\n' "$*"; }
show() { printf '$ %s\n' "$*"; "$@"; }
on() { local at=$1; shift; ibfabric exec --socket "$socket" --at "$at" -- "$@"; }
show_on() { local at=$1; shift; printf '%s$ %s\n' "$at" "$*"; on "$at" "$@"; }

# wait_for FILE PATTERN SECONDS [COUNT]: until FILE has COUNT lines that match
wait_for() {
  local i
  for ((i = 0; i < $3 * 10; i++)); do
    [ -f "$1" ] && [ "$(grep -c -- "$2" "$1" 2>/dev/null)" -ge "${4:-1}" ] && return 0
    sleep 0.1
  done
  return 1
}

if [ -z "$topology" ]; then
  topology=$work/fabric.topo
  say "A fabric: a fat tree of 12 leaves, 6 spines and 144 hosts, made by ibfabric gen"
  kind="fat-tree --levels 2 --radix 24 --leaves 12 --spines 6 --hosts-per-leaf 12"
  printf '$ ibfabric gen %s > fabric.topo\n' "$kind"
  # shellcheck disable=SC2086
  ibfabric gen $kind > "$topology" || die "ibfabric gen failed"
else
  topology=$(readlink -f "$topology")
fi
# The same file as ibtopo writes it, whatever version and editor it is of. Of one that ends in the middle what is there will do.
ibtopo --load "$topology" > "$work/plain.topo"
case $? in
  0 | 3) ;;
  *) exit 2 ;; # ibtopo has said what is wrong, and where
esac
[ -n "$given" ] && say "A fabric: $topology"

# Two hosts far apart in the file, each with a cable; aggregation nodes are no hosts.
read -r host_a host_b < <(awk '
  /^Ca/ { split($0, q, "\""); id = q[2]; cable = 0; skip = /Aggregation Node/ }
  /^\[[0-9]+\]/ && id != "" && !skip && !cable { cable = 1; all[n++] = id }
  END { if (n > 1) print all[0], all[n - 1] }' "$work/plain.topo")
[ -n "${host_b-}" ] || die "no two hosts with cables in $topology"
target=0x${host_b#?-}
# A file may have other ids, and names instead of GUIDs.
grep -qF "\"$host_a\"" "$topology" || host_a=0x${host_a#?-}
grep -qF "\"$host_b\"" "$topology" || host_b=$target

say "ibfabric serves it"
ibfabric serve "$topology" --socket "$socket" > "$work/fabric.log" 2>&1 &
wait_for "$work/fabric.log" '^ready' 60 || { cat "$work/fabric.log" >&2; die "the fabric did not start"; }
cat "$work/fabric.log"

say "ibsm, the subnet manager, on $host_a"
on "$host_a" ibsm -s 2 --state-dir "$work/sm" -f "$work/ibsm.log" > "$work/ibsm.out" 2>&1 &
wait_for "$work/ibsm.out" '^SUBNET' 120 || { cat "$work/ibsm.out" >&2; die "the subnet did not come up"; }
cat "$work/ibsm.out"
grep -q '^SUBNET UP' "$work/ibsm.out" || die "the subnet is incomplete"

say "ibtracerd, the agent, on both hosts"
for host in "$host_a" "$host_b"; do
  on "$host" ibtracerd > "$work/agent-$host.log" 2>&1 &
  wait_for "$work/agent-$host.log" 'ready' 20 || { cat "$work/agent-$host.log" >&2; die "no agent on $host"; }
  printf '%s: %s\n' "$host" "$(cat "$work/agent-$host.log")"
done

say "ibtracer from $host_a to $host_b: what the tables say, and what each hop confirms"
show_on "$host_a" ibtracer -v --guid "$target"
status=$?
[ $status = 0 ] || die "the trace ended with status $status"

say "The same, both ways"
show_on "$host_a" ibtracer -v --both --guid "$target"
status=$?
[ $status = 0 ] || [ $status = 3 ] || die "the trace both ways ended with status $status"

say "A link of that path goes down"
# The first hop that leaves a switch for another switch; on a fabric of one switch nothing can be spared.
cables=$(on "$host_a" ibtracer --json --guid "$target" |
  sed -n 's/.*"type": "switch", "node_guid": "\([^"]*\)".*"egress_port": \([0-9]*\).*/\1 \2/p')
if [ "$(echo "$cables" | wc -l)" -lt 2 ]; then
  echo "one switch only: no cable of the path can be spared"
  cables=""
fi
read -r switch port < <(echo "$cables")
if [ -n "${port-}" ]; then
  before=$(grep -c '^SUBNET UP' "$work/ibsm.out")
  show ibfabric ctl --socket "$socket" link down "$switch" "$port" || die "ctl link down failed"
  wait_for "$work/ibsm.out" '^SUBNET UP' 60 $((before + 1)) || { tail -n 5 "$work/ibsm.out" >&2; die "no sweep after the link went down"; }
  tail -n 1 "$work/ibsm.out"
  if ! on "$host_a" ibpath "$target" 0 > /dev/null 2>&1; then
    say "Nothing else leads there: the cable is plugged in again"
    before=$(grep -c '^SUBNET UP' "$work/ibsm.out")
    show ibfabric ctl --socket "$socket" link up "$switch" "$port" || die "ctl link up failed"
    wait_for "$work/ibsm.out" '^SUBNET UP' 60 $((before + 1)) || { tail -n 5 "$work/ibsm.out" >&2; die "no sweep after the link came up"; }
    tail -n 1 "$work/ibsm.out"
    say "The same trace, by the same route"
  else
    say "The same trace, by the new route"
  fi
  show_on "$host_a" ibtracer -v --guid "$target"
  status=$?
  [ $status = 0 ] || die "the trace after the link went down ended with status $status"
fi

say "A picture of the fabric"
mkdir -p "$(dirname "$picture")"
show_on "$host_a" ibtopo --svg "$picture" > /dev/null || die "ibtopo failed"
printf '%s (%s bytes)\n' "$picture" "$(stat -c %s "$picture")"
