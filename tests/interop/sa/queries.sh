#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Stock saquery against ibsm's SA on a fabric of a thousand nodes; ibpath against saquery.
# What is expected comes from the topology file and from saquery, not from our own code.
#
#   queries.sh BIN PROBE
set -u
bin=$1
probe=$2

fail() {
  echo "FAILED: $*"
  exit 1
}

inside() {
  local dir=$3
  cd "$dir" || exit 1
  timeout 60 "$bin/ibsm" -B --state-dir state -f ibsm.log --pidfile pid >up 2>&1 ||
    fail "ibsm: $(cat up)"
  trap 'kill "$(cat pid)"' EXIT
  grep -q '^SUBNET UP switches=66 cas=1008 ' up || fail "$(cat up)"

  # All NodeRecords: RMPP works, and every name of the file is there once.
  timeout 60 saquery NR >nr 2>&1 || fail "saquery NR: $(head -3 nr)"
  [ "$(grep -c '^NodeRecord dump:' nr)" = 1074 ] || fail "records: $(grep -c dump: nr)"
  sed -n 's/^\t\tNodeDescription\.*//p' nr | sort >names
  sed -n 's/^\(Switch\|Ca\)\t[^#]*# "\(.*\)".*/\2/p' fabric.topo | sed 's/".*//' | sort >wanted
  diff wanted names >/dev/null || fail "names: $(diff wanted names | head -3)"

  # One record by LID, by GUID and by name; the same one.
  lid=$(sed -n 's/^\t\tlid\.*//p' nr | sed -n 17p)
  name=$(sed -n 's/^\t\tNodeDescription\.*//p' nr | sed -n 17p)
  timeout 20 saquery NR "$lid" | sed -n 's/^\t\tNodeDescription\.*//p' >one
  [ "$(cat one)" = "$name" ] || fail "LID $lid is '$(cat one)', expected '$name'"
  timeout 20 saquery -O "$lid" >one
  [ "$(cat one)" = "$name" ] || fail "saquery -O $lid: '$(cat one)', expected '$name'"

  # Paths of one source to all ports.
  timeout 60 saquery PR --slid 1 >pr 2>&1
  [ "$(grep -c '^PathRecord dump:' pr)" = 1074 ] || fail "paths: $(grep -c dump: pr)"
  [ "$(sed -n 's/^\t\tdlid\.*//p' pr | sort -u | wc -l)" = 1074 ] || fail "dlids repeat"
  [ "$(sed -n 's/^\t\tmtu\.*//p' pr | sort -u)" = 0x85 ] || fail "mtu"
  grep -q 'num_path_revers\.*0x80$' pr || fail "reversible"

  # Every port's PortInfo: 1008 hosts, 66 switches of 48 ports and their port 0. (Its remarks on the
  # width of unplugged ports go elsewhere.)
  timeout 60 saquery PIR >pir 2>/dev/null
  [ "$(grep -c '^PortInfoRecord dump:' pir)" = $((1008 + 66 * 49)) ] ||
    fail "port records: $(grep -c '^PortInfoRecord dump:' pir)"

  # ibpath prints what saquery prints.
  timeout 20 saquery PR --slid 1 --dlid "$lid" >theirs 2>&1
  timeout 20 "$bin/ibpath" 1 "$lid" >ours 2>&1 || fail "ibpath: $(cat ours)"
  diff theirs ours || fail "ibpath differs from saquery"
  timeout 20 "$bin/ibpath" 0 "$name" >by_name 2>&1 || fail "ibpath by name: $(cat by_name)"
  diff ours by_name || fail "ibpath by name differs"
  guid=$(saquery NR "$lid" | sed -n 's/^\t\tport_guid\.*//p')
  timeout 20 "$bin/ibpath" 1 "$guid" >by_guid 2>&1 || fail "ibpath by GUID: $(cat by_guid)"
  diff ours by_guid || fail "ibpath by GUID differs"
  timeout 20 "$bin/ibpath" --json 1 "$lid" | python3 -c '
import json, sys
d = json.load(sys.stdin)
assert d["schema"] == "ibkit.ibpath/2" and d["complete"] and d["errors"] == []
assert len(d["paths"]) == 1 and d["paths"][0]["mtu"] == 4096 and d["paths"][0]["rate_gbps"] == 100
' || fail "ibpath --json"
  timeout 20 "$bin/ibpath" 1 9999 >none 2>&1
  [ $? = 1 ] || fail "no path: status $? $(cat none)"
  timeout 20 "$bin/ibpath" 1 nobody >none 2>&1
  [ $? = 1 ] || fail "no such name: status $? $(cat none)"
  timeout 40 "$bin/ibpath" 0 0,1,99 >none 2>&1
  [ $? = 4 ] || fail "nobody at the route's end: status $? $(cat none)"

  # The IPoIB broadcast group is there before anybody joins.
  timeout 20 saquery -g >groups 2>&1
  grep -q 'MGID\.*ff12:401b:ffff::ffff:ffff$' groups || fail "groups: $(cat groups)"
  grep -q 'Mlid\.*0xC000$' groups || fail "groups: $(cat groups)"
  [ "$("$probe" join ff12:401b:ffff::ffff:ffff)" = "mlid 0xc000 state 1" ] || fail "join"
  timeout 20 saquery --smkey 1 -m >members 2>&1
  grep -q 'NodeDescription\.*host0001 HCA-1$' members || fail "members: $(cat members)"
  "$probe" leave ff12:401b:ffff::ffff:ffff >/dev/null || fail "leave"
  "$probe" leave ff12:401b:ffff::ffff:ffff >/dev/null && fail "left twice"

  # One SwitchInfo a switch, a record a cable and direction, one subnet manager.
  timeout 20 saquery SWIR >swir 2>&1 || fail "saquery SWIR: $(head -3 swir)"
  [ "$(grep -c '^SwitchInfoRecord dump:' swir)" = 66 ] || fail "SWIR: $(grep -c dump: swir)"
  timeout 60 saquery LR >lr 2>&1 || fail "saquery LR: $(head -3 lr)"
  [ "$(grep -c '^LinkRecord dump:' lr)" = $((2 * (1008 + 42 * 24))) ] ||
    fail "LR: $(grep -c dump: lr)"
  timeout 20 saquery SMIR >smir 2>&1 || fail "saquery SMIR: $(head -3 smir)"
  [ "$(grep -c '^SMInfoRecord dump:' smir)" = 1 ] || fail "SMIR: $(cat smir)"
  timeout 20 saquery -c | grep -q 'Class version\.*2' || fail "ClassPortInfo"
  exit 0
}

if [ "${3:-}" != "" ]; then inside "$@"; fi

command -v saquery >/dev/null || { echo "needs the package infiniband-diags"; exit 1; }
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
"$bin/ibfabric" gen fat-tree --radix 48 --leaves 42 --hosts-per-leaf 24 --spines 24 \
  >"$dir/fabric.topo" || exit 1
"$bin/ibfabric" run "$dir/fabric.topo" -- "$0" "$bin" "$probe" "$dir"
