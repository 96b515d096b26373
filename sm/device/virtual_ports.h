// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Virtual ports of HCA ports, as the devices told of them. Immutable and shared; null where no port
// has any.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "libdiag/discover/observed.h"
#include "libdiag/fabric/fabric.h"
#include "libdiag/wire/smp_attributes.h"
#include "sm/policy/partitions.h"

namespace sm {

struct VirtualPort {
  std::uint16_t index{};
  ib::wire::PortState state{};
  ib::Guid guid{};       // its port GUID; 0: its host has given it none
  ib::Guid node_guid{};  // of its virtual HCA
  std::uint16_t partition_cap{};
  bool lid_required{};  // of its own
  friend bool operator==(const VirtualPort&, const VirtualPort&) = default;

  /// Packets reach it by the LID of its port.
  bool is_reached() const {
    return state == ib::wire::PortState::Active && guid != ib::Guid{} && !lid_required;
  }
};

/// Of one port. Index 0, which is the port itself, is not among them.
struct PortVirtualization {
  bool enabled{};
  std::uint16_t top_index{};
  std::vector<VirtualPort> ports;  // by index; of those that were never up nothing is known
  friend bool operator==(const PortVirtualization&, const PortVirtualization&) = default;
};

/// By port GUID.
using VirtualPorts = std::map<ib::Guid, PortVirtualization>;
using VirtualPortsPtr = std::shared_ptr<const VirtualPorts>;

/// Whether a port says that it can have virtual ports.
bool has_virtual_ports(const ib::discover::ObservedPort& port);

/// What policies go by. A virtual port belongs to another machine than its port, so names of nodes
/// do not mean it: it is named by GUID, and with all others of its kind. Valid as long as `fabric`.
policy::EndPortFacts virtual_port_facts(const VirtualPort& vport, const ib::fabric::Fabric& fabric,
                                        ib::fabric::PortRef at);

/// Calls run(port, virtual port) for each that is up, by GUID of the ports of `fabric`.
template <class Run>
void for_each_virtual_port(const VirtualPorts* all, const ib::fabric::Fabric& fabric, Run run) {
  if (all == nullptr) return;
  for (const auto& [guid, of_port] : *all) {
    const auto at = fabric.find_port_guid(guid);
    if (!at) continue;
    for (const VirtualPort& vport : of_port.ports)
      if (vport.state >= ib::wire::PortState::Initialize && vport.guid != ib::Guid{})
        run(*at, vport);
  }
}

}  // namespace sm
