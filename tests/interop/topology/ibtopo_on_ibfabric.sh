#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# ibtopo beside stock ibnetdiscover on ibfabric: the same lines, by our own sweep and by
# libibnetdisc, and the exit statuses of the contract.
set -eu
bin=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
stock=$(command -v ibnetdiscover || echo /usr/sbin/ibnetdiscover)

die() { echo "FAILED: $*" >&2; exit 1; }
lines() { grep -v '^#' "$1" | sort; }
status() { want=$1; shift; got=0; "$@" > out.txt 2> err.txt || got=$?
  [ "$got" = "$want" ] || { cat err.txt >&2; die "$*: status $got, not $want"; }; }

"$bin/ibfabric" gen lab-like > lab.topo
"$bin/ibfabric" gen superpod-like > superpod.topo
"$bin/ibfabric" gen janus-like > janus.topo
"$bin/ibfabric" gen torus 3x3 --cables 2 > torus.topo
shared=${IBKIT_FABRICS:-$2/../shared/fabrics}
for real in "$shared"/*.topo; do [ -f "$real" ] && cp "$real" .; done

for topo in *.topo; do
  for lids in none keep; do
    "$bin/ibfabric" run "$topo" --lids $lids -- "$stock" -o 32 > stock.txt 2> /dev/null \
      || die "$topo: ibnetdiscover"
    [ "$(wc -l < stock.txt)" -gt 50 ] || die "$topo: ibnetdiscover printed next to nothing"
    for how in own libibnetdisc; do
      "$bin/ibfabric" run "$topo" --lids $lids -- "$bin/ibtopo" --discover $how > ours.txt \
        || die "$topo: ibtopo --discover $how"
      lines stock.txt > a; lines ours.txt > b
      diff a b || die "$topo, lids $lids: ibtopo --discover $how differs from ibnetdiscover"
    done
  done
done

# -f appends the codes that stock appends.
"$bin/ibfabric" run lab.topo -- "$stock" -f > stock.txt
"$bin/ibfabric" run lab.topo -- "$bin/ibtopo" -f > ours.txt
lines stock.txt > a; lines ours.txt > b
diff a b || die "ibtopo -f differs from ibnetdiscover -f"

# A neighbour that does not answer is missing data in any sweep, the very first included.
for silent in 0x0002c90200400000 0x0002c90200400010; do
  for how in own libibnetdisc; do
    status 3 "$bin/ibfabric" run torus.topo -- sh -c \
      '"$0/ibfabric" ctl node silent $1 && exec "$0/ibtopo" --discover $2' "$bin" $silent $how
    [ -s err.txt ] || die "$silent: nobody is said to be silent"
  done
done

# What ibtopo writes it reads.
status 0 "$bin/ibtopo" --load janus.topo
lines out.txt > a; lines janus.topo > b
diff a b || die "--load changes the text"
status 0 "$bin/ibtopo" --load janus.topo --svg janus.svg
[ "$(wc -c < janus.svg)" -lt 5000000 ] || die "the picture is too big"
grep -q '</svg>' janus.svg || die "the picture is cut off"

# The two ends of a cable that have different error correction.
"$bin/ibfabric" gen fat-tree --radix 8 > fec.topo
cat >> fec.topo <<'LINES'
#device leaf-001 fec=rs
#device spine-001 fec=rs
#device leaf-002 fec=rs
#device leaf-002 5 fec=firecode
LINES
status 0 "$bin/ibfabric" run fec.topo -- "$bin/ibtopo" --fec
grep -q '"leaf-002" port 5 has FireCode' err.txt && [ "$(grep -c 'FEC differs' err.txt)" = 1 ] \
  || { cat err.txt; die "FEC: expected one cable"; }
status 2 "$bin/ibtopo" --load fec.topo --fec

# A gateway that a switch has built in behind its fifth port is marked, and no host.
cat > gateway.topo <<'TEXT'
vendid=0x2c9
devid=0xd2f0
switchguid=0x10(10)
Switch	5 "S-0000000000000010"		# "sw" base port 0 lid 0 lmc 0
[1]	"H-0000000000000021"[1](21) 		# "host" lid 0 4xHDR
[5]	"H-0000000000000025"[1](25) 		# "gate" lid 0 4xHDR

vendid=0x2c9
devid=0x101b
caguid=0x21
Ca	1 "H-0000000000000021"		# "host"
[1](21) 	"S-0000000000000010"[1]		# lid 0 lmc 0 "sw" lid 0 4xHDR

vendid=0x2c9
devid=0x101b
caguid=0x25
Ca	1 "H-0000000000000025"		# "gate"
[1](25) 	"S-0000000000000010"[5]		# lid 0 lmc 0 "sw" lid 0 4xHDR
#device sw 5 special=gateway
TEXT
status 0 "$bin/ibfabric" run gateway.topo -- "$bin/ibtopo" --json
[ "$(grep -c '"built_in"' out.txt)" = 1 ] || die "what is built in is not marked"
status 0 "$bin/ibfabric" run gateway.topo -- "$bin/ibtopo" --svg gateway.svg
grep -q '1 switch, 1 channel adapter, 2 cables, 1 other node built into switches$' out.txt \
  || { cat out.txt; die "what is built in counts as a host"; }

status 0 "$bin/ibtopo" --help
status 2 "$bin/ibtopo" --nonsense
status 2 "$bin/ibtopo" --load missing.topo
status 2 "$bin/ibtopo" --load lab.topo --json --dot
status 2 "$bin/ibtopo" --load lab.topo --json --svg -
status 2 timeout 10 "$bin/ibtopo" --load /dev/zero
grep -q '^ibtopo: /dev/zero: expected a regular file or a pipe, got a device or socket$' err.txt \
  || { cat err.txt; die "a device: not said"; }
status 2 "$bin/ibtopo" --load .
status 0 sh -c "cat lab.topo | $bin/ibtopo --load /dev/stdin"

# Files as people keep them, and one that ends in the middle.
{ printf 'Script started on Sun Feb 21\n[root@head ~]# ibnetdiscover\n'
  sed -e 's/^\(Switch\|Ca\)\t/\1/' -e 's/$/\r\r/' -e 's/^\r/ \t\r/' lab.topo; } > kept.topo
status 0 "$bin/ibtopo" --load kept.topo
lines out.txt > a; lines lab.topo > b
diff a b || die "a file as people keep it is not read as it is meant"
[ "$(wc -l < err.txt)" = 4 ] || { cat err.txt; die "expected a warning a kind"; }
is_cut() { status 3 "$bin/ibtopo" --load cut.topo
  [ "$(grep -c 'the file does not describe' err.txt)" = 1 ] && [ "$(wc -l < err.txt)" = 1 ] \
    || { cat err.txt; die "a file that ends in the middle: expected one line"; }; }
head -c $(($(wc -c < janus.topo) / 2 - 3)) janus.topo > cut.topo; is_cut
sed '$d' lab.topo > cut.topo; is_cut
sed '/^Switch/q' lab.topo > cut.topo; is_cut
printf '# nothing\n' > bad.topo
status 2 "$bin/ibtopo" --load bad.topo
grep -q '^ibtopo: bad.topo:2:1: expected a node, got the end of the file$' err.txt \
  || { cat err.txt; die "empty file: not said"; }
printf 'vendid=0x2c9\nSwitch x\n' > bad.topo
status 2 "$bin/ibtopo" --load bad.topo --svg never.svg
grep -q '^ibtopo: bad.topo:2:8: expected a number of ports, 1 to 254, got .x.$' err.txt \
  || { cat err.txt; die "bad file: not said where"; }
[ ! -e never.svg ] || die "a bad file left half a picture"
printf '0x10 alpha\n' > map
status 2 "$bin/ibtopo" --load lab.topo --node-name-map map
grep -q 'map:1:6: expected a name in quotes' err.txt || die "bad map: not said where"
if [ ! -d /sys/class/infiniband ] || [ -z "$(ls /sys/class/infiniband)" ]; then
  status 4 "$bin/ibtopo"
  grep -q ibfabric err.txt || die "no HCA: ibfabric not named"
fi
echo ok
