# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""ibtracer --multicast: ten groups, agents on all hosts or on a tenth of them, and tables that somebody has spoiled."""
import json
import random
import re
import unittest

from fabric import BIN, TESTS, Fabric, end_daemon, generate, wait_until

HOSTS = [f"host{number:04} HCA-1" for number in range(1, 33)]
GROUPS = [f"ff12:401b:ffff::{number:x}" for number in range(0x10, 0x1a)]
TWO_PORTS = """\
switchguid=0x100(100)
Switch	4 "S-0000000000000100"		# "left" base port 0 lid 1 lmc 0
[1]	"H-0000000000000200"[1](201) 		# "host" lid 2 4xQDR
[2]	"H-0000000000000300"[1](301) 		# "other" lid 4 4xQDR
[3]	"S-0000000000000110"[3] 		# "right" lid 5 4xQDR

switchguid=0x110(110)
Switch	4 "S-0000000000000110"		# "right" base port 0 lid 5 lmc 0
[1]	"H-0000000000000200"[2](202) 		# "host" lid 3 4xQDR
[3]	"S-0000000000000100"[3] 		# "left" lid 1 4xQDR

caguid=0x200
Ca	2 "H-0000000000000200"		# "host"
[1](201) 	"S-0000000000000100"[1]		# lid 2 lmc 0 "left" lid 1 4xQDR
[2](202) 	"S-0000000000000110"[1]		# lid 3 lmc 0 "right" lid 5 4xQDR

caguid=0x300
Ca	1 "H-0000000000000300"		# "other"
[1](301) 	"S-0000000000000100"[2]		# lid 4 lmc 0 "left" lid 1 4xQDR
"""


def start_ibsm(fabric, at):
    pid = fabric.directory / "pid"
    up = fabric.on(at, BIN / "ibsm", "-B", "-f", fabric.directory / "log", "--state-dir", fabric.directory / "sm",
                   "-J", pid)
    assert up.returncode == 0, up.stderr
    fabric.at_end(lambda: end_daemon(pid))


def start_agents(fabric, places):
    for place in places:
        fabric.start(place, BIN / "ibtracerd", "--user", "nobody")


def join(fabric, verb, at, group):
    joined = fabric.on(at, TESTS / "join_probe", verb, group)
    assert joined.returncode == 0, joined.stdout + joined.stderr


def trace(fabric, at, *words):
    """Exit status and document of a trace, and the words of its members by name."""
    traced = fabric.on(at, BIN / "ibtracer", "--smkey", "1", "--json", *words)
    document = json.loads(traced.stdout)
    return traced.returncode, document, {m["name"]: m["state"] for m in document["group"]["members"]}


def settled(fabric, at, group, wanted):
    """The document, as soon as the tree leads to all members and `wanted` of them are confirmed."""
    last = []

    def is_so():
        last[:] = trace(fabric, at, "--multicast", group)
        words = list(last[2].values())
        return "missing" not in words and words.count("confirmed") == wanted
    assert wait_until(is_so, 20), last
    return last


def beyond(tree, index):
    """Names of the hosts of a branch."""
    found, branch = set(), {index}
    for i, node in enumerate(tree):
        if i in branch or node["parent"] in branch:
            branch.add(i)
            if node["type"] == "ca":
                found.add(node["name"])
    return found


