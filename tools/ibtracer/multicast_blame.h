// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Which switch keeps a member from its group: the tree is followed from the missing member's side
// too, and where it comes to a switch of the source's tree, that one's entry has not the port.
#pragma once

#include "libdiag/query/sa_client.h"
#include "tools/ibtracer/multicast.h"

namespace ibtracer {

/// A member's switch, and its port there.
struct Attachment {
  ib::mad::DirectedRoute route;
  ib::Guid node_guid{};
  std::uint8_t port{};
};
/// Error: the SA knows no link of the member, or no switch is at its end.
ib::Result<Attachment> switch_of(ib::mad::Session& session, ib::query::SaClient& sa,
                                 const Member& member, std::uint64_t m_key);

/// Adds a fault for each switch that is to blame, and notes it with the members. Error: the local
/// port failed.
ib::Result<void> blame_for_missing(ib::mad::Session& session, ib::query::SaClient& sa,
                                   const MulticastOptions& options, MulticastReport& report);

/// The switch of the source's `tree` that does not send to where `side`, the tree of a member that
/// it does not lead to, comes from. Nothing: the two meet nowhere.
std::optional<ib::query::TreeFault> where_they_meet(const ib::query::MulticastTree& tree,
                                                    const ib::query::MulticastTree& side,
                                                    ib::Lid mlid);

}  // namespace ibtracer
