// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A port found again in another state of the subnet.
#pragma once

#include "libdiag/fabric/fabric.h"

namespace ib::fabric {

/// The port of the same node GUID and number in `to`; none where `port` is none, or `to` has no
/// such port.
inline PortRef same_port(const Fabric& from, PortRef port, const Fabric& to) {
  const auto node = port ? to.find_node(from.node(port.node).guid) : std::nullopt;
  if (!node || port.port > to.node(*node).num_ports) return {};
  return {*node, port.port};
}

}  // namespace ib::fabric
