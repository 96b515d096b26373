#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Three hosts on three leaves join the IPoIB broadcast group; stock ibtracert -m, which reads the
# multicast tables hop by hop, finds the way between each two. One leaves, and is cut off.
#
#   multicast.sh BIN PROBE
set -u
bin=$1
probe=$2
broadcast=ff12:401b:ffff::ffff:ffff

fail() {
  echo "FAILED: $*"
  exit 1
}

command -v ibtracert >/dev/null || { echo "needs the package infiniband-diags"; exit 1; }
dir=$(mktemp -d) || exit 1
cd "$dir" || exit 1
"$bin/ibfabric" gen fat-tree --radix 8 --leaves 4 --hosts-per-leaf 4 --spines 2 >fabric.topo ||
  exit 1
"$bin/ibfabric" serve fabric.topo --socket s >ready 2>&1 &
server=$!
trap 'kill $(cat pid 2>/dev/null) $server 2>/dev/null; wait $server 2>/dev/null; rm -rf "$dir"' EXIT
until grep -q '^ready' ready; do
  kill -0 $server 2>/dev/null || fail "serve: $(cat ready)"
  sleep 0.02
done

at() {
  local node=$1
  shift
  timeout 60 "$bin/ibfabric" exec --socket s --at "$node" -- "$@"
}
lid_of() {
  at "host0001 HCA-1" saquery -L "$1 HCA-1" | tail -1
}
# The tables are programmed soon after the answer to the join; one look may come too early.
reaches() {
  for _ in $(seq 100); do
    at "host0001 HCA-1" ibtracert -m 0xc000 "$1" "$2" >trace 2>&1 && grep -q '^To ca' trace &&
      return 0
    sleep 0.05
  done
  return 1
}
cut_off() {
  for _ in $(seq 100); do
    at "host0001 HCA-1" ibtracert -m 0xc000 "$1" "$2" >trace 2>&1 || return 0
    sleep 0.05
  done
  return 1
}

at "host0001 HCA-1" "$bin/ibsm" -B --state-dir state -f ibsm.log --pidfile pid >up 2>&1 ||
  fail "ibsm: $(cat up)"
for host in host0001 host0006 host0015; do
  at "$host HCA-1" "$probe" join $broadcast >joined || fail "$host: $(cat joined)"
done
a=$(lid_of host0001) b=$(lid_of host0006) c=$(lid_of host0015) d=$(lid_of host0009)
for pair in "$a $b" "$b $c" "$c $a"; do
  # shellcheck disable=SC2086
  reaches $pair || fail "no multicast route $pair: $(cat trace)"
done
cut_off "$a" "$d" || fail "a host that never joined is reached: $(cat trace)"
at "host0006 HCA-1" "$probe" leave $broadcast >left || fail "leave: $(cat left)"
cut_off "$a" "$b" || fail "a host that left is still reached: $(cat trace)"
reaches "$a" "$c" || fail "the others lost each other: $(cat trace)"
