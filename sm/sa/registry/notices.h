// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Notices of the subnet manager's own: ports that come into service and leave it, groups that begin
// and end (IBA 14.2.5.1, traps 64 to 67). Pure.
#pragma once

#include <vector>

#include "sm/sa/registry/change.h"

namespace sm::sa {

/// Trap 64 to 67 about a GID. Whose notice it is, the server fills in when it is sent.
Event gid_event(std::uint16_t trap, const ib::Gid& gid);
/// Trap 66 or 67; who does not have the group's P_Key does not hear of it.
Event group_event(std::uint16_t trap, const store::McGroup& group);

/// Whether a notice that came from `from` may be what it says: devices speak of themselves only.
/// (Anybody on the subnet can send a trap.)
bool is_plausible(const ib::wire::Notice& notice, ib::Lid from);

/// The GID that a notice of trap 64 to 67 is about.
ib::Gid subject_of(const ib::wire::Notice& notice);
/// Whether this notice is one of the subnet manager's own traps 64 to 67.
bool is_gid_notice(const ib::wire::Notice& notice);

/// End ports that data can reach: ascending port GUIDs.
std::vector<ib::Guid> ports_in_service(const Paths& paths);

}  // namespace sm::sa
