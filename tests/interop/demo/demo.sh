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
grep -q '^Return to lid' "$dir/out" || fail "no return path"
before=$(grep -m 1 '"leaf-001"' "$dir/out")
after=$(grep '"leaf-001"' "$dir/out" | tail -n 1)
[ "$before" != "$after" ] || fail "the trace still leaves by the cable that is down"
# README.md shows what it printed once: each of those lines is still among what it prints.
plain() { sed -E 's/mads=.*//; s/--socket [^ ]+/--socket S/' "$@"; }
shown=$(sed -n '/^## A worked example/,/^Then `ibtopo/s/^    //p' "$1/README.md" | sed '/^\$ ibfabric gen/d; s/^ready .*/ready/' | plain)
[ "$(grep -c '^VERIFIED' <<<"$shown")" = 3 ] || fail "README.md has not three traces"
sed 's/^ready .*/ready/' "$dir/out" | plain >"$dir/plain"
while read -r line; do grep -qF -- "$line" "$dir/plain" || fail "README.md has a line that is not printed: $line"; done <<<"$shown"
grep -q '</svg>' "$dir/demo.svg" || fail "no picture"

# Two switches and one cable between them: it is plugged in again, and the trace goes as before.
"$2/ibfabric" gen hypercube 1 >"$dir/pair.topo" || fail "gen"
IBKIT_DEMO_SVG=$dir/pair.svg timeout 150 "$1/tools/demo.sh" "$2" "$dir/pair.topo" >"$dir/out" 2>&1 || fail "status $? of the pair"
grep -q '^\$ ibfabric ctl .* link down ' "$dir/out" || fail "no cable of the pair went down"
grep -q '^\$ ibfabric ctl .* link up ' "$dir/out" || fail "no cable of the pair came up"
[ "$(grep -c '^VERIFIED lid ' "$dir/out")" = 3 ] || fail "not three traces of the pair"

# A file as people keep it: `Hca` of old versions, lines that are indented, carriage returns, the end cut off; then names for ids.
sed 's/^Ca/Hca/; s/^/ /; s/$/\r\r/' "$dir/pair.topo" | head -c -30 >"$dir/kept.topo"
printf '%s\n' 'Switch 4 "one"' '[1] "a"[1]' '[3] "two"[3]' 'Switch 4 "two"' '[1] "b"[1]' '[3] "one"[3]' 'Hca 2 "a"' '[1] "one"[1]' \
  'Hca 2 "b"' '[1] "two"[1]' >"$dir/names.topo"
for kind in kept names; do
  IBKIT_DEMO_SVG=$dir/$kind.svg timeout 150 "$1/tools/demo.sh" "$2" "$dir/$kind.topo" >"$dir/out" 2>&1 || fail "status $? of $kind.topo"
  [ "$(grep -c '^VERIFIED lid ' "$dir/out")" = 3 ] || fail "not three traces of $kind.topo"
done

# What is no topology is refused, with the place.
echo nonsense >"$dir/nonsense"
timeout 150 "$1/tools/demo.sh" "$2" "$dir/nonsense" >"$dir/out" 2>&1
status=$?
[ $status = 2 ] || fail "status $status of nonsense"
grep -q "$dir/nonsense:1:1: expected " "$dir/out" || fail "no place"
exit 0