class Cases:
    """Ten groups of eight members each; the agents are on `with_agent`."""
    with_agent = []
    start_sm = staticmethod(start_ibsm)

    @classmethod
    def setUpClass(cls):
        cls.f = cls.enterClassContext(Fabric("fat-tree", "--radix", "8", "--no-lids"))
        cls.start_sm(cls.f, HOSTS[0])
        start_agents(cls.f, cls.with_agent)
        dice = random.Random(7)
        cls.members = {}
        for group in GROUPS:
            members = cls.members[group] = [HOSTS[0], *dice.sample(HOSTS[1:], 7)]
            for i, host in enumerate(members):
                join(cls.f, "join" if i else "create", host, group)
        cls.healthy = {g: settled(cls.f, HOSTS[0], g, len(cls.agents_of(g))) for g in GROUPS}

    @classmethod
    def agents_of(cls, group):
        return set(cls.members[group][1:]) & set(cls.with_agent)

    def poke(self, switch, group, ports):
        mlid = self.healthy[group][1]["group"]["mlid"]
        poked = self.f.on(HOSTS[0], TESTS / "mft_poke", switch["lid"], mlid, f"{sum(1 << p for p in ports):x}")
        self.assertEqual(poked.returncode, 0, poked.stderr)

    def test_every_member_is_confirmed_where_it_has_an_agent(self):
        for group in GROUPS:
            status, document, words = self.healthy[group]
            others = self.members[group][1:]
            expected = {h: "confirmed" if h in self.with_agent else "doubtful" for h in others}
            self.assertEqual(words, {HOSTS[0]: "source", **expected})
            whole = self.agents_of(group) == set(others)
            self.assertEqual((status, document["verdict"], document["complete"]),
                             (0, "VERIFIED", True) if whole else (3, "PARTLY VERIFIED", False))
            self.assertEqual(document["group"]["faults"], [])

    def spoiled(self, group, chosen, change):
        """Traces the group while `change` of the entry of its tree's node `chosen` is in the tables."""
        tree = self.healthy[group][1]["group"]["tree"]
        switch = tree[chosen]
        ports = {switch["ingress_port"], *switch["egress_ports"]}
        self.poke(switch, group, change(ports, switch))
        try:
            text = self.f.on(HOSTS[0], BIN / "ibtracer", "--smkey", "1", "--multicast", group)
            return (text, *trace(self.f, HOSTS[0], "--multicast", group))
        finally:
            self.poke(switch, group, ports)

    def expect_named(self, found, switch, verdict, missing, kind):
        text, status, document, words = found
        self.assertEqual((status, document["verdict"]), (1, verdict), document["group"]["faults"])
        self.assertEqual({h for h, w in words.items() if w == "missing"}, missing)
        fault = document["group"]["faults"][0]
        self.assertEqual((fault["kind"], fault["node_guid"]), (kind, switch["node_guid"]), document["group"]["faults"])
        self.assertIn(f'"{switch["name"]}"', text.stdout.splitlines()[-1])
        self.assertTrue(text.stdout.splitlines()[-1].startswith(verdict), text.stdout)

    def test_a_port_that_is_taken_from_an_entry_is_named_with_its_switch(self):
        for group in GROUPS:
            tree = self.healthy[group][1]["group"]["tree"]
            for index, node in enumerate(tree):
                if index < 2 or index % 3:
                    continue
                found = self.spoiled(group, node["parent"], lambda ports, _, n=node: ports - {n["parent_port"]})
                above = tree[node["parent"]]
                kind = "no MFT entry" if len({above["ingress_port"], *above["egress_ports"]}) == 1 else "no such port in the MFT entry"
                self.expect_named(found, above, "BROKEN", beyond(tree, index), kind)

    def test_a_switch_that_sends_nothing_up_is_named(self):
        """Its packets come, and what its hosts send does not leave it."""
        group = GROUPS[5]
        tree = self.healthy[group][1]["group"]["tree"]
        leaf = max(i for i, n in enumerate(tree) if n["type"] == "switch")
        found = self.spoiled(group, leaf, lambda ports, switch: ports - {switch["ingress_port"]})
        self.expect_named(found, tree[leaf], "MISMATCH", set(), "no way up")

    def test_an_entry_that_is_gone_is_named(self):
        group = GROUPS[0]
        tree = self.healthy[group][1]["group"]["tree"]
        last = max(i for i, n in enumerate(tree) if n["type"] == "switch")
        found = self.spoiled(group, last, lambda *_: set())
        self.expect_named(found, tree[last], "BROKEN", beyond(tree, last), "no MFT entry")

    def test_a_port_too_many_is_named_with_who_is_there(self):
        group = GROUPS[1]
        tree = self.healthy[group][1]["group"]["tree"]
        leaf = next(i for i, n in enumerate(tree) if n["type"] == "switch" and any(
            t["parent"] == i and t["type"] == "ca" for t in tree))
        stranger = min({1, 2, 3, 4} - {tree[leaf]["ingress_port"], *tree[leaf]["egress_ports"]})
        found = self.spoiled(group, leaf, lambda ports, _: ports | {stranger})
        self.expect_named(found, tree[leaf], "MISMATCH", set(), "no member")

    def test_a_loop_is_named(self):
        """A leaf sends up by a second port, and the spine there down to a leaf that the tree has already."""
        group = GROUPS[2]
        tree = self.healthy[group][1]["group"]["tree"]
        top = next(i for i, n in enumerate(tree) if n["type"] == "switch" and n["depth"] == 2)
        leaf, other = [i for i, n in enumerate(tree) if n["parent"] == top][:2]
        free = min({5, 6, 7, 8} - {tree[leaf]["ingress_port"], *tree[leaf]["egress_ports"]})
        dropped = self.spoiled(group, leaf, lambda ports, _: ports | {free})
        nodes = dropped[2]["group"]["tree"]
        second = next(n for n in nodes if n["parent_port"] == free and n["type"] == "switch"
                      and nodes[n["parent"]]["node_guid"] == tree[leaf]["node_guid"])
        self.expect_named(dropped, second, "MISMATCH", set(), "no MFT entry")
        self.poke(second, group, {second["ingress_port"], tree[other]["parent_port"]})
        try:
            looped = self.spoiled(group, leaf, lambda ports, _: ports | {free})
        finally:
            self.poke(second, group, set())
        self.expect_named(looped, second, "BROKEN", set(), "loop")

    def test_answers_that_come_twice_count_once(self):
        self.assertEqual(self.f.ctl("faults", "--duplicate", "100").returncode, 0)
        try:
            found = trace(self.f, HOSTS[0], "--multicast", GROUPS[4])
        finally:
            self.assertEqual(self.f.ctl("faults", "--duplicate", "0").returncode, 0)
        self.assertEqual(found, tuple(self.healthy[GROUPS[4]]))

    def test_who_only_sends_is_to_get_nothing(self):
        group = "ff12:401b:ffff::77"
        for verb, host in (("create", HOSTS[0]), ("join", HOSTS[9]), ("send", HOSTS[12]), ("send", HOSTS[10])):
            join(self.f, verb, host, group)
        status, document, words = settled(self.f, HOSTS[0], group, len({HOSTS[9]} & set(self.with_agent)))
        self.assertEqual((words[HOSTS[12]], words[HOSTS[10]]), ("sends only", "sends only"))
        self.assertEqual(document["group"]["faults"], [])
        status, document, words = trace(self.f, HOSTS[0], "--multicast", group, "--from", HOSTS[12])
        self.assertEqual((words[HOSTS[12]], document["group"]["faults"]), ("source", []))
        self.assertNotIn("missing", words.values())

    def test_from_another_member_the_tree_is_the_same_one_the_other_way(self):
        group = GROUPS[3]
        far = self.members[group][3]
        whole = self.healthy[group][1]
        status, document, words = trace(self.f, HOSTS[0], "--multicast", hex(whole["group"]["mlid"]), "--from", far)
        self.assertEqual(document["group"]["source"], far)
        have_all = set(self.members[group]) <= set(self.with_agent)
        self.assertEqual((words[far], status), ("source", 0 if have_all else 3))
        self.assertEqual(cables_between_switches(document), cables_between_switches(whole))


