// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Answers to what other nodes send to the subnet manager unasked: SMInfo requests and traps; who
// sent it; and the one trap that a subnet manager sends itself. Pure.
#pragma once

#include <optional>

#include "libdiag/discover/observed.h"
#include "libdiag/mad/request.h"
#include "libdiag/mad/transport.h"

namespace sm::core {

/// The answer to a trap: the same notice, TrapRepress, back to where it came from (IBA 14.2.5.1).
ib::mad::Packet trap_repress(const ib::mad::Packet& trap, std::uint64_t m_key = 0);

/// The answer to a request that reached the subnet manager's QP0, or nothing for what needs none.
/// SMInfo is answered with `own`: a Get, and a Set that is `granted`; another Set is refused with
/// "invalid field" (IBA 14.4.1.1). Anything else is an attribute it does not have.
std::optional<ib::mad::Packet> answer_request(const ib::mad::Packet& request,
                                              const ib::wire::SmInfo& own, bool granted = false);

/// The way back of a directed-route request: by the ports that it came in by. A request by LID has
/// none.
std::optional<ib::mad::DirectedRoute> way_back(const ib::mad::Packet& request);

/// The end port that a request came from, where `seen` knows it.
std::optional<ib::fabric::PortRef> sender_of(const ib::mad::Packet& request,
                                             const ib::discover::Observed& seen);

/// Trap 144 that says that the priority of the subnet manager at the port `own` changed (IBA
/// 14.2.5.1), to the subnet manager that the port is told to report to; none: it has no LID yet.
std::optional<ib::mad::Packet> priority_trap(const ib::wire::PortInfo& own, bool at_switch);

}  // namespace sm::core
