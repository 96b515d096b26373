# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A table of SA requests, asked of stock opensm and then of ibsm on one live fabric: ports keep their
LIDs, and the tree has one way between any two nodes, so that both route alike. Record by record
the answers are equal, except for what DIFFERENCES lists; doc/sa.md says why."""
import random
import struct
import subprocess
import sys
import unittest

from fabric import TESTS, Fabric, stop, wait_until
from side_by_side import ibsm

SA_KEY = 1
FULL = 0
HERE, THERE = "host0001 HCA-1", "host0009 HCA-1"
MEMBERS = (THERE, "host0002 HCA-1", "host0005 HCA-1")
# Values that no 8-bit or 16-bit number of these fabrics has.
BEYOND = (13, 63, 254, 255, 0xBFFF, 0xFFFF)
# opensm reads outside its tables for these.
READS_OUTSIDE = {("SLtoVLMappingTableRecord", 1), ("SLtoVLMappingTableRecord", 2)}
# Components that opensm does not compare, or by rules of its own; see doc/sa.md.
NOT_ASKED = {
    # BaseLID, InitTypeReply, MaxCreditHint, LinkRoundTripLatency
    "PortInfoRecord": (5, 30, 50, 52),
    "GUIDInfoRecord": tuple(range(4, 12)),  # the GUIDs
    "P_KeyTableRecord": (1,),  # BlockNum
    "MCMemberRecord": (11, 17),  # PacketLifeTime, ProxyJoin
    "PathRecord": (6,),  # RawTraffic
}
# And these where LMC is not 0: opensm masks every LID with it, a switch's too.
NOT_ASKED_WITH_LMC = {"LinkRecord": (0, 3)}
# Values that are in no table of these fabrics, and worth asking for: by component bit.
MORE = {
    "PathRecord": {1: (0x1000,), 8: (1,), 9: (1, 255), 10: (1, 255), 11: (0, 1), 12: (0, 1, 2, 127),
                   13: (0x7FFF, 0x8001, 0), 14: (1, 255), 15: (1,), 16: (0, 1, 2, 3),
                   17: (0, 1, 3, 4, 5, 6, 63), 18: (0, 1, 2, 3), 19: (2, 3, 6, 7, 10, 15, 16, 17, 26),
                   20: (0, 1, 2, 3), 21: (0, 17, 18, 19, 63)},
    "MCMemberRecord": {4: (0, 1, 2, 3), 5: (1, 3, 4, 5), 8: (0, 1, 2, 3), 9: (2, 3, 6, 16),
                       10: (0, 1, 2, 3), 16: (1, 2, 4, 8, 15)},
}
# Values that opensm takes for something else: a block that says "all", an SL that no route has.
NOT_VALUES = {("GUIDInfoRecord", 1): (255,), ("PathRecord", 15): (13,)}
# Of those two many more random ones are asked than the 60 of the others.
TURNS = {"PathRecord": 600, "MCMemberRecord": 300}
# Fields that are not compared: (byte, first bit, bits).
FIELDS = {
    "PortInfoRecord": [(4 + 51, 1, 2)],           # MulticastPKeyTrapSuppressionEnabled: not set by opensm
    "SLtoVLMappingTableRecord": [(8, 0, 64)],     # opensm reads no tables of devices
    "VLArbitrationTableRecord": [(8, 0, 512)],    # nor these
    "SwitchInfoRecord": [(4 + 18, 0, 16)],        # MulticastFDBTop: not programmed by opensm
    "SMInfoRecord": [(4 + 16, 0, 32)],            # ActCount: how many MADs it took
    "PathRecord": [(0, 0, 64)],                   # ServiceID: not given back by opensm
}
# Pairs of statuses, opensm's and ours. A GID of another subnet is an error, not an empty answer.
STATUSES = {"PathRecord": (("0000", "0500"), ("0300", "0500"))}


class Attribute:
    """Component bits as the specification's tables have them: bit -> (byte, first bit, bits)."""

    def __init__(self, name, number, size, fields, trusted_only=False):
        self.name, self.number, self.size = name, number, size
        self.fields, self.trusted_only = fields, trusted_only


