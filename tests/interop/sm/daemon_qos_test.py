# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Quality of service of ibsm: policies, tables, rate limits and VLs, as stock programs see them."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from program import IBSM, TREE, HOST, Sm, path_to  # noqa: E402
from qos_keys import QOS_KEYS  # noqa: E402
from fabric import BIN, wait_until  # noqa: E402


QOS_POLICY = """# what runs here
port-groups
    port-group
        name: Storage
        port-name: "host0008 HCA-1/P1"
    end-port-group
end-port-groups
qos-levels
    qos-level
        name: DEFAULT
        sl: 0
    end-qos-level
    qos-level
        name: Batch
        sl: 7
        mtu-limit: 3
        rate-limit: 3
        packet-life: 15
    end-qos-level
end-qos-levels
qos-match-rules
    qos-match-rule
        qos-class: 3-5
        destination: Storage
        qos-level-name: Batch
    end-qos-match-rule
end-qos-match-rules
qos-ulps
    sdp : 1
    rds : 2
    ipoib : 4
    any, service-id 0x6234 : 6
    srp, target-port-guid {target} : 5
end-qos-ulps
"""


SDP, RDS, OTHER = ("--service_id", "0x10005"), ("--service_id", "0x10648ca"), ("--service_id", "0x6234")
IPOIB = ("--pkey", "0xffff")


