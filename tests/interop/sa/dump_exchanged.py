# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What clients registered at ibsm moves to stock opensm by the SA dump that ibsm wrote, and back to
an ibsm without memory by the one that opensm wrote: group, members (full, by proxy, senders), services
with and without an end, subscriptions (to security traps too) and alias GUIDs, as stock saquery sees
them."""
import ipaddress
import os
import pathlib
import re
import signal
import struct
import unittest

from fabric import TESTS, Fabric, stop, wait_until
from records_compared import BY_NAME, SA_KEY, Attribute, Request, Subnet, ask, get_bits, set_bits

BIN = pathlib.Path(os.environ["IBKIT_BIN"])
PROBE = TESTS / "join_probe"
HERE, THERE = "host0001 HCA-1", "host0009 HCA-1"
BY_PROXY, SENDER = "host0004 HCA-1", "host0005 HCA-1"
GROUP = "ff12:401b:ffff::1234"
ALIAS = 0x1405_0000_00AB_CDEF


def start_ibsm(f, name, *words):
    pid = f.directory / f"{name}.pid"
    up = f.on(HERE, BIN / "ibsm", "-B", "--state-dir", f.directory / name, "-f",
              f.directory / f"{name}.log", "--pidfile", pid, *words)
    assert up.returncode == 0 and up.stdout.startswith("SUBNET UP"), up.stdout + up.stderr
    number = int(pid.read_text(encoding="ascii"))

    def end():
        try:
            os.kill(number, signal.SIGTERM)
        except ProcessLookupError:
            return
        assert wait_until(lambda: not pathlib.Path(f"/proc/{number}").exists())

    f.at_end(end)
    return end


def records(text, of):
    """The records that saquery shows, as sorted lines, those that hold `of`."""
    parts = re.split(r"^\w+ dump:\n|^\w+Record dump:\n|^\S.*:\n", text, flags=re.M)
    found = [sorted(line.strip() for line in part.splitlines() if line.strip())
             for part in parts if of in part]
    return sorted(found)


def look(f):
    """What saquery shows, without what is known to differ: where ProxyJoin is in its byte, and how much
    is left of a lease."""
    def told(*words):
        answer = f.on(THERE, "saquery", "--smkey", "1", *words)
        text = re.sub(r"ProxyJoin.*", "", answer.stdout + answer.stderr)
        return re.sub(r"(ServiceLease\.*)0x(?!f{8})\w+", r"\1less", text, flags=re.I)

    return {"members": records(told("MCMR"), GROUP), "services": records(told("SR"), "service"),
            "subscriptions": records(told("IIR"), "SubscriberGID"),
            "aliases": re.findall(rf"{ALIAS:016x}", told("GIR"), flags=re.I)}


def register(f):
    """What stock tools do not: a member by proxy, one that only sends, a lease, a subscription to a
    security trap, an alias."""
    nodes, ports = (answer.records for answer in ask(
        f, THERE, [Request(BY_NAME["NodeRecord"]), Request(BY_NAME["PortInfoRecord"])]))
    subnet = Subnet(nodes, ports)
    lid, = (get_bits(r, (0, 0, 16)) for r in nodes if r[24:32] == subnet.gids[THERE][8:])
    member = ipaddress.IPv6Address(GROUP).packed

    def join(port, state):
        record = member + subnet.gids[port] + bytes(20)
        return Request(BY_NAME["MCMemberRecord"], "set", 0x10003, set_bits(record, (48, 4, 4), state),
                       SA_KEY)

    leased = (struct.pack(">Q", 0x777) + subnet.gids[THERE] + struct.pack(">HHI", 0xFFFF, 0, 3600) +
              bytes(16) + b"another service".ljust(64, b"\0") + bytes(64))
    security = struct.pack(">16xHHHBBHHIBBH", 0xFFFF, 0, 0, 1, 1, 0xFFFF, 257, 0x112, 0, 0xFF, 0xFFFF)
    alias = struct.pack(">HB5xQQ48x", lid, 0, 0, ALIAS)
    requests = [join(BY_PROXY, 1), Request(BY_NAME["ServiceRecord"], "set", 0x5F, leased),
                Request(Attribute("InformInfo", 0x03, 36, {}), "set", 0, security, SA_KEY),
                Request(BY_NAME["GUIDInfoRecord"], "set", 0x23, alias)]
    answers = ask(f, THERE, requests) + ask(f, SENDER, [join(SENDER, 4)])
    for request, answer in zip([*requests, "send-only join"], answers):
        assert answer.status == "0000", f"{request}: {answer.status}"


class Exchanged(unittest.TestCase):
    def test_there_and_back(self):
        with Fabric("fat-tree", "--radix", "4", "--leaves", "3", "--spines", "1",
                    "--hosts-per-leaf", "3", "--no-lids") as f:
            end = start_ibsm(f, "first")
            for words in (("create", GROUP), ("serve", "a service"), ("subscribe", "66")):
                answer = f.on(THERE, PROBE, *words)
                self.assertEqual(0, answer.returncode, answer.stdout + answer.stderr)
            register(f)
            self.assertTrue(wait_until(lambda: look(f)["aliases"]))
            shown = look(f)
            self.assertEqual({what: len(found) for what, found in shown.items()},
                             {"members": 3, "services": 2, "subscriptions": 2, "aliases": 1})
            end()
            dump = f.directory / "first" / "opensm-sa.dump"
            self.assertIn("MC Group 0xc001", dump.read_text(encoding="ascii"))
            self.assertEqual(0o600, dump.stat().st_mode & 0o777)

            conf = f.directory / "conf"
            conf.write_text("sa_db_dump TRUE\n", encoding="ascii")
            log = f.opensm(HERE, "-F", conf, "-S", dump)
            self.assertEqual(shown, look(f), log.read_text(errors="replace")[-2000:])
            self.assertNotIn("PARSE ERROR", log.read_text(errors="replace"))
            # It writes a dump only when something changed since it read one.
            joined = f.on("host0002 HCA-1", PROBE, "join", GROUP)
            self.assertEqual("mlid 0xc001 state 1\n", joined.stdout)
            shown = look(f)
            self.assertEqual(4, len(shown["members"]))
            stop(f.sm)

            theirs = f.directory / "opensm" / "opensm-sa.dump"
            self.assertTrue(theirs.exists(), list((f.directory / "opensm").iterdir()))
            end = start_ibsm(f, "second", "-S", theirs)
            wait_until(lambda: look(f)["aliases"], 10)
            self.assertEqual(shown, look(f), theirs.read_text(errors="replace"))
            log = (f.directory / "second.log").read_text(errors="replace")
            self.assertIn("2 services, 2 subscriptions", log)
            self.assertNotIn(": line ", log)
            # The incumbent takes these of the trusted only, and does not write who was.
            end()
            dump = (f.directory / "second" / "opensm-sa.dump").read_text(encoding="ascii")
            security, = (line for line in dump.splitlines()
                         if "trap_num=0x101 " in line)
            self.assertIn("trusted=0x1", security)
            proxies = [line for line in dump.splitlines() if "proxy_join=0x1" in line]
            self.assertEqual(len(proxies), 1, dump)


if __name__ == "__main__":
    unittest.main(verbosity=2)
