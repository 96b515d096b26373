// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What an answer must look like before anything is built on it. Only what would mislead discovery
// or programming is refused; a reserved value in a field nobody acts on is not.
#include <fmt/format.h>

#include "libdiag/discover/sweep.h"

namespace ib::discover {

std::string implausible(const wire::NodeInfo& info) {
  const auto type = static_cast<unsigned>(info.node_type);
  if (type < 1 || type > 3) return fmt::format("NodeType is {}", type);
  if (info.num_ports == 0 || info.num_ports == 255)
    return fmt::format("NumPorts is {}", info.num_ports);
  if (info.node_guid.value == 0 || info.node_guid.value == ~std::uint64_t{0})
    return fmt::format("NodeGUID is 0x{:016x}", info.node_guid.value);
  if (info.port_guid.value == 0 || info.port_guid.value == ~std::uint64_t{0})
    return fmt::format("PortGUID is 0x{:016x}", info.port_guid.value);
  if (info.local_port_num.value > info.num_ports)
    return fmt::format("LocalPortNum is {} of {} ports", info.local_port_num.value, info.num_ports);
  if (info.local_port_num.value == 0 && info.node_type != wire::NodeType::Switch)
    return "LocalPortNum is 0 on a node without a port 0";
  return {};
}

std::string implausible(const wire::SwitchInfo& info, const wire::NodeInfo&) {
  if (info.linear_fdb_cap == 0) return "LinearFDBCap is 0";
  return {};
}

std::string implausible(const wire::PortInfo& info, const wire::NodeInfo& node, std::uint8_t port) {
  const bool is_switch = node.node_type == wire::NodeType::Switch;
  if (info.local_port_num.value > node.num_ports)
    return fmt::format("PortInfo:LocalPortNum is {} of {} ports", info.local_port_num.value,
                       node.num_ports);
  if (is_switch && port == 0) return {};  // a base port 0 has no link to speak of
  const auto state = static_cast<unsigned>(info.port_state);
  if (state < 1 || state > 4) return fmt::format("PortState is {}", state);
  if (static_cast<unsigned>(info.port_physical_state) > 7)
    return fmt::format("PortPhysicalState is {}", static_cast<unsigned>(info.port_physical_state));
  if (info.port_state == wire::PortState::Down) return {};
  if (info.mtu_cap < 1 || info.mtu_cap > 5) return fmt::format("MTUCap is {}", info.mtu_cap);
  if (info.vl_cap < 1 || info.vl_cap > 5) return fmt::format("VLCap is {}", info.vl_cap);
  return {};
}

}  // namespace ib::discover
