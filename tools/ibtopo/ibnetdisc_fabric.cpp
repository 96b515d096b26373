// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibtopo/ibnetdisc_fabric.h"

#include <cstring>
#include <unordered_map>

#include "libdiag/base/text.h"
#include "libdiag/discover/sweep.h"

namespace ib::tools::topo {
namespace {

/// The library's attribute blocks are the bytes of the wire.
template <class T>
T decoded(const std::uint8_t* bytes) {
  return wire::decode<T>(reinterpret_cast<const std::byte*>(bytes));
}

constexpr unsigned kFdr10 = 1;  // bit of the vendor's LinkSpeedActive

fabric::Node node_of(const ibnd_node_t& from) {
  const auto info = decoded<wire::NodeInfo>(from.info);
  fabric::Node node;
  node.type = info.node_type;
  node.guid = Guid{from.guid};
  node.system_image_guid = info.system_image_guid;
  node.vendor_id = info.vendor_id;
  node.device_id = info.device_id;
  node.revision = info.revision;
  node.num_ports = static_cast<std::uint8_t>(from.numports);
  node.enhanced_port0 = from.smaenhsp0 != 0;
  node.description.assign(from.nodedesc, strnlen(from.nodedesc, IB_SMP_DATA_SIZE));
  return node;
}

void fill_port(fabric::Port& port, const ibnd_port_t& from, bool end_port) {
  const auto info = decoded<wire::PortInfo>(from.info);
  const bool fdr10 =
      (decoded<wire::MlnxExtendedPortInfo>(from.ext_info).link_speed_active & kFdr10) != 0;
  port.present = true;
  port.guid = Guid{from.guid};
  port.state = info.port_state;
  port.phys_state = info.port_physical_state;
  port.width = wire::active_width(info);
  port.speed = wire::active_speed(info, fdr10);
  port.vl_cap = info.vl_cap;
  port.mtu_cap = info.mtu_cap;
  port.external_port = static_cast<std::uint8_t>(from.ext_portnum);
  if (end_port) {
    port.lid = Lid{from.base_lid};
    port.lmc = from.lmc;
  }
}

/// The library says nothing of a node that did not answer, but the cable to it is up. Of hosts
/// only the port where the sweep began (`from_here`) is one that it looks behind.
void note_silence(Source& source, fabric::PortRef port, bool from_here, unsigned hops_max) {
  const fabric::Node& node = source.fabric.node(port.node);
  if (!(node.is_switch() || from_here) || hops_max < 63 ||
      source.fabric.port(port).phys_state != wire::PhysState::LinkUp) {
    return;
  }
  source.complete = false;
  source.errors.push_back(to_string(node.guid) + " \"" + printable(node.description) + "\" port " +
                          std::to_string(port.port) +
                          ": the link is up, and nothing behind it answered");
}

/// The library takes whatever answered for a node.
void note_nonsense(Source& source, const ibnd_node_t& node, const std::string& wrong) {
  const std::string name(node.nodedesc, strnlen(node.nodedesc, IB_SMP_DATA_SIZE));
  source.complete = false;
  source.errors.push_back(to_string(Guid{node.guid}) + " \"" + printable(name) + "\": " + wrong +
                          "; left out");
}

}  // namespace

Source source_of(const ibnd_fabric_t& found, unsigned hops_max) {
  Source source;
  std::unordered_map<const ibnd_node_t*, fabric::NodeIndex> index_of;
  for (const ibnd_node_t* n = found.nodes; n != nullptr; n = n->next) {
    if (const std::string wrong = discover::implausible(decoded<wire::NodeInfo>(n->info));
        !wrong.empty()) {
      note_nonsense(source, *n, wrong);
      continue;
    }
    const fabric::NodeIndex index = source.fabric.add_node(node_of(*n));
    index_of.emplace(n, index);
    for (int p = 0; p <= n->numports; ++p) {
      if (n->ports[p] == nullptr) continue;
      const bool end_port = n->type != IB_NODE_SWITCH || p == 0;
      fill_port(source.fabric.port(index, static_cast<unsigned>(p)), *n->ports[p], end_port);
    }
    if (n->type == IB_NODE_SWITCH) {
      fabric::Port& port0 = source.fabric.port(index, 0);
      port0.lid = Lid{n->smalid};
      port0.lmc = n->smalmc;
      if (port0.guid.value == 0) {
        port0.guid = decoded<wire::NodeInfo>(n->info).port_guid;
      }
    }
  }
  for (const ibnd_node_t* n = found.nodes; n != nullptr; n = n->next) {
    if (!index_of.contains(n)) continue;
    for (int p = 1; p <= n->numports; ++p) {
      const ibnd_port_t* port = n->ports[p];
      if (port == nullptr) continue;
      const fabric::PortRef self{index_of.at(n), static_cast<std::uint8_t>(p)};
      if (port->remoteport == nullptr) {
        note_silence(source, self, n == found.from_node && p == found.from_portnum, hops_max);
        continue;
      }
      const ibnd_port_t* far = port->remoteport;
      const auto peer = index_of.find(far->node);
      if (peer == index_of.end() || far->portnum < 0 ||
          far->portnum > source.fabric.node(peer->second).num_ports)
        continue;
      // Set at each end, not connect(): the two ends may report different widths and speeds.
      source.fabric.port(self).peer = {peer->second, static_cast<std::uint8_t>(far->portnum)};
    }
  }
  source.fabric.reindex();
  if (found.from_node != nullptr) {
    source.fabric.initiated_from_node = Guid{found.from_node->guid};
    const ibnd_port_t* from = found.from_node->ports[found.from_portnum];
    if (from != nullptr) source.fabric.initiated_from_port = Guid{from->guid};
  }
  return source;
}

}  // namespace ib::tools::topo
