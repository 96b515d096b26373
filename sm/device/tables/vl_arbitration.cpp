// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <algorithm>

#include "sm/device/tables/kinds.h"

namespace sm::device {

using ib::discover::Observed;
using ib::fabric::NodeIndex;
using ib::wire::PortInfo;

/// With one data VL there is nothing to arbitrate.
static void arbitration_slots(const Observed& observed, NodeIndex n, std::vector<Slot>& out) {
  const auto& node = observed.fabric.node(n);
  for (unsigned p = first_port(node.is_switch()); p <= node.num_ports; ++p) {
    const auto port = static_cast<std::uint8_t>(p);
    const auto* seen = observed.known_port({n, port});
    if (seen == nullptr || seen->get<&PortInfo::vl_cap>() <= 1) continue;
    const unsigned entries[] = {seen->get<&PortInfo::vl_arbitration_low_cap>(),
                                seen->get<&PortInfo::vl_arbitration_high_cap>()};
    for (unsigned priority = 0; priority < 2; ++priority) {
      const unsigned blocks = std::min(2U, blocks_for(entries[priority], kArbitrationInBlock));
      for (unsigned b = 0; b < blocks; ++b)
        out.push_back({port, 0, static_cast<std::uint16_t>(1 + priority * 2 + b)});
    }
  }
}

static std::uint32_t arbitration_modifier(const Observed& observed, NodeIndex n, Slot slot) {
  const std::uint32_t port = observed.fabric.node(n).is_switch() ? slot.port : 0U;
  return static_cast<std::uint32_t>(slot.block) << 16 | port;
}

/// In the entries that the port has, and of those in what they do: weight 0 is skipped (IBA 7.6.9).
static bool same_arbitration(const Observed& observed, NodeIndex n, Slot slot, const Block& a,
                             const Block& b) {
  const auto* seen = observed.known_port({n, slot.port});
  if (seen == nullptr) return false;
  const unsigned capacity = slot.block <= 2 ? seen->get<&PortInfo::vl_arbitration_low_cap>()
                                            : seen->get<&PortInfo::vl_arbitration_high_cap>();
  const unsigned before = slot.block % 2 == 0 ? kArbitrationInBlock : 0;
  const unsigned entries = std::min(capacity - std::min(capacity, before), kArbitrationInBlock);
  const auto x = ib::wire::decode<ib::wire::VlArbitrationTable>(a.data());
  const auto y = ib::wire::decode<ib::wire::VlArbitrationTable>(b.data());
  for (unsigned i = 0; i < entries; ++i)
    if (x.weight[i] != y.weight[i] || (x.weight[i] != 0 && x.vl[i] != y.vl[i])) return false;
  return true;
}

constinit const TableKind kVlArbitration{"VLArbitrationTable", ib::wire::attr::kVlArbitration,
                                         Scope::Port,          64,
                                         arbitration_modifier, arbitration_slots,
                                         same_arbitration};

}  // namespace sm::device
