# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""ibpath beside stock saquery: every record, every filter form, on a fabric that opensm brought up
and on one that ibsm did; batches and explanations on the same fabrics."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

from fabric import BIN, PATIENCE, TESTS, Fabric, generate, wait_until
from side_by_side import ibsm

LEAVES, SPINES, HOSTS = 8, 4, 32  # fat tree of radix 8
HERE, FAR = "host0001 HCA-1", "host0032 HCA-1"
BROADCAST = "ff12:401b:ffff::ffff:ffff"

# saquery's words, ibpath's; the text is to be the same.
SAME = (
    (("CPI",), ("CPI",)),
    (("-c",), ("sa",)),
    (("NR",), ("NodeRecord",)),
    (("NR", "{here}"), ("nodes", "LID={here}")),
    (("NodeRecord", HERE), ("NR", HERE)),
    (("PIR",), ("PIR",)),
    (("PIR", "{switch}/3"), ("ports", "{switch}/3")),
    (("PIR", "{switch}//0"), ("PIR", "{switch}//0")),
    (("PIR", "{here}/1"), ("PIR", "EndportLID={here}", "PortNum=1")),
    (("SL2VL", "{switch}/1/2"), ("SL2VL", "{switch}/1/2")),
    (("SL2VL", "{switch}//2"), ("sl2vl", "{switch}//2")),
    # Of later blocks opensm and saquery both have the number's bytes the wrong way round.
    (("--smkey", "1", "PKTR", "{here}//0"), ("--smkey", "1", "PKTR", "{here}//0")),
    (("PKTR", "{here}"), ("PKTR", "{here}")),
    (("VLAR", "{switch}/2"), ("VLAR", "{switch}/2")),
    (("VLAR", "{switch}/2/1"), ("vlarb", "{switch}", "OutputPortNum=2", "BlockNum=1")),
    (("LR",), ("LinkRecord",)),
    (("LR", "{switch}"), ("LR", "{switch}")),
    (("LR", "{switch}/1"), ("links", "{switch}/1")),
    (("LFTR", "{switch}"), ("LFTR", "{switch}")),
    (("LFTR", "{switch}/0"), ("lft", "LID={switch}", "BlockNum=0")),
    (("MFTR",), ("MFTR",)),
    (("MFTR", "{tree}/0/0"), ("mft", "{tree}", "Position=0", "BlockNum=0")),
    (("GIR", "{here}"), ("GIR", "{here}")),
    (("SWIR",), ("SWIR",)),
    (("SWIR", "{switch}"), ("switches", "{switch}")),
    (("SMIR",), ("SMIR",)),
    (("PR", "--slid", "{here}"), ("PR", "SLID={here}")),
    (("PR", "--slid", "{here}", "--dlid", "{far}"), ("{here}", "{far}")),
    (("PR", "--slid", "{here}", "--dlid", "{far}", "-M", "0x84"), ("{here}", "{far}", "Mtu=2048")),
    # A number is Gb/s: as a code 10 is 120 Gb/s, 14 is 168, and 50 and 100 are none.
    (("PR", "--slid", "{here}", "--dlid", "{far}", "-R", "0x03"), ("{here}", "{far}", "Rate>10")),
    (("PR", "--slid", "{here}", "--dlid", "{far}", "-R", "0x03"), ("{here}", "{far}", "Rate>0x3")),
    (("PR", "--slid", "{here}", "--dlid", "{far}", "-R", "0x90"), ("{here}", "{far}", "Rate=100")),
    (("PR", "--slid", "{here}", "--dlid", "{far}", "-R", "0x14"), ("{here}", "{far}", "Rate>50")),
    (("PR", "--slid", "{here}", "--dlid", "{far}", "-R", "0x4b"), ("{here}", "{far}", "Rate<14")),
    (("PR", "--slid", "{here}", "--dlid", "{far}", "-R", "0x90"), ("{here}", "{far}", "Rate=0x90")),
    (("PR", "--slid", "{here}", "--dlid", "{far}", "-R", "0x10"), ("{here}", "{far}", "Rate>100")),
    (("PR", "--slid", "{here}", "--dlid", "{far}", "-r", "1", "-n", "1"),
     ("--reversible", "--numb-path", "1", "{here}", "{far}")),
    (("MCMR",), ("MCMR",)),
    (("MCMR", "--mgid", BROADCAST), ("multicast", f"MGID={BROADCAST}")),
    (("MCMR", "--mlid", "0xc000", "--pkey", "0xffff"), ("MCMR", "mlid=0xc000", "pkey=0xffff")),
    (("--smkey", "1", "MCMR"), ("--smkey", "1", "MCMR")),
    (("--smkey", "1", "-m"), ("--smkey", "1", "members")),
    (("--smkey", "1", "-m", "0xc000"), ("--smkey", "1", "members", "0xc000")),
    (("-g",), ("groups",)),
    (("-s",), ("sms",)),
    (("-D",), ("list",)),
    (("-L", HERE), ("lid-of", HERE)),
    (("-G", HERE), ("guid-of", HERE)),
    (("-O", "{here}"), ("name-of", "{here}")),
    (("--smkey", "1", "SR"), ("--smkey", "1", "SR")),
    (("--smkey", "1", "-K", "SR"), ("--smkey", "1", "-K", "services")),
    (("--smkey", "1", "IIR"), ("--smkey", "1", "IIR")),
    (("-K", "--smkey", "1", "IIR"), ("-K", "--smkey", "1", "subscriptions")),
)


