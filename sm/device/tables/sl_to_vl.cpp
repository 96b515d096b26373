// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/device/tables/kinds.h"

namespace sm::device {

using ib::discover::Observed;
using ib::fabric::NodeIndex;
using ib::wire::PortInfo;

static bool maps(const ib::discover::ObservedPort* seen) {
  return seen != nullptr &&
         (seen->get<&PortInfo::capability_mask>() & ib::wire::port_cap::kSlMapping) != 0;
}

/// A switch says at port 0 whether it has them, for all its pairs. A port with one data VL maps
/// everything there.
static void row_slots(const Observed& observed, NodeIndex n, std::vector<Slot>& out) {
  const auto& node = observed.fabric.node(n);
  if (!node.is_switch()) {
    for (unsigned p = 1; p <= node.num_ports; ++p) {
      const auto port = static_cast<std::uint8_t>(p);
      const auto* seen = observed.known_port({n, port});
      if (maps(seen) && seen->get<&PortInfo::vl_cap>() > 1) out.push_back({port, 0, 0});
    }
    return;
  }
  if (!maps(observed.known_port({n, 0}))) return;
  for (unsigned output = 0; output <= node.num_ports; ++output)
    for (unsigned input = 0; input <= node.num_ports; ++input)
      out.push_back({static_cast<std::uint8_t>(output), static_cast<std::uint8_t>(input), 0});
}

static std::uint32_t row_modifier(const Observed& observed, NodeIndex n, Slot slot) {
  if (!observed.fabric.node(n).is_switch()) return 0;
  return static_cast<std::uint32_t>(slot.input) << 8 | slot.port;
}

constinit const TableKind kSlToVl{
    "SLtoVLMappingTable", ib::wire::attr::kSlToVl, Scope::PortPair, 8, row_modifier, row_slots};

}  // namespace sm::device
