# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""ibsm on a fabric of ibfabric, for the tests of the whole program."""
import json
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "ibfabric"))
from fabric import BIN, Fabric, end_daemon, wait_until  # noqa: E402

IBSM = BIN / "ibsm"
TREE = ("fat-tree", "--radix", "8", "--no-lids")
HOST = "host0001 HCA-1"


class Sm(Fabric):
    """A fabric with room for a subnet manager's state."""

    def ibsm(self, *words, at=HOST, state="state"):
        return self.on(at, IBSM, "--state-dir", self.directory / state, "-f", self.directory / "log",
                       *words)

    def ibsm_ctl(self, *words):
        return subprocess.run([IBSM, "ctl", *words, "--state-dir", self.directory / "state"],
                              capture_output=True, text=True, timeout=60)

    def daemon(self, *words, status=0):
        """In the background, until SUBNET UP; gives the process id."""
        self.pid_file = self.directory / "pid"
        started = self.ibsm("-B", "--pidfile", self.pid_file, *words)
        assert started.returncode == status, started.stdout + started.stderr
        assert started.stdout.startswith("SUBNET UP "), started.stdout
        return int(self.pid_file.read_text())

    def __exit__(self, *words):
        if getattr(self, "pid_file", None) and self.pid_file.exists():
            end_daemon(self.pid_file)
        super().__exit__(*words)

    def sets(self):
        rows = json.loads(self.ctl("stats", "--json").stdout)["mads"]
        return sum(r["mads"] for r in rows if r["method_name"] == "Set")

    def ups(self):
        return (self.directory / "log").read_text().count("SUBNET UP")

    def states(self):
        """States of all ports with a cable, as stock iblinkinfo sees them."""
        links = self.on(HOST, "iblinkinfo", "-l").stdout
        return set(re.findall(r"(\w+)/ *\w+\)==>", links)) - {"Down"}

    def lids(self):
        """(lid, lmc) by port, as stock ibnetdiscover sees them."""
        text = self.on(HOST, "ibnetdiscover").stdout
        found = dict(re.findall(r"^\[\d+\]\(([0-9a-f]+)\).*# (lid \d+ lmc \d+)", text, re.M))
        found.update(re.findall(r'^Switch\s+\d+ "(S-[0-9a-f]+)".*port 0 (lid \d+ lmc \d+)', text, re.M))
        return found


def path_to(f, to, *words):
    """Of the path that stock saquery gets for a kind of traffic."""
    lids = {}
    for name in (HOST, to):
        lids[name] = f.on(HOST, "saquery", "-l", name).stdout.strip()
    text = f.on(HOST, "saquery", "PR", "--slid", lids[HOST], "--dlid", lids[to], *words).stdout
    found = dict(re.findall(r"(sl|mtu|rate|pkt_life)\.+(\S+)", text))
    return {key: int(value, 0) for key, value in found.items()}


class Others:
    """Another subnet manager, stock opensm or ibsm, on another host."""
    OTHER, OTHER_GUID = "host0032 HCA-1", "0x0002c903000001f1"

    def start_opensm(self, f, *words):
        """Without waiting for anything; polls soon and gives up soon. Its process."""
        home = f.directory / "opensm"
        home.mkdir(exist_ok=True)
        config = home / "conf"
        config.write_text("sminfo_polling_timeout 200\npolling_retry_number 2\n")
        self.said = home / "log"
        return f.start(self.OTHER, "opensm", "-F", config, "-f", self.said, "-D", "0x43", "-d", "2", *words,
                       env=dict(os.environ, OSM_CACHE_DIR=str(home), OSM_TMP_DIR=str(home)))

    def says(self, text, times=1):
        """opensm does, within 20 seconds."""
        log = lambda: self.said.read_text(errors="replace") if self.said.exists() else ""  # noqa: E731
        self.assertTrue(wait_until(lambda: log().count(text) >= times, 20), f"{text}\n{log()[-3000:]}")

    def end_opensm(self, how):
        """The process by which ibfabric runs it is opensm itself."""
        self.process.send_signal(how)
        self.process.wait(20)

    def subnet_managers(self, f, state="state"):
        said = subprocess.run([IBSM, "ctl", "sm", "--json", "--state-dir", f.directory / state],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(said.returncode, 0, said.stderr)
        return json.loads(said.stdout)

    def becomes(self, f, state, where="state"):
        self.assertTrue(wait_until(lambda: self.subnet_managers(f, where)["state"] == state, 20),
                        (f.directory / "log").read_text()[-3000:])

    def is_whole(self, f, lids):
        self.assertTrue(wait_until(lambda: f.states() == {"Active"}, 20), f.states())
        self.assertEqual(f.lids(), lids)


    def sets_of_tables(self, f, attributes=(0x19, 0x1B)):
        rows = json.loads(f.ctl("stats", "--json").stdout)["mads"]
        return sum(r["mads"] for r in rows if r["method_name"] == "Set"
                   and int(str(r["attribute"]), 0) in attributes)