def cables_between_switches(document):
    tree = document["group"]["tree"]
    pairs = ((node, tree[node["parent"]]) for node in tree if node["parent"] is not None)
    return {frozenset((a["node_guid"], b["node_guid"])) for a, b in pairs if a["type"] == b["type"] == "switch"}


class AgentsOnAllHosts(Cases, unittest.TestCase):
    with_agent = HOSTS


class OnOpensm(Cases, unittest.TestCase):
    with_agent = HOSTS[1::2]
    start_sm = staticmethod(lambda fabric, at: fabric.opensm(at))


class AgentsOnATenth(Cases, unittest.TestCase):
    with_agent = HOSTS[9::10]


class TwoPorts(unittest.TestCase):
    """A host with both of its ports in the group."""
    GROUP = GROUPS[0]

    def bring_up(self, *agents):
        directory = self.enterContext(Fabric("fat-tree", "--radix", "4")).directory  # for its place alone
        (directory / "two_ports.topo").write_text(TWO_PORTS, encoding="ascii")
        f = self.enterContext(Fabric(topology=directory / "two_ports.topo"))
        start_ibsm(f, "other")
        for words in agents:
            f.start("host", BIN / "ibtracerd", "--user", "nobody", *words)
        join(f, "create", "other", self.GROUP)
        join(f, "join", "host:1", self.GROUP)
        join(f, "join", "host:2", self.GROUP)
        settled_words = []

        def confirmed():
            settled_words[:] = [m["state"] for m in trace(f, "other", "--multicast", self.GROUP)[1]["group"]["members"]]
            return sorted(settled_words) == ["confirmed", "confirmed", "source"]
        self.assertTrue(wait_until(confirmed, 20), settled_words)
        traced = f.on("other", BIN / "ibtracer", "--smkey", "1", "-vv", "--multicast", self.GROUP)
        self.assertRegex(traced.stdout.splitlines()[-1], "^VERIFIED group .*: every member of 2 confirmed its port$")
        return sorted(re.findall(r" > VendorIbtracer Get\(MulticastRoute\) to LID (\d+) ", traced.stderr))

    def test_one_agent_gives_an_answer_for_each(self):
        asked = self.bring_up(())
        # Both switches, and twice the host at the same LID.
        self.assertEqual(sorted(asked.count(lid) for lid in set(asked)), [1, 1, 2])

    def test_an_agent_for_each_port_is_asked_at_its_own(self):
        asked = self.bring_up(("-P", "1"), ("-P", "2"))
        self.assertEqual([asked.count(lid) for lid in set(asked)], [1, 1, 1, 1])


