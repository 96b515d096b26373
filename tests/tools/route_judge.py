#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A second opinion on routes: follows every pair of hosts, one at a time, the plain way.

    route_judge.py TOPOLOGY LFTS [--sls FILE] [--sl2vl FILE] [--json]

TOPOLOGY is ibnetdiscover's text, LFTS dump_fts's or opensm-lfts.dump, the others are described in
doc/formats.md. It shares no code with libdiag/tables, and takes minutes where that takes
milliseconds.

Pairs that no cabling joins are none: of those only loops are looked for.

  pairs         (switch with hosts, LID)
  apart         those that no cabling joins
  unreachable   (switch with hosts, LID) whose walk does not end where the LID is, loops included
  loops         those that have not arrived after 64 hops
  credit_loops  (link, VL) that Kahn's order of the dependency graph leaves over, all pairs of hosts
                in both directions, each on its SL
  asymmetric    pairs of switches whose hosts use one SL there and another back
  dropped       switch ports towards which some SL in use is on VL 15
Exit status: 0 nothing found, 1 something found, 2 usage.
"""
import argparse
import collections
import json
import re
import sys

HOPS_MAX = 64


class Topology:
    """Nodes by file id; LIDs of switches and of host ports."""

    def __init__(self, path):
        self.switch = {}  # id -> guid
        self.peer = {}  # (id, port) -> (id, port)
        self.switch_lid = {}  # id -> (lid, lmc)
        self.host_lid = {}  # (id, port) -> (lid, lmc)
        self.guid = {}  # port or switch guid -> (id, port)
        node = guid = None
        for line in open(path, encoding="utf-8", errors="replace"):
            if match := re.match(r"(switch|ca|rt)guid=0x([0-9a-f]+)", line):
                guid = int(match[2], 16)
            elif match := re.match(r'(Switch|Ca|Rt)\s+(\d+)\s+"([^"]+)"(.*)', line):
                node = match[3]
                if match[1] == "Switch":
                    self.switch[node] = guid
                    self.guid[guid] = (node, 0)
                    if lid := re.search(r"lid (\d+) lmc (\d+)", match[4]):
                        self.switch_lid[node] = (int(lid[1]), int(lid[2]))
            elif node and (match := re.match(
                    r'\[(\d+)\](?:\[[^\]]*\])?(?:\(([0-9a-f]+)\))?\s+"([^"]+)"\[(\d+)\](.*)', line)):
                port = int(match[1])
                self.peer[node, port] = (match[3], int(match[4]))
                if node not in self.switch:
                    if match[2]:
                        self.guid[int(match[2], 16)] = (node, port)
                    if lid := re.search(r"# *lid (\d+) lmc (\d+)", match[5]):
                        self.host_lid[node, port] = (int(lid[1]), int(lid[2]))
            elif not line.strip():
                node = None
        self.links = collections.defaultdict(list)  # switch -> its cables
        for here, there in self.peer.items():
            self.links[here[0]].append((here, there))
        # LID -> (switch, port): where a walk must end; port 0 is the switch itself.
        self.ends = {}
        self.sources = collections.defaultdict(list)  # switch -> ports of hosts with a LID
        for node, (lid, lmc) in self.switch_lid.items():
            for i in range(1 << lmc):
                if lid:
                    self.ends[lid + i] = (node, 0)
        for where, (lid, lmc) in self.host_lid.items():
            leaf = self.peer[where]
            if leaf[0] not in self.switch or not lid:
                continue
            self.sources[leaf[0]].append(leaf[1])
            for i in range(1 << lmc):
                self.ends[lid + i] = leaf

    def pieces(self):
        """A name for the piece of the fabric that each switch is in."""
        piece = {}
        for start in self.switch:
            if start in piece:
                continue
            piece[start], queue = start, [start]
            while queue:
                node = queue.pop()
                for (here, _), (there, _) in self.links.get(node, ()):
                    if there in self.switch and there not in piece:
                        piece[there] = start
                        queue.append(there)
        return piece

    def switch_of(self, guid):
        node, port = self.guid[guid]
        return node if node in self.switch else self.peer[node, port][0]


def read_lfts(path, topology):
    tables, table = {}, None
    for line in open(path, encoding="utf-8", errors="replace"):
        if match := re.match(r"Unicast lids .* guid 0x([0-9a-f]+) ", line):
            table = tables.setdefault(topology.switch_of(int(match[1], 16)), {})
        elif match := re.match(r"0x([0-9a-f]+) (\d{3})", line):
            table[int(match[1], 16)] = int(match[2])
    return tables


def read_sections(path, topology):
    """Yields (id, port) of a section's header with each of its rows."""
    where = None
    for line in open(path, encoding="utf-8", errors="replace"):
        line = line.strip()
        if match := re.match(r"(?:Switch|Channel Adapter|Router) 0x([0-9a-f]+)", line):
            where = topology.guid[int(match[1], 16)]
        elif line and not line.startswith("#"):
            yield where, line