class Shared(unittest.TestCase):
    """One fabric for the cases of a class; they only look."""

    @classmethod
    def setUpClass(cls):
        cls.f = cls.enterClassContext(Fabric("fat-tree", "--radix", "8"))
        cls.bring_up()
        cls.here, cls.far = cls.f.lid_of(HERE), cls.f.lid_of(FAR)
        words = cls.f.on(None, "saquery", "SWIR").stdout.split("LID.")[1]
        cls.switch = int(words.lstrip(".").split()[0])
        for host in (HERE, FAR):
            joined = cls.f.on(host, TESTS / "join_probe", "join", BROADCAST)
            assert joined.returncode == 0, joined.stdout + joined.stderr
        assert wait_until(lambda: cls.f.on(None, "ibtracert", "-m", "0xc000", cls.here, cls.far)
                          .returncode == 0, 20)
        tables = cls.f.on(None, "saquery", "MFTR").stdout
        cls.tree = int(tables.split("LID.")[1].lstrip(".").split()[0])
        stored = cls.f.on(HERE, TESTS / "records_probe", "1")
        assert stored.returncode == 0, stored.stdout + stored.stderr

    def fill(self, words):
        return [str(word).format(here=self.here, far=self.far, switch=self.switch, tree=self.tree)
                for word in words]

    def ok(self, *words, at=None):
        result = self.f.on(at, *words)
        self.assertEqual(result.returncode, 0, f"{words}: {result.stdout[-800:]}{result.stderr[-800:]}")
        return result.stdout

    def ibpath(self, *words):
        return self.f.on(None, BIN / "ibpath", *self.fill(words))

    def document(self, *words, status=0):
        result = self.ibpath("--json", *words)
        self.assertEqual(result.returncode, status, f"{words}: {result.stdout[-800:]}{result.stderr}")
        return json.loads(result.stdout)

    def knows_multi_path(self):
        """IsMultiPathRecordSupported: MultiPathRecord, and TraceRecord with it."""
        return int(self.document("CPI")["records"][0]["CapabilityMask"], 16) & 0x400

    def fed(self, text, *words):
        """ibpath with `text` on standard input."""
        command = self.f.command(None, BIN / "ibpath", *words)
        return subprocess.run(command, input=text, capture_output=True, text=True, timeout=PATIENCE)


