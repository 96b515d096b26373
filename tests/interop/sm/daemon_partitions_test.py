# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Partitions of ibsm, members added at run time, and files with mistakes at a start and on SIGHUP."""
import json
import os
import pathlib
import re
import signal
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
from program import TREE, HOST, Sm, path_to  # noqa: E402
from fabric import wait_until  # noqa: E402
from json_schema import complaints  # noqa: E402


class AddedMembers(unittest.TestCase):
    """Members of partitions by `ibsm ctl`, in P_Key tables as stock smpquery reads them."""
    HOST2, HOST3 = "host0002 HCA-1", "host0003 HCA-1"

    def p_keys(self, f, host):
        lid = f.on(HOST, "saquery", "-l", host).stdout.strip()
        return set(re.findall(r"0x[0-9a-f]{4}", f.on(HOST, "smpquery", "pkeys", lid).stdout)) - {"0x0000"}

    def guid(self, f, host):
        record = f.on(HOST, "saquery", "NR", host).stdout
        return re.search(r"port_guid\.+(0x[0-9a-f]+)", record).group(1)

    def test_a_key_that_has_added_members_is_generated_for_no_other_partition(self):
        with Sm(*TREE) as f:
            file = f.directory / "partitions.conf"
            file.write_text("Default=0x7fff : ALL=full ;\n")
            pid = f.daemon("-P", file)
            host2, host3 = self.guid(f, self.HOST2), self.guid(f, self.HOST3)
            self.assertEqual(f.ibsm_ctl("partition", "add", "1", host2).returncode, 0)
            self.assertTrue(wait_until(lambda: self.p_keys(f, self.HOST2) == {"0xffff", "0x8001"}))
            file.write_text(f"Default=0x7fff : ALL=full ;\ntenant : {host3}=full ;\n")
            os.kill(pid, signal.SIGHUP)
            self.assertTrue(wait_until(lambda: self.p_keys(f, self.HOST3) == {"0xffff", "0x8002"}))
            self.assertEqual(self.p_keys(f, self.HOST2), {"0xffff", "0x8001"})

    def test_added_kept_over_a_restart_and_a_reload_and_taken_away(self):
        with Sm(*TREE) as f:
            file = f.directory / "partitions.conf"
            file.write_text("Default=0x7fff, ipoib : ALL=full ;\nred=0x1 : SELF=full ;\n")
            f.daemon("-P", file)
            guid = self.guid(f, self.HOST2)
            added = f.ibsm_ctl("partition", "add", "0x8001", guid, "0xfeedf00d", "--owner", "slurm")
            self.assertEqual((added.returncode, added.stdout), (0, "added 2 members of P_Key 0x0001\n"), added.stderr)
            self.assertTrue(wait_until(lambda: self.p_keys(f, self.HOST2) == {"0xffff", "0x8001"}))
            rows = json.loads(f.ibsm_ctl("partition", "list", "--json").stdout)["members"]
            self.assertEqual(sorted((r["state"], r["owner"]) for r in rows),
                             [("absent", "slurm"), ("programmed", "slurm")])
            shown = f.ibsm("--show-config", "-P", file).stdout
            self.assertIn(f"partition_config_file {file}  # command line\n", shown)
            self.assertRegex(shown, rf"(?m)^# partition member 0x0001 {guid} full .*owner=slurm .*# ibsm ctl partition$")
            shown = json.loads(f.ibsm("--show-config=json").stdout)
            self.assertEqual(len(shown["added_partition_members"]), 2)
            os.kill(int(f.pid_file.read_text()), signal.SIGHUP)
            self.assertTrue(wait_until(lambda: f.ups() >= 3))
            self.assertEqual(self.p_keys(f, self.HOST2), {"0xffff", "0x8001"})
            os.kill(int(f.pid_file.read_text()), signal.SIGTERM)
            self.assertTrue(wait_until(lambda: not f.pid_file.exists(), 10))
            before = f.sets()
            f.daemon("-P", file)
            self.assertEqual(f.sets(), before, "a restart sets nothing")
            other = f.ibsm_ctl("partition", "remove", "1", guid, "--owner", "kubernetes")
            self.assertEqual(other.returncode, 1)
            self.assertIn("it was added by owner 'slurm'", other.stdout)
            self.assertEqual(f.ibsm_ctl("partition", "remove", "1", guid).returncode, 0)
            self.assertTrue(wait_until(lambda: self.p_keys(f, self.HOST2) == {"0xffff"}))

    def test_what_cannot_be_is_said_and_changes_nothing(self):
        with Sm(*TREE) as f:
            f.daemon()
            for words, status, text in (
                    (("add", "0", "0x1"), 2, "expected a P_Key from 0x1 to 0x7fff"),
                    (("add", "1", "nobody"), 1, "no node is named 'nobody'; nothing was changed"),
                    (("add", "1", "0x"), 2, "expected the GUID of a port (0x...), got '0x'"),
                    (("add", "1"), 2, "expected partition add P_KEY PORT..."),
                    (("remove", "1", "0x99"), 1, "it was not added"),
                    (("add", "0x7fff", self.guid(f, HOST), "--limited"), 1, "always a full member"),
                    (("add", "1", "0x99", "--limited", "--both"), 2, "expected --limited or --both, got both of them"),
                    (("add", "1", "0x99", "--both"), 2, "allow_both_pkeys (-W) is off")):
                answer = f.ibsm_ctl("partition", *words)
                self.assertEqual(answer.returncode, status, words)
                self.assertIn(text, answer.stdout + answer.stderr)
            self.assertEqual(f.ibsm_ctl("partition", "list").stdout, "no member was added\n")
            twice = f.ibsm_ctl("partition", "add", "9", "0x99", "0x99", "--json")
            said = json.loads(twice.stdout)
            self.assertEqual(complaints(said), [])
            self.assertEqual({key: said[key] for key in ("schema", "change", "p_key", "members", "refused")},
                             {"schema": "ibkit.ibsm-partitions-change/2", "change": "added", "p_key": "0x0009",
                              "members": 1, "refused": []})
            gone = json.loads(f.ibsm_ctl("partition", "remove", "9", "0x99", "0x98", "--json").stdout)
            self.assertEqual((gone["members"], [r["port_guid"] for r in gone["refused"]]), (1, ["0x0000000000000098"]))
            os.kill(int(f.pid_file.read_text()), signal.SIGTERM)
            self.assertTrue(wait_until(lambda: not f.pid_file.exists(), 10))
            nobody = f.ibsm_ctl("partition", "list")
            self.assertEqual(nobody.returncode, 4)
            self.assertIn("no ibsm listens at", nobody.stderr)


