# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A fabric on Debian's ibsim as stock opensm or ibsm leaves it, to be read with stock tools."""
import contextlib
import glob
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "ibfabric"))
from fabric import BIN, run, wait_until  # noqa: E402

PRELOAD = glob.glob("/usr/lib/*/umad2sim/libumad2sim.so")[0]
SM_HOST = "host0001 HCA-1"


@contextlib.contextmanager
def programmed(manager, topology, files, *words):
    """`manager` runs once on the text of a topology with these words, in a folder with these files,
    by name. Gives what runs a stock tool there, and its output."""
    with tempfile.TemporaryDirectory(prefix="ibkit-ibsim-") as folder:
        at = pathlib.Path(folder)
        for name, text in {"fabric.topo": topology, **files}.items():
            (at / name).write_text(text)
        socket_name = f"ibkit-ibsim-{os.getpid()}-{manager}"
        environment = {**os.environ, "OSM_CACHE_DIR": folder, "OSM_TMP_DIR": folder,
                       "IBSIM_SOCKNAME": socket_name}
        simulator = subprocess.Popen(["ibsim", "-s", "-n", at / "fabric.topo"], env=environment,
                                     stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                     stderr=subprocess.DEVNULL)
        try:
            sockets = pathlib.Path("/proc/net/unix")
            assert wait_until(lambda: f"@{socket_name}:ctl" in sockets.read_text(encoding="ascii")), "no ibsim"
            environment.update(LD_PRELOAD=PRELOAD, SIM_HOST=SM_HOST)
            program = {"opensm": ("opensm",), "ibsm": (BIN / "ibsm", "--state-dir", at / "state")}[manager]
            up = run(*program, "-o", "-f", at / "log",
                     *(at / word if word in files else word for word in words), env=environment)
            assert up.returncode == 0, up.stdout + up.stderr

            def ask(*question):
                answer = run(*question, env=environment)
                assert answer.returncode == 0, (question, answer.stderr)
                return answer.stdout

            yield ask
        finally:
            simulator.send_signal(signal.SIGTERM)
            simulator.wait()