class Cases:
    def test_every_record_is_printed_as_saquery_prints_it(self):
        compared = 0
        for theirs, ours in SAME:
            with self.subTest(saquery=theirs):
                stock = self.f.on(None, "saquery", *self.fill(theirs))
                text = self.ibpath(*ours)
                if "status" in stock.stderr or "Query" in stock.stderr:
                    self.assertIn(text.returncode, (1, 4), text.stderr)
                    self.assertEqual(text.stdout, "", "both were refused")
                    continue
                compared += bool(stock.stdout)
                self.assertEqual(text.stdout, stock.stdout)
                self.assertEqual(text.returncode, 0 if stock.stdout else 1, text.stderr)
        self.assertGreaterEqual(compared, len(SAME) - self.not_there)

    def test_json_has_the_fields_of_the_specification(self):
        nodes = self.document("NR")
        self.assertEqual(nodes["record"], "NodeRecord")
        self.assertEqual(len(nodes["records"]), LEAVES + SPINES + HOSTS)
        here = self.document("NR", "{here}")["records"][0]
        self.assertEqual(here["LID"], self.here)
        self.assertEqual(here["NodeInfo"]["NodeType"], "Channel Adapter")
        self.assertEqual(here["NodeDescription"]["NodeString"], HERE)
        table = self.document("LFTR", "{switch}/0")["records"][0]
        self.assertEqual(len(table["LinearForwardingTable"]["Port"]), 64)
        self.assertEqual(self.document("NR", "40000", status=1)["records"], [])

    def test_any_field_filters(self):
        def names(*conditions):
            return {record["NodeDescription"]["NodeString"]
                    for record in self.document("NR", *conditions)["records"]}

        self.assertEqual(len(names("NodeType=Switch")), LEAVES + SPINES)
        self.assertEqual(names(f"NodeDescription={FAR}"), {FAR})
        guid = self.document("NR", "{far}")["records"][0]["NodeInfo"]["PortGUID"]
        self.assertEqual(names(f"PortGUID={guid}"), {FAR})
        self.assertEqual(names(f"NodeInfo.PortGUID={guid}", "num_ports=1"), {FAR})
        # opensm does not select by SwitchInfo's fields; the answer is the same.
        caps = self.document("SWIR")["records"][0]["SwitchInfo"]["LinearFDBCap"]
        self.assertEqual(len(self.document("SWIR", f"LinearFDBCap={caps}")["records"]),
                         LEAVES + SPINES)
        self.document("SWIR", f"LinearFDBCap={caps - 1}", status=1)
        ports = self.document("PIR", "PortState=Active", "EndportLID={switch}")["records"]
        self.assertTrue(ports)
        self.assertEqual({port["PortInfo"]["PortState"] for port in ports}, {"Active"})

    def test_a_batch_answers_in_the_order_of_its_lines(self):
        lids = [record["LID"] for record in self.document("NR", "NodeType=Channel Adapter")["records"]]
        pairs = [(a, b) for a in lids[:8] for b in reversed(lids)]
        text = "# every host\n" + "".join(f"{a} {b}\n" for a, b in pairs)
        result = self.fed(text, "-n", "16", "batch", "-")
        self.assertEqual(result.returncode, 0, result.stderr)
        heads = [line for line in result.stdout.splitlines() if line.startswith("# ")]
        self.assertEqual(heads, [f"# {number + 2} {a} -> {b}" for number, (a, b) in enumerate(pairs)])
        self.assertEqual(result.stdout.count("PathRecord dump:"), len(pairs))
        one = self.ok(BIN / "ibpath", *map(str, pairs[37]))
        self.assertIn(f"{heads[37]}\n{one}", result.stdout)

    def test_a_batch_takes_names_and_conditions_and_says_who_is_unknown(self):
        text = f'"{HERE}" "{FAR}" Mtu>1024\n{self.here} "nobody here"\n{self.far} {self.here} P_Key=0x7123\n'
        result = self.fed(text, "--json", "batch", "-")
        self.assertEqual(result.returncode, 1, result.stderr)
        first, second, third = json.loads(result.stdout)["pairs"]
        self.assertEqual((first["line"], first["source"], first["error"]), (1, HERE, None))
        self.assertEqual([p["dlid"] for p in first["paths"]], [self.far])
        self.assertIn("nobody here", second["error"])
        # Names are those of every other command: short, HOST:HCA, and NODE:PORT.
        host, _, hca = HERE.partition(" ")
        for word in (host, f"{host}:{hca}", f'"{HERE}:1"'):
            result = self.fed(f"{word} {self.far}\n", "--json", "batch", "-")
            self.assertEqual(result.returncode, 0, (word, result.stdout))
            self.assertEqual(json.loads(result.stdout)["pairs"][0]["paths"][0]["slid"], self.here, word)
        self.assertEqual((second["paths"], third["paths"]), ([], []))

    def test_a_key_from_a_file_is_the_key(self):
        path = self.f.directory / "key"
        path.write_text("0x1\n", encoding="ascii")
        words = ("PKTR", "{here}//0")
        from_file = self.ibpath("--smkey-file", path, *words)
        self.assertEqual(from_file.returncode, 0, from_file.stderr)
        self.assertEqual(from_file.stdout, self.ibpath("--smkey", "1", *words).stdout)
        path.write_text("secret\n", encoding="ascii")
        self.assertEqual(self.ibpath("--smkey-file", path, *words).returncode, 2)
        self.assertEqual(self.ibpath("--smkey-file", "/nowhere", *words).returncode, 2)

    def test_bad_lines_are_named_and_nothing_is_asked(self):
        path = self.f.directory / "pairs"
        path.write_text("1 2\n7\n\n3 4 Colour=red\n5 \"six\n", encoding="ascii")
        result = self.ibpath("batch", str(path))
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        lines = result.stderr.splitlines()
        self.assertEqual([line.split(":")[2:4] for line in lines], [["2", "1"], ["4", "5"], ["5", "3"]], lines)
        self.assertIn("Colour", result.stderr)
        self.assertEqual(self.ibpath("batch", "/nowhere/at/all").returncode, 2)

    def test_explain_walks_the_way_ibtracert_walks(self):
        explained = self.document("explain", "{here}", "{far}")["explained"][0]
        links = explained["links"]
        self.assertEqual((links[0]["from"]["lid"], links[-1]["to"]["lid"]), (self.here, self.far))
        for one, two in zip(links, links[1:]):
            self.assertEqual(one["to"]["lid"], two["from"]["lid"])
        trace = self.ok("ibtracert", self.here, self.far)
        for link in links[1:]:
            self.assertIn(f"[{link['from']['port']}] -> ", trace)
        self.assertEqual(len(links), len([l for l in trace.splitlines() if "] -> " in l]), trace)
        subjects = [reason["subject"] for reason in explained["reasons"]]
        self.assertEqual(subjects, ["MTU", "rate", "SL", "P_Key", "packet life", "reversible"])
        self.assertFalse(any(reason["wrong"] for reason in explained["reasons"]))
        text = self.ok(BIN / "ibpath", "explain", str(self.here), str(self.far))
        self.assertIn(f"{HERE} (LID {self.here}) -> {FAR} (LID {self.far}): {len(links)} links\n", text)

    def test_explain_names_what_was_asked_for(self):
        """Healthy, so nothing is wrong, whatever SL or value a path was asked for with."""
        for words, subject, said in ((("--sl", "3"), "SL", "so it was asked for"),
                                     (("Mtu=2048",), "MTU", "so it was asked for"),
                                     (("Rate<100",), "rate", "carries less data than 100 Gb/s")):
            options = [word for word in words if word[0] == "-" or word.isdigit()]
            rest = [word for word in words if word not in options]
            path, = self.document(*options, "explain", "{here}", "{far}", *rest)["explained"]
            reasons = {reason["subject"]: reason for reason in path["reasons"]}
            self.assertIn(said, reasons[subject]["reason"])
            self.assertEqual([s for s, r in reasons.items() if r["wrong"]], [], reasons)

    def test_explain_names_what_keeps_a_condition_from_being_met(self):
        document = self.document("explain", "{here}", "{far}", "Rate>100", "SL=0", "P_Key=0x7123",
                                 status=1)
        self.assertEqual(document["explained"], [])
        rate, key = document["unmet"]
        self.assertEqual((rate["condition"], rate["value"], rate["link"]), ("Rate>100", "rate 100 Gb/s", 1))
        link = document["without"]["links"][0]
        self.assertEqual((link["from"]["lid"], link["width"], link["speed"]), (self.here, "4x", "EDR"))
        self.assertIn("4x EDR", rate["reason"])
        self.assertEqual(key["condition"], "P_Key=0x7123")
        shown = self.ibpath("--smkey", "1", "explain", "{here}", "{far}", "P_Key=0x7123")
        self.assertEqual(shown.returncode, 1)
        self.assertIn(f"UNMET P_Key=0x7123: P_Key 0x7123: not in the P_Key table of {HERE}\n", shown.stdout)
        mtu = self.ibpath("explain", "{here}", "{far}", "Mtu>4096")
        self.assertIn(f"UNMET Mtu>4096: MTU 4096: link 1, {HERE} port 1 to ", mtu.stdout)
        self.assertIn("that meets the conditions", mtu.stderr)
        nobody = self.ibpath("explain", "{here}", "40000", "Mtu>256")
        self.assertEqual((nobody.returncode, nobody.stdout), (1, ""))
        self.assertIn("with or without the conditions", nobody.stderr)

    def test_members_that_are_not_shown_are_not_members(self):
        """Without its key an SA gives one record a group, with zeros where members would stand."""
        hidden = self.ibpath("members")
        self.assertEqual(hidden.returncode, 0, hidden.stderr)
        rows = [line.split(".") for line in hidden.stdout.splitlines()]
        of = {name: {row[-1] for row in rows if row[0].strip() == name}
              for name in ("PortGid", "ScopeState", "ProxyJoin", "NodeDescription")}
        self.assertEqual(of, dict.fromkeys(of, {"<not displayed>"}), hidden.stdout)
        self.assertIn(f"\t\tMGID....................{BROADCAST}\n", hidden.stdout)
        self.assertEqual(hidden.stderr, "ibpath: the SA shows members of groups only to requests with its key; "
                                        "give it by --sa-key or --sa-key-file\n")
        one = self.ibpath("members", "0xc000")
        self.assertEqual((one.returncode, one.stdout), (0, "\t\tPortGid.................<not displayed>\n"))
        group, = [r for r in self.document("members")["records"] if r["MGID"] == BROADCAST]
        self.assertEqual([group[name] for name in ("MLID", "PortGID", "JoinState", "ProxyJoin")],
                         ["0xc000", None, None, None])
        shown = [r for r in self.document("--smkey", "1", "members")["records"] if r["MGID"] == BROADCAST]
        self.assertGreaterEqual(len(shown), 2)
        self.assertTrue(all(r["PortGID"].startswith("fe80::") for r in shown), shown)

    def test_multi_paths_join_groups_of_ports(self):
        if not self.knows_multi_path():
            self.assertIn("0x000c", self.ibpath("multi", "{here}", "{far}").stderr)
            return
        lids = [record["LID"] for record in self.document("NR", "NodeType=Channel Adapter")["records"]]
        sources, destinations = lids[:3], lids[-4:]
        paths = self.document("multi", ",".join(map(str, sources)),
                              ",".join(map(str, destinations)))["paths"]
        self.assertLessEqual({p["slid"] for p in paths}, set(sources))
        self.assertLessEqual({p["dlid"] for p in paths}, set(destinations))
        self.assertGreaterEqual(len(paths), 1)


