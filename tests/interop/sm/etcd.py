# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Debian's etcd as tests of the store run it: a member in the folder of a fabric, and what etcdctl says."""
import contextlib
import json
import os
import pathlib
import socket
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "ibfabric"))
from fabric import wait_until  # noqa: E402

OTHER_HOST = "host0017 HCA-1"
RETRY = 20  # seconds: ibsm tries every 5


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Etcd:
    """One member in a directory of its own."""

    def __init__(self, directory, *words, scheme="http"):
        self.directory, self.words, self.scheme = directory, words, scheme
        self.port, self.peer, self.process = free_port(), f"http://127.0.0.1:{free_port()}", None
        self.cluster = f"default={self.peer}"

    def start(self):
        self.run()
        assert wait_until(self.answers, 20), (self.directory / "etcd.log").read_text()

    def run(self):
        client = f"{self.scheme}://127.0.0.1:{self.port}"
        with open(self.directory / "etcd.log", "ab") as log:
            self.process = subprocess.Popen(
                ["etcd", "--data-dir", self.directory / "etcd", "--listen-client-urls", client,
                 "--advertise-client-urls", client, "--listen-peer-urls", self.peer,
                 "--initial-advertise-peer-urls", self.peer, "--initial-cluster", self.cluster, *self.words],
                stdout=log, stderr=log)

    def answers(self):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
            return self.scheme == "https" or self.ctl("endpoint", "health").returncode == 0
        return False

    def leads(self):
        """This member is the leader of its cluster, by its own word."""
        if not self.answers():
            return False
        status = json.loads(self.ctl("endpoint", "status", "-w", "json").stdout or "[]")
        return any(one["Status"]["leader"] == one["Status"]["header"]["member_id"] for one in status)

    def ctl(self, *words):
        return subprocess.run(["etcdctl", "--endpoints", f"{self.scheme}://127.0.0.1:{self.port}", *words],
                              capture_output=True, text=True, errors="replace", timeout=60,
                              env=dict(os.environ, ETCDCTL_API="3"))

    def kill(self):
        self.process.kill()
        self.process.wait()

    @property
    def place(self):
        return ("--store", f"etcd{'s' if self.scheme == 'https' else ''}://127.0.0.1:{self.port}")


@contextlib.contextmanager
def etcd(f, *words, **options):
    server = Etcd(f.directory, *words, **options)
    server.start()
    try:
        yield server
    finally:
        server.kill()


def log_of(f):
    return (f.directory / "log").read_text()
