#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# ibtracer under ibsim, whose switches answer LID-routed SMPs with LocalPortNum 0 and pass on no class 0x30: what nobody
# confirms stays unproved (status 3). The path is stock ibtracert's. Packets are not counted here (--prove): of a burst
# umad2sim and ibsim now and then wait for each other for ever.
#
#   on_ibsim.sh BIN
set -u
bin=$1
. "$(dirname "$(readlink -f "$0")")/../ibsim.sh"
fail() { echo "FAILED: $*"; exit 1; }
inside() { LD_PRELOAD=$umad2sim timeout 60 "$@"; }

"$bin/ibfabric" gen fat-tree --radix 8 >fabric.topo || fail "gen"
start_ibsim "ibkit-tracer-$$" fabric.topo || fail "ibsim ended: $(cat ibsim.log)"
export SIM_HOST="host0001 HCA-1"
inside "$bin/ibsm" -o -f sm.log --state-dir state >up 2>stderr || fail "ibsm: $(cat up stderr)"
here=$(inside ibaddr 2>>stderr | sed -n 's/.*LID start \(0x[0-9a-f]*\).*/\1/p')
far=$(SIM_HOST="host0032 HCA-1" inside ibaddr 2>>stderr | sed -n 's/.*LID start \(0x[0-9a-f]*\).*/\1/p')
far=$((far))
inside ibtracert "$here" "$far" >stock 2>>stderr || fail "ibtracert: $(cat stock)"

# The hops of a trace: port GUID and ingress of each.
theirs() { sed -n 's/^\[\([0-9]*\)\] -> [a-z]* port {0x\([0-9a-f]*\)}\[\([0-9]*\)\].*/\2 \3/p' stock; }
ours() {
  /usr/bin/python3 -c '
import json, sys
document = json.load(open(sys.argv[1]))
for hop in document["traces"][0]["hops"][1:]:
    print(hop["port_guid"][2:], hop["ingress_port"], *([hop["proof"]] if sys.argv[2:] else []))
' "$@"
}

inside "$bin/ibtracer" -r 1 --json -l "$far" >trace.json 2>>stderr
[ $? = 3 ] || fail "not 3: $(cat trace.json)"
[ "$(theirs | wc -l)" = 4 ] || fail "ibtracert: $(cat stock)"
diff <(theirs) <(ours trace.json) || fail "the path is not ibtracert's"
[ "$(ours trace.json proofs | awk '{print $3}' | tr '\n' ' ')" = "none none none smp " ] || fail "$(ours trace.json proofs)"
/usr/bin/python3 -c '
import json
document = json.load(open("trace.json"))
assert not document["complete"], document
assert [line.split(":")[-1] for line in document["errors"]] == [" no proof (agent timeout)"] * 3, document["errors"]' || fail "what could not be read: $(cat trace.json)"
inside "$bin/ibtracer" -r 1 -l "$far" >text 2>>stderr
[ "$(tail -n 1 text)" = "PARTLY VERIFIED lid $far \"host0032 HCA-1\": 1 of 4 hops have a proof" ] || fail "$(cat text)"
exit 0
