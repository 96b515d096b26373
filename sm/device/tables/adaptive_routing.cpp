// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Vendor attributes (Mellanox) of adaptive routing. Nobody reads them unless the plan wants them.
#include "libdiag/wire/adaptive_attributes.h"
#include "sm/device/tables/kinds.h"

namespace sm::device {

using ib::discover::Observed;
using ib::fabric::NodeIndex;
using ib::wire::MlnxArInfo;

static std::uint32_t no_modifier(const Observed&, NodeIndex, Slot) { return 0; }
static std::uint32_t block_modifier(const Observed&, NodeIndex, Slot slot) { return slot.block; }

/// In what can be set.
static bool same_info(const Observed&, NodeIndex, Slot, const Block& a, const Block& b) {
  const auto set = [](const Block& block) {
    const auto i = ib::wire::decode<MlnxArInfo>(block.data());
    MlnxArInfo out;
    out.enabled = i.enabled;
    out.fr_enabled = i.fr_enabled;
    out.rn_xmit_enabled = i.rn_xmit_enabled;
    out.pfrn_enabled = i.pfrn_enabled;
    out.sub_groups_active = i.sub_groups_active;
    out.group_top = i.group_top;
    out.by_sl_enabled = i.by_sl_enabled;
    out.enabled_sls = i.by_sl_enabled ? i.enabled_sls : std::uint16_t{0};
    out.ageing_time = i.ageing_time;
    return out;
  };
  return set(a) == set(b);
}

constinit const TableKind kArInfo{"AdaptiveRoutingInfo",
                                  ib::wire::attr::kMlnxArInfo,
                                  Scope::Node,
                                  64,
                                  no_modifier,
                                  on_demand,
                                  same_info};
constinit const TableKind kArGroup{"AdaptiveRoutingGroupTable",
                                   ib::wire::attr::kMlnxArGroupTable,
                                   Scope::Node,
                                   64,
                                   block_modifier,
                                   on_demand};
constinit const TableKind kArLft{
    "AdaptiveRoutingLFT", ib::wire::attr::kMlnxArLft, Scope::Node, 64, block_modifier, on_demand};

}  // namespace sm::device
