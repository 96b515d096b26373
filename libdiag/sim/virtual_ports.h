// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Virtual ports of an HCA port, as its management agent keeps them. Private to libdiag/sim; the
// trait `vports` gives a port some, Model::change_vport() is what its host does with one.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "libdiag/wire/virtualization_attributes.h"

namespace ib::sim {

struct VirtualPort {
  bool is_up{true};  // by its host; its state is Down else
  wire::PortState state{wire::PortState::Down};
  Guid guid{}, node_guid{};
  bool lid_required{};
  Lid lid{};  // that was set, where one is required
  std::array<char, 64> description{};
  std::vector<PKey> p_keys;
  std::vector<Guid> guids;  // entry 0 is its own
  wire::MlnxQosConfigSl rates;
};

/// Of one port. Index 0 is the port itself and not among them.
struct VirtualPorts {
  bool enabled{false};
  bool state_change{false};
  std::vector<VirtualPort> ports;  // by index - 1
};

}  // namespace ib::sim
