// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What the agents on a group's members and switches are asked, and what their answers make of the
// members.
#pragma once

#include "tools/ibtracer/multicast.h"

namespace ibtracer {

/// Asks one agent of every node that has members or is a switch of the tree, fetches all answers
/// that it has, and asks at a port's own LID where the node's first did not speak of it. Fills the
/// words of members and the agents of the tree's nodes. Error: the local port failed.
ib::Result<void> ask_agents(ib::mad::Session& session, const MulticastOptions& options,
                            MulticastReport& report);

}  // namespace ibtracer
