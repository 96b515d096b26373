# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""ibtracer -g: questions to agents and their answers have a GRH; an agent that knows of none is asked without."""
import ipaddress
import json
import re
import struct
import unittest

from fabric import BIN, TESTS, Fabric, end_daemon, wait_until

HERE, FAR, PLAIN = "host0001 HCA-1", "host0005 HCA-1", "host0006 HCA-1"
CLASS_TRACER, LNH_GRH, LINK_TYPE_ERF = 0x30, 3, 197


def captured(path):
    """(attribute, method, hop limit, destination GID) of each MAD of the tracer's class; None for what it has not."""
    data = path.read_bytes()
    skip = 16 if struct.unpack_from("<I", data, 20)[0] == LINK_TYPE_ERF else 0
    at, mads = 24, []
    while at < len(data):
        length = struct.unpack_from("<I", data, at + 8)[0]
        packet = data[at + 16 + skip:at + 16 + length]
        at += 16 + length
        has_grh = packet[1] & 3 == LNH_GRH
        mad = packet[(48 if has_grh else 8) + 20:]
        if mad[1] == CLASS_TRACER:
            grh = (packet[15], ipaddress.IPv6Address(packet[32:48])) if has_grh else (None, None)
            mads.append((struct.unpack_from(">H", mad, 16)[0], mad[3], *grh))
    return mads


class WithGrh(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.f = cls.enterClassContext(Fabric("fat-tree", "--radix", "4", "--no-lids"))
        pid = cls.f.directory / "pid"
        up = cls.f.on(HERE, BIN / "ibsm", "-B", "-f", cls.f.directory / "log", "--state-dir",
                      cls.f.directory / "sm", "-J", pid)
        assert up.returncode == 0, up.stderr
        cls.f.at_end(lambda: end_daemon(pid))
        cls.f.start(FAR, BIN / "ibtracerd", "--user", "nobody")
        cls.f.start(PLAIN, TESTS / "plain_agent")

    def gid_of(self, host):
        return re.search(r"GID (\S+)", self.f.on(host, "ibaddr", "-g").stdout)[1]

    def last_hop(self, *words):
        traced = []

        def answered():
            traced[:] = [self.f.on(HERE, BIN / "ibtracer", "--json", *words)]
            return traced[0].returncode == 0 and self.hop_of(traced[0])["agent"] == "answered"

        self.assertTrue(wait_until(answered, 10), traced)
        return self.hop_of(traced[0])

    @staticmethod
    def hop_of(traced):
        return json.loads(traced.stdout)["traces"][0]["hops"][-1]

    def test_questions_and_answers_have_a_grh(self):
        here, far = (ipaddress.IPv6Address(self.gid_of(host)) for host in (HERE, FAR))
        self.last_hop("-g", far)  # the agent is there
        file = self.f.directory / "mads"
        self.assertEqual(self.f.ctl("pcap", file).returncode, 0)
        hop = self.last_hop("-g", far)
        self.assertEqual(self.f.ctl("pcap", "off").returncode, 0)
        self.assertEqual((hop["grh"], hop["proof"]), ("answered", "agent"))
        routes = [mad[1:] for mad in captured(file) if mad[0] == 0x0010]
        self.assertIn((0x01, 0, far), routes)
        self.assertIn((0x81, 255, here), routes)
        self.assertEqual({mad[3] for mad in captured(file) if mad[0] == 0x0001}, {None}, "ClassPortInfo has none")
        text = self.f.on(HERE, BIN / "ibtracer", "-v", "-g", far).stdout
        self.assertRegex(text, r'ca +"host0005 HCA-1" .*  verified by agent with GRH\n')

    def test_every_other_target_is_asked_without(self):
        hop = self.last_hop("-l", self.f.lid_of(FAR))
        self.assertEqual((hop["grh"], hop["proof"]), ("not used", "agent"))

    def test_an_agent_that_knows_of_no_grh_is_asked_without_and_said_so(self):
        hop = self.last_hop("-g", self.gid_of(PLAIN))
        self.assertEqual((hop["grh"], hop["proof"]), ("agent does not know it", "agent"))
        traced = self.f.on(HERE, BIN / "ibtracer", "-v", "-g", self.gid_of(PLAIN))
        self.assertEqual(traced.returncode, 0, traced.stderr)
        self.assertIn("verified by agent without GRH, which it does not know\n", traced.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
