// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Multicast forwarding: one tree for each MLID over the switches that its members hang from.
#pragma once

#include <span>
#include <vector>

#include "libdiag/fabric/graph.h"
#include "libdiag/routes/tables.h"

namespace sm::plan {

/// Who must receive an MLID, and who only sends to it.
struct MlidGroup {
  ib::Lid mlid{};
  std::vector<ib::Guid> receivers;  // port GUIDs
  std::vector<ib::Guid> senders;
  friend bool operator==(const MlidGroup&, const MlidGroup&) = default;
};

/// The tree of `group`: for each switch on it the ports a packet is copied to. Members that are not
/// in the fabric are left out; no member, no entry.
std::map<ib::fabric::SwitchIndex, ib::routes::PortMask> multicast_tree(
    const ib::fabric::Fabric& fabric, const ib::fabric::CompactGraph& graph,
    const MlidGroup& group);

}  // namespace sm::plan
