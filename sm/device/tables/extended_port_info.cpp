// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Vendor attribute (Mellanox): whether a port knows FDR10, and has it enabled. Nobody reads it
// unless the plan wants to know.
#include "sm/device/tables/kinds.h"

namespace sm::device {

using ib::discover::Observed;
using ib::fabric::NodeIndex;
using ib::wire::MlnxExtendedPortInfo;

static std::uint32_t port_modifier(const Observed&, NodeIndex, Slot slot) { return slot.port; }

/// The rest of it is what the device says of the port.
static bool same_speeds(const Observed&, NodeIndex, Slot, const Block& a, const Block& b) {
  const auto enabled = [](const Block& block) {
    return ib::wire::get<&MlnxExtendedPortInfo::link_speed_enabled>(block.data());
  };
  return enabled(a) == enabled(b);
}

constinit const TableKind kExtendedPortInfo{
    "ExtendedPortInfo", ib::wire::attr::kMlnxExtendedPortInfo,
    Scope::Port,        64,
    port_modifier,      on_demand,
    same_speeds};

}  // namespace sm::device
