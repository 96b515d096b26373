// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/device/tables/kinds.h"

namespace sm::device {

using ib::discover::Observed;
using ib::fabric::NodeIndex;

/// End ports have NodeInfo's PartitionCap keys, external ports of a switch that enforces partitions
/// SwitchInfo's.
static void key_slots(const Observed& observed, NodeIndex n, std::vector<Slot>& out) {
  const auto& node = observed.fabric.node(n);
  const auto& seen = observed.nodes[n];
  for (unsigned p = first_port(node.is_switch()); p <= node.num_ports; ++p) {
    const auto port = static_cast<std::uint8_t>(p);
    if (observed.known_port({n, port}) == nullptr) continue;
    const bool end_port = !node.is_switch() || p == 0;
    const unsigned keys = end_port           ? seen.info.partition_cap
                          : seen.switch_info ? seen.switch_info->partition_enforcement_cap
                                             : 0;
    for (unsigned b = 0; b < blocks_for(keys, kPKeysInBlock); ++b)
      out.push_back({port, 0, static_cast<std::uint16_t>(b)});
  }
}

static std::uint32_t key_modifier(const Observed& observed, NodeIndex n, Slot slot) {
  const std::uint32_t port = observed.fabric.node(n).is_switch() ? slot.port : 0U;
  return port << 16 | slot.block;
}

constinit const TableKind kPKeyTable{
    "P_KeyTable", ib::wire::attr::kPKeyTable, Scope::Port, 64, key_modifier, key_slots, nullptr,
    true};

}  // namespace sm::device
