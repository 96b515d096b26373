# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Virtual ports of a host, as its administrator sees them: brought up, in partitions, with rates, found
by stock saquery, and told of in the activity report."""
import json
import os
import pathlib
import re
import signal
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "ibfabric"))
from program import HOST, TREE, Sm  # noqa: E402
from fabric import wait_until  # noqa: E402

WITH = "host0005 HCA-1"


class VirtualPorts(unittest.TestCase):
    def vports(self, f):
        return json.loads(f.ctl("vport", WITH, "--json").stdout)["vports"]

    def gid(self, guid):
        digits = f"{int(guid, 16):016x}"
        return "fe80::" + ":".join(digits[i:i + 4] for i in range(0, 16, 4))

    def test_a_virtual_machine_comes_and_goes(self):
        with Sm(*TREE) as plain:
            text = plain.directory / "virtual.topo"
            text.write_text(pathlib.Path(plain.topology).read_text() + f'#device "{WITH}" vports=2\n')
            with Sm(topology=str(text)) as f:
                machine, other = self.vports(f)
                self.assertEqual((machine["state"], other["state"]), ("down", "down"))
                conf, partitions, rates = (f.directory / name for name in ("conf", "partitions", "rates"))
                partitions.write_text(f"Default=0x7fff : ALL, SELF=full ;\n"
                                      f"red=0x12 : {machine['port_guid']}=full ;\n")
                rates.write_text(f"BW_NAMES\nslow = 1000\nBW_RULES\n{machine['port_guid']} = 3:slow\n")
                conf.write_text(f"virt_enabled 2\nqos TRUE\nenhanced_qos_policy_file {rates}\n"
                                f"partition_config_file {partitions}\nactivity_report_subjects virt\n")
                pid = f.daemon("-F", conf)

                def are(*states):
                    return lambda: [v["state"] for v in self.vports(f)] == list(states)

                self.assertTrue(wait_until(are("active", "active")), self.vports(f))
                machine, other = self.vports(f)
                self.assertIn("0x8012", machine["p_keys"])
                self.assertNotIn("0x8012", other["p_keys"])
                self.assertEqual((machine["rate_limits_mbps"][3], other["rate_limits_mbps"][3]), (1000, 0))

                # The path leads to the port that it is behind, with a GRH.
                lid = f.on(HOST, "saquery", "-l", WITH).stdout.strip()
                here = re.search(r"GID.*?(fe80:\S+)", f.on(HOST, "ibaddr").stdout).group(1)
                query = ("saquery", "-p", "--sgid-to-dgid", f"{here}-{self.gid(machine['port_guid'])}")

                def path():
                    return f.on(HOST, *query).stdout

                self.assertTrue(wait_until(lambda: "dlid" in path()), path())
                self.assertRegex(path(), rf"(?m)dlid\.+{lid}$")
                self.assertRegex(path(), r"(?m)hop_flow_raw\.+0x2$")

                # The machine ends, and another one begins there.
                self.assertEqual(f.ctl("vport", WITH, "1", "down").returncode, 0)
                self.assertTrue(wait_until(lambda: "dlid" not in path()))
                self.assertEqual(f.ctl("vport", WITH, "1", "guid", "0x0002c90300abcdef").returncode, 0)
                self.assertEqual(f.ctl("vport", WITH, "1", "up").returncode, 0)
                self.assertTrue(wait_until(are("active", "active")), self.vports(f))
                self.assertNotIn("0x8012", self.vports(f)[0]["p_keys"])

                os.kill(pid, signal.SIGTERM)
                self.assertTrue(wait_until(lambda: not f.pid_file.exists(), 10))
                report = (f.directory / "state" / "opensm-activity.dump").read_text()
                port = r"port_guid=0x\w+"
                for line in (rf" 6 port_virt_discover {port} top_index=2$",
                             rf" 7 vport_state_change {port} virtual_port_guid={machine['port_guid']} index=1 "
                             rf"virtual_node_guid={machine['node_guid']} state=4$",
                             rf" 7 vport_state_change {port} virtual_port_guid={machine['port_guid']} index=1 "
                             rf"virtual_node_guid={machine['node_guid']} state=1$",
                             rf" 7 vport_state_change {port} virtual_port_guid=0x0002c90300abcdef index=1 "):
                    self.assertRegex(report, "(?m)" + line)


if __name__ == "__main__":
    unittest.main()
