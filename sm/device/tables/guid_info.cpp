// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/device/tables/kinds.h"

namespace sm::device {

using ib::discover::Observed;
using ib::fabric::NodeIndex;

/// An end port: any of a CA or router, port 0 of a switch.
static void guid_slots(const Observed& observed, NodeIndex n, std::vector<Slot>& out) {
  const auto& node = observed.fabric.node(n);
  const unsigned last = node.is_switch() ? 0 : node.num_ports;
  for (unsigned p = first_port(node.is_switch()); p <= last; ++p) {
    const auto port = static_cast<std::uint8_t>(p);
    const auto* seen = observed.known_port({n, port});
    if (seen == nullptr) continue;
    const unsigned entries = seen->get<&ib::wire::PortInfo::guid_cap>();
    for (unsigned b = 0; b < blocks_for(entries, kGuidsInBlock); ++b)
      out.push_back({port, 0, static_cast<std::uint16_t>(b)});
  }
}

static std::uint32_t guid_modifier(const Observed&, NodeIndex, Slot slot) { return slot.block; }

constinit const TableKind kGuidInfo{
    "GUIDInfo", ib::wire::attr::kGuidInfo, Scope::Port, 64, guid_modifier, guid_slots};

}  // namespace sm::device
