#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# ibtracer and ibtracerd on a served fabric: stock ibping is answered, the path equals stock ibtracert's, a broken entry and
# a pulled cable are named, memory stays small. What is expected comes from stock programs.
#
#   trace.sh BIN RESIDENT_KB   (what the agent may have resident; 0: any)
set -u
bin=$1
resident_kb=$2
here=$(readlink -f "$0")

# shellcheck source=waiting.sh
. "$(dirname "$(readlink -f "$0")")/waiting.sh"
at() { local node=$1; shift; timeout 60 "$bin/ibfabric" exec --at "$node" -- "$@"; }

# A path as "switch GUID, in, out" lines: from ibtracert's text, and from ibtracer's JSON.
theirs() {
  sed -n 's/^\[\([0-9]*\)\] -> [a-z]* port {0x\([0-9a-f]*\)}\[\([0-9]*\)\].*/\2 \3/p' "$1"
}
ours() {
  /usr/bin/python3 -c '
import json, sys
document = json.load(open(sys.argv[1]))
for hop in document["traces"][0]["hops"][1:]:
    print(hop["port_guid"][2:], hop["ingress_port"])
' "$1"
}

inside() {
  cd "$1" || exit 1
  timeout 60 "$bin/ibsm" -B --state-dir state -f ibsm.log --pidfile pid >up 2>&1 || fail "ibsm: $(cat up)"
  sm=$(cat pid)
  far=$(sed -n 's/^Ca\t.*"\(H-[0-9a-f]*\)".*/\1/p' fabric.topo | tail -n 1)
  far_name=$(sed -n 's/^Ca\t.*# "\(.*\)"$/\1/p' fabric.topo | tail -n 1)
  "$bin/ibfabric" exec --at "$far" -- "$bin/ibtracerd" --user nobody --host far.example >agent.out 2>&1 &
  agent=$!
  trap 'kill $sm $agent 2>/dev/null' EXIT
  wait_for agent.out '^ibtracerd: ready ports=1$' || fail "agent: $(cat agent.out)"
  lid=$(at "$far" ibaddr | sed -n 's/.*LID start \(0x[0-9a-f]*\).*/\1/p')
  lid=$((lid))
  [ "$lid" -gt 0 ] || fail "no lid on $far"

  # The same path as the stock tool's, every hop confirmed.
  timeout 30 ibtracert "$(ibaddr | sed -n 's/.*LID start \(0x[0-9a-f]*\).*/\1/p')" "$lid" >stock 2>&1 || fail "ibtracert: $(cat stock)"
  timeout 30 "$bin/ibtracer" --json -l "$lid" >trace.json 2>trace.err || fail "ibtracer: $? $(cat trace.json trace.err)"
  diff <(theirs stock) <(ours trace.json) || fail "ibtracer's path is not ibtracert's"
  [ "$(theirs stock | wc -l)" -ge 4 ] || fail "path too short to prove anything: $(cat stock)"
  timeout 30 "$bin/ibtracer" -v -l "$lid" >text || fail "ibtracer -v"
  tail -n 1 text | grep -q "^VERIFIED lid $lid " || fail "last line: $(tail -n 1 text)"
  grep -q 'verified by agent$' text || fail "no hop by agent: $(cat text)"

  # -vv tells every MAD apart from the result; -vvv its fields, and no key.
  timeout 30 "$bin/ibtracer" -vv -l "$lid" >more 2>mads || fail "ibtracer -vv"
  diff text more || fail "-vv prints another result than -v"
  grep -q '^[0-9.]* > VendorIbtracer Get(SourceRoute) to LID [0-9]* tid 0x[0-9a-f]*$' mads || fail "-vv: $(head -3 mads)"
  [ "$(grep -c '^[0-9.]* > ' mads)" = "$(grep -c '^[0-9.]* < ' mads)" ] || fail "-vv: not an answer to every request"
  grep -q '^    ' mads && fail "-vv prints fields"
  timeout 30 "$bin/ibtracer" -vvv -l "$lid" 2>&1 >/dev/null | grep -q '^    LinearFDBTop:' || fail "-vvv has no fields"

  # Every way to name the target leads to the same place.
  guid=$(at "$far" ibstat -p | head -n 1)
  gid=$(at "$far" ibaddr -g | sed -n 's/^GID \([0-9a-f:]*\).*/\1/p')
  for target in "--guid $guid" "-g $gid" "$lid" "$guid" "$gid"; do
    # shellcheck disable=SC2086
    timeout 30 "$bin/ibtracer" $target >one 2>&1 || fail "ibtracer $target: $? $(cat one)"
    grep -q "^VERIFIED lid $lid " one || fail "ibtracer $target: $(cat one)"
  done
  timeout 30 "$bin/ibtracer" --name "$far_name" | grep -q "^VERIFIED lid $lid " || fail "--name"
  timeout 30 "$bin/ibtracer" --both --prove --counters --lmc-all "$lid" >all 2>&1 || fail "all options: $(cat all)"
  grep -q 'counters: proven' all || fail "not proven: $(cat all)"
  grep -q '^Return to lid' all || fail "no return path: $(cat all)"

  # The SA tells the same route, and the packets take it.
  timeout 30 "$bin/ibtracer" --sa --json -l "$lid" >sa.json 2>sa.err || fail "--sa: $? $(cat sa.json sa.err)"
  diff <(theirs stock) <(ours sa.json) || fail "the SA's route is not ibtracert's"
  grep -q '^  "route_source": "SA TraceRecords",$' sa.json || fail "--sa: not by TraceRecords: $(cat sa.json)"
  timeout 30 "$bin/ibtracer" --sa --name "$far_name" | grep -q "^VERIFIED lid $lid " || fail "--sa --name"
  timeout 30 "$bin/ibtracer" -r 1 --sa -l 48000 >broken 2>&1; [ $? = 1 ] || fail "--sa -l 48000: not 1: $(cat broken)"
  grep -q 'the SA has no path from lid' broken || fail "--sa -l 48000: $(cat broken)"
  timeout 5 "$bin/ibtracer" --sa --both "$lid" >usage 2>&1; [ $? = 2 ] || fail "--sa --both: not 2"

  # Stock ibping is answered with the host's name, and with no answer larger or slower for a flood of 10000.
  timeout 30 ibping -c 2 "$lid" >ping 2>&1
  grep -q "Pong from far.example (Lid $lid)" ping || fail "ibping: $(cat ping)"
  timeout 60 ibping -f -c 10000 "$lid" >ping 2>&1
  grep -q '^10000 packets transmitted' ping || fail "flood: $(tail -n 3 ping)"
  rss=$(sed -n 's/^VmRSS:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$agent/status")
  [ "$resident_kb" = 0 ] || [ "$rss" -lt "$resident_kb" ] || fail "agent has $rss kB resident after 10000 requests"
  if [ "$(id -u)" = 0 ]; then
    [ "$(sed -n 's/^Uid:\t\([0-9]*\)\t.*/\1/p' "/proc/$agent/status")" = "$(id -u nobody)" ] || fail "agent kept root"
    grep -q '^CapEff:.0*$' "/proc/$agent/status" || fail "agent kept capabilities"
  fi
  grep -q '^NoNewPrivs:.1$' "/proc/$agent/status" || fail "agent may gain privileges"

  # What the SA does not know is a finding; a directed route that ends early is a broken path.
  timeout 30 "$bin/ibtracer" -g fe80::dead:beef >usage 2>&1; [ $? = 1 ] || fail "unknown GID: not 1: $(cat usage)"
  grep -q 'no path to GID' usage || fail "unknown GID: $(cat usage)"
  timeout 30 "$bin/ibtracer" -g 2001::1 >usage 2>&1; [ $? = 1 ] || fail "GID of another subnet: not 1: $(cat usage)"
  grep -q 'no path to GID ' usage || fail "GID of another subnet: $(cat usage)"
  timeout 30 "$bin/ibtracer" -r 1 -D 0,9 >broken 2>&1; [ $? = 1 ] || fail "-D 0,9: not 1: $(cat broken)"
  tail -n 1 broken | grep -q '^BROKEN DR path 0,9 after 0 hops: wrong port: ' || fail "-D 0,9: $(cat broken)"
  timeout 30 "$bin/ibtracer" -r 1 -D 0,1,99 >broken 2>&1; [ $? = 1 ] || fail "-D 0,1,99: not 1: $(cat broken)"
  tail -n 1 broken | grep -q '^BROKEN DR path 0,1,99 after 1 hop: wrong port: ' || fail "-D 0,1,99: $(cat broken)"
  timeout 30 "$bin/ibtracer" -r 1 --json -D 0,1,99 | /usr/bin/python3 -c '
import json, sys
d = json.load(sys.stdin)
assert d["verdict"] == "BROKEN" and d["traces"][0]["end"] == "wrong port", d' || fail "-D 0,1,99 --json"

  # Usage: exactly one target.
  timeout 5 "$bin/ibtracer" >usage 2>&1; [ $? = 2 ] || fail "no target: not 2"
  timeout 5 "$bin/ibtracer" -l 3 --guid 0x1 >usage 2>&1; [ $? = 2 ] || fail "two targets: not 2"
  timeout 5 "$bin/ibtracer" -l 99999 >usage 2>&1; [ $? = 2 ] || fail "bad lid: not 2"
  timeout 5 "$bin/ibtracer" --help >usage 2>&1 || fail "--help: not 0"
  for wrong in "--source-rate nan" "--total-rate 0" "-P 300" "--nonsense"; do
    # shellcheck disable=SC2086
    timeout 5 "$bin/ibtracerd" $wrong >usage 2>&1; [ $? = 2 ] || fail "ibtracerd $wrong: not 2"
    grep -q "^ibtracerd: .*${wrong##* }" usage || fail "ibtracerd $wrong: $(cat usage)"
  done

  # A link of the path goes down: the trace names it while the tables still lead there.
  kill "$sm"; wait_gone "$sm"
  read -r switch port < <(/usr/bin/python3 -c '
import json
hop = [h for h in json.load(open("trace.json"))["traces"][0]["hops"] if h["type"] == "switch"][1]
print(hop["node_guid"], hop["egress_port"])')
  "$bin/ibfabric" ctl link down "$switch" "$port" || fail "ctl link down"
  timeout 60 "$bin/ibtracer" -r 2 -l "$lid" >broken 2>&1; [ $? = 1 ] || fail "broken: not 1: $(cat broken)"
  tail -n 1 broken | grep -q "^BROKEN lid $lid after 2 hops: link down: port $port of " || fail "broken: $(cat broken)"
  kill $agent; wait $agent || fail "agent's status after SIGTERM"
  tail -n 1 agent.out | grep -q '^ibtracerd: done answered=' || fail "agent's last words: $(tail -n 1 agent.out)"
  exit 0
}
wait_gone() {
  local i
  for ((i = 0; i < 200; i++)); do
    # A daemon that nobody reaps stays as a zombie; that is gone too.
    grep -q '^State:.[^Z]' "/proc/$1/status" 2>/dev/null || return 0
    sleep 0.05
  done
}

if [ "${3-}" != "" ]; then inside "$3"; fi
dir=$(mktemp -d) || exit 1
chmod 755 "$dir"
trap 'rm -rf "$dir"' EXIT
"$bin/ibfabric" gen fat-tree --levels 2 --radix 12 --leaves 6 --spines 3 --hosts-per-leaf 6 >"$dir/fabric.topo" || exit 1
"$bin/ibfabric" run "$dir/fabric.topo" -- "$here" "$bin" "$resident_kb" "$dir"