class Partitions(unittest.TestCase):
    """What stock smpquery and saquery see of a partition file."""

    def lid(self, f, name):
        return f.on(HOST, "saquery", "-l", name).stdout.strip()

    def keys(self, f, name):
        text = f.on(HOST, "smpquery", "pkeys", self.lid(f, name), "1").stdout
        found = re.findall(r"0x[0-9a-f]{4}", text)
        return [key for key in found if key != "0x0000"]

    def test_tables_groups_and_paths_follow_the_file_and_its_reload(self):
        with Sm(*TREE) as f:
            file = f.directory / "partitions.conf"
            default = "Default=0x7fff, ipoib : ALL, SELF=full ;\n"
            file.write_text(default + 'red=0x1, ipoib : "host0002 HCA-1"=full, "host0003 HCA-1" ;\n'
                            'blue, ipoib : "host0004 HCA-1"=full ;\n')
            pid = f.daemon("-P", file)
            self.assertEqual(self.keys(f, HOST), ["0xffff"])
            self.assertEqual(self.keys(f, "host0002 HCA-1"), ["0x7fff", "0x8001"])
            self.assertEqual(self.keys(f, "host0003 HCA-1"), ["0x7fff", "0x0001"])
            self.assertEqual(self.keys(f, "host0004 HCA-1"), ["0x7fff", "0x8002"])
            for host, keys in (("host0003", {"ffff", "8001"}), ("host0004", {"ffff", "8002"}),
                               ("host0005", {"ffff"})):
                groups = f.on(f"{host} HCA-1", "saquery", "-g").stdout
                self.assertEqual(set(re.findall(r"401b:(\w+)::", groups)), keys, host)
            # Two limited members of the default partition share nothing.
            lids = [self.lid(f, f"host000{i} HCA-1") for i in (2, 3, 4)]
            paths = f.on("host0002 HCA-1", "saquery", "PR", "--slid", lids[0], "--dlid", lids[1]).stdout
            self.assertIn("pkey....................0x8001", paths)
            self.assertNotIn("pkey", f.on("host0002 HCA-1", "saquery", "PR", "--slid", lids[0],
                                          "--dlid", lids[2]).stdout)
            sets = f.sets()
            file.write_text(file.read_text() + 'red=0x1 : "host0004 HCA-1" ;\n')
            os.kill(pid, signal.SIGHUP)
            self.assertTrue(wait_until(
                lambda: self.keys(f, "host0004 HCA-1") == ["0x7fff", "0x8002", "0x0001"], 20))
            self.assertEqual(f.sets(), sets + 2)

    def test_a_restart_sets_nothing_and_generated_keys_stay(self):
        with Sm(*TREE) as f:
            file = f.directory / "partitions.conf"
            file.write_text('one : "host0002 HCA-1" ;\ntwo : "host0003 HCA-1" ;\n')
            self.assertEqual(f.ibsm("-o", "-P", file).returncode, 0)
            sets = f.sets()
            self.assertEqual(f.ibsm("-o", "-P", file).returncode, 0)
            self.assertEqual(f.sets(), sets)
            file.write_text('two : "host0003 HCA-1" ;\n')
            (f.directory / "state" / "partition-keys").unlink()  # the store has them
            f.daemon("-P", file)
            self.assertEqual(self.keys(f, "host0003 HCA-1"), ["0x7fff", "0x0002"])
            self.assertIn("0x0002 two\n", (f.directory / "state" / "partition-keys").read_text())

    def test_a_mistake_never_widens_access(self):
        with Sm(*TREE) as f:
            file, log = f.directory / "partitions.conf", f.directory / "log"
            file.write_text("Default=0x7fff : ALL, SELF=full\nred=0x1 ; ALL ;\n")
            refused = f.ibsm("-o", "-P", file)
            self.assertEqual(refused.returncode, 2, refused.stderr)
            self.assertIn(f"{file}:2:", refused.stderr)
            self.assertEqual(f.ibsm("-o", "-P", f.directory / "nowhere").returncode, 2)
            self.assertEqual(f.sets(), 0)
            good = 'Default=0x7fff : ALL, SELF=full ;\nred=0x1 : "host0002 HCA-1" ;\n'
            file.write_text(good)
            pid = f.daemon("-P", file)
            file.write_text(good + "blue=0x8000 : ALL ;\n")
            os.kill(pid, signal.SIGHUP)
            self.assertTrue(wait_until(
                lambda: "what was in force stays in force, all of it" in log.read_text(), 20))
            self.assertEqual(self.keys(f, "host0002 HCA-1"), ["0x7fff", "0x0001"])
            os.kill(pid, signal.SIGTERM)
            self.assertTrue(wait_until(lambda: not f.pid_file.exists(), 10))
            # A cold start with it takes the last good one, and says so.
            log.unlink()
            pid = f.daemon("-P", file)
            trouble = f"cannot use the partitions of {file}: the last copy that could be used is in force"
            self.assertIn(f"the last copy of {file} that could be used is in force", log.read_text())
            self.assertEqual(self.keys(f, "host0002 HCA-1"), ["0x7fff", "0x0001"])
            # An event, a line at each report, and one beside SUBNET UP, until it is mended.
            self.assertIn(f"the configuration is refused: {trouble}", f.ibsm_ctl("events").stdout)
            self.assertEqual(log.read_text().count(f" E config: {trouble}"), 1)
            os.kill(pid, signal.SIGHUP)
            self.assertTrue(wait_until(lambda: f.ups() == 2))
            self.assertEqual(len(re.findall(r" E config: cannot use the partitions of .*: what was in force before stays",
                                            log.read_text())), 1)
            file.write_text(good)
            os.kill(pid, signal.SIGHUP)
            self.assertTrue(wait_until(lambda: "the configuration is in order again" in log.read_text()))
            self.assertTrue(wait_until(lambda: f.ups() == 3))
            self.assertIn("the configuration was read again", f.ibsm_ctl("events").stdout)
            self.assertEqual(len(re.findall(" E config: cannot use the partitions of .*: ", log.read_text())), 2)
            os.kill(pid, signal.SIGTERM)
            self.assertTrue(wait_until(lambda: not f.pid_file.exists(), 10))
            file.write_text(good + "blue=0x8000 : ALL ;\n")
            once = f.ibsm("-o", "-P", file)
            self.assertEqual(once.returncode, 0)
            self.assertEqual(once.stdout.splitlines()[1:], [f"config: {trouble}"])
            checked = f.ibsm("--check-config", "-P", file)
            self.assertEqual(checked.returncode, 2)


