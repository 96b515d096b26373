#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Without any InfiniBand port a program says so, names ibfabric, and ends with 4.
set -u
[ -e /sys/class/infiniband ] && ls /sys/class/infiniband | grep -q . && exit 0  # this host has one
said=$("$1" direct 1 2>&1)
[ $? -eq 4 ] || { echo "status is not 4"; exit 1; }
[ "$said" = "no InfiniBand port on this host: no device in /sys/class/infiniband; to try without \
hardware: ibfabric run TOPOLOGY -- COMMAND" ] || { echo "$said"; exit 1; }
