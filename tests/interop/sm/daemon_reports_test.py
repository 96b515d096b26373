# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What ibsm counts, tells and answers for others: counters, events, prefix routes, alias GUIDs."""
import json
import os
import pathlib
import re
import signal
import sqlite3
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from program import TREE, HOST, Sm  # noqa: E402
from fabric import end_daemon, generate, wait_until  # noqa: E402


class PrefixRoutes(unittest.TestCase):
    def test_a_bad_line_ends_the_start_and_leaves_the_old_routes_at_sighup(self):
        with Sm(*TREE) as f:
            routes = f.directory / "routes"
            routes.write_text("* *\nfec0 2 3\n")
            words = ("--prefix_routes_file", routes)
            for how in ("-o", "-B"):
                refused = f.ibsm(how, *words)
                self.assertEqual(refused.returncode, 2)
                self.assertIn(f"{routes}:2:8: error: expected a subnet prefix", refused.stderr)
            routes.write_text("* *\n")
            pid = f.daemon(*words)
            log = f.directory / "log"
            routes.write_text("* *\n\n1 g\n")
            os.kill(pid, signal.SIGHUP)
            said = f"{routes}:3:3: error: expected a subnet prefix and a router's port GUID, each in hex or * for any, got '1 g'"
            self.assertTrue(wait_until(lambda: said in log.read_text(), 20), log.read_text())
            self.assertIn("what was in force stays in force, all of it", log.read_text())