class QosExamples(unittest.TestCase):
    """The deployments of the specification, with real GUIDs where it has names, and its lost line ends put back."""

    def run_with(self, f, policy, keys, partitions="Default=0x7fff, ipoib : ALL=full ;\n"):
        for name, text in (("policy", policy), ("partitions", partitions),
                           ("conf", f"qos TRUE\n{keys}qos_sl2vl 0,1,2,3,4,5,6,7,15,15,15,15,15,15,15,15\n")):
            (f.directory / name).write_text(text)
        f.daemon("-F", f.directory / "conf", "-Y", f.directory / "policy", "-P", f.directory / "partitions")
        lid = f.on(HOST, "saquery", "-l", HOST).stdout.strip()
        row = f.on(HOST, "smpquery", "sl2vl", lid, "1").stdout.split("|")[-17:-1]
        self.assertEqual([int(vl) for vl in row], [0, 1, 2, 3, 4, 5, 6, 7] + 8 * [15])
        return f.on(HOST, "smpquery", "vlarb", lid, "1").stdout

    def guid_of(self, f, name):
        """As the topology file has it: no subnet manager runs yet."""
        text = pathlib.Path(f.topology).read_text()
        return "0x" + re.search(rf'\nCa\t\d+ "[^"]+"\s+# "{name}"\n\[1\]\((\w+)\)', text).group(1)

    def entries(self, text, priority):
        block = text.partition(f"# {priority} priority")[2]
        vls, weights = (re.search(rf"^{what} *: \|(.*)\|", block, re.M).group(1).split("|") for what in ("VL", "WEIGHT"))
        return [(int(v, 0), int(w, 0)) for v, w in zip(vls, weights) if int(w, 0)]

    def check_sls(self, f, cases):
        for to, words, sl in cases:
            self.assertEqual(path_to(f, to, *words).get("sl"), sl, (to, words))

    def test_hpc_mpi_and_lustre(self):
        with Sm(*TREE) as f:
            osts, mdss = (["host%04d HCA-1" % i for i in numbers] for numbers in ((11, 12, 13, 14), (21, 22)))
            arbitration = self.run_with(
                f, "qos-ulps\n\tdefault :0 # default SL (for MPI)\n"
                f"\tany, target-port-guid {','.join(self.guid_of(f, n) for n in osts)} :1 # SL for Lustre OST\n"
                f"\tany, target-port-guid {','.join(self.guid_of(f, n) for n in mdss)} :2 # SL for Lustre MDS\n"
                "end-qos-ulps\n",
                "qos_max_vls 8\nqos_high_limit 0\nqos_vlarb_high 2:1\nqos_vlarb_low 0:96,1:224\n")
            self.assertEqual(self.entries(arbitration, "Low"), [(0, 96), (1, 224)])
            self.assertEqual(self.entries(arbitration, "High"), [(2, 1)])
            self.check_sls(f, [(n, words, 1) for n in osts for words in ((), SDP, OTHER)] +
                           [(n, words, 2) for n in mdss for words in ((), RDS)] +
                           [("host0006 HCA-1", words, 0) for words in ((), SDP, RDS, OTHER, IPOIB)])

    def test_edc_of_two_tiers_ipoib_and_srp(self):
        with Sm(*TREE) as f:
            targets = ["host0011 HCA-1", "host0012 HCA-1", "host0013 HCA-1"]
            arbitration = self.run_with(
                f, "qos-ulps\n default :0\n ipoib :1\n sdp :1\n"
                f" srp, target-port-guid {','.join(self.guid_of(f, n) for n in targets)} :2\nend-qos-ulps\n",
                "qos_max_vls 8\nqos_high_limit 0\nqos_vlarb_high 1:32,2:32\nqos_vlarb_low 0:1,\n")
            self.assertEqual(self.entries(arbitration, "Low"), [(0, 1)])
            self.assertEqual(self.entries(arbitration, "High"), [(1, 32), (2, 32)])
            self.check_sls(f, [("host0006 HCA-1", IPOIB, 1), ("host0006 HCA-1", SDP, 1), ("host0006 HCA-1", (), 0),
                               ("host0006 HCA-1", RDS, 0), ("host0006 HCA-1", OTHER, 0)] +
                           [(n, words, 2) for n in targets for words in ((), OTHER)] +
                           [(targets[0], IPOIB, 1), (targets[0], SDP, 1)])

    def test_edc_of_three_tiers_ipoib_rds_and_srp(self):
        with Sm(*TREE) as f:
            targets = ["host0011 HCA-1", "host0012 HCA-1", "host0013 HCA-1"]
            arbitration = self.run_with(
                f, "qos-ulps\n default :0\n ipoib, pkey 0x8001 :1\n ipoib, pkey 0x8002 :2\n rds :3\n"
                f" srp, target-port-guid {', '.join(self.guid_of(f, n) for n in targets)} :4\nend-qos-ulps\n",
                "qos_max_vls 8\nqos_high_limit 0\nqos_vlarb_high 1:32,2:96,3:96,4:96\nqos_vlarb_low 0:1\n",
                "Default=0x7fff,ipoib : ALL=full;PartA=0x8001, sl=1, ipoib : ALL=full;\n"
                "PartB=0x8002, sl=2, ipoib : ALL=full;\n")
            self.assertEqual(self.entries(arbitration, "High"), [(1, 32), (2, 96), (3, 96), (4, 96)])
            other = "host0006 HCA-1"
            self.check_sls(f, [(other, ("--pkey", "0x8001"), 1), (other, ("--pkey", "0x8002"), 2), (other, RDS, 3),
                               (other, (), 0), (other, SDP, 0), (other, IPOIB, 0)] + [(n, (), 4) for n in targets])
            groups = f.on(HOST, "saquery", "-g").stdout
            for key, sl in (("8001", 1), ("8002", 2), ("ffff", 0)):
                group = groups.partition(f"ff12:401b:{key}::ffff:ffff")[2]
                self.assertEqual(int(re.search(r"SL\.+(\S+)", group).group(1), 0), sl, key)

    def test_every_keyword_of_the_simple_policy(self):
        with Sm(*TREE) as f:
            target, ranged, other = "host0011 HCA-1", "host0012 HCA-1", "host0006 HCA-1"
            self.run_with(
                f, "qos-ulps\n default :0\n sdp, port-num 30000 :0\n sdp, port-num 10000-20000 : 0\n sdp :1\n rds :2\n"
                " ipoib, pkey 0x0001 :0\n ipoib :4\n any, service-id 0x6234 :6\n any, pkey 0x0ABC :6\n"
                f" srp, target-port-guid {self.guid_of(f, target)} : 5\n"
                f" any, target-port-guid {self.guid_of(f, ranged)}-{self.guid_of(f, ranged)} : 6\nend-qos-ulps\n", "",
                "Default=0x7fff, ipoib : ALL=full ;\none=0x1, ipoib : ALL=full ;\nten=0xabc : ALL=full ;\n")
            self.check_sls(f, [(other, ("--service_id", f"0x{0x10000 + 30000:x}"), 0),
                               (other, ("--service_id", f"0x{0x10000 + 10000:x}"), 0),
                               (other, ("--service_id", f"0x{0x10000 + 20000:x}"), 0),
                               (other, ("--service_id", f"0x{0x10000 + 20001:x}"), 1), (other, SDP, 1), (other, RDS, 2),
                               (other, ("--pkey", "0x8001"), 0), (other, IPOIB, 4), (other, OTHER, 6),
                               (other, ("--pkey", "0x8abc"), 6), (target, (), 5), (ranged, (), 6), (other, (), 0)])


