// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// `ibsm ctl sm`: which subnet managers there are, who is master, and since when and why.
#pragma once

#include <string>

#include "sm/control/protocol.h"
#include "sm/core/mastership.h"
#include "sm/daemon/consistency.h"
#include "sm/device/snapshot.h"

namespace sm::daemon {

/// What is known besides who is master.
struct ManagedSubnet {
  std::string version;   // of the program, for documents
  SnapshotPtr snapshot;  // null: nothing is known yet
  ib::Lid own_lid{};     // of this one's port, 0 where it is not known
};

/// `sm`, with the option json. `consistency`: what is configured otherwise at others; null: nothing
/// is compared.
control::Answer sm_verb(const control::Request& request, const core::Mastership& mastership,
                        const ManagedSubnet& subnet, ib::Instant now,
                        const Consistency* consistency = nullptr);

}  // namespace sm::daemon