class Counters(unittest.TestCase):
    """--perfmgr: totals of all ports, beside what stock perfquery reads."""

    def counters(self, f, *words):
        return f.ibsm_ctl("counters", "list", *words)

    def test_totals_are_those_of_perfquery_and_can_be_dumped(self):
        with Sm(*TREE) as f:
            f.daemon("-perfmgr", "-perfmgr_sweep_time_s", "3600")
            self.assertTrue(wait_until(lambda: self.counters(f, "leaf-001", "5").returncode == 0))
            host = "host0009 HCA-1"
            f.start(host, "ibping", "-S")
            f.on(HOST, "ibping", "-c", "20", "-f", str(f.lid_of(host)))

            def packets(text, name):
                return int(re.search(rf"{name}[ .:]+(\d+)", text).group(1))

            def theirs():
                return packets(f.on(HOST, "perfquery", "-x", str(f.lid_of(host)), "1").stdout, "PortRcvPkts")

            def ours():
                return packets(self.counters(f, host, "1").stdout, "rcv_pkts")

            before = theirs()
            self.assertGreater(before, 20)
            f.ibsm_ctl("counters", "sweep")
            self.assertTrue(wait_until(lambda: ours() >= before))
            self.assertLessEqual(ours(), theirs())
            rows = json.loads(self.counters(f, "--json").stdout)["ports"]
            self.assertEqual(len(rows), 140, "both ends of 64 cables, and 12 ports 0")
            self.assertEqual({row["active"] for row in rows}, {True})
            dumped = f.ibsm_ctl("counters", "dump", "mach")
            self.assertEqual(dumped.returncode, 0, dumped.stderr)
            table = (f.directory / "state" / "opensm_port_counters.log").read_text().splitlines()
            self.assertEqual(len([line for line in table if line.startswith("host0009 HCA-1\t0x")]), 1)
            self.assertEqual(self.counters(f, "--errors").stdout, "no port has counted errors\n")

    def test_errors_above_their_threshold_are_an_event_and_the_history_has_them(self):
        with Sm(*TREE) as f:
            conf = f.directory / "conf"
            conf.write_text("perfmgr TRUE\nperfmgr_sweep_time_s 1\nperfmgr_window_s 60\n"
                            f"perfmgr_error_thresholds PortRcvErrors=2,VL15Dropped=off\nevent_file {f.directory}/events\n")
            pid = f.daemon("-F", conf)
            host = "host0009 HCA-1"
            self.assertTrue(wait_until(lambda: self.counters(f, host, "1").returncode == 0))
            f.ctl("counters", host, "1", "PortRcvErrors=3", "SymbolErrorCounter=10", "VL15Dropped=1000")

            def events():
                return [json.loads(line) for line in (f.directory / "events").read_text().splitlines()]

            self.assertTrue(wait_until(lambda: any(e["event"] == "port.errors" for e in events())))
            event = next(e for e in events() if e["event"] == "port.errors")
            self.assertEqual((event["a"]["type"], event["a"]["name"], event["a"]["port"]), ("ca", host, 1))
            self.assertRegex(event["b"]["name"], r"leaf-\d+")
            self.assertEqual([event[k] for k in ("counter", "category", "count", "threshold")],
                             ["PortRcvErrors", "integrity", 3, 2])
            self.assertIn(f'errors above the threshold: "{host}" port 1 - ', f.ibsm_ctl("events").stdout)
            shown = f.ibsm_ctl("counters", "history", host, "1")
            self.assertIn("SymbolErrorCounter +10, PortRcvErrors +3, VL15Dropped +1000", shown.stdout, shown.stderr)
            ports = json.loads(f.ibsm_ctl("counters", "history", host, "--json").stdout)["ports"]
            self.assertEqual(len(ports), 1)
            self.assertEqual({key: ports[0][key] for key in event["a"]}, event["a"])
            self.assertEqual(ports[0]["peer"], event["b"])
            # Every name that another command takes.
            for word in ("host0009", "host0009:HCA-1", host + ":1"):
                self.assertEqual(self.counters(f, word).stdout.count(f'"{host}"'), 1, word)
            unknown = self.counters(f, "host0O09")
            self.assertEqual((unknown.returncode, unknown.stdout.split(";")[0]), (1, "no node is named 'host0O09'"))
            self.assertEqual(ports[0]["windows"][-1]["counts"].get("PortRcvErrors") or
                             ports[0]["windows"][-2]["counts"]["PortRcvErrors"], 3)
            # A threshold that is read again is in force at once.
            conf.write_text(conf.read_text().replace("PortRcvErrors=2", "SymbolErrorCounter=9"))
            os.kill(pid, signal.SIGHUP)
            self.assertTrue(wait_until(lambda: any(e.get("counter") == "SymbolErrorCounter" for e in events())))
            self.assertFalse([e for e in events() if e.get("counter") == "VL15Dropped"])

    def test_a_restart_goes_on_with_totals_windows_and_thresholds(self):
        with Sm(*TREE) as f:
            conf, host = f.directory / "conf", "host0009 HCA-1"
            conf.write_text("perfmgr TRUE\nperfmgr_sweep_time_s 1\nperfmgr_window_s 604800\n"
                            f"event_file {f.directory}/events\n")

            def history():
                return f.ibsm_ctl("counters", "history", host, "1").stdout

            pid = f.daemon("-F", conf)
            self.assertTrue(wait_until(lambda: self.counters(f, host, "1").returncode == 0))
            f.ctl("counters", host, "1", "SymbolErrorCounter=8")
            self.assertTrue(wait_until(lambda: "SymbolErrorCounter +8" in history()))
            database = sqlite3.connect(f.directory / "state" / "ibsm.db")

            def stored():
                return database.execute("select count(*), max(length(counters)), max(read_ms) from counted_window").fetchone()

            last = stored()[2]
            self.assertTrue(wait_until(lambda: stored()[2] > last + 1000))
            self.assertEqual(stored()[0], 2 * 140, "what runs, and what was before, of each port")
            self.assertLess(stored()[1], 120)
            os.kill(pid, signal.SIGKILL)
            self.assertTrue(wait_until(lambda: not pathlib.Path(f"/proc/{pid}").exists()))
            f.ctl("counters", host, "1", "SymbolErrorCounter=13")
            f.daemon("-F", conf)
            self.assertTrue(wait_until(lambda: "SymbolErrorCounter +13" in history()), history())
            events = [json.loads(line) for line in (f.directory / "events").read_text().splitlines()]
            above = [(e["count"], e["threshold"]) for e in events if e["event"] == "port.errors"]
            self.assertEqual(above, [(13, 10)])
            self.assertEqual(f.ibsm_ctl("counters", "clear").returncode, 0)
            self.assertTrue(wait_until(lambda: "port.errors-cleared" in (f.directory / "events").read_text()))
            f.ibsm_ctl("counters", "sweep")
            self.assertTrue(wait_until(lambda: "SymbolErrorCounter" not in history()))

    def test_without_the_option_nothing_is_read_and_that_is_said(self):
        with Sm(*TREE) as f:
            f.daemon()
            refused = self.counters(f)
            self.assertEqual(refused.returncode, 4)
            self.assertIn("start ibsm with --perfmgr", refused.stderr)
            rows = json.loads(f.ctl("stats", "--json").stdout)["mads"]
            self.assertFalse([r for r in rows if r["class_name"].startswith("Perf")])

    def test_beside_opensm_it_counts_and_sets_nothing(self):
        with Sm(*TREE) as f:
            f.opensm("host0032 HCA-1", "-p", "3")
            for words, state, errors in (("-I",), "NOTACTIVE", 3), ((), "STANDBY", 8):
                log = f.directory / "log"
                log.unlink(missing_ok=True)
                f.pid_file = f.directory / "pid"
                started = f.ibsm("-B", "--pidfile", f.pid_file, "-D", "0x23", *words,
                                 "-perfmgr", "-perfmgr_sweep_time_s", "1")
                self.assertEqual(started.returncode, 0, started.stdout + started.stderr)
                self.assertTrue(started.stdout.startswith("SUBNET " + state), started.stdout)
                self.assertTrue(wait_until(lambda: len(json.loads(
                    self.counters(f, "--json").stdout or '{"ports": []}')["ports"]) == 140, 20))
                self.assertIn('beside the master: "host0032 HCA-1" port 1, ', log.read_text())
                planted = f.ctl("counters", "host0009 HCA-1", "1", f"SymbolErrorCounter={errors}")
                self.assertEqual(planted.returncode, 0, planted.stderr)
                said = re.compile(r'"host0009 HCA-1" port 1 - "leaf-\d+" port \d+: SymbolErrorCounter \+\d+ in \d+ s')
                self.assertTrue(wait_until(lambda: said.search(log.read_text()), 10), log.read_text()[-3000:])
                sent = set(re.findall(r"frame: > .*?(\w+\(\w+)\)", log.read_text()))
                self.assertLessEqual({"Get(PortInfo", "Get(PortCounters"}, sent)
                self.assertFalse([what for what in sent if "Set(" in what])
                os.kill(int(f.pid_file.read_text()), signal.SIGTERM)
                self.assertTrue(wait_until(lambda: not f.pid_file.exists(), 10))


