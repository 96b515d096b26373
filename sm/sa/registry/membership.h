// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The rules of joining, creating and leaving multicast groups (IBA 15.2.5.17, o15-0.2.3), as
// functions from the present state and a request to a change or a refusal that says why.
#pragma once

#include <optional>

#include "sm/sa/registry/change.h"
#include "sm/sa/registry/world.h"

namespace sm::sa {

/// Set of MCMemberRecord.
Outcome join_group(const World& world, const WriteRequest& request);
/// Delete of MCMemberRecord.
Outcome leave_group(const World& world, const WriteRequest& request);

/// The members whose ports have left the subnet since `before` (nullptr: nothing is known of
/// before): port GIDs as they joined. A port that may only be silent has not left.
std::vector<ib::Gid> departed_members(const World& world, const Snapshot* before);
/// A port, as it named itself, in a group.
struct MemberOf {
  ib::Gid mgid, port;
};
/// They end; the last full one of a group takes the group with it, unless that is configured.
Change drop_memberships(const World& world, const std::vector<MemberOf>& memberships);
/// They leave all their groups.
Change drop_members(const World& world, const std::vector<ib::Gid>& ports);

/// The configured groups that are not there yet, or have other values there.
store::Batch configured_groups(const State& state, const MulticastOptions& options);

/// Highest MLID that every switch of the snapshot can forward.
ib::Lid mlid_max(const Snapshot& snapshot);

}  // namespace sm::sa