def read_sl2vl(path, topology):
    rows = {}
    for (node, _), line in read_sections(path, topology):
        ports, vls = line.split(":")
        inp, out = map(int, ports.split())
        if node in topology.switch:
            rows[node, inp, out] = list(map(int, vls.split()))
    return rows


def read_sls(path, topology):
    sls = {}
    for (node, port), line in read_sections(path, topology):
        lids, sl = line.split(" : ")
        first, _, last = lids.strip().partition("-")
        ports = topology.sources[node] if node in topology.switch else [topology.peer[node, port][1]]
        leaf = node if node in topology.switch else topology.peer[node, port][0]
        for lid in range(int(first, 16), int(last or first, 16) + 1):
            for source in ports:
                sls[leaf, source, lid] = int(sl)
    return sls


class Judge:
    def __init__(self, topology, tables, sls, sl2vl):
        self.topology, self.tables, self.sls, self.sl2vl = topology, tables, sls, sl2vl
        self.after = collections.defaultdict(set)  # (switch, port, vl) -> those taken next
        self.dropped = set()

    def vl(self, switch, inp, out, sl):
        if self.sl2vl is None:
            return sl if self.sls is not None else 0
        row = self.sl2vl.get((switch, inp, out))
        return row[sl] if row else sl

    def walk(self, leaf, lid):
        """Hops [(switch, port)] from a switch, and how it ends."""
        hops, switch = [], leaf
        end = self.topology.ends[lid]
        for _ in range(HOPS_MAX + 1):
            port = self.tables.get(switch, {}).get(lid, 255)
            if switch == end[0]:
                return hops, "arrives" if port == end[1] else "lost"
            peer = self.topology.peer.get((switch, port))
            if port == 0 or peer is None or peer[0] not in self.topology.switch or peer[0] == switch:
                return hops, "lost"
            hops.append((switch, port))
            switch = peer[0]
        return hops, "loop"

    def flow(self, hops, end, source_port, sl):
        """What a host's packets on `sl` hold and wait for along their way."""
        inp, before = source_port, None
        for switch, port in hops:
            vl = self.vl(switch, inp, port, sl)
            if vl == 15:
                self.dropped.add((switch, port))
                return
            if before:
                self.after[before].add((switch, port, vl))
            before = (switch, port, vl)
            inp = self.topology.peer[switch, port][1]
        # The link to the host waits for nobody.
        if end and self.vl(end[0], inp, end[1], sl) == 15:
            self.dropped.add(end)

    def credit_loops(self):
        waiting = collections.Counter()
        for nexts in self.after.values():
            for node in nexts:
                waiting[node] += 1
        nodes = set(self.after) | set(waiting)
        ready = [node for node in nodes if not waiting[node]]
        for node in ready:
            for follower in self.after.get(node, ()):
                waiting[follower] -= 1
                if not waiting[follower]:
                    ready.append(follower)
        return len(nodes) - len(ready)

    def run(self):
        topology = self.topology
        piece = topology.pieces()
        pairs = apart = unreachable = loops = 0
        for leaf, ports in topology.sources.items():
            for lid, end in topology.ends.items():
                hops, how = self.walk(leaf, lid)
                loops += how == "loop"
                if piece[leaf] != piece[end[0]]:
                    apart += 1
                    continue
                pairs += 1
                unreachable += how != "arrives"
                if end[1] == 0:
                    continue
                for port in ports:
                    if (leaf, port) == end:
                        continue
                    sl = self.sls.get((leaf, port, lid), 0) if self.sls is not None else 0
                    self.flow(hops, end if how == "arrives" else None, port, sl)
        return {
            "pairs": pairs,
            "apart": apart,
            "unreachable": unreachable,
            "loops": loops,
            "credit_loops": self.credit_loops(),
            "asymmetric": self.asymmetric(),
            "dropped": len(self.dropped),
        }

    def asymmetric(self):
        """By pairs of switches, as hosts of one switch share their SLs."""
        used, piece = collections.defaultdict(set), self.topology.pieces()
        for (leaf, _, lid), sl in (self.sls or {}).items():
            end = self.topology.ends.get(lid)
            if end and end[1] != 0 and piece[leaf] == piece[end[0]]:
                used[leaf, end[0]].add(sl)
        return sum(1 for (a, b) in used if a < b and used[a, b] != used.get((b, a), {0}))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("topology")
    parser.add_argument("lfts")
    parser.add_argument("--sls", help="SLs of paths")
    parser.add_argument("--sl2vl", help="SL2VL tables")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    topology = Topology(options.topology)
    verdict = Judge(
        topology, read_lfts(options.lfts, topology),
        read_sls(options.sls, topology) if options.sls else None,
        read_sl2vl(options.sl2vl, topology) if options.sl2vl else None).run()
    if options.json:
        print(json.dumps(verdict))
    else:
        for key, value in verdict.items():
            print(f"{key}: {value}")
    return int(any(value for key, value in verdict.items() if key not in ("pairs", "apart")))


if __name__ == "__main__":
    sys.exit(main())
