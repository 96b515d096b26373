// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Vendor attributes (Mellanox): what a device can do, and its rate limits by SL. Nobody reads them
// unless the plan wants to know.
#include "sm/device/tables/kinds.h"

namespace sm::device {

using ib::discover::Observed;
using ib::fabric::NodeIndex;

/// Modifier 4 asks for the capabilities.
static std::uint32_t capabilities_modifier(const Observed&, NodeIndex, Slot) { return 4; }
static std::uint32_t port_modifier(const Observed&, NodeIndex, Slot slot) { return slot.port; }

constinit const TableKind kGeneralInfo{"GeneralInfo",         ib::wire::attr::kMlnxGeneralInfo,
                                       Scope::Node,           16,
                                       capabilities_modifier, on_demand};
constinit const TableKind kQosConfigSl{
    "QosConfigSL", ib::wire::attr::kMlnxQosConfigSl, Scope::Port, 64, port_modifier, on_demand};

}  // namespace sm::device
