// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <algorithm>

#include "sm/device/tables/kinds.h"

namespace sm::device {

using ib::discover::Observed;
using ib::fabric::NodeIndex;

/// Keys that the table of a port has. End ports have NodeInfo's PartitionCap, external ports of a
/// switch that enforces partitions SwitchInfo's.
static unsigned keys_of(const Observed& observed, NodeIndex n, unsigned port) {
  const auto& seen = observed.nodes[n];
  const bool end_port = !observed.fabric.node(n).is_switch() || port == 0;
  if (end_port) return seen.info.partition_cap;
  return seen.switch_info ? seen.switch_info->partition_enforcement_cap : 0U;
}

static void key_slots(const Observed& observed, NodeIndex n, std::vector<Slot>& out) {
  const auto& node = observed.fabric.node(n);
  for (unsigned p = first_port(node.is_switch()); p <= node.num_ports; ++p) {
    const auto port = static_cast<std::uint8_t>(p);
    if (observed.known_port({n, port}) == nullptr) continue;
    const unsigned blocks = blocks_for(keys_of(observed, n, p), kPKeysInBlock);
    for (unsigned b = 0; b < blocks; ++b) out.push_back({port, 0, static_cast<std::uint16_t>(b)});
  }
}

static std::uint32_t key_modifier(const Observed& observed, NodeIndex n, Slot slot) {
  const std::uint32_t port = observed.fabric.node(n).is_switch() ? slot.port : 0U;
  return port << 16 | slot.block;
}

/// In the keys that the table has; one whose low 15 bits are 0 is none, whatever its membership
/// (IBA 10.9.1).
static bool same_keys(const Observed& observed, NodeIndex n, Slot slot, const Block& a,
                      const Block& b) {
  const unsigned capacity = keys_of(observed, n, slot.port), before = slot.block * kPKeysInBlock;
  const unsigned keys = std::min(capacity - std::min(capacity, before), kPKeysInBlock);
  const auto x = ib::wire::decode<ib::wire::PKeyTable>(a.data());
  const auto y = ib::wire::decode<ib::wire::PKeyTable>(b.data());
  for (unsigned i = 0; i < keys; ++i) {
    const bool none = x.p_keys[i].base() == 0 && y.p_keys[i].base() == 0;
    if (!none && x.p_keys[i] != y.p_keys[i]) return false;
  }
  return true;
}

constinit const TableKind kPKeyTable{
    "P_KeyTable", ib::wire::attr::kPKeyTable, Scope::Port, 64, key_modifier, key_slots, same_keys,
    true};

}  // namespace sm::device
