// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Whom a notice goes to (IBA 13.4.8.3, 13.4.11). Pure.
#pragma once

#include "sm/sa/registry/change.h"
#include "sm/sa/registry/world.h"

namespace sm::sa {

/// Whether the subscription is to notices like this one (IBA 13.4.8.3). A GID means the port that
/// has it now.
bool is_meant(const World& world, const ib::wire::InformInfo& wanted, const Event& event);
/// Whether the subscriber may hear of it: its port is there and shares a partition with what the
/// notice is about, and security notices are for the trusted.
bool may_hear(const World& world, const store::Subscription& subscription, const Event& event);

}  // namespace sm::sa
