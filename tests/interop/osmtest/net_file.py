# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""ibsim's network files as ibnetdiscover would print the fabric that they describe."""
import re

HEADER = re.compile(r'(Switch|Hca)\s+(\d+)\s+"([^"]+)"')
CABLE = re.compile(r'\[(\d+)\]\s+"([^"]+)"\s*\[(\d+)\]')


def read(path):
    """[(kind, ports, name, {port: (name, port)})], in the order of the file."""
    nodes = []
    with open(path, encoding="utf-8") as text:
        for line in text:
            line = line.split("#")[0].strip()
            if found := HEADER.match(line):
                nodes.append((found[1], int(found[2]), found[3], {}))
            elif found := CABLE.match(line):
                nodes[-1][3][int(found[1])] = (found[2], int(found[3]))
    return nodes


def node_guid(names, name):
    return 0x100000 + 0x10 * (names.index(name) + 1)


def port_guid(nodes, name, port):
    """A switch has one GUID, an HCA one a port."""
    names = [node[2] for node in nodes]
    kind = nodes[names.index(name)][0]
    return node_guid(names, name) + (0 if kind == "Switch" else port)


def to_topology(nodes):
    names = [node[2] for node in nodes]
    kinds = {node[2]: node[0] for node in nodes}

    def tag(name):
        return f'{"S" if kinds[name] == "Switch" else "H"}-{node_guid(names, name):016x}'

    blocks = []
    for kind, ports, name, cables in nodes:
        guid = node_guid(names, name)
        switch = kind == "Switch"
        lines = ["vendid=0x0", "devid=0x0", f"sysimgguid={guid:#x}",
                 f"{'switch' if switch else 'ca'}guid={guid:#x}" + (f"({guid:x})" if switch else ""),
                 f'{"Switch" if switch else "Ca"}\t{ports} "{tag(name)}"\t\t# "{name}"' +
                 (" base port 0 lid 0 lmc 0" if switch else "")]
        for port, (peer, peer_port) in sorted(cables.items()):
            own = "" if switch else f"({port_guid(nodes, name, port):x})"
            theirs = ("" if kinds[peer] == "Switch"
                      else f"({port_guid(nodes, peer, peer_port):x})")
            remark = f'"{peer}" lid 0 4xSDR' if switch else f'lid 0 lmc 0 "{peer}" lid 0 4xSDR'
            lines.append(f'[{port}]{own}\t"{tag(peer)}"[{peer_port}]{theirs}\t\t# {remark}')
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks) + "\n"