class QosPolicy(unittest.TestCase):
    """What stock saquery gets for each kind of traffic."""

    def path(self, f, to, *words):
        return path_to(f, to, *words)

    def test_each_application_gets_its_sl_and_a_reload_another(self):
        with Sm(*TREE) as f:
            policy, target = f.directory / "qos-policy.conf", "host0007 HCA-1"
            policy.write_text("")
            f.daemon("-Q", "-Y", policy)
            guid = f.on(HOST, "saquery", "-G", target).stdout.strip()
            other = "host0006 HCA-1"
            self.assertEqual(self.path(f, other, "--service_id", "0x10005")["sl"], 0)
            policy.write_text(QOS_POLICY.format(target=guid))
            os.kill(int(f.pid_file.read_text()), signal.SIGHUP)
            self.assertTrue(wait_until(
                lambda: self.path(f, other, "--service_id", "0x10005").get("sl") == 1, 20),
                (f.directory / "log").read_text())
            for words, sl in (((), 0), (("--service_id", "0x10648ca"), 2), (("--pkey", "0xffff"), 4),
                              (("--service_id", "0x6234"), 6), (("--service_id", "0x6235"), 0)):
                self.assertEqual(self.path(f, other, *words)["sl"], sl, words)
            self.assertEqual(self.path(f, target)["sl"], 5)
            self.assertEqual(self.path(f, "host0008 HCA-1", "-Q", "6")["sl"], 0)
            batch = self.path(f, "host0008 HCA-1", "-Q", "4")
            self.assertEqual(batch["sl"], 7)
            # saquery shows MTU, rate and life with the selector "exactly" (2 << 6).
            self.assertEqual({key: batch[key] & 0x3F for key in ("mtu", "rate", "pkt_life")},
                             {"mtu": 3, "rate": 3, "pkt_life": 15})

    def test_levels_have_sls_of_their_own_where_routes_use_several_vls(self):
        with Sm("torus", "5x5", "--no-lids") as f:
            policy = f.directory / "qos-policy.conf"
            policy.write_text("qos-ulps\n  default : 0\n  any, service-id 0x6234 : 3\nend-qos-ulps\n")
            f.daemon("-Q", "-Y", policy, "-R", "dfsssp")
            sls = {}
            for number in (1, 7, 13, 19, 25):
                lid = f.on(HOST, "saquery", "-l", f"host{number:04} HCA-1").stdout.strip()
                for level, words in (("low", ()), ("high", ("--service_id", "0x6234"))):
                    text = f.on(HOST, "saquery", "PR", "--slid", lid, *words).stdout
                    sls[level] = sls.get(level, []) + [int(sl, 0) for sl in
                                                       re.findall(r"sl\.+(\S+)", text)]
            # Layer by layer, SL for SL: 0, 1, 2, 4 for the one and 3, 5, 6, 7 for the other.
            self.assertEqual(len(set(zip(sls["low"], sls["high"]))), len(set(sls["low"])))
            low, high = set(sls["low"]), set(sls["high"])
            self.assertGreater(len(low), 1)
            self.assertEqual(len(low), len(high))
            self.assertFalse(low & high)
            self.assertIn(0, low)
            self.assertIn(3, high)
            # The VLs of the two, as a switch maps them from one neighbour to another.
            net = f.on(HOST, "ibnetdiscover").stdout
            switch = re.search(r"^Switch.*lid (\d+) ", net, re.M).group(1)
            text = f.on(HOST, "smpquery", "sl2vl", switch, "1").stdout
            row = re.search(r"in  ?2.*?\|(.*)\|", text).group(1).split("|")
            vl = [int(v) for v in row]
            self.assertFalse({vl[sl] for sl in low} & {vl[sl] for sl in high}, text)
            # Five levels are too many for this engine's two VLs each.
            policy.write_text("qos-ulps\n  default : 0\n" + "".join(
                f"  any, service-id 0x{sl} : {sl}\n" for sl in range(1, 5)) + "end-qos-ulps\n")
            told = subprocess.run(
                [IBSM, "-Q", "-Y", policy, "-R", "torus-2QoS", "--explain-policy", HOST,
                 "host0013 HCA-1", "--service-id", "4", "--against", f.topology, "--state-dir",
                 f.directory / "none"],
                capture_output=True, text=True, timeout=60)
            self.assertIn("qos: 2 levels of service (SL 3, SL 4) have the same VLs, since "
                          "torus-2QoS has VLs for 4 of 5", told.stderr)
            self.assertEqual(told.returncode, 0, told.stdout)

    def test_explain_says_beforehand_what_clients_get(self):
        """--explain-policy on the saved topology, the SA's answers, and ibpath explain."""
        with Sm(*TREE) as f:
            policy, other = f.directory / "qos-policy.conf", "host0006 HCA-1"
            policy.write_text("qos-ulps\n  default : 1\n  any, service-id 0x6234 : 6\n"
                              "  any, pkey 0x7fff : 2\nend-qos-ulps\n")
            f.daemon("-Q", "-Y", policy)
            lids = [f.on(HOST, "saquery", "-l", name).stdout.strip() for name in (HOST, other)]

            def document(shown):
                self.assertEqual(shown.returncode, 0, shown.stderr)
                return json.loads(shown.stdout)

            for stock, ours, sl, rule in (
                    ((), (), 1, f"{policy} (default)"),
                    (("--service_id", "0x6234"), ("--service-id", "0x6234"), 6, f"{policy}:3 "),
                    (("--pkey", "0x7fff"), ("--pkey", "0x7fff"), 2, f"{policy}:4 ")):
                planned = document(subprocess.run(
                    [IBSM, "-Q", "-Y", policy, "--explain-policy", HOST, other, *ours, "--against",
                     f.topology, "--json", "--state-dir", f.directory / "none"],
                    capture_output=True, text=True, timeout=60))
                reasons = {r["subject"]: r["value"] for r in planned["reasons"]}
                self.assertEqual(self.path(f, other, *stock)["sl"], sl)
                self.assertEqual(reasons["SL"], str(sl))
                self.assertTrue(reasons["rule"].startswith(rule), reasons)
                running = document(f.ibsm_ctl("explain", HOST, other, *ours, "--json"))
                self.assertEqual(running["reasons"], planned["reasons"])
                self.assertEqual([link["vl"] for link in running["links"]], 4 * [sl])
                seen, = document(f.on(HOST, BIN / "ibpath", "--json", *ours, "explain",
                                      *lids))["explained"]
                for links in (planned["links"], seen["links"]):
                    self.assertEqual([link["vl"] for link in links], 4 * [sl])
                same = ("from", "to", "mtu", "vls", "weight", "high_limit")
                of = [[[link[key] for key in same] for link in shown["links"]]
                      for shown in (planned, running, seen)]
                self.assertEqual(of[0], of[1])
                self.assertEqual(of[0], of[2])

    def test_a_mistake_ends_the_start_and_leaves_the_old_rules_at_sighup(self):
        with Sm(*TREE) as f:
            policy = f.directory / "qos-policy.conf"
            policy.write_text("qos-ulps\n  default : 0\n  sdb : 1\nend-qos-ulps\n")
            refused = f.ibsm("-o", "-Q", "-Y", policy)
            self.assertEqual(refused.returncode, 2)
            self.assertIn(f"{policy}:3:3: error: unknown application 'sdb'; ", refused.stderr)
            self.assertIn("sdb : 1\nibsm:     ^\n", refused.stderr)
            missing = f.ibsm("-o", "-Q", "-Y", f.directory / "nowhere")
            self.assertEqual(missing.returncode, 2)
            self.assertEqual(f.sets(), 0)
            policy.write_text("qos-ulps\n  default : 3\nend-qos-ulps\n")
            pid = f.daemon("-Q", "-Y", policy)
            self.assertEqual(self.path(f, "host0006 HCA-1")["sl"], 3)
            policy.write_text("qos-ulps\n  default : 16\nend-qos-ulps\n")
            os.kill(pid, signal.SIGHUP)
            log = f.directory / "log"
            self.assertTrue(wait_until(
                lambda: "what was in force stays in force, all of it" in log.read_text(), 20))
            self.assertEqual(self.path(f, "host0006 HCA-1")["sl"], 3)

    def test_a_level_whose_sl_the_mapping_drops_gets_no_record_and_is_named_once(self):
        with Sm(*TREE) as f:
            policy, conf = f.directory / "qos-policy.conf", f.directory / "conf"
            policy.write_text("qos-ulps\n  default : 0\n  any, service-id 0x6234 : 3\nend-qos-ulps\n")
            conf.write_text(f"qos TRUE\nqos_sl2vl 0,1,2,15,4,5,6,7,0,1,2,3,4,5,6,7\nqos_policy_file {policy}\n")
            said = (f"{policy}:3 (any, service-id 0x6234 : 3): SL 3 is mapped to VL 15 at all ports, so its packets are dropped and requests "
                    "for its paths get no record\n")
            checked = f.ibsm("--check-config", "-F", conf)
            self.assertEqual((checked.returncode, checked.stderr), (1, said))
            f.daemon("-F", conf, "-R", "ftree")
            other = "host0006 HCA-1"
            self.assertEqual(self.path(f, other)["sl"], 0)
            self.assertEqual(self.path(f, other, "--service_id", "0x6234"), {})
            self.path(f, other, "--service_id", "0x6234")
            self.assertEqual((f.directory / "log").read_text().count(f"W config: {said}"), 1)
            events = [json.loads(line) for line in f.ibsm_ctl("events", "--json").stdout.splitlines()]
            dropped, = (e for e in events if e["event"] == "qos.level-dropped")
            self.assertEqual((dropped["rule"], dropped["sl"]), (f"{policy}:3 (any, service-id 0x6234 : 3)", 3))
            conf.write_text(f"qos TRUE\nqos_policy_file {policy}\n")
            os.kill(int(f.pid_file.read_text()), signal.SIGHUP)
            self.assertTrue(wait_until(
                lambda: self.path(f, other, "--service_id", "0x6234").get("sl") == 3, 20))

    def test_a_level_that_a_host_drops_by_a_mapping_that_it_keeps_gets_no_record(self):
        with Sm(*TREE) as f:
            policy, conf = f.directory / "qos-policy.conf", f.directory / "conf"
            policy.write_text("qos-ulps\n  default : 0\n  any, service-id 0x6234 : 3\nend-qos-ulps\n")
            conf.write_text("qos TRUE\nqos_sl2vl 0,1,2,15,4,5,6,7,0,1,2,3,4,5,6,7\n")
            self.assertEqual(f.ibsm("-o", "-F", conf).returncode, 0)
            f.ctl("device", HOST, "keep=SLtoVLMappingTable")
            f.daemon("-Q", "-Y", policy)
            other = "host0006 HCA-1"
            self.assertEqual(self.path(f, other)["sl"], 0)
            self.assertEqual(self.path(f, other, "--service_id", "0x6234"), {})
            rule = f"{policy}:3 (any, service-id 0x6234 : 3)"
            where = f'"{HOST}" port 1, by the SLtoVLMappingTable that is kept there'
            log = (f.directory / "log").read_text()
            self.assertEqual(log.count(f"W qos: {rule}: SL 3 is dropped at {where}, and requests for such paths "
                                       "get no record\n"), 1, log)
            events = [json.loads(line) for line in f.ibsm_ctl("events", "--json").stdout.splitlines()]
            dropped, = (e for e in events if e["event"] == "qos.level-dropped")
            self.assertEqual((dropped["rule"], dropped["sl"], dropped["where"]), (rule, 3, where))
            refuses, = (e for e in events if e["event"] == "device.refuses")
            self.assertEqual((refuses["node"]["name"], refuses["table"]), (HOST, "SLtoVLMappingTable"))
            f.ctl("device", HOST, "keep=none")
            os.kill(int(f.pid_file.read_text()), signal.SIGHUP)
            self.assertTrue(wait_until(
                lambda: self.path(f, other, "--service_id", "0x6234").get("sl") == 3, 20))

    def test_check_config_names_levels_that_a_topology_would_merge(self):
        with Sm("torus", "5x5", "--no-lids") as f:
            policy = f.directory / "qos-policy.conf"
            policy.write_text("qos-ulps\n  default : 0\n" + "".join(
                f"  any, service-id 0x{sl} : {sl}\n" for sl in range(1, 5)) + "end-qos-ulps\n")

            def checked(engine):
                return subprocess.run([IBSM, "--check-config", "-Q", "-Y", policy, "-R", engine, "--against",
                                       f.topology, "--state-dir", f.directory / "none"],
                                      capture_output=True, text=True, timeout=60)

            merged = checked("torus-2QoS")
            self.assertEqual((merged.returncode, merged.stderr),
                             (1, "qos: 2 levels of service (SL 3, SL 4) have the same VLs, since torus-2QoS has VLs "
                                 "for 4 of 5\n"))
            policy.write_text("qos-ulps\n  default : 0\n  any, service-id 0x1 : 1\nend-qos-ulps\n")
            fits = checked("torus-2QoS")
            self.assertEqual((fits.returncode, fits.stderr), (0, ""))

    def test_without_q_no_policy_is_in_force_and_that_is_said(self):
        with Sm(*TREE) as f:
            policy = f.directory / "qos-policy.conf"
            policy.write_text("qos-ulps\n  default : 3\nend-qos-ulps\n")
            f.daemon("-Y", policy)
            self.assertEqual(self.path(f, "host0006 HCA-1")["sl"], 0)
            self.assertIn(f"{policy}: no QoS policy is in force without -Q",
                          (f.directory / "log").read_text())


