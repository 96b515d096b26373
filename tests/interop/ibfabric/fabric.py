# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A served fabric for one test: its own directory, socket and server, all gone at the end."""
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

BIN = pathlib.Path(os.environ["IBKIT_BIN"])
LIB = pathlib.Path(os.environ["IBKIT_LIB"])
TESTS = pathlib.Path(os.environ["IBKIT_TESTS"])
IBFABRIC = str(BIN / "ibfabric")
PATIENCE = 60  # seconds any one command may take

# Debian keeps the diagnostics there; a user's PATH may not have it.
os.environ["PATH"] += ":/usr/sbin:/sbin"
for name in ("IBFABRIC_SOCKET", "IBFABRIC_AT", "LD_PRELOAD"):
    os.environ.pop(name, None)


def run(*command, **options):
    """Runs a command; gives its CompletedProcess with text output."""
    return subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          errors="replace", timeout=PATIENCE, stdin=subprocess.DEVNULL, **options)


def generate(path, *words):
    result = run(IBFABRIC, "gen", *words, "--output", path)
    assert result.returncode == 0, result.stderr
    return str(path)


def wait_until(condition, seconds=PATIENCE):
    """True as soon as `condition()` is, False after `seconds`."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False


def is_gone(pid):
    """A process that nobody reaps stays as a zombie; that is gone too, when its last thread is: until then
    what the process has open stays open."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii")
        return "\nState:\tZ" in status and "\nThreads:\t1\n" in status
    except OSError:
        return True


def end_daemon(pid_file):
    """Ends what wrote the pid file, and waits for its last words: ibsm still writes into its state directory."""
    pid = int(pid_file.read_text(encoding="ascii"))
    if not is_gone(pid):
        os.kill(pid, signal.SIGTERM)
        wait_until(lambda: is_gone(pid), 10)


class Fabric:
    """`with Fabric("fat-tree", "--radix", "8") as f:`; f.on(node, command...) runs a command there."""

    def __init__(self, *words, options=(), topology=None):
        self.words, self.options, self.topology = words, options, topology
        self.background, self.endings = [], []

    def __enter__(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="ibfabric-test-"))
        self.socket = str(self.directory / "s")
        if self.topology is None:
            self.topology = generate(self.directory / "fabric.topo", *self.words)
        self.server = subprocess.Popen(
            [IBFABRIC, "serve", str(self.topology), "--socket", self.socket, *self.options],
            stdout=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
        line = self.server.stdout.readline()
        assert line == f"ready {self.socket}\n", line
        return self

    def __exit__(self, *_):
        with contextlib.ExitStack() as left:  # the last first, and all of it though one of them fails
            left.callback(shutil.rmtree, self.directory, ignore_errors=True)
            left.callback(stop, self.server)
            for process in self.background:
                left.callback(stop, process)
            for end in self.endings:
                left.callback(end)

    def command(self, at, *words):
        place = ["--at", at] if at else []
        return [IBFABRIC, "exec", "--socket", self.socket, *place, "--", *map(str, words)]

    def on(self, at, *words):
        return run(*self.command(at, *words))

    def start(self, at, *words, **options):
        process = subprocess.Popen(self.command(at, *words), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, **options)
        self.background.append(process)
        return process

    def at_end(self, action):
        """Does `action` before the server goes: for what did not stay a child of ours."""
        self.endings.append(action)

    def ctl(self, *words):
        return run(IBFABRIC, "ctl", "--socket", self.socket, *words)

    def opensm(self, at=None, *words, dumps=None):
        """Starts stock opensm and waits until the subnet is up; gives the path of its log.

        opensm bounces links to set their MTU and may say SUBNET UP before the last of them is back;
        what the traps tell it brings the rest up a second later.
        """
        state = self.directory / "opensm"
        state.mkdir()
        log = state / "log"
        environment = dict(os.environ, OSM_CACHE_DIR=str(state), OSM_TMP_DIR=str(dumps or state))
        self.sm = self.start(at, "opensm", "-f", log, "-d", "2", *words, env=environment)
        up = wait_until(lambda: log.exists() and "SUBNET UP" in log.read_text(errors="replace"))
        assert up, log.read_text(errors="replace")[-3000:] if log.exists() else "no log"

        def all_active():
            links = self.on(at, "iblinkinfo", "-l").stdout
            return "Active/" in links and "Initialize/" not in links and "Armed/" not in links

        assert wait_until(all_active), self.on(at, "iblinkinfo", "-l").stdout
        return log

    def lid_of(self, at):
        """Base LID of the first port of a host."""
        for line in self.on(at, "ibstat").stdout.splitlines():
            if "Base lid" in line:
                return int(line.split(":")[1])
        raise AssertionError(f"ibstat on {at} says no LID")


def stop(process):
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    if process.stdout:
        process.stdout.close()
