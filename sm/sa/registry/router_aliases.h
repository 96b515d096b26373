// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The alias GUIDs that routers need (rtr_aguid_enable): a router finds the LID of a packet's target
// in the last 16 bits of its GID, so each host port has an alias GUID that ends with its LID.
#pragma once

#include <cstdint>

#include "sm/sa/registry/change.h"
#include "sm/sa/registry/world.h"

namespace sm::sa {

/// 00:14:05 (the OpenFabrics OUI), `byte`, 01, 00 and the LID. None of them is an assigned_guid(),
/// whose fifth byte is 00.
ib::Guid router_alias(ib::Lid lid, std::uint8_t byte);
/// Whether it is one of any LID and byte.
bool is_router_alias(ib::Guid guid);

/// What makes the aliases of all ports those that world.router_aliases calls for; an empty batch:
/// they are. An alias that goes, since its port has another LID, leaves the groups that it joined.
Change bring_router_aliases(const World& world);

}  // namespace sm::sa
