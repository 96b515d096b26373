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
exit $status
