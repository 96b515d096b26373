# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The congestion control manager, judged by stock ibccquery and ibccconfig, and by what stock opensm
programs by the same keys."""
import json
import os
import re
import signal
import sys
import unittest

from program import HOST, TREE, Sm, end_daemon, wait_until

LARGER = ("fat-tree", "--radix", "18", "--no-lids")  # 162 hosts


class Congestion(Sm):
    def manager(self, settings, *options):
        """Options that turn the manager on, with this text in its file."""
        self.conf = self.directory / "ccmgr.conf"
        self.conf.write_text(settings)
        file = self.directory / "opts"
        file.write_text("event_plugin_name ccmgr\n"
                        f"event_plugin_options ccmgr --conf_file {self.conf}\n" + "\n".join(options))
        return file

    def query(self, what, lid, *words):
        """What ibccquery prints, a value or a list of them for each name."""
        result = self.on(HOST, "ibccquery", *words, what, lid)
        found = {}
        for name, value in re.findall(r"^(\w+):\.*(\S+)$", result.stdout, re.M):
            found.setdefault(name, []).append(value)
        return found

    def config(self, *words):
        return self.on(HOST, "ibccconfig", *words)

    def lid_lists(self):
        """LIDs of switches and of hosts."""
        net = self.on(HOST, "ibnetdiscover").stdout
        switches = re.findall(r"^Switch.* lid (\d+) ", net, re.M)
        hosts = re.findall(r'^\[\d+\]\([0-9a-f]+\) .*# lid (\d+) lmc', net, re.M)
        return switches, hosts

    def log(self):
        return (self.directory / "log").read_text()


class Manager(unittest.TestCase):
    def test_every_device_holds_what_the_file_says_and_is_set_once(self):
        with Congestion(*LARGER) as f:
            opts = f.manager("")
            up = f.ibsm("-o", "-F", opts)
            self.assertEqual(up.returncode, 0, up.stdout + up.stderr)
            self.assertIn("congestion control is on in 27 switches and 162 ports of channel adapters; 513 Sets",
                          f.log())
            switches, hosts = f.lid_lists()
            self.assertEqual((len(switches), len(hosts)), (27, 162))
            for lid in switches:
                setting = f.query("SS", lid)
                self.assertEqual(setting["Threshold"], ["0x0f"])
                self.assertEqual(setting["Packet_Size"], ["8"])
                self.assertEqual(setting["Marking_Rate"], ["10"])
            leaves = [f.query("SS", lid)["Victim_Mask"][0].lstrip("0") for lid in switches]
            self.assertEqual(sorted(leaves), [""] * 9 + ["3fe"] * 18, "ports 1 to 9 of the leaves")
            for lid in hosts[::20]:
                setting = f.query("CS", lid)
                # 192 for 162 hosts: 11 x 191 x 330 ns in 1.024 us.
                self.assertEqual(setting["CCTI_Timer"], ["678"] * 16)
                self.assertEqual(setting["CCTI_Increase"], ["1"] * 16)
                self.assertEqual(setting["Trigger_Threshold"], ["2"] * 16)
                table = f.query("CT", lid)
                self.assertEqual(table["CCTI_Limit"], ["127"])
                self.assertEqual(len(table["Entry"]), 128)
                self.assertEqual((table["CCT_Shift"][0], table["CCT_Multiplier"][0]), ("0", "0"))
                self.assertEqual((table["CCT_Shift"][127], table["CCT_Multiplier"][127]), ("3", str(190 * 8)))
            before = f.sets()
            self.assertEqual(f.ibsm("-o", "-F", opts).returncode, 0)
            self.assertEqual(f.sets(), before, "a second start sends no Set")

    def test_one_run_turns_it_off_and_reads_that_back(self):
        with Congestion(*TREE) as f:
            self.assertEqual(f.ibsm("-o", "-F", f.manager("")).returncode, 0)
            switches, hosts = f.lid_lists()
            self.assertEqual(f.query("SS", switches[0])["Threshold"], ["0x0f"])
            self.assertEqual(f.ibsm("-o").returncode, 0)
            self.assertEqual(f.query("SS", switches[0])["Threshold"], ["0x0f"], "without the manager it stays")
            self.assertEqual(f.ibsm("-o", "-F", f.manager("enable FALSE\n")).returncode, 0)
            self.assertIn("congestion control is off, as read back, in 12 switches and 32 ports", f.log())
            for lid in switches:
                setting = f.query("SS", lid)
                self.assertEqual((setting["Threshold"], setting["Marking_Rate"]), (["0x00"], ["0"]))
            for lid in hosts:
                self.assertEqual(f.query("CS", lid)["CCTI_Increase"], ["0"] * 16)
                self.assertEqual(f.query("CT", lid)["CCTI_Limit"], ["0"])

    def test_the_file_is_read_again_and_strangers_are_overruled(self):
        with Congestion(*TREE) as f:
            pid = f.daemon("-F", f.manager("threshold 9\n"))
            switches, hosts = f.lid_lists()
            self.assertTrue(wait_until(lambda: f.query("SS", switches[0])["Threshold"] == ["0x09"]))
            f.conf.write_text("threshold 77\n")
            os.kill(pid, signal.SIGHUP)
            self.assertTrue(wait_until(
                lambda: "ccmgr.conf:1:11: error: expected a threshold from 0 to 15, got '77'" in f.log()))
            self.assertEqual(f.query("SS", switches[0])["Threshold"], ["0x09"])
            f.conf.write_text("threshold 4\n")
            self.assertEqual(f.config("CS", hosts[0], "1", "0xffff", "7", "7", "7", "7").returncode, 0)
            self.assertEqual(f.query("CS", hosts[0])["CCTI_Timer"], ["7"] * 16)
            os.kill(pid, signal.SIGHUP)
            self.assertTrue(wait_until(lambda: f.query("SS", switches[0])["Threshold"] == ["0x04"]))
            self.assertTrue(wait_until(lambda: f.query("CS", hosts[0])["CCTI_Timer"] == ["150"] * 16))

    def test_at_a_start_the_last_good_copy_of_a_broken_file_counts(self):
        with Congestion(*TREE) as f:
            opts = f.manager("threshold 9\n")
            f.daemon("-F", opts)
            switches, _ = f.lid_lists()
            self.assertTrue(wait_until(lambda: f.query("SS", switches[0])["Threshold"] == ["0x09"]))
            end_daemon(f.pid_file)
            f.conf.write_text("threshold 77\n")
            f.daemon("-F", opts)
            self.assertIn(f"{f.conf}:1:11: error: expected a threshold from 0 to 15, got '77'", f.log())
            self.assertIn(f"the last copy of {f.conf} that could be used is in force", f.log())
            self.assertEqual(f.query("SS", switches[0])["Threshold"], ["0x09"])

    def test_a_key_keeps_ibccconfig_out(self):
        with Congestion(*TREE) as f:
            self.assertEqual(f.ibsm("-o", "-F", f.manager("", "cc_key 0x1234")).returncode, 0)
            _, hosts = f.lid_lists()
            shown = f.query("CK", hosts[3])
            self.assertEqual(shown["CC_Key"], ["0x0000000000000000"], "it is hidden")
            self.assertEqual((shown["CC_KeyProtectBit"], shown["CC_KeyLeasePeriod"]), (["1"], ["60"]))
            self.assertEqual(f.query("CK", hosts[3], "-c", "0x1234")["CC_Key"], ["0x0000000000001234"])
            wanted = ("CS", hosts[3], "1", "0xffff", "7", "7", "7", "7")
            self.assertNotEqual(f.config("-t", "50", *wanted).returncode, 0)
            self.assertEqual(f.query("CS", hosts[3])["CCTI_Timer"], ["150"] * 16)
            self.assertEqual(f.config("-c", "0x1234", *wanted).returncode, 0)
            self.assertEqual(f.query("CS", hosts[3])["CCTI_Timer"], ["7"] * 16)

    def test_hosts_with_a_hidden_key_of_somebody_else_are_left_out(self):
        with Congestion(*TREE) as f:
            opts = f.manager("max_errors 0\nerror_window 60\n")
            self.assertEqual(f.ibsm("-o").returncode, 0)
            _, hosts = f.lid_lists()
            for lid in hosts:
                self.assertEqual(f.config("CK", lid, "0x77", "1", "0", "1").returncode, 0)
            again = f.ibsm("-o", "-F", opts)
            self.assertEqual(again.returncode, 0, again.stdout)
            self.assertIn("a CC_Key that is not ours and is not shown protects it", f.log())
            self.assertNotIn("more than max_errors", f.log(), "no request was without an answer")

    def test_other_plugins_are_warned_of(self):
        with Congestion(*TREE) as f:
            opts = f.directory / "opts"
            opts.write_text("event_plugin_name osmeventplugin\n")
            self.assertEqual(f.ibsm("-o", "-F", opts).returncode, 0)
            self.assertEqual(f.log().count("ibsm loads no plug-ins, and does without osmeventplugin"), 1)


KEYS = """congestion_control TRUE
cc_sw_cong_setting_control_map 0x1f
cc_sw_cong_setting_victim_mask 0x1e
cc_sw_cong_setting_credit_mask 0x100
cc_sw_cong_setting_threshold 0x0c
cc_sw_cong_setting_packet_size 8
cc_sw_cong_setting_credit_starvation_threshold 0x0a
cc_sw_cong_setting_credit_starvation_return_delay 1:99
cc_sw_cong_setting_marking_rate 7
cc_ca_cong_setting_port_control 0x0001
cc_ca_cong_setting_control_map 0x000b
cc_ca_cong_setting_ccti_timer 0 150
cc_ca_cong_setting_ccti_timer 3 200
cc_ca_cong_setting_ccti_increase 0 1
cc_ca_cong_setting_ccti_increase 3 4
cc_ca_cong_setting_trigger_threshold 1 5
cc_ca_cong_setting_ccti_min 3 6
cc_cct 0:0,1:1,2:2,3:3,0:100
"""


class Incast(unittest.TestCase):
    """40 hosts send to one; a victim shares a link with some of them. Judged by stock perfquery."""

    SENDERS = [f"host{10 + i * 153 // 40:04}" for i in range(40)]

    def flow(self, f, source, target):
        return json.loads(f.ctl("flow", "add", source, target, "--json").stdout)["ids"][0]

    def state(self, f, number):
        flows = json.loads(f.ctl("flow", "list", "--json").stdout)["flows"]
        return next(flow for flow in flows if flow["id"] == number)

    def lid(self, f, node):
        return re.search(rf"{node['node_guid'][2:]}.* lid (\d+) ", f.on(HOST, "ibnetdiscover").stdout)[1]

    def wait_counter(self, f, node, port):
        """Stock perfquery's PortXmitWait, set to 0 just before: it stands when it is full, which takes seconds."""
        lid = self.lid(f, node)
        self.assertEqual(f.on(HOST, "perfquery", "-R", lid, str(port)).returncode, 0)
        return int(re.search(r"PortXmitWait:\.*(\d+)", f.on(HOST, "perfquery", lid, str(port)).stdout)[1])

    def run_incast(self, f):
        for sender in self.SENDERS:
            self.flow(f, f"{sender} HCA-1", "host0001 HCA-1")
        for target in range(19, 162):
            victim = self.flow(f, "host0011 HCA-1", f"host{target:04} HCA-1")
            state = self.state(f, victim)
            if state["limit"] == "behind" and state["limited_at"]["name"].startswith("leaf"):
                return state
            f.ctl("flow", "del", str(victim))

    def test_a_victim_is_twice_as_fast_with_congestion_control_at_least(self):
        with Congestion(*LARGER) as f:
            self.assertEqual(f.ibsm("-o").returncode, 0)
            without = self.run_incast(f)
            self.assertAlmostEqual(without["gbit"], 100 / 40, places=6)
            behind = without["limited_at"]
            self.assertGreater(self.wait_counter(f, behind, behind["port"]), 0)
            by_vl = f.on(HOST, "perfquery", "--vlxmitcounters", self.lid(f, behind),
                         str(behind["port"])).stdout
            self.assertRegex(by_vl, r"PortVLXmitWait0:\.*65535\n")
            opts = f.manager("")
            up = f.ibsm("-o", "-F", opts)
            self.assertEqual(up.returncode, 0, up.stdout + up.stderr)
            victim = self.state(f, without["id"])
            self.assertGreaterEqual(victim["gbit"], 2 * without["gbit"])
            self.assertEqual(self.wait_counter(f, behind, behind["port"]), 0)


class AsOpensm(unittest.TestCase):
    """opensm's own keys: what ibccquery shows after opensm and after ibsm."""

    def held(self, f):
        switches, hosts = f.lid_lists()
        return ([f.query("SS", lid) for lid in switches], [f.query("CS", lid) for lid in hosts],
                [f.query("CT", lid) for lid in hosts])

    def test_the_same_settings_as_opensm(self):
        found = {}
        for who in ("opensm", "ibsm"):
            with Congestion(*TREE) as f:
                conf = f.directory / "conf"
                conf.write_text(KEYS)
                if who == "opensm":
                    f.opensm(HOST, "-F", conf)
                else:
                    f.daemon("-F", conf)
                switches, hosts = f.lid_lists()
                self.assertTrue(wait_until(
                    lambda: all(f.query("CT", lid)["CCTI_Limit"] == ["4"] for lid in (hosts[0], hosts[-1]))
                    and f.query("SS", switches[-1])["Marking_Rate"] == ["7"], 20))
                found[who] = [sorted(map(repr, kind)) for kind in self.held(f)]
        self.assertEqual(found["ibsm"], found["opensm"])


if __name__ == "__main__":
    sys.exit(unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]]))
