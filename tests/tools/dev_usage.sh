#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# ./dev refuses words that it does not know before it installs, configures or builds anything.
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
fuzz --seconds
fuzz --seconds x
fuzz --seconds 1 more
fuzz nonsense
lint --nonsense
lint --all more
EOF
exit $status