class QosTables(unittest.TestCase):
    """The qos_* keys on a fresh fabric, by stock opensm and by ibsm, read with smpquery."""

    def tables(self, f):
        """Of a host and of the ports of its switch: what smpquery prints, LIDs aside."""
        net = f.on(HOST, "ibnetdiscover").stdout
        switch = re.search(r"^Switch.*lid (\d+) ", net, re.M).group(1)
        host = f.on(HOST, "saquery", "-l", HOST).stdout.strip()
        found = []
        for lid, port in ((host, 1), (switch, 1), (switch, 5)):
            for what in ("vlarb", "sl2vl"):
                text = f.on(HOST, "smpquery", what, lid, str(port)).stdout
                found.append([line for line in text.splitlines() if "|" in line])
            info = f.on(HOST, "smpquery", "portinfo", lid, str(port)).stdout
            found.append(re.findall(r"(?:VLHighLimit|OperVLs):\.+(\S+)", info))
        return found

    def test_the_same_tables_as_opensm(self):
        found = {}
        for who in ("opensm", "ibsm"):
            with Sm(*TREE) as f:
                conf = f.directory / "conf"
                conf.write_text(QOS_KEYS)
                if who == "opensm":
                    f.opensm(HOST, "-Q", "-F", conf)
                else:
                    f.daemon("-F", conf)
                found[who] = self.tables(f)
                self.assertTrue(all(found[who]), found[who])
        self.assertEqual(found["ibsm"], found["opensm"])