class RouterAliases(unittest.TestCase):
    """rtr_aguid_enable: aliases that end with the LID, as stock saquery and smpquery see them, on a fabric with a router."""

    def topology(self):
        directory = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        path = pathlib.Path(generate(directory / "tree.topo", "fat-tree", "--radix", "4", "--no-lids"))
        text = path.read_text(encoding="utf-8")
        guid = re.search(r'Ca\t1 "H-([0-9a-f]{16})"\s+# "host0008 HCA-1"', text)[1]
        text = re.sub(rf"caguid=(0x0*{guid.lstrip('0')}\nCa\t)", lambda m: "rtguid=" + m[1], text)
        text = text.replace(f'Ca\t1 "H-{guid}"', f'Rt\t1 "R-{guid}"').replace(f'"H-{guid}"', f'"R-{guid}"')
        path.write_text(text, encoding="utf-8")
        return path

    def test_each_host_has_one_until_they_are_taken_back(self):
        with Sm(topology=self.topology()) as f:
            conf, prefixes = f.directory / "conf", f.directory / "prefixes"
            prefixes.write_text("* *\n")
            conf.write_text(f"rtr_aguid_enable 1\nprefix_routes_file {prefixes}\n")
            f.daemon("-F", conf)
            lids = {n: int(f.on(HOST, "saquery", "-l", f"host000{n} HCA-1").stdout) for n in range(1, 9)}

            def aliases():
                told = f.on(HOST, "saquery", "--smkey", "1", "GIR").stdout.lower()
                return sorted(int(lid, 16) for lid in re.findall(r"0x001405000100([0-9a-f]{4})", told))

            hosts = sorted(lids[n] for n in range(1, 8))
            self.assertTrue(wait_until(lambda: aliases() == hosts), (aliases(), hosts))
            # The port has it, too.
            def held(n):
                return f.on(HOST, "smpquery", "guidinfo", str(lids[n])).stdout.lower()
            self.assertTrue(wait_until(lambda: f"0x001405000100{lids[3]:04x}" in held(3)), held(3))
            # A path from an alias to one on another subnet leads to the router.
            def path(source, target):
                return f.on(HOST, "saquery", "PR", "--sgid", source, "--dgid", target).stdout
            found = path(f"fe80::14:500:100:{lids[1]:x}", "fec0:0:0:7:14:500:100:3")
            self.assertRegex(found, rf"(?m)^\s*dlid\.+{lids[8]}$")
            # And within the subnet it is the host's.
            found = path(f"fe80::14:500:100:{lids[1]:x}", f"fe80::14:500:100:{lids[3]:x}")
            self.assertRegex(found, rf"(?m)^\s*dlid\.+{lids[3]}$")
            end_daemon(f.pid_file)
            conf.write_text("rtr_aguid_enable 2\n")
            f.daemon("-F", conf)
            self.assertTrue(wait_until(lambda: aliases() == []))
            self.assertTrue(wait_until(lambda: "0x0014050001" not in held(3)), held(3))


