// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The local ports as text, and the question which of them to work by (`-g 0`, opensm(8)).
#pragma once

#include <iosfwd>
#include <optional>
#include <span>
#include <string>

#include "libdiag/base/ids.h"
#include "libdiag/mad/transport.h"

namespace sm::daemon {

/// "mlx5_0 port 1: GUID 0x0002c90300000001 LID 4 ACTIVE".
std::string describe_port(const ib::mad::PortFacts& port);

/// Writes the ports to `out`, numbered from 1, and reads lines of `in` until one of them is the
/// number of a port. Nothing: the answer was 0, or `in` has ended.
std::optional<ib::Guid> ask_for_port(std::span<const ib::mad::PortFacts> ports, std::istream& in,
                                     std::ostream& out);

}  // namespace sm::daemon
