# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What clients registered at ibsm moves to stock opensm by the SA dump that ibsm wrote, and back to
an ibsm without memory by the one that opensm wrote: group, members, service and subscription, as
stock saquery sees them."""
import os
import pathlib
import re
import signal
import unittest

from fabric import TESTS, Fabric, stop, wait_until

BIN = pathlib.Path(os.environ["IBKIT_BIN"])
PROBE = TESTS / "join_probe"
HERE, THERE = "host0001 HCA-1", "host0009 HCA-1"
GROUP = "ff12:401b:ffff::1234"


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
    def ask(*words):
        answer = f.on(THERE, "saquery", "--smkey", "1", *words)
        return answer.stdout + answer.stderr

    return {"members": records(ask("MCMR"), GROUP), "services": records(ask("SR"), "a service"),
            "subscriptions": records(ask("IIR"), "SubscriberGID")}


class Exchanged(unittest.TestCase):
    def test_there_and_back(self):
        with Fabric("fat-tree", "--radix", "4", "--leaves", "3", "--spines", "1",
                    "--hosts-per-leaf", "3", "--no-lids") as f:
            end = start_ibsm(f, "first")
            for words in (("create", GROUP), ("serve", "a service"), ("subscribe", "66")):
                answer = f.on(THERE, PROBE, *words)
                self.assertEqual(0, answer.returncode, answer.stdout + answer.stderr)
            shown = look(f)
            for what, found in shown.items():
                self.assertEqual(1, len(found), f"{what}: {found}")
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
            self.assertEqual(2, len(shown["members"]))
            stop(f.sm)

            theirs = f.directory / "opensm" / "opensm-sa.dump"
            self.assertTrue(theirs.exists(), list((f.directory / "opensm").iterdir()))
            start_ibsm(f, "second", "-S", theirs)
            self.assertEqual(shown, look(f), theirs.read_text(errors="replace"))
            log = (f.directory / "second.log").read_text(errors="replace")
            self.assertIn("1 services, 1 subscriptions", log)
            self.assertNotIn(": line ", log)


if __name__ == "__main__":
    unittest.main(verbosity=2)