class Events(unittest.TestCase):
    """What changed: in the log, as JSON lines, in the activity report, over the control socket."""

    def test_a_cable_a_node_and_a_partition(self):
        with Sm(*TREE) as f:
            conf, partitions = f.directory / "conf", f.directory / "partitions"
            partitions.write_text("Default=0x7fff, ipoib : ALL=full ;\n")
            conf.write_text(f"activity_report_subjects all\nevent_file {f.directory}/events\n"
                            f"partition_config_file {partitions}\n")
            pid = f.daemon("-F", conf)
            for words, event in ((("link", "down", "leaf-002", "5"), "link.down"),
                                 (("link", "up", "leaf-002", "5"), "link.up"),
                                 (("node", "remove", "host0009 HCA-1"), "node.left")):
                f.ctl(*words)
                self.assertTrue(wait_until(lambda: f'"{event}"' in (f.directory / "events").read_text()), event)
            partitions.write_text('Default=0x7fff, ipoib : ALL=full ;\nred=0x1 : "host0002 HCA-1" ;\n')
            os.kill(pid, signal.SIGHUP)
            self.assertTrue(wait_until(lambda: "partition.member" in (f.directory / "events").read_text()))
            events = [json.loads(line) for line in (f.directory / "events").read_text().splitlines()]
            self.assertEqual([e["number"] for e in events], list(range(1, len(events) + 1)))
            down = next(e for e in events if e["event"] == "link.down")
            self.assertEqual([(down[end]["name"], down[end]["port"]) for end in "ab"],
                             [("leaf-002", 5), ("spine-001", 2)])
            self.assertIn('W event: link down: "leaf-002" port 5 - "spine-001" port 2\n',
                          (f.directory / "log").read_text())
            asked = f.ibsm_ctl("events", "--json", str(down["number"] - 1)).stdout.splitlines()
            self.assertEqual(json.loads(asked[0]), down)
            self.assertEqual(len(f.ibsm_ctl("events").stdout.splitlines()), len(events))
            os.kill(pid, signal.SIGTERM)
            self.assertTrue(wait_until(lambda: not f.pid_file.exists(), 10))
            report = (f.directory / "state" / "opensm-activity.dump").read_text()
            for line in (r" 2 mcg_change mlid=0xc000 mgid=ff12:401b:ffff::ffff:ffff change=0$",
                         r" 9 routing_succeed engine=ftree entries=\d+ switches=12 load_before=0 load_after=\d+$",
                         r" 4 prtn_create p_key=0x0001 name=red$",
                         r" 3 prtn_guid_add port_guid=0x\w+ p_key=0x0001 block_index=0 p_key_index=1$",
                         r" 5 prtn_delete p_key=0x0001 reason=2$"):
                self.assertRegex(report, "(?m)" + line)
            self.assertNotIn("link", report)


if __name__ == "__main__":
    unittest.main()