# The keys of the specification's examples: a set for all, one for hosts, one for switches.


class Reload(unittest.TestCase):
    """SIGHUP: the options file and all that it names, whole or not at all."""

    def hoq(self, f):
        lid = re.search(r"^Switch.*lid (\d+) ", f.on(HOST, "ibnetdiscover").stdout, re.M).group(1)
        return re.search(r"HoqLife:\.+(\d+)", f.on(HOST, "smpquery", "portinfo", lid, "5").stdout).group(1)

    def test_what_can_change_does_and_the_rest_waits_for_a_restart(self):
        with Sm(*TREE) as f:
            conf, log = f.directory / "conf", f.directory / "log"
            conf.write_text("head_of_queue_lifetime 0x10\n")
            pid = f.daemon("-F", conf)
            self.assertEqual(self.hoq(f), "16")
            conf.write_text("head_of_queue_lifetime 0x11\nlmc 2\n")
            os.kill(pid, signal.SIGHUP)
            self.assertTrue(wait_until(lambda: f.ups() == 2))
            self.assertEqual(self.hoq(f), "17")
            self.assertIn(" W config: lmc: the new value takes a restart of ibsm\n", log.read_text())
            self.assertEqual({lmc.split()[-1] for lmc in f.lids().values()}, {"0"})

    def test_one_mistake_anywhere_leaves_everything_and_is_said_until_it_is_mended(self):
        with Sm(*TREE) as f:
            conf, log, partitions = f.directory / "conf", f.directory / "log", f.directory / "partitions"
            partitions.write_text("Default=0x7fff : ALL, SELF=full ;\n")
            conf.write_text(f"head_of_queue_lifetime 0x10\npartition_config_file {partitions}\n")
            pid = f.daemon("-F", conf)
            for good, bad in ((conf, "head_of_queue_lifetime 99\n"), (partitions, "x=0x8000 : ALL ;\n")):
                before, sets = good.read_text(), f.sets()
                conf.write_text(conf.read_text().replace("0x10", "0x12"))
                good.write_text(bad)
                ups = f.ups()
                os.kill(pid, signal.SIGHUP)
                self.assertTrue(wait_until(lambda: f.ups() == ups + 1))
                self.assertEqual(self.hoq(f), "16")
                self.assertEqual(f.sets(), sets)
                self.assertIn("what was in force stays in force, all of it", log.read_text())
                self.assertIn(": what was in force before stays", log.read_text())
                good.write_text(before.replace("0x12", "0x10"))
                conf.write_text(conf.read_text().replace("0x12", "0x10"))
            os.kill(pid, signal.SIGHUP)
            self.assertTrue(wait_until(lambda: "the configuration is in order again" in log.read_text()))