class OnOpensm(Cases, Shared):
    not_there = 2  # forms that have no answer there: P_Key tables without a key, a rate too high

    @classmethod
    def bring_up(cls):
        cls.f.opensm()

    def test_a_trace_that_opensm_has_not_is_said_soon_and_says_what_does_it(self):
        start = time.monotonic()
        traced = self.ibpath("trace", "{here}", "{far}")
        self.assertEqual(traced.returncode, 4, traced.stdout)
        self.assertIn("it answers other queries: an SA without TraceRecords", traced.stderr)
        self.assertIn("ibtracer --sa asks it for other records", traced.stderr)
        self.assertLess(time.monotonic() - start, 20)


class OnIbsm(Cases, Shared):
    not_there = 2

    @classmethod
    def bring_up(cls):
        cls.up = ibsm(cls.f)
        # Tables of devices are read after the sweep: what is there must not change between two looks.
        def of_whom(record):
            said = cls.f.on(None, "saquery", "--smkey", "1", record).stdout
            return set(re.findall(r"^\t\tLID\.+(\w+)$", said, re.M | re.I))
        everybody = {str(lid) for lid in range(1, LEAVES + SPINES + HOSTS + 1)}
        assert wait_until(lambda: of_whom("PKTR") == everybody, 20), of_whom("PKTR")

    def knows_multi_path(self):
        """ibsm does, and says so."""
        self.assertTrue(super().knows_multi_path())
        return True

    def test_a_trace_names_the_nodes_and_ports_that_explain_walks(self):
        links = self.document("explain", "{here}", "{far}")["explained"][0]["links"]
        nodes = self.document("trace", "{here}", "{far}")["records"]
        self.assertEqual(len(nodes), len(links) + 1)
        self.assertEqual([node["ExitPort"] for node in nodes[:-1]],
                         [link["from"]["port"] for link in links])
        self.assertEqual([node["EntryPort"] for node in nodes[1:]],
                         [link["to"]["port"] for link in links])
        self.assertEqual([node["NodeType"] for node in nodes],
                         ["Channel Adapter"] + ["Switch"] * (len(links) - 1) + ["Channel Adapter"])

    def test_a_refusal_says_what_would_help(self):
        keys = self.ibpath("PKTR", "{here}")
        self.assertEqual(keys.returncode, 4)
        self.assertIn("P_Key tables are shown for the SA key only); give it by --sa-key or --sa-key-file", keys.stderr)
        away = self.ibpath("{here}", "fec0:0:0:7::1")
        self.assertEqual(away.returncode, 1)
        self.assertIn("no router is known to lead to its own", away.stderr)
        log = (self.f.directory / "ibsm.log").read_text(errors="replace")
        self.assertIn("asks for P_Key tables: they are shown to requests with the SA key only", log)
        self.assertIn("to lead to the subnet of DGID fec0:0:0:7::1 (prefix_routes_file)", log)

    def test_what_is_not_there_is_named(self):
        for words, said in ((("name-of", "999"), "no port has LID 999"),
                            (("{here}", "{far}", "P_Key=0x7123"), "that meets the conditions"),
                            (("{here}", "ff12::5"), "there is no such group, or the source is not in it"),
                            (("{here}", "{far}", "SLID=3"), "'SLID=3': SRC and DST say that already"),
                            (("0,9,9", "{far}"), "from this port of a host routes begin with 0,1"),
                            (("MPR",), "'MPR' is neither a record nor a command"),
                            (("{here}", "{far}", "RawTraffic=1"), "a value that no path can have")):
            answer = self.ibpath(*words)
            self.assertNotEqual(answer.returncode, 0, words)
            self.assertIn(said, answer.stderr, words)

    def test_a_question_of_many_gids_goes_by_rmpp(self):
        lids = [record["LID"] for record in self.document("NR", "NodeType=Channel Adapter")["records"]]
        every = ",".join(map(str, lids))
        paths = self.document("multi", every, every, "NumbPath=100")["paths"]
        self.assertEqual(len(paths), 100)
        self.assertLessEqual({p["slid"] for p in paths} | {p["dlid"] for p in paths}, set(lids))