class RateLimits(unittest.TestCase):
    def test_what_a_limit_holds_back_is_counted_by_sl_and_is_no_wait_of_the_port(self):
        with Sm(*TREE) as f:
            conf, rates = f.directory / "conf", f.directory / "rates"
            rates.write_text("BW_NAMES\nslow = 1000\nBW_RULES\ndefault = 0:slow\n")
            conf.write_text(f"qos TRUE\nenhanced_qos_policy_file {rates}\n")
            f.daemon("-F", conf)
            self.assertEqual(f.ctl("flow", "add", "host0002 HCA-1", "host0030 HCA-1").returncode, 0)

            def counters():
                rows = json.loads(f.ctl("counters", "host0002 HCA-1", "1", "--json").stdout)["counters"]
                return {row["name"]: row["value"] for row in rows}

            self.assertTrue(wait_until(lambda: counters().get("RateWaitSL0", 0) > 0))
            lid = f.on(HOST, "saquery", "-l", "host0002 HCA-1").stdout.strip()
            self.assertRegex(f.on(HOST, "perfquery", lid, "1").stdout, r"PortXmitWait:\.*0\n")
            refused = f.ctl("counters", "host0002 HCA-1", "1", "RateWaitSL0=1")
            self.assertNotEqual(refused.returncode, 0)


