# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Sets and Deletes, and the reads that records_compared leaves out, asked of stock opensm and then of
ibsm on one live fabric. A case is a sequence of requests on a group, service, subscription or block of
its own, so that no case depends on another. Statuses and records are equal, except for what is listed
here; doc/sa.md says why."""
import ipaddress
import struct
import sys
import unittest

from fabric import Fabric, stop, wait_until
from records_compared import (BY_NAME, CLASS_PORT_INFO, HERE, MULTI_PATH, SA_KEY, THERE, Attribute,
                              Request, Subnet, ask, get_bits, register, set_bits)
from side_by_side import ibsm

MEMBER = BY_NAME["MCMemberRecord"]
SERVICE = BY_NAME["ServiceRecord"]
GUIDS = BY_NAME["GUIDInfoRecord"]
INFORM = Attribute("InformInfo", 0x03, 36, {})
JOIN = 0x10003      # MGID, PortGID, JoinState
CREATE = 0x130C7    # and Q_Key, TClass, P_Key, SL, FlowLabel
MTU, RATE, LIFE = 0x30, 0x300, 0xC00  # with their selectors
OTHER = "host0002 HCA-1"
EXACTLY = 2

# Differences of statuses: case -> (opensm's, ibsm's), request by request.
DIFFERENT = {
    "read raw paths": (["0000"], ["0200"]),
    "read paths by the newest rate": (["0200"], ["0000"]),
    "leave half": (["0000", "0000", "0300", "0200", "0200"], ["0000", "0000", "0000", "0200", "0200"]),
    "leave with a rate nobody knows": (["0000", "0200", "0000", "0200"], ["0000", "0000", "0200", "0200"]),
    "service with a lease of 0": (["0000", "0000", "0000", "0300"], ["0000", "0000", "0300", "0300"]),
    "service with a key": (["0000", "0000", "0000", "0000", "0300", "0300"],
                           ["0000", "0700", "0700", "0000", "0000", "0300"]),
    "service without its ID": (["0200", "0000", "0300", "0300"], ["0600", "0000", "0300", "0300"]),
    "service without its GID": (["0200", "0000", "0300", "0300"], ["0600", "0000", "0300", "0300"]),
    "service, a partition not named": (["0000", "0000", "0300", "0300"], ["0200", "0000", "0300", "0300"]),
    "service of another subnet": (["0000", "0000", "0300", "0300"], ["0500", "0000", "0300", "0300"]),
    "subscribe by LIDs upside down": (["0000", "0000", "0000", "0200"], ["0200"] * 4),
    "subscribe by my GUID, another subnet": (["0000", "0000", "0000", "0200"], ["0500", "0500", "0200", "0200"]),
    "subscribe by a GID of another subnet": (["0200"] * 4, ["0500", "0500", "0200", "0200"]),
    "subscribe by my alias": (["0000", "0200", "0200", "0200", "0200", "0000"],
                              ["0000", "0000", "0000", "0000", "0200", "0000"]),
    "subscribe, IsGeneric 2": (["0000", "0000", "0000", "0200"], ["0200"] * 4),
}
# Of these what is in the records follows from the statuses. And of numbers of records:
FINDS = {
    "read members by an MTU alone": ([3], [0]),
    "read members by a rate alone": ([3], [0]),
    "read members by a life alone": ([3], [0]),
    "read members by a life and its selector": ([3], [0]),
    "read members by their state, without the key": ([1], [0]),
    "read members that joined by proxy": ([3], [0]),
    "read many paths from one that is named twice": ([2], [1]),
    "read many paths to one that is named twice": ([2], [1]),
    "read two paths between two that are named twice": ([2], [1]),
}
# Fields that are not compared, (byte, first bit, bits): of every record of an attribute in the answer
# to a method, and of a case.
LIFE_FIELD, HOP_FIELD, SCOPE_FIELD = (43, 2, 6), (47, 0, 8), (48, 0, 4)
PROXY_BYTE = (49, 0, 8)
ECHOED = [(32, 0, 32), (38, 0, 80), (48, 0, 4)]  # all but GIDs, MLID, JoinState, ProxyJoin
NOT_COMPARED = {
    # opensm takes the life from the request, named or not, and 0 is what most leave there.
    ("MCMemberRecord", "set"): [LIFE_FIELD, PROXY_BYTE],
    ("MCMemberRecord", "get"): [LIFE_FIELD, PROXY_BYTE],
    ("MCMemberRecord", "table"): [LIFE_FIELD, PROXY_BYTE],
    ("MCMemberRecord", "delete"): [*ECHOED, PROXY_BYTE],
}
SAYS_OTHERWISE = {
    # CapabilityMask bit 1, Get and Set of Notice; CapabilityMask2 bit 17, NDR
    "read ClassPortInfo": [(3, 6, 1), (5, 1, 1)],
    "read paths by a service": [(0, 0, 64)],
    "create with a scope": [SCOPE_FIELD],
    "create, values that are not named": [HOP_FIELD],
    "create with no MGID": [(0, 0, 128)],
    "join state 15": [(48, 4, 4)],
    "alias by the SM": [(24, 0, 64)],
}


def gid_number(text):
    return ipaddress.IPv6Address(text).packed


class Asker:
    """Builds requests of host THERE."""

    def __init__(self, subnet, lid):
        self.me, self.other, self.lid = subnet.gids[THERE], subnet.gids[OTHER], lid
        self.groups = 0

    def mgid(self):
        """Of a group that nobody else has."""
        self.groups += 1
        return gid_number(f"ff12:401b:ffff::7:{self.groups:x}")

    def member(self, method, mgid, mask=JOIN, key=0, port=None, state=1, **values):
        record = bytes(52)
        fields = {"q_key": 2, "mlid": 3, "mtu_selector": 4, "mtu": 5, "tclass": 6, "p_key": 7,
                  "rate_selector": 8, "rate": 9, "life_selector": 10, "life": 11, "sl": 12, "flow": 13,
                  "hop": 14, "scope": 15, "proxy": 17}
        values = {"q_key": 0xB1B, "p_key": 0xFFFF, "scope": 2, "mtu_selector": EXACTLY,
                  "rate_selector": EXACTLY, "life_selector": EXACTLY, **values}
        record = mgid + (port or self.me) + record[32:]
        record = set_bits(record, MEMBER.fields[16], state)
        for name, value in values.items():
            record = set_bits(record, MEMBER.fields[fields[name]], value)
        return Request(MEMBER, method, mask, record, key)

    def service(self, method, number, mask=0x57, key=0, gid=None, p_key=0xFFFF, lease=0xFFFFFFFF,
                secret=0, name=None):
        record = (struct.pack(">Q", number) + (gid or self.me) + struct.pack(">HHI", p_key, 0, lease) +
                  bytes([secret] * 16) + (name or f"changed {number:x}").encode().ljust(64, b"\0") +
                  bytes(64))
        return Request(SERVICE, method, mask, record, key)

    def inform(self, subscribe, trap, key=0, gid=bytes(16), begin=0xFFFF, end=0, generic=1, kind=3,
               producer=0xFFFFFF):
        record = gid + struct.pack(">HHHBBHHIBBH", begin, end, 0, generic, subscribe, kind, trap, 0x112,
                                   0, producer >> 16, producer & 0xFFFF)
        return Request(INFORM, "set", 0, record, key)

    def guids(self, method, block, mask, guids=(), lid=None, key=0):
        guids = list(guids) + [0] * (8 - len(guids))
        record = struct.pack(">HB5x8Q", self.lid if lid is None else lid, block, *guids)
        return Request(GUIDS, method, mask, record, key)


def groups(a):
    """Cases of MCMemberRecord."""
    def created(*then, mask=CREATE, **values):
        mgid = a.mgid()
        return [a.member("set", mgid, mask, **values),
                *(step(mgid) for step in then),
                a.member("delete", mgid), a.member("delete", mgid)]

    def joined(**values):
        return lambda mgid: a.member("set", mgid, **values)

    cases = {
        "create, join again, look": created(
            joined(), lambda m: a.member("get", m, 1), lambda m: a.member("table", m, 1),
            lambda m: a.member("table", m, 3, SA_KEY), state=1),
        "create with MTU and rate": created(mask=CREATE | MTU | RATE, mtu=4, rate=3),
        "create with a life": created(mask=CREATE | LIFE, life=17),
        "create with a hop limit": created(mask=CREATE | 1 << 14, hop=7),
        "create with a scope": created(mask=CREATE | 1 << 15, scope=5),
        "create, values that are not named": created(hop=7, life=17, scope=2),
        "create with a selector of rate alone": created(mask=CREATE | 1 << 8),
        "create with a selector of MTU alone": created(mask=CREATE | 1 << 4),
        "create with a selector of life alone": created(mask=CREATE | 1 << 10),
        "join with a selector of rate alone": created(joined(mask=JOIN | 1 << 8)),
        "join with a selector of MTU alone": created(joined(mask=JOIN | 1 << 4)),
        "join with a selector of life alone": created(joined(mask=JOIN | 1 << 10, life_selector=1)),
        "join above a rate that is not named": created(joined(mask=JOIN | 1 << 8, rate_selector=0)),
        "join below an MTU that is not named": created(joined(mask=JOIN | 1 << 4, mtu_selector=1)),
        "join with the largest MTU and rate": created(
            joined(mask=JOIN | 1 << 4 | 1 << 8, mtu_selector=3, rate_selector=3)),
        "join by MTU and rate that stand there and are not named": created(
            joined(mask=JOIN | 1 << 4 | 1 << 8, mtu=4, rate=3), mask=CREATE | MTU | RATE, mtu=4, rate=3),
        "create above a rate that is not named": created(mask=CREATE | 1 << 8, rate_selector=0),
        "create below an MTU that is not named": created(mask=CREATE | 1 << 4, mtu_selector=1),
        "create with an MTU alone": created(mask=CREATE | 1 << 5, mtu=4),
        "create with a rate alone": created(mask=CREATE | 1 << 9, rate=2),
        "join and leave by a GID of no subnet": created(
            joined(port=bytes(8) + a.me[8:]), lambda m: a.member("delete", m, port=bytes(8) + a.me[8:])),
        "join by a GID of another subnet": created(joined(port=gid_number("2001::")[:8] + a.me[8:])),
        "create with a rate nobody knows": created(mask=CREATE | RATE, rate=63),
        "create with the newest rate": created(mask=CREATE | RATE, rate=25),
        "create with an MTU nobody knows": created(mask=CREATE | MTU, mtu=6),
        "create with an MTU the port has not": created(mask=CREATE | MTU, mtu=5, mtu_selector=0),
        "create in a partition the port has not": created(p_key=0x8123),
        "create as a limited member": created(p_key=0x7FFF),
        "create by a MLID": created(mask=CREATE | 8, mlid=0xC123),
        "join what is not there": [a.member("set", a.mgid())],
        "leave what is not there": [a.member("delete", a.mgid())],
        "create with no MGID": [a.member("set", bytes(16), CREATE)],
        "create for a port nobody has": [a.member("set", a.mgid(), CREATE, port=gid_number("fe80::77"))],
        "create for a port of another subnet": [
            a.member("set", a.mgid(), CREATE, port=gid_number("2001::1")[:8] + a.me[8:])],
        "join with another Q_Key": created(joined(mask=JOIN | 4, q_key=7)),
        "join with another P_Key": created(joined(mask=JOIN | 1 << 7, p_key=0x8001)),
        "join with another SL": created(joined(mask=JOIN | 1 << 12, sl=3)),
        "join with too great an MTU": created(joined(mask=JOIN | MTU, mtu=5, mtu_selector=0)),
        "join with another rate": created(joined(mask=JOIN | RATE, rate=2)),
        "leave with a rate nobody knows": created(lambda m: a.member("delete", m, JOIN | RATE, rate=63)),
        "leave by other values": created(lambda m: a.member("delete", m, CREATE, q_key=9, sl=4)),
        "leave half": created(lambda m: a.member("delete", m), lambda m: a.member("get", m, 3, SA_KEY), state=9),
        "leave what one is not": created(lambda m: a.member("delete", m, state=4)),
        "a group of non-members": created(state=2),
        "a group of senders": created(state=4),
        "a group of full senders": created(state=8),
        "more states one by one": created(joined(state=2), joined(state=4),
                                          lambda m: a.member("delete", m, state=6)),
        "another port joins": created(joined(port=a.other),
                                      lambda m: a.member("delete", m, port=a.other)),
        "another port joins, said by the trusted": created(
            joined(port=a.other, key=SA_KEY), lambda m: a.member("table", m, 1),
            lambda m: a.member("table", m, 1, SA_KEY),
            lambda m: a.member("delete", m, port=a.other, key=SA_KEY)),
        "a joined port is joined by another": created(joined(port=a.other), joined()),
    }
    for bit, name in ((0, "MGID"), (1, "PortGID"), (2, "Q_Key"), (6, "TClass"), (7, "P_Key"), (12, "SL"),
                      (13, "FlowLabel"), (16, "JoinState")):
        cases[f"create without naming {name}"] = created(mask=CREATE & ~(1 << bit))
    for number, prefix in enumerate(("ff12:a01b:ffff::", "ff12:1234::", "ff32::", "ff15:401b:ffff::",
                                     "ff18:601b:7fff::", "ff1e::", "ff02::", "fa12::")):
        mgid = gid_number(f"{prefix}9:{number}")
        cases[f"create {prefix}"] = [a.member("set", mgid, CREATE, scope=mgid[1] & 15),
                                     a.member("delete", mgid)]
    for state in (0, 16 - 1):
        cases[f"join state {state}"] = created(state=state)
    return cases


def services(a):
    def kept(number, *then, **values):
        return [a.service("set", number, **values), *then, a.service("table", number, 1, SA_KEY),
                a.service("delete", number), a.service("delete", number)]

    return {
        "service": kept(0x2001),
        "service again": kept(0x2002, a.service("set", 0x2002)),
        "service with a lease": kept(0x2003, mask=0x5F, lease=100),
        "service with a lease of 0": kept(0x2004, mask=0x5F, lease=0),
        "service with a key": kept(0x2005, a.service("set", 0x2005, 0x77, secret=2),
                                   a.service("delete", 0x2005, 0x77, secret=2), mask=0x77, secret=1),
        "service without its ID": kept(0x2006, mask=0x56),
        "service without its GID": kept(0x2007, mask=0x55),
        "service without its partition": kept(0x2008, mask=0x53),
        "service, a partition not named": kept(0x2009, mask=0x53, p_key=0x8123),
        "service of no partition": kept(0x200A, p_key=0),
        "service of another partition": kept(0x200B, p_key=0x8123),
        "service of a limited member": kept(0x200C, p_key=0x7FFF),
        "service without its name": kept(0x200D, mask=0x17),
        "service of another subnet": kept(0x200E, gid=gid_number("2001::")[:8] + a.me[8:]),
        "service that is not there": [a.service("get", 0x2FFF, 1), a.service("delete", 0x2FFF)],
        "all services of a name": kept(0x2010, a.service("table", 0, 0x40, name="changed 2010")),
    }


def subscriptions(a):
    def told(trap, **values):
        return [a.inform(1, trap, **values), a.inform(1, trap, **values), a.inform(0, trap, **values),
                a.inform(0, trap, **values)]

    return {
        "subscribe": told(66),
        "subscribe to every trap": told(0xFFFF),
        "subscribe to a trap of security": told(257),
        "subscribe to a trap of security, trusted": told(257, key=SA_KEY),
        "subscribe by LIDs": told(66, begin=1, end=5),
        "subscribe by a LID": told(66, begin=3, end=3),
        "subscribe by LIDs upside down": told(66, begin=5, end=1),
        "subscribe by LID 0": told(66, begin=0),
        "subscribe by my GID": told(66, gid=a.me, begin=0),
        "subscribe by my alias": [a.guids("set", 0, 0x23, (0, 0xAA9)), *told(66, gid=a.me[:8] + bytes(6) + b"\x0a\xa9"),
                                  a.guids("delete", 0, 0x23)],
        "subscribe by my GUID, another subnet": told(66, gid=gid_number("2001::")[:8] + a.me[8:], begin=0),
        "subscribe by a GID of another subnet": told(66, gid=gid_number("2001::77"), begin=0),
        "subscribe by a GID nobody has": told(66, gid=gid_number("fe80::77"), begin=0),
        "subscribe to what is not generic": told(66, generic=0),
        "subscribe, IsGeneric 2": told(66, generic=2),
        "subscribe, Subscribe 2": [a.inform(2, 66)],
        "subscribe to every type": told(66, kind=0xFFFF),
        "subscribe to switches": told(66, producer=2),
    }


def aliases(a):
    return {
        "alias": [a.guids("set", 0, 0x23, (0, 0xAA1)), a.guids("get", 0, 3), a.guids("delete", 0, 0x23),
                  a.guids("get", 0, 3)],
        "alias by the SM": [a.guids("set", 0, 0x43), a.guids("delete", 0, 0x43), a.guids("get", 0, 3)],
        "alias 0": [a.guids("set", 0, 0x13, (0xAA2,)), a.guids("get", 0, 3)],
        "alias that a port has": [a.guids("set", 0, 0x23, (0, int.from_bytes(a.other[8:], "big"))),
                                  a.guids("delete", 0, 0x23)],
        "alias without its LID": [a.guids("set", 0, 0x22, (0, 0xAA3))],
        "alias without its block": [a.guids("set", 0, 0x21, (0, 0xAA4)), a.guids("delete", 0, 0x23)],
        "alias beyond": [a.guids("set", 99, 0x23, (0, 0xAA5)), a.guids("delete", 99, 0x23)],
        "alias of block 1": [a.guids("set", 1, 0x23, (0, 0xAA8)), a.guids("get", 1, 3),
                             a.guids("delete", 1, 0x23)],
        "no alias in block 16": [a.guids("delete", 16, 0x23), a.guids("get", 16, 3)],
        "no alias in block 31": [a.guids("delete", 31, 0x23), a.guids("set", 31, 0x23, (0, 1))],
        "no alias in block 255": [a.guids("delete", 255, 0x23)],
        "alias of LID 0": [a.guids("set", 0, 0x23, (0, 0xAA6), lid=0)],
        "alias of nobody": [a.guids("set", 0, 0x23, (0, 0xAA7), lid=0xBFFF)],
    }


def reads(a):
    """What the two answer otherwise, one by one."""
    path, rate = BY_NAME["PathRecord"], 3 << 18
    by_lid = set_bits(bytes(64), path.fields[5], a.lid)
    to_me = set_bits(by_lid, path.fields[4], a.lid)
    broadcast = gid_number("ff12:401b:ffff::ffff:ffff")

    def paths(mask, record=to_me):
        return [Request(path, "table", 0x30 | mask, record)]

    def members(mask, key=SA_KEY, **values):
        return [a.member("table", broadcast, 1 | mask, key, **values)]

    def multi(sources, destinations, mask=3 << 19, gids=(a.me, a.other), paths=0):
        record = bytes(5) + bytes([paths]) + bytes(9) + bytes([sources, destinations]) + bytes(7) + b"".join(gids)
        return [Request(MULTI_PATH, "multi", mask, record, SA_KEY)]

    return {
        "read ClassPortInfo": [Request(CLASS_PORT_INFO, "get", 0, bytes(72))],
        "read raw paths": paths(1 << 6, set_bits(to_me, path.fields[6], 1)),
        "read paths by a service": paths(3, set_bits(to_me, path.fields[1], 0x1000)),
        "read paths by the newest rate": paths(rate, set_bits(to_me, path.fields[19], 25)),
        "read members by an MTU alone": members(1 << 5, mtu=1),
        "read members by a rate alone": members(1 << 9, rate=2),
        "read members by a life alone": members(1 << 11, life=1),
        "read members by a life and its selector": members(LIFE, life_selector=2, life=1),
        "read members by a selector alone": members(1 << 4, mtu_selector=0, mtu=5),
        "read members by their state, without the key": members(1 << 16, 0, state=1),
        "read members that joined by proxy": members(1 << 17, proxy=1),
        "read many paths from nobody": multi(0, 1),
        "read many paths to nobody": multi(1, 0),
        "read many paths without saying from how many": multi(1, 1, 1 << 20),
        "read many paths without saying to how many": multi(1, 1, 1 << 19),
        "read many paths by the first byte of a service": multi(1, 1, 3 << 19 | 1 << 16),
        "read many paths by the other bytes of a service": multi(1, 1, 3 << 19 | 1 << 21),
        "read many paths from nobody, by half a service": multi(0, 1, 3 << 19 | 1 << 21),
        "read many paths from one that is named twice": multi(2, 1, gids=(a.me, a.me, a.other)),
        "read many paths to one that is named twice": multi(1, 2, gids=(a.me, a.other, a.other)),
        "read two paths between two that are named twice":
            multi(2, 2, 3 << 19 | 1 << 6, (a.me, a.me, a.other, a.other), 2),
        "read paths by the first byte of a service": paths(1),
        "read paths by the other bytes of a service": paths(2),
        "read paths by half a service, and a rate nobody knows":
            paths(1 | rate, set_bits(to_me, path.fields[19], 63)),
    }


def table_of_cases(a):
    return {**reads(a), **groups(a), **services(a), **subscriptions(a), **aliases(a)}


# What two managers may choose as they like.
CHOSEN = {"MCMemberRecord": [(36, 0, 16)]}  # MLID


def plain(case, request, answer):
    fields = (CHOSEN.get(request.attribute.name, []) + SAYS_OTHERWISE.get(case, []) +
              NOT_COMPARED.get((request.attribute.name, request.method), []))
    records = []
    for record in answer.records:
        for field in fields:
            record = set_bits(record, field, 0)
        records.append(record.hex())
    return sorted(records)


def asked(f, cases):
    """Case by case the answers, all of one run of the probe."""
    answers = iter(ask(f, THERE, [request for requests in cases.values() for request in requests]))
    return {case: [next(answers) for _ in requests] for case, requests in cases.items()}


class Changes(unittest.TestCase):
    def test_what_is_set_and_deleted(self):
        with Fabric("fat-tree", "--radix", "4", "--leaves", "3", "--spines", "1",
                    "--hosts-per-leaf", "3", "--no-lids") as f:
            f.opensm(HERE, "-R", "minhop")
            nodes, ports = (answer.records for answer in ask(
                f, THERE, [Request(BY_NAME["NodeRecord"]), Request(BY_NAME["PortInfoRecord"])]))
            subnet = Subnet(nodes, ports)
            lid, = (get_bits(r, (0, 0, 16)) for r in nodes if r[24:32] == subnet.gids[THERE][8:])
            cases = table_of_cases(Asker(subnet, lid))
            register(f, subnet)
            theirs = asked(f, cases)
            stop(f.sm)
            ibsm(f, HERE, "-R", "minhop", "-V")
            log = f.directory / "ibsm.log"
            self.assertTrue(wait_until(lambda: "tables: read of 13 nodes" in log.read_text()))
            register(f, subnet)
            ours = asked(f, cases)
        self.compare(cases, theirs, ours)

    def compare(self, cases, theirs, ours):
        self.assertEqual({*DIFFERENT, *FINDS, *SAYS_OTHERWISE} - set(cases), set(), "no such case")
        found = []
        for case, requests in cases.items():
            there, here = ([answer.status for answer in answers[case]] for answers in (theirs, ours))
            if case in DIFFERENT:
                if (there, here) != DIFFERENT[case]:
                    found.append(f"{case}: statuses {there} there and {here} here, which is not what is listed")
            elif there != here:
                found.append(f"{case}: statuses {there} there, {here} here")
            numbers = tuple([len(answer.records) for answer in answers[case]] for answers in (theirs, ours))
            if case in FINDS and numbers != FINDS[case]:
                found.append(f"{case}: {numbers} records, which is not what is listed")
            if case in FINDS or case in DIFFERENT:
                continue
            for request, a, b in zip(requests, theirs[case], ours[case]):
                one, two = plain(case, request, a), plain(case, request, b)
                if a.status == b.status and one != two:
                    found.append(f"{case}: {request.method}: there {one}, here {two}")
        print(f"{len(cases)} cases, {sum(map(len, cases.values()))} requests", file=sys.stderr)
        self.assertEqual([], found, "\n".join(found))


if __name__ == "__main__":
    unittest.main(verbosity=2)