class Alias(unittest.TestCase):
    """An alias GUID names its port wherever a GID or GUID does."""

    def found_by(self, bring_up):
        with Fabric("fat-tree", "--radix", "4") as f:
            bring_up(f)
            here, far, alias = "host0001 HCA-1", "host0008 HCA-1", "0x00140500000000a1"
            given = f.on(far, TESTS / "records_probe", "1", alias)
            self.assertEqual(given.returncode, 0, given.stdout + given.stderr)
            lid = f.lid_of(far)

            def document(*words):
                asked = f.on(here, BIN / "ibpath", "--json", *words)
                self.assertEqual(asked.returncode, 0, f"{words}: {asked.stderr}")
                return json.loads(asked.stdout)

            for word in (alias, "fe80::14:500:0:a1"):
                self.assertEqual(f.on(here, BIN / "ibpath", "name-of", word).stdout, far + "\n")
                self.assertEqual([r["LID"] for r in document("NR", word)["records"]], [lid])
                self.assertEqual([p["dlid"] for p in document("0", word)["paths"]], [lid])
                explained, = document("explain", "0", word)["explained"]
                self.assertEqual(explained["links"][-1]["to"]["lid"], lid)
            for words in (("name-of", "0x77"), ("NR", "fe80::77"), ("NR", "fec0::14:500:0:a1")):
                nobody = f.on(here, BIN / "ibpath", *words)
                self.assertEqual((nobody.returncode, nobody.stdout), (1, ""), words)
                self.assertRegex(nobody.stderr, "no port (or node )?has ")

    def test_on_opensm(self):
        self.found_by(lambda f: f.opensm(None))

    def test_on_ibsm(self):
        self.found_by(lambda f: ibsm(f, None))


