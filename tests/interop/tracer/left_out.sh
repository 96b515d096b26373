#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A port where another program answers class 0x32 keeps ibtracerd from none of the others.
#
#   left_out.sh BIN
set -u
bin=$1

# shellcheck source=waiting.sh
. "$(dirname "$(readlink -f "$0")")/waiting.sh"

dir=$(mktemp -d) || exit 1
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$dir"' EXIT
cd "$dir" || exit 1
cat >two_ports.topo <<'TOPO'
switchguid=0x100(100)
Switch	4 "S-0000000000000100"		# "switch" base port 0 lid 1 lmc 0
[1]	"H-0000000000000200"[1](201) 		# "host" lid 2 4xQDR
[2]	"H-0000000000000200"[2](202) 		# "host" lid 3 4xQDR

caguid=0x200
Ca	2 "H-0000000000000200"		# "host"
[1](201) 	"S-0000000000000100"[1]		# lid 2 lmc 0 "switch" lid 1 4xQDR
[2](202) 	"S-0000000000000100"[2]		# lid 3 lmc 0 "switch" lid 1 4xQDR
TOPO
"$bin/ibfabric" serve two_ports.topo --lids keep --socket "$dir/s" >served 2>&1 &
wait_for served '^ready' || fail "ibfabric: $(cat served)"
at() { timeout 60 "$bin/ibfabric" exec --socket "$dir/s" --at host -- "$@"; }

at "$bin/ibtracerd" --user nobody -P 2 >first 2>&1 &
wait_for first '^ibtracerd: ready ports=1$' || fail "agent of port 2: $(cat first)"
at "$bin/ibtracerd" --user nobody >second 2>second.err &
wait_for second '^ibtracerd: ready ports=1$' || fail "agent of the rest: $(cat second second.err)"
grep -q 'a port is left out: .* port 2: Invalid argument (does another program serve it?)$' second.err ||
  fail "not said: $(cat second.err)"
# Where nothing is left it says so and ends.
at "$bin/ibtracerd" --user nobody >third 2>&1
[ $? -eq 4 ] || fail "a third agent has no port, and stays"
grep -q 'does another program serve it' third || fail "not said: $(cat third)"
echo PASSED