def broken_files(name):
    """The texts of tests/golden/policy/NAME that are refused, as bytes."""
    cases = (pathlib.Path(__file__).parents[2] / "golden" / "policy" / name).read_text().split("\n=== ")
    for case in cases[1:]:
        text, messages = case.partition("\n")[2].partition("---\n")[::2]
        if ": error: " in messages:
            unescaped = re.sub(r"\\(x..|.)", lambda m: {"r": "\r"}.get(m[1], m[1]) if m[1][0] != "x"
                               else chr(int(m[1][1:], 16)), text[:-1])
            yield case.partition("\n")[0], unescaped.encode("latin-1")


class BrokenFiles(unittest.TestCase):
    """A reload with a broken file changes nothing on the fabric, whichever file it is."""

    def check(self, cases, key, good):
        with Sm(*TREE) as f:
            file, conf = f.directory / "file", f.directory / "conf"
            file.write_text(good)
            conf.write_text(f"{key} {file}\nqos TRUE\n")
            pid = f.daemon("-F", conf)
            sets, count = f.sets(), 0
            for name, text in broken_files(cases):
                file.write_bytes(text)
                ups = f.ups()
                os.kill(pid, signal.SIGHUP)
                self.assertTrue(wait_until(lambda: f.ups() == ups + 1), name)
                self.assertIn("what was in force stays in force, all of it", (f.directory / "log").read_text(), name)
                self.assertEqual(f.sets(), sets, name)
                count += 1
            self.assertGreater(count, 30)
            file.write_text(good)
            os.kill(pid, signal.SIGHUP)
            self.assertTrue(wait_until(
                lambda: "the configuration is in order again" in (f.directory / "log").read_text()))
            self.assertEqual(f.sets(), sets)

    def test_partitions(self):
        self.check("partitions.cases", "partition_config_file",
                   'Default=0x7fff : ALL, SELF=full ;\nred=0x1 : "host0002 HCA-1" ;\n')

    def test_qos_policy(self):
        self.check("qos-policy.cases", "qos_policy_file", "qos-ulps\n default : 1\nend-qos-ulps\n")

    def test_a_broken_qos_policy_at_the_start(self):
        """Without a last good one nothing starts; with one its rules are in force, and it is said."""
        with Sm(*TREE) as f:
            file, conf, log = f.directory / "file", f.directory / "conf", f.directory / "log"
            file.write_text("qos-ulps\n default : 17\nend-qos-ulps\n")
            conf.write_text(f"qos_policy_file {file}\nqos TRUE\n")
            refused = f.ibsm("-o", "-F", conf)
            self.assertEqual(refused.returncode, 2)
            self.assertIn("the QoS policy of", refused.stderr)
            file.write_text("qos-ulps\n default : 3\nend-qos-ulps\n")
            self.assertEqual(f.ibsm("-o", "-F", conf).returncode, 0)
            partitions = f.directory / "partitions"
            partitions.write_text("Default=0x7fff : ALL, SELF=full ;\n")
            conf.write_text(conf.read_text() + f"partition_config_file {partitions}\n")
            file.write_text("qos-ulps\n default : 17\nend-qos-ulps\n")
            self.assertEqual(f.ibsm("--check-config", "-F", conf).returncode, 2)
            f.daemon("-F", conf)
            self.assertIn(f"the last copy of {file} that could be used is in force", log.read_text())
            self.assertEqual(path_to(f, "host0002 HCA-1")["sl"], 3)

    def test_rates(self):
        self.check("rates.cases", "enhanced_qos_policy_file",
                   "BW_NAMES\nslow = 1000\nBW_RULES\ndefault = 1:slow\n")


if __name__ == "__main__":
    unittest.main()