class ManyLids(unittest.TestCase):
    """LMC 2: a LID is an address of its own, everything else means the port with all four."""

    def test_names_and_guids_have_every_path_as_gids_have(self):
        with Fabric("fat-tree", "--radix", "4") as f:
            ibsm(f, None, "-l", "2")

            def lids(*words):
                asked = f.on(None, BIN / "ibpath", "--json", *words)
                self.assertEqual(asked.returncode, 0, asked.stdout + asked.stderr)
                return sorted((p["slid"], p["dlid"]) for p in json.loads(asked.stdout)["paths"])

            def port(name):
                record, = json.loads(f.on(None, BIN / "ibpath", "--json", "NR", name).stdout)["records"]
                return record["LID"], record["NodeInfo"]["NodeGUID"], record["NodeInfo"]["PortGUID"]

            here, far = "host0001 HCA-1", "host0008 HCA-1"
            (a, a_node, a_port), (b, b_node, b_port) = port(here), port(far)
            self.assertEqual((a % 4, b % 4), (0, 0), "records have base LIDs")
            all_pairs = sorted((a + i, b + j) for i in range(4) for j in range(4))
            gids = [f"fe80::{int(guid, 16) >> 48:x}:{int(guid, 16) >> 32 & 0xffff:x}:"
                    f"{int(guid, 16) >> 16 & 0xffff:x}:{int(guid, 16) & 0xffff:x}"
                    for guid in (a_port, b_port)]
            for words in (gids, (here, far), (a_port, b_port), (a_node, b_node), ("0", far)):
                self.assertEqual(lids(*words), all_pairs, words)
            self.assertEqual(lids(str(a + 1), str(b + 2)), [(a + 1, b + 2)])
            self.assertEqual(len(lids("--numb-path", "1", here, far)), 1)
            # Options that are conditions of paths are conditions wherever there are paths, and only there.
            self.assertEqual(len(lids("multi", here, far)), 16)
            self.assertEqual(len(lids("--numb-path", "1", "multi", here, far)), 1)
            for words in (("multi", here, far), ("PR", f"SLID={a}", f"DLID={b}"), (here, far)):
                asked = f.on(None, BIN / "ibpath", "--pkey", "0x1234", *words)
                self.assertEqual((asked.returncode, asked.stdout), (1, ""), words)
                asked = f.on(None, BIN / "ibpath", "--sl", "2", *words)
                self.assertEqual(set(re.findall(r"\tsl\.+(\S+)", asked.stdout)), {"0x2"}, words)
            for words in (("nodes",), ("list",), ("LR",)):
                asked = f.on(None, BIN / "ibpath", "--reversible", *words)
                self.assertEqual(asked.returncode, 2, words)
                self.assertIn("conditions of paths", asked.stderr)

            for lid in (b, b + 3):
                self.assertEqual(f.on(None, BIN / "ibpath", "name-of", str(lid)).stdout, far + "\n")
            batch = f.command(None, BIN / "ibpath", "--json", "batch", "-")
            done = subprocess.run(batch, input=f'"{here}" "{far}"\n{a_port} {b_port}\n{a + 3} {b}\n',
                                  capture_output=True, text=True, timeout=PATIENCE)
            found = [sorted((p["slid"], p["dlid"]) for p in pair["paths"])
                     for pair in json.loads(done.stdout)["pairs"]]
            self.assertEqual(found, [all_pairs, all_pairs, [(a + 3, b)]])


