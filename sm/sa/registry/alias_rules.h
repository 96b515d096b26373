// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Who may have which alias GUIDs (IBA 15.2.5.18), and those that subnet administration makes up, as
// functions from the present state and a request to a change or a refusal that says why.
#pragma once

#include <vector>

#include "sm/sa/registry/change.h"
#include "sm/sa/registry/world.h"

namespace sm::sa {

namespace guid_info_bit {
inline constexpr unsigned kLid = 0, kBlock = 1, kGuid0 = 4;
}

/// Set(GUIDInfoRecord): entries with a GUID get it, unless somebody else has it; entries with 0
/// keep theirs, or are given one.
Outcome register_aliases(const World& world, const WriteRequest& request);
/// Delete of GUIDInfoRecord.
Outcome remove_aliases(const World& world, const WriteRequest& request);

/// Aliases that are GUIDs of ports which are in the subnet now: they were away when somebody took
/// the GUID. The hardware's it is; who joined groups by it did so as another, and leaves them.
std::vector<store::AliasGuid> taken_from_ports(const World& world);
Change give_to_ports(const World& world, const std::vector<store::AliasGuid>& aliases);

/// Places that were given back and that ports are known to hold nothing at: nobody needs to
/// remember them. Precondition: the ports were programmed by the aliases as they are.
std::vector<Aliases::Key> emptied(const World& world);

/// The GUID that a place is given when its owner leaves the choice to us, the n-th try: 00:14:05
/// (the OpenFabrics OUI), `byte`, 00, and 24 bits that follow from the place. A place that gives
/// its GUID back is thus given the same again, by any release and after any loss of memory.
ib::Guid assigned_guid(const Aliases::Key& place, std::uint8_t byte, std::uint32_t n);

}  // namespace sm::sa
