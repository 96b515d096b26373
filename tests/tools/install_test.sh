#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What `cmake --install` puts into a prefix runs from there, helpers and library included, and the units name it.
#
#   install_test.sh CMAKE BUILD_DIR
set -u
cmake=$1
build=$2
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
prefix=$dir/usr
fail() { echo "FAILED: $*"; exit 1; }

"$cmake" --install "$build" --prefix "$prefix" >"$dir/log" 2>&1 || fail "cmake --install: $(tail -5 "$dir/log")"
cd "$dir" || exit 1
unset IBFABRIC_PRELOAD
export PATH=$prefix/sbin:$prefix/bin:/usr/bin:/bin

for program in sbin/ibsm sbin/ibtopo sbin/ibroutes sbin/ibpath sbin/ibtracer sbin/ibtracerd bin/ibfabric; do
  name=${program#*/}
  [ "$(command -v "$name")" = "$prefix/$program" ] || fail "$name is not in $program"
  "$name" --help >/dev/null || fail "$name --help: status $?"
  page=$(ls "$prefix"/share/man/man[18]/"$name".[18]) || fail "$name has no man page"
  case "${page##*.} $program" in
    1\ bin/* | 8\ sbin/*) ;;
    *) fail "$program has $page" ;;
  esac
done

[ -f "$prefix/share/ibkit/schema/plan-2.json" ] || fail "the JSON Schema files are not installed"
[ -f "$prefix/share/man/man7/ibkit.7" ] || fail "ibkit(7) is not installed"

ibfabric gen fat-tree --levels 2 --radix 8 >fabric.topo || fail "ibfabric gen"
ibsm plan fabric.topo -R minhop >plan || fail "ibsm plan: status $?: $(cat plan)"
grep -q 'unreachable: 0' plan || fail "ibsm plan: $(cat plan)"
ibfabric run fabric.topo -- ibsm -o --state-dir state -f log >up || fail "ibsm on ibfabric: status $?: $(cat up)"
grep -q '^SUBNET UP ' up || fail "ibsm on ibfabric: $(cat up)"

for daemon in ibsm ibtracerd; do
  start=$(sed -n 's/^ExecStart=\([^ ]*\) .*/\1/p' "$prefix/lib/systemd/system/$daemon.service")
  [ "$start" = "$prefix/sbin/$daemon" ] || fail "the unit of $daemon starts '$start'"
done

# The page and the unit name the places of the files that were chosen.
grep -q "$(sed -n 's/^CONF_DIR:STRING=//p' "$build/CMakeCache.txt")/ibsm.conf" "$prefix/lib/systemd/system/ibsm.service" ||
  fail "the unit of ibsm does not name the options file"
source=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$build/CMakeCache.txt")
"$cmake" -DCONF_DIR=/opt/fabric-a -DPARTITION_CONFIG_FILE=opensm-partitions.conf -DPREFIX_ROUTES_FILE=routes -DQOS_POLICY_FILE=qos \
  -DNODE_NAME_MAP_FILE=node-names "-DFROM=$source/doc/man/ibsm.8" "-DTO=$dir/ibsm.8" -P "$source/cmake/paths_in.cmake" || fail "paths_in"
for place in ibsm.conf 'opensm\\-partitions.conf' routes qos 'node\\-names'; do
  grep -q "/opt/fabric\\\\-a/$place" "$dir/ibsm.8" || fail "the page of ibsm does not name /opt/fabric-a/$place"
done
grep -q '/etc/ibsm' "$dir/ibsm.8" && fail "the page of ibsm names the usual places: $(grep /etc/ibsm "$dir/ibsm.8")"
if grep -q '^CONF_DIR:STRING=/etc/ibsm$' "$build/CMakeCache.txt"; then
  "$cmake" -E compare_files "$prefix/share/man/man8/ibsm.8" "$source/doc/man/ibsm.8" || fail "the usual places are not those of the page"
fi

# For a package: into a folder that will be / elsewhere.
DESTDIR=$dir/package "$cmake" --install "$build" --prefix /usr >"$dir/log" 2>&1 || fail "DESTDIR: $(tail -5 "$dir/log")"
[ -x package/usr/sbin/ibsm ] || fail "DESTDIR: no ibsm"
for daemon in ibsm ibtracerd; do
  grep -q "^ExecStart=/usr/sbin/$daemon " package/usr/lib/systemd/system/$daemon.service || fail "DESTDIR: the unit of $daemon"
done
