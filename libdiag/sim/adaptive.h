// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Adaptive routing of a switch of the model: what it holds, and by which ports it may forward.
// Private to libdiag/sim.
#pragma once

#include <cstdint>
#include <vector>

#include "libdiag/wire/adaptive_attributes.h"

namespace ib::sim {

/// Of switches that know it; gone with power.
struct AdaptiveState {
  explicit AdaptiveState(std::uint16_t groups);

  wire::MlnxArInfo info;
  std::vector<wire::MlnxArGroup> groups;  // by number, and
  std::vector<wire::MlnxArLft> lft;       // by block: as many as the highest that was set

  /// A Set of ARInfo: what can be written is.
  void set(const wire::MlnxArInfo& wanted);
  /// The group that a packet is forwarded by; nullptr: none, but its static port.
  const wire::MlnxArGroup* group_of(std::uint16_t lid, std::uint8_t sl) const;
  /// Without a group. Precondition: AR is on.
  std::uint8_t static_port(std::uint16_t lid) const;
};

}  // namespace ib::sim
