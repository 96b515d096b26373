#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# ./dev refuses words that it does not know before it installs, configures or builds anything, and says what it lacks.
#
#   dev_usage.sh SOURCE_DIR
cd "$1" || exit 1
status=0
while read -r words; do
  # shellcheck disable=SC2086
  said=$(timeout 10 ./dev $words 2>&1 >/dev/null </dev/null)
  got=$?
  [ $got = 2 ] && [ -n "$said" ] || { echo "dev $words: status $got, said '$said'"; status=1; }
done <<'EOF'

nonsense
setup nonsense
setup build test
build nonsense
build release more
demo /no/such
demo one two
test --nonsense
test --nightly more
bench nonsense
bench mad_bench more
soak
soak nonsense
soak 17 18
soak --minutes
soak --minutes x
soak --minutes 1 --from
soak --seeds 0
soak --shrink
soak --shrink x
fuzz --seconds
fuzz --seconds x
fuzz --seconds 1 more
fuzz nonsense
lint --nonsense
lint --all more
EOF

# Packages: what is missing is named to a user, installed by root, and asked for only when something is missing.
stubs=$(mktemp -d) || exit 1
trap 'rm -rf "$stubs"' EXIT
stub() { printf '#!/bin/sh\n%s\n' "$2" >"$stubs/$1"; chmod +x "$stubs/$1"; }
expect() { # STATUS PATTERN WORDS...
  local wanted=$1 pattern=$2 said got
  shift 2
  said=$(PATH=$stubs:$PATH timeout 10 ./dev "$@" 2>&1 </dev/null)
  got=$?
  [ $got = "$wanted" ] && grep -q -- "$pattern" <<<"$said" && return
  echo "dev $*: status $got instead of $wanted, said '$said'"
  status=1
}
stub dpkg-query 'case "$*" in *" g++" | *" opensm") exit 1 ;; *) echo "install ok installed" ;; esac'
stub id 'echo 1000'
stub apt-get 'echo "called: $*"; exit 1'
expect 4 '^  sudo apt-get install --no-install-recommends g++ $' setup build
expect 4 '^  sudo apt-get install --no-install-recommends g++ opensm $' setup test
expect 4 '^  sudo apt-get install --no-install-recommends g++ opensm $' build
expect 4 '^  sudo apt-get install --no-install-recommends g++ $' demo
expect 4 '^  sudo apt-get install --no-install-recommends g++ opensm $' test
stub id 'echo 0'
expect 4 'apt-get install of these failed: g++' setup build
stub apt-get "echo \"\$*\" >>$stubs/calls; exit 0"
expect 0 'installing: g++ ' setup build
grep -q '^install .*--no-install-recommends g++$' "$stubs/calls" || { echo "apt-get was called with: $(cat "$stubs/calls")"; status=1; }
stub dpkg-query 'echo "install ok installed"'
: >"$stubs/calls"
expect 0 '^$' setup
[ -s "$stubs/calls" ] && { echo "apt-get was called for nothing"; status=1; }

# Progress: of many steps few lines in a log, all that failed, and what it said at the end.
mkdir "$stubs/tree" "$stubs/tree/build" "$stubs/tree/tools" && cp dev "$stubs/tree" || exit 1
printf '#!/bin/sh\necho the demo\n' > "$stubs/tree/tools/demo.sh"
chmod +x "$stubs/tree/tools/demo.sh"
cd "$stubs/tree" || exit 1
stub cmake 'case "$*" in *--build*) i=0; while [ $i -lt 250 ]; do i=$((i+1)); echo "[$i/250] Building $i"; done; echo "a warning";; esac'
stub ctest 'i=0; while [ $i -lt 250 ]; do i=$((i+1)); echo "      Start $i: t$i"
  if [ $i = 7 ]; then echo "  7/250 Test   #7: t7 ...***Failed  0.1 sec"; echo "what t7 said"; else echo " $i/250 Test #$i: t$i ...   Passed    0.1 sec"; fi
  done; echo "99% tests passed, 1 tests failed out of 250"; exit 8'
said=$(PATH=$stubs:$PATH ./dev demo 2>&1 </dev/null)
[ "$(grep -c '^\[' <<<"$said")" = 3 ] && grep -q '^a warning$' <<<"$said" && grep -q '^the demo$' <<<"$said" ||
  { echo "dev demo says: $said"; status=1; }
said=$(PATH=$stubs:$PATH ./dev test 2>&1 </dev/null)
got=$?
[ $got = 1 ] && [ "$(grep -c ' of 250 tests$' <<<"$said")" = 3 ] && [ "$(grep -c '#7: t7' <<<"$said")" = 2 ] &&
  grep -q '^what t7 said$' <<<"$said" && [ "$(wc -l <<<"$said")" -lt 40 ] || { echo "dev test: status $got, says: $said"; status=1; }
stub cmake 'case "$*" in *--build*) echo "[1/2] x"; echo "FAILED: x"; exit 1;; esac'
expect 1 '^FAILED: x$' test
exit $status