class Limits(unittest.TestCase):
    """A tree of which some cables are slow: explain names the slow one, and both managers' records
    confirm it."""
    SLOW = {("leaf-001", "spine-001"): "4xFDR", ("leaf-002", "spine-002"): "1xEDR",
            ("leaf-003", "spine-001"): "4xQDR", ("leaf-003", "spine-002"): "4xQDR"}
    GBPS = {"4xEDR": 100, "4xFDR": 56, "1xEDR": 25, "4xQDR": 40}

    def slowed(self, text):
        """The topology with the cables of SLOW slow, from both ends."""
        out, switch = [], None
        for line in text.splitlines():
            head = re.match(r'Switch.*# "([^"]+)"', line)
            switch = head[1] if head else None if line.startswith(("Ca", "vendid")) else switch
            peer = re.search(r'# "((?:leaf|spine)-\d+)" lid', line)
            if switch and peer:
                speed = self.SLOW.get((switch, peer[1])) or self.SLOW.get((peer[1], switch))
                line = line.replace("4xEDR", speed or "4xEDR")
            out.append(line)
        return "\n".join(out) + "\n"

    def explained_by(self, bring_up):
        directory = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        path = pathlib.Path(generate(directory / "tree.topo", "fat-tree", "--radix", "4"))
        path.write_text(self.slowed(path.read_text(encoding="utf-8")), encoding="utf-8")
        with Fabric(topology=path) as f:
            bring_up(f)
            nodes = f.on(None, BIN / "ibpath", "--json", "NR", "NodeType=Channel Adapter")
            lids = [record["LID"] for record in json.loads(nodes.stdout)["records"]]
            seen = set()
            for a, b in [(a, b) for a in lids for b in lids if a != b]:
                result = f.on(None, BIN / "ibpath", "--json", "explain", str(a), str(b))
                self.assertEqual(result.returncode, 0, f"{a} {b}: {result.stdout}{result.stderr}")
                path, = json.loads(result.stdout)["explained"]
                rate, = [r for r in path["reasons"] if r["subject"] == "rate"]
                speeds = [self.GBPS[link["width"] + link["speed"]] for link in path["links"]]
                for link in path["links"]:
                    ends = (link["from"]["name"], link["to"]["name"])
                    wanted = self.SLOW.get(ends) or self.SLOW.get(ends[::-1]) or "4xEDR"
                    self.assertEqual(link["width"] + link["speed"], wanted, ends)
                self.assertEqual(rate["value"], f"{min(speeds)} Gb/s", path)
                self.assertEqual(speeds[rate["link"] - 1], min(speeds), path)
                seen.add(min(speeds))
            # Switches as ends: their port 0 counts, and with opensm no promise is broken.
            if bring_up is not ibsm:
                switches = f.on(None, BIN / "ibpath", "--json", "NR", "NodeType=Switch")
                for record in json.loads(switches.stdout)["records"]:
                    for a, b in ((lids[0], record["LID"]), (record["LID"], lids[-1])):
                        result = f.on(None, BIN / "ibpath", "explain", str(a), str(b))
                        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            return seen

    def test_the_slow_link_decides_with_opensm(self):
        self.assertGreaterEqual(len(self.explained_by(lambda f: f.opensm())), 3)

    def test_the_slow_link_decides_with_ibsm(self):
        self.assertGreaterEqual(len(self.explained_by(ibsm)), 3)


