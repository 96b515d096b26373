# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What stock programs print, in the form in which ours can be held against it."""
import json
import os
import pathlib
import re

from fabric import BIN, end_daemon, run

SOURCE = pathlib.Path(os.environ["IBKIT_SOURCE"])
FABRICS = pathlib.Path(os.environ.get("IBKIT_FABRICS", SOURCE.parent / "shared" / "fabrics"))
FIGURES = ("unreachable", "loops", "credit-loop-channels", "load-max", "load-mean")
SUBNET_UP = re.compile(r"^SUBNET UP switches=(\d+) cas=(\d+) routers=(\d+) links=(\d+) "
                       r"lids=(\d+) mads=(\d+) seconds=([\d.]+)(?: degraded=\d+)?\n$")


def ibsm(f, at=None, *words):
    """Brings the fabric up with ibsm, which stays; gives the one line it printed."""
    pid = f.directory / "ibsm.pid"
    up = f.on(at, BIN / "ibsm", "-B", "--state-dir", f.directory / "ibsm", "-f",
              f.directory / "ibsm.log", "--pidfile", pid, *words)
    f.at_end(lambda: end_daemon(pid))
    assert up.returncode == 0, up.stdout + up.stderr
    assert SUBNET_UP.match(up.stdout), up.stdout
    return SUBNET_UP.match(up.stdout)


def lines(text):
    """Lines of a topology, header and order aside."""
    return sorted(line for line in text.splitlines() if not line.startswith("#"))


def tables(text):
    """dump_fts's text as a set of tables, one a switch: who programs what. The directed route by
    which the switch was asked, of which there are several of the same length, is left out."""
    found, head = {}, None
    for line in text.splitlines():
        first = re.match(r"((?:Unicast|Multicast) .*) of switch .* (guid 0x[0-9a-f]+ \(.*\)):$", line)
        if first:
            head = first.groups()
            assert head not in found, line
            found[head] = []
        elif line and not line.startswith("Multicast mlids: "):
            found[head].append(line)
    return {(head, "\n".join(rows)) for head, rows in found.items()}


def ports_by_group(text):
    """dump_fts -M as {MLID: {switch GUID: ports}}."""
    groups, guid, columns = {}, None, []
    for line in text.splitlines():
        first = re.match(r"Multicast .* guid (0x[0-9a-f]+) ", line)
        if first:
            guid = first.group(1)
        elif line.startswith("     Ports:"):
            columns = [m.start() for m in re.finditer(r"\d", line)]
        elif line.startswith("0x"):
            ports = {port for port, at in enumerate(columns) if line[at:at + 1] == "x"}
            groups.setdefault(int(line.split()[0], 16), {})[guid] = ports
    return groups


def verdict(text):
    """ibroutes verify's figures."""
    return {name: value for name, value in
            (line.split(": ", 1) for line in text.splitlines() if ": " in line)
            if name in FIGURES}


def lftcheck(topology, dump):
    """The independent judge's figures in the same words, None where it is not at hand."""
    judge = FABRICS.parent / "bench" / "lftcheck.py"
    if not judge.exists():
        return None
    result = run("/usr/bin/python3", judge, topology, dump, "--json")
    assert result.returncode == 0, result.stderr
    figures = json.loads(result.stdout)
    return {"unreachable": str(figures["unreachable"]), "loops": str(figures["loops"]),
            "credit-loop-channels": str(figures["credit_loop_channels"]),
            "load-max": str(figures["load_max"]), "load-mean": f"{figures['load_mean']:.1f}"}


def end_ports(text):
    """{LID: (node id, name)} of the CAs of an ibnetdiscover text."""
    found, node = {}, None
    for line in text.splitlines():
        block = re.match(r'(Switch|Ca|Rt)\t\d+ "([^"]+)"\t\t# "(.*)"', line)
        if block:
            node = block.groups()
        port = re.match(r'\[\d+\]\([0-9a-f]+\)\s*"[^"]+"\[\d+\].*# lid (\d+) lmc', line)
        if port and node[0] == "Ca" and port.group(1) != "0":
            found[int(port.group(1))] = node[1:]
    return found