class SeveralVls(unittest.TestCase):
    """Routes on several VLs: dfsssp breaks the circle of a ring with a second one."""

    def test_a_restart_sends_no_set(self):
        with Sm("torus", "6", "--no-lids") as f:
            self.assertEqual(f.ibsm("-o", "-R", "dfsssp").returncode, 0)
            before = f.sets()
            self.assertEqual(f.ibsm("-o", "-R", "dfsssp").returncode, 0)
            self.assertEqual(f.sets(), before)

    def test_verify_takes_sls_from_the_sa_or_says_that_it_could_not(self):
        with Sm("torus", "6", "--no-lids") as f:
            f.daemon("-R", "dfsssp")
            whole = f.on(HOST, BIN / "ibroutes", "verify", "--sl2vl")
            self.assertEqual(whole.returncode, 0, whole.stdout)
            self.assertIn("credit-loop-channels: 0\n", whole.stdout)
            self.assertIn("note: SLs are those of the SA's path records for 30 pairs", whole.stdout)
            # Without SL2VL all is on VL 0, where a ring's shortest paths close a circle.
            one_vl = f.on(HOST, BIN / "ibroutes", "verify")
            self.assertEqual(one_vl.returncode, 1)
            self.assertIn("credit-loop-channels: 12\n", one_vl.stdout)
            self.assertIn("note: SL2VL tables are unknown", one_vl.stdout)
            os.kill(int(f.pid_file.read_text()), signal.SIGTERM)
            self.assertTrue(wait_until(lambda: not f.pid_file.exists(), 10))
            alone = f.on(HOST, BIN / "ibroutes", "verify", "--sl2vl", "-t", "50")
            self.assertEqual(alone.returncode, 1)
            self.assertIn("note: SL 0 is assumed for all paths: ", alone.stdout)
            self.assertIn("credit-loop-channels: 12\n", alone.stdout)


if __name__ == "__main__":
    unittest.main()
