// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/managers/end_ports.h"

#include <fmt/format.h>

#include <utility>

#include "libdiag/base/text.h"
#include "libdiag/fabric/labels.h"

namespace sm::managers {

using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using ib::wire::PortInfo;

std::string place_name(const ib::fabric::Fabric& fabric, PortRef port) {
  const auto& node = fabric.node(port.node);
  return node.is_switch() && port.port == 0 ? fmt::format("\"{}\"", ib::printable(node.name()))
                                            : ib::fabric::port_name(fabric, port);
}

std::vector<EndPort> end_ports(const Snapshot& subnet) {
  const auto& observed = *subnet.observed;
  const auto& fabric = observed.fabric;
  std::vector<EndPort> all;
  for (NodeIndex n = 0; n < fabric.nodes().size(); ++n) {
    const auto& node = fabric.node(n);
    if (!observed.nodes[n].usable) continue;
    const unsigned first = node.is_switch() ? 0 : 1, last = node.is_switch() ? 0 : node.num_ports;
    for (unsigned p = first; p <= last; ++p) {
      const PortRef ref{n, static_cast<std::uint8_t>(p)};
      const auto* port = observed.known_port(ref);
      if (port == nullptr) continue;
      if (!node.is_switch() && port->state() != ib::wire::PortState::Active) continue;
      const ib::Lid lid = port->get<&PortInfo::lid>();
      if (lid == ib::kNoLid || lid > ib::kLidUnicastMax) continue;
      EndPort end;
      end.port = ref;
      end.type = node.type;
      end.node_guid = node.guid;
      end.port_guid = fabric.port(ref).guid;
      end.address = ib::mad::gsi_address(
          lid, subnet.routing ? path_sl(fabric, *subnet.routing, subnet.sm_port, ref)
                              : port->get<&PortInfo::master_sm_sl>());
      end.name = place_name(fabric, ref);
      all.push_back(std::move(end));
    }
  }
  return all;
}

ib::mad::Request gmp_request(ib::mad::Cookie cookie, const EndPort& target,
                             ib::wire::MgmtClass mgmt_class, ib::wire::Method method,
                             std::uint16_t attribute, std::uint32_t modifier) {
  ib::mad::Request request;
  request.cookie = cookie;
  request.target_key = target.target_key();
  request.address = target.address;
  request.mad = ib::wire::make_mad(mgmt_class, method, attribute, modifier);
  return request;
}

}  // namespace sm::managers
