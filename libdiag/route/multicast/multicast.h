// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Multicast forwarding: one tree for each MLID over the switches that its members hang from. Pure.
// A tree depends on its MLID and its own members, unless a root or a link that this means would
// have well more trees than another, so a join rarely changes another group.
#pragma once

#include <span>
#include <vector>

#include "libdiag/route/engine.h"

namespace ib::route {

/// Who must receive an MLID, and who only sends to it.
struct MulticastGroup {
  Lid mlid{};
  std::vector<Guid> receivers;  // port GUIDs
  std::vector<Guid> senders;
  std::uint16_t sls{0};  // SLs of its packets (bits); 0: nothing is known of them
  friend bool operator==(const MulticastGroup&, const MulticastGroup&) = default;
};

/// For each group and switch of its tree the ports a packet is copied to. The root is a switch of
/// least distance to the farthest member, among all that are equally near by turn of the MLID as
/// long as trees are spread evenly, else the one with fewest trees, and so are links: groups spread
/// over them. `rule` keeps trees free of credit loops
/// with the unicast routes; one without claims nothing. Members that are not in the fabric, or not
/// connected with most others, are left out; no receiver, no entry.
tables::MulticastTables multicast_trees(const fabric::Fabric& fabric,
                                        const fabric::CompactGraph& graph,
                                        std::span<const MulticastGroup> groups,
                                        const MulticastRule& rule = {});

/// Whether trees made by `rule` are claimed to close no credit loop.
inline bool claims(const MulticastRule& rule) { return !rule.up_order.empty(); }

}  // namespace ib::route
