// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A multicast group and its members, as subnet administration has them.
#pragma once

#include "libdiag/query/sa_client.h"
#include "tools/ibtracer/multicast.h"

namespace ibtracer {

struct GroupMembers {
  ib::Gid mgid{};
  ib::Lid mlid{};
  std::vector<Member> members;  // by LID
  /// Ports of other groups that share the LID: the tree leads to them too.
  std::vector<ib::Guid> others;
};

/// Error: there is no such group, or the SA does not show its members to us.
ib::Result<GroupMembers> read_group(ib::query::SaClient& sa, const Group& group,
                                    const ib::fabric::NodeNames* names = nullptr);

/// The member that `target` names; nullptr: none.
ib::Result<const Member*> find_member(const GroupMembers& group, const ib::tools::Target& target,
                                      const ib::fabric::NodeNames* names);

/// The switch port that a member's cable leads to: LID of the switch, number of the port. Error:
/// the SA has no such link.
ib::Result<ib::wire::LinkRecord> link_of(ib::query::SaClient& sa, const Member& member);

}  // namespace ibtracer