def in_row(first_bit, byte, count, bits):
    return {first_bit + i: (byte + i * bits // 8, 0, bits) for i in range(count)}


def shifted(fields, by):
    return {bit: (byte + by, first, bits) for bit, (byte, first, bits) in fields.items()}


NODE_INFO = {2: (0, 0, 8), 3: (1, 0, 8), 4: (2, 0, 8), 5: (3, 0, 8), 6: (4, 0, 64), 7: (12, 0, 64),
             8: (20, 0, 64), 9: (28, 0, 16), 10: (30, 0, 16), 11: (32, 0, 32), 12: (36, 0, 8),
             13: (37, 0, 24)}
PORT_INFO = {
    4: (8, 0, 64), 5: (16, 0, 16), 6: (18, 0, 16), 7: (20, 0, 32), 8: (24, 0, 16), 9: (26, 0, 16),
    10: (28, 0, 8), 11: (29, 0, 8), 12: (30, 0, 8), 13: (31, 0, 8), 14: (32, 0, 4), 15: (32, 4, 4),
    16: (33, 0, 4), 17: (33, 4, 4), 18: (34, 0, 2), 20: (34, 5, 3), 21: (35, 0, 4), 22: (35, 4, 4),
    23: (36, 0, 4), 24: (36, 4, 4), 25: (37, 0, 4), 26: (37, 4, 4), 27: (38, 0, 8), 28: (39, 0, 8),
    29: (40, 0, 8), 30: (41, 0, 4), 31: (41, 4, 4), 32: (42, 0, 3), 33: (42, 3, 5), 34: (43, 0, 4),
    35: (43, 4, 1), 36: (43, 5, 1), 37: (43, 6, 1), 38: (43, 7, 1), 39: (44, 0, 16),
    40: (46, 0, 16), 41: (48, 0, 16), 42: (50, 0, 8), 43: (51, 0, 1), 45: (51, 3, 5),
    47: (52, 3, 5), 48: (53, 0, 4), 49: (53, 4, 4), 50: (54, 0, 16), 52: (57, 0, 24),
    53: (60, 0, 16), 54: (62, 0, 4), 55: (62, 4, 4), 57: (63, 3, 5)}
PATH = {0: (0, 0, 8), 1: (1, 0, 56), 2: (8, 0, 128), 3: (24, 0, 128), 4: (40, 0, 16), 5: (42, 0, 16),
        6: (44, 0, 1), 8: (44, 4, 20), 9: (47, 0, 8), 10: (48, 0, 8), 11: (49, 0, 1), 12: (49, 1, 7),
        13: (50, 0, 16), 14: (52, 0, 12), 15: (53, 4, 4), 16: (54, 0, 2), 17: (54, 2, 6),
        18: (55, 0, 2), 19: (55, 2, 6), 20: (56, 0, 2), 21: (56, 2, 6)}
MEMBER = {0: (0, 0, 128), 1: (16, 0, 128), 2: (32, 0, 32), 3: (36, 0, 16), 4: (38, 0, 2), 5: (38, 2, 6),
          6: (39, 0, 8), 7: (40, 0, 16), 8: (42, 0, 2), 9: (42, 2, 6), 10: (43, 0, 2), 11: (43, 2, 6),
          12: (44, 0, 4), 13: (44, 4, 20), 14: (47, 0, 8), 15: (48, 0, 4), 16: (48, 4, 4),
          17: (49, 0, 1)}

ATTRIBUTES = [
    Attribute("NodeRecord", 0x11, 108,
              {0: (0, 0, 16), **shifted(NODE_INFO, 4), 14: (44, 0, 512)}),
    Attribute("PortInfoRecord", 0x12, 68,
              {0: (0, 0, 16), 1: (2, 0, 8), **shifted(PORT_INFO, 4)}),
    Attribute("SLtoVLMappingTableRecord", 0x13, 16, {0: (0, 0, 16), 1: (2, 0, 8), 2: (3, 0, 8)}),
    Attribute("SwitchInfoRecord", 0x14, 24, {0: (0, 0, 16)}),
    Attribute("LinearFDTRecord", 0x15, 72, {0: (0, 0, 16), 1: (2, 0, 16)}),
    Attribute("MulticastFDTRecord", 0x17, 72, {0: (0, 0, 16), 1: (2, 0, 4), 3: (2, 7, 9)}),
    Attribute("SMInfoRecord", 0x18, 25, {0: (0, 0, 16), 2: (4, 0, 64), 5: (24, 0, 4),
                                         6: (24, 4, 4)}),
    Attribute("LinkRecord", 0x20, 6, {0: (0, 0, 16), 1: (2, 0, 8), 2: (3, 0, 8), 3: (4, 0, 16)}),
    Attribute("GUIDInfoRecord", 0x30, 72, {0: (0, 0, 16), 1: (2, 0, 8), **in_row(4, 8, 8, 64)}),
    Attribute("ServiceRecord", 0x31, 176, {0: (0, 0, 64), 1: (8, 0, 128), 2: (24, 0, 16),
                                           6: (48, 0, 512)}),
    Attribute("P_KeyTableRecord", 0x33, 72, {0: (0, 0, 16), 1: (2, 0, 16), 2: (4, 0, 8)}, True),
    Attribute("PathRecord", 0x35, 64, PATH),
    Attribute("VLArbitrationTableRecord", 0x36, 72, {0: (0, 0, 16), 1: (2, 0, 8), 2: (3, 0, 8)}),
    Attribute("MCMemberRecord", 0x38, 52, MEMBER),
    Attribute("InformInfoRecord", 0xF3, 60, {0: (0, 0, 128), 1: (16, 0, 16)}),
]
MULTI = {0: (0, 0, 1), 2: (0, 4, 20), 3: (3, 0, 8), 4: (4, 0, 8), 5: (5, 0, 1), 6: (5, 1, 7), 7: (6, 0, 16),
         8: (8, 0, 12), 9: (9, 4, 4), 10: (10, 0, 2), 11: (10, 2, 6), 12: (11, 0, 2), 13: (11, 2, 6),
         14: (12, 0, 2), 15: (12, 2, 6), 17: (14, 0, 2), 19: (15, 0, 8), 20: (16, 0, 8)}
# It is answered with PathRecords.
MULTI_PATH = Attribute("MultiPathRecord", 0x3A, 64, MULTI)
MULTI_VALUES = {2: (0,), 3: (0,), 4: (0,), 5: (0, 1), 6: (0, 1, 2, 3, 127), 7: (0xFFFF, 0x7FFF, 0x8001),
                8: (0,), 9: (0, 1), 10: (0, 1, 2, 3), 11: (3, 4, 5, 6, 0), 12: (0, 1, 2, 3),
                13: (16, 3, 15, 17, 0), 14: (0, 1, 2, 3), 15: (18, 17, 19, 0), 17: (0,)}
CLASS_PORT_INFO = Attribute("ClassPortInfo", 0x01, 72, {})

BY_NAME = {attribute.name: attribute for attribute in ATTRIBUTES}


def get_bits(record, field):
    byte, first, bits = field
    value = int.from_bytes(record, "big")
    return value >> (len(record) * 8 - byte * 8 - first - bits) & ((1 << bits) - 1)


def set_bits(record, field, value):
    byte, first, bits = field
    shift = len(record) * 8 - byte * 8 - first - bits
    whole = int.from_bytes(record, "big") & ~(((1 << bits) - 1) << shift)
    return (whole | value << shift).to_bytes(len(record), "big")


class Request:
    def __init__(self, attribute, method="table", mask=FULL, record=b"", key=SA_KEY, modifier=0):
        self.attribute, self.method, self.mask = attribute, method, mask
        self.record, self.key, self.modifier = record, key, modifier

    def line(self):
        return (f"{self.method} {self.attribute.number:x} {self.modifier:x} {self.mask:x} "
                f"{self.key:x} {self.record.hex() or '00'}")

    def __str__(self):
        record = self.record if self.attribute is not MULTI_PATH else self.record[:24]
        asked = {bit: hex(get_bits(record, field))
                 for bit, field in self.attribute.fields.items() if self.mask >> bit & 1}
        return f"{self.method}({self.attribute.name}) key {self.key} {asked or 'all'}"


class Answer:
    def __init__(self, status, records):
        self.status, self.records = status, records


def ask(f, at, requests):
    """All requests in one run of the probe, on host `at`."""
    result = subprocess.run(f.command(at, TESTS / "raw_sa_probe"), text=True, capture_output=True,
                            input="".join(r.line() + "\n" for r in requests), timeout=80)
    assert result.returncode == 0, result.stderr
    lines = iter(result.stdout.splitlines())
    answers = []
    for request in requests:
        status, count = next(lines).split()
        answers.append(Answer(status, [bytes.fromhex(next(lines))[:request.attribute.size]
                                       for _ in range(int(count))]))
    return answers


def together(attribute, mask, key):
    """The mask without what opensm compares by rules of its own; see doc/sa.md."""
    if attribute.name == "MCMemberRecord":
        for selector, value in (4, 5), (8, 9):
            if mask >> value & 1:
                mask |= 1 << selector
        if key == 0:
            mask &= ~(1 << 16)  # JoinState
    return mask


def questions(attribute, full, lmc):
    """What is asked about an attribute whose full table is `full`."""
    out = [Request(attribute, key=0), Request(attribute, "get"), Request(attribute, "get", key=0)]
    if not full:
        return out
    rng = random.Random(lmc)
    keys = (SA_KEY,) if attribute.trusted_only else (0, SA_KEY)
    not_asked = NOT_ASKED.get(attribute.name, ())
    if lmc != "0":
        not_asked += NOT_ASKED_WITH_LMC.get(attribute.name, ())
    fields = {bit: field for bit, field in attribute.fields.items() if bit not in not_asked}
    for bit, field in fields.items():
        values = sorted({get_bits(record, field) for record in full})
        values = values if len(values) <= 4 else rng.sample(values, 4)
        if (attribute.name, bit) not in READS_OUTSIDE:
            values += [v for v in BEYOND if v < 1 << field[2]]
        values += MORE.get(attribute.name, {}).get(bit, ())
        values = [v for v in values if v not in NOT_VALUES.get((attribute.name, bit), ())]
        for value in values:
            record = set_bits(full[0], field, value)
            # All-to-all is asked of paths by their own ends alone.
            mask = 1 << bit | (1 << 5 if attribute.name == "PathRecord" and bit > 5 else 0)
            out += [Request(attribute, "table", together(attribute, mask, key), record, key)
                    for key in keys if mask != 1 << 16 or key or attribute.name != "MCMemberRecord"]
            out.append(Request(attribute, "get", together(attribute, mask, keys[-1]), record, keys[-1]))
    for turn in range(TURNS.get(attribute.name, 60)):
        record = rng.choice(full)
        mask = sum(1 << bit for bit in fields if rng.random() < (0.3 if turn % 2 else 0.8))
        if attribute.name == "PathRecord":
            mask |= 1 << 5  # all-to-all is asked once
        if rng.random() < 0.3:
            other = rng.choice(full)
            bit = rng.choice(sorted(fields))
            record = set_bits(record, fields[bit], get_bits(other, fields[bit]))
        for bit, values in MORE.get(attribute.name, {}).items():
            if rng.random() < 0.25:
                record = set_bits(record, fields[bit], rng.choice(values))
        key = rng.choice(keys)
        out.append(Request(attribute, "table", together(attribute, mask, key), record, key))
    return out


def multi_questions(gids, lmc):
    """GetMulti between random groups of ports, with random conditions."""
    rng = random.Random(lmc + "multi")
    out = []
    for _ in range(300):
        counts = rng.choice((1, 1, 2, 2, 3, 4)), rng.choice((1, 1, 2, 2, 3, 4))
        ends = [gid for count in counts for gid in rng.sample(gids, count)]  # none twice
        if rng.random() < 0.1:
            ends[rng.randrange(len(ends))] = rng.choice((bytes(16), bytes.fromhex("fe80") + bytes(13) + b"\x99",
                                                         bytes.fromhex("2001") + bytes(13) + b"\1"))
        record, mask = bytes(24), 1 << 19 | 1 << 20
        values = {bit: rng.choice(values) for bit, values in MULTI_VALUES.items() if rng.random() < 0.3}
        for selector in (10, 12, 14):  # never one without the other
            if values.keys() & {selector, selector + 1}:
                for bit in (selector, selector + 1):
                    values.setdefault(bit, rng.choice(MULTI_VALUES[bit]))
        for bit, value in (*values.items(), (19, counts[0]), (20, counts[1])):
            record, mask = set_bits(record, MULTI[bit], value), mask | 1 << bit
        out.append(Request(MULTI_PATH, "multi", mask, record + b"".join(ends), rng.choice((0, SA_KEY))))
    return out


class Subnet:
    """What the records say of the subnet, so that differences can be told by it."""

    def __init__(self, nodes, ports, lmc="0"):
        self.many_lids = lmc != "0"
        self.switches = {get_bits(r, (0, 0, 16)) for r in nodes if get_bits(r, (4 + 2, 0, 8)) == 2}
        self.down = {(get_bits(r, (0, 0, 16)), r[2]) for r in ports
                     if get_bits(r, (4 + 32, 4, 4)) == 1}
        self.gids = {r[44:].rstrip(b"\0").decode(): bytes.fromhex("fe80000000000000") + r[24:32]
                     for r in nodes}

    def at_switch(self, path):
        return bool({get_bits(path, (40, 0, 16)), get_bits(path, (42, 0, 16))} & self.switches)

    def is_left_out(self, attribute, record):
        """opensm keeps next to nothing of ports that are down, and does not read their P_Keys."""
        lid = get_bits(record, (0, 0, 16))
        return {"PortInfoRecord": lambda: (lid, record[2]) in self.down,
                "P_KeyTableRecord": lambda: (lid, record[4]) in self.down,
                }.get(attribute.name, lambda: False)()

    def kept(self, attribute, records):
        return [record for record in records if not self.is_left_out(attribute, record)]

    def alike(self, attribute, record, is_theirs):
        """`record` without what is known to differ."""
        for field in FIELDS.get(attribute.name, ()):
            record = set_bits(record, field, 0)
        if attribute.name == "P_KeyTableRecord" and is_theirs:
            # opensm writes the number of the block in its host's order.
            record = record[:2] + record[3:1:-1] + record[4:]
        if attribute in (BY_NAME["PathRecord"], MULTI_PATH):
            # opensm counts a switch's port 0 as a link of 10 Gb/s.
            if self.at_switch(record):
                record = set_bits(record, (55, 2, 6), 0)
        if attribute is MULTI_PATH and self.many_lids:
            record = set_bits(record, (40, 0, 32), 0)  # which of a port's LIDs is anybody's choice
        return record

    def differences(self, request, theirs, ours):
        """What is not equal, and not listed; None where there is nothing."""
        if theirs.status != ours.status:
            pair = (theirs.status, ours.status)
            return None if pair in STATUSES.get(request.attribute.name, ()) else f"status {pair}"

        rate_named = request.attribute.name == "PathRecord" and request.mask & 3 << 18

        def plain(answer):
            if rate_named:
                answer = Answer(answer.status, [r for r in answer.records if not self.at_switch(r)])
            return sorted(self.alike(request.attribute, r, answer is theirs)
                          for r in self.kept(request.attribute, answer.records))

        a, b = plain(theirs), plain(ours)
        if a == b:
            return None
        return (f"{len(a)} records there, {len(b)} here; "
                f"only there {[r.hex() for r in a if r not in b][:2]}, "
                f"only here {[r.hex() for r in b if r not in a][:2]}")


def register(f, subnet):
    """Services, subscriptions and members, the same for both."""
    for host in MEMBERS:
        joined = f.on(host, TESTS / "join_probe", "join", "ff12:401b:ffff::ffff:ffff")
        assert joined.returncode == 0, joined.stdout
    requests = []
    for n in range(3):
        record = (struct.pack(">Q", 0x1000 + n // 2) + subnet.gids[THERE] +
                  struct.pack(">HHI", 0xFFFF, 0, 0xFFFFFFFF) + bytes([n + 1] * 16) +
                  f"service {n}".encode().ljust(64, b"\0") + bytes(range(16)) + bytes(48))
        requests.append(Request(BY_NAME["ServiceRecord"], "set", 0x1FFFFFFFF7, record))
    for trap in (64, 65):
        inform = (bytes(16) + struct.pack(">HHHBBHHIBBH", 0xFFFF, 0, 0, 1, 1, 3, trap, 0x112,
                                          0, 0xFF, 0xFFFF))
        requests.append(Request(Attribute("InformInfo", 0x03, 36, {}), "set", 0, inform))
    for request, answer in zip(requests, ask(f, THERE, requests)):
        assert answer.status == "0000", f"{request}: {answer.status}"


class Compared(unittest.TestCase):
    def compare(self, lmc):
        # One spine, one cable to it from each leaf: there is one way.
        with Fabric("fat-tree", "--radix", "4", "--leaves", "3", "--spines", "1",
                    "--hosts-per-leaf", "3", "--no-lids") as f:
            f.opensm(HERE, "-R", "minhop", "-l", lmc)
            subnet = Subnet(*(answer.records for answer in ask(
                f, THERE, [Request(BY_NAME["NodeRecord"]), Request(BY_NAME["PortInfoRecord"])])), lmc)
            register(f, subnet)
            full = [answer.records for answer in ask(f, THERE, [Request(a) for a in ATTRIBUTES])]
            for attribute, records in zip(ATTRIBUTES, full):
                self.assertTrue(records, attribute.name)
            hosts = [gid for name, gid in sorted(subnet.gids.items()) if name.startswith("host")]
            requests = multi_questions(hosts, lmc)
            requests += [request for attribute, records in zip(ATTRIBUTES, full)
                        for request in questions(attribute, subnet.kept(attribute, records), lmc)]
            theirs = ask(f, THERE, requests)
            stop(f.sm)

            ibsm(f, HERE, "-R", "minhop", "-l", lmc, "-V")
            log = f.directory / "ibsm.log"
            self.assertTrue(wait_until(lambda: "tables: read of 13 nodes" in log.read_text()))
            register(f, subnet)
            ours = ask(f, THERE, requests)

            found = []
            for request, there, here in zip(requests, theirs, ours):
                different = subnet.differences(request, there, here)
                if different:
                    found.append(f"{request}: {different}")
            print(f"{len(requests)} requests, {sum(len(a.records) for a in ours)} records",
                  file=sys.stderr)
            self.assertEqual([], found[:20], f"{len(found)} of {len(requests)} differ")

    def test_one_lid_a_port(self):
        self.compare("0")

    def test_four_lids_a_port(self):
        self.compare("2")


if __name__ == "__main__":
    unittest.main(verbosity=2)