class Words(unittest.TestCase):
    def test_what_a_group_cannot_be_asked_with(self):
        with Fabric("fat-tree", "--radix", "4") as f:
            for words, complaint in ((("--multicast", "fe80::1"), "expected a multicast GID"),
                                     (("--multicast", "0xbfff"), "expected a multicast GID"),
                                     (("--multicast", "0xc000", "-l", "3"), "expected --multicast or another target, got both"),
                                     (("--multicast", "0xc000", "--prove"), "--prove applies to a trace to a LID"),
                                     (("-l", "3", "--from", "4", "--both"), "--both applies to a trace from here")):
                traced = f.on(HOSTS[0], BIN / "ibtracer", *words)
                self.assertEqual(traced.returncode, 2, traced.stderr)
                self.assertIn(complaint, traced.stderr)
            start_ibsm(f, HOSTS[0])
            join(f, "create", HOSTS[0], GROUPS[0])
            hidden = f.on(HOSTS[0], BIN / "ibtracer", "--multicast", GROUPS[0])
            self.assertEqual(hidden.returncode, 4, hidden.stdout)
            self.assertIn("give it by --sa-key or --sa-key-file", hidden.stderr)
            for words, complaint in (((GROUPS[1],), "the SA has none with members"),
                                     ((GROUPS[0], "--from", HOSTS[3]), "has no such member")):
                traced = f.on(HOSTS[0], BIN / "ibtracer", "--smkey", "1", "--multicast", *words)
                self.assertEqual(traced.returncode, 1, traced.stdout)
                self.assertIn(complaint, traced.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
