// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
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

constinit const TableKind kVlArbitration{"VLArbitrationTable", ib::wire::attr::kVlArbitration,
                                         Scope::Port,          64,
                                         arbitration_modifier, arbitration_slots};

}  // namespace sm::device
