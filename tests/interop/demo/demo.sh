#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What `./dev demo` shows is shown: the subnet up, a trace, both ways, a cable down, the trace by another route, a picture.
#
#   demo.sh SOURCE_DIR BIN
set -u
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
IBKIT_DEMO_SVG=$dir/demo.svg timeout 150 "$1/tools/demo.sh" "$2" >"$dir/out" 2>&1
status=$?
fail() { echo "FAILED: $*"; cat "$dir/out"; exit 1; }
[ $status = 0 ] || fail "status $status"
[ "$(grep -c '^SUBNET UP switches=18 cas=144 routers=0 links=28[87] ' "$dir/out")" = 2 ] || fail "not up twice"
grep -q 'links=287 ' "$dir/out" || fail "no cable went down"
[ "$(grep -c '^VERIFIED lid ' "$dir/out")" = 3 ] || fail "not three traces"
grep -q '^Back to lid' "$dir/out" || fail "no way back"
before=$(grep -m 1 '"leaf-001"' "$dir/out")
after=$(grep '"leaf-001"' "$dir/out" | tail -n 1)
[ "$before" != "$after" ] || fail "the trace still leaves by the cable that is down"
grep -q '</svg>' "$dir/demo.svg" || fail "no picture"
exit 0
