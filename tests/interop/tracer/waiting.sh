# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Sourced: fail WORD..., and wait_for FILE PATTERN, 10 s at most.
fail() {
  echo "FAILED: $*"
  exit 1
}
wait_for() { # FILE PATTERN
  local i
  for ((i = 0; i < 200; i++)); do
    grep -q -- "$2" "$1" 2>/dev/null && return 0
    sleep 0.05
  done
  return 1
}
