#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# UmadPort against Debian's ibsim: the local node and its neighbour by NodeInfo, then twenty thousand
# requests with 256 under way, by both ways of receiving. What is expected is what ibsim's own file
# says.
#
#   umad_on_ibsim.sh PROBE
set -u
probe=$1
net=/usr/share/doc/ibsim-utils/net-examples/net.2sw2path4hca
. "$(dirname "$(readlink -f "$0")")/../ibsim.sh"
start_ibsim "ibkit-umad-$$" "$net" || { echo "ibsim ended:"; cat ibsim.log; exit 1; }

cat >wanted <<'EOF'
port ibsim0 1 guid 0x0000000000100001 state 2
node 0 guid 0x0000000000100000 type 1 ports 2
node 0,1 guid 0x0000000000200000 type 2 ports 8
answered 20000 unanswered 0
EOF
for way in direct thread; do
  SIM_HOST=Hca1 LD_PRELOAD=$umad2sim timeout 60 "$probe" $way 20000 >got || {
    echo "$way: status $?"
    cat got
    exit 1
  }
  diff wanted got || { echo "$way: differs"; exit 1; }
done