class Router(unittest.TestCase):
    """A host that is a router: paths beyond it have what the SA was told, and none of it is wrong."""

    def test_a_path_beyond_a_router_is_explained(self):
        directory = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        path = pathlib.Path(generate(directory / "tree.topo", "fat-tree", "--radix", "4"))
        text = path.read_text(encoding="utf-8")
        guid = re.search(r'Ca\t1 "H-([0-9a-f]{16})"\s+# "host0008 HCA-1"', text)[1]
        text = re.sub(rf"caguid=(0x0*{guid.lstrip('0')}\nCa\t)", lambda m: "rtguid=" + m[1], text)
        text = text.replace(f'Ca\t1 "H-{guid}"', f'Rt\t1 "R-{guid}"').replace(f'"H-{guid}"', f'"R-{guid}"')
        path.write_text(text, encoding="utf-8")
        routes = directory / "prefixes"
        routes.write_text("* *\n", encoding="ascii")
        with Fabric(topology=path) as f:
            ibsm(f, None, "--prefix_routes_file", routes, "--rtr_pr_sl", "3", "--rtr_pr_mtu", "3",
                 "--rtr_pr_rate", "6")
            done = f.on(None, BIN / "ibpath", "--json", "explain", "0", "fec0:0:0:7::5")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            path, = json.loads(done.stdout)["explained"]
            reasons = {reason["subject"]: reason for reason in path["reasons"]}
            for subject, value, option in (("MTU", "1024", "rtr_pr_mtu"), ("rate", "20 Gb/s", "rtr_pr_rate"),
                                           ("SL", "3", "rtr_pr_sl")):
                self.assertEqual(reasons[subject]["value"], value)
                self.assertIn(option, reasons[subject]["reason"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv, verbosity=2)
