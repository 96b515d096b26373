#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# systemd's own judge on a daemon's unit. Usage: unit_file_test.sh UNIT
set -eu
unit=$1
analyze() { systemd-analyze "$@" 2>&1; }

# Every directive is one that systemd knows. Where the program is installed is not judged.
known=$(analyze verify --man=no "$unit" | grep -v 'is not executable' || true)
[ -z "$known" ] || { echo "systemd-analyze verify: $known"; exit 1; }

# In tenths: 9.6 is a unit that says nothing.
analyze security --offline=true --no-pager --threshold=20 "$unit" >report || { cat report; exit 1; }

# A unit without its directives must not pass, or nothing is judged here.
grep -vE '^(Protect|Private|Restrict|SystemCall|Capability|NoNew|Device|Lock|MemoryDeny)' "$unit" >open.service
if analyze security --offline=true --no-pager --threshold=20 ./open.service >report; then
  echo "a unit that takes nothing away passed"
  exit 1
fi

# With `rdma system set netns exclusive` umad devices open in the network namespace they are in only.
if grep -q '^PrivateNetwork=yes' "$unit"; then
  echo "the kernel refuses umad devices (EPERM) to a private network"
  exit 1
fi
