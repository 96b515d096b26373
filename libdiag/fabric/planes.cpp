// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/fabric/planes.h"

namespace ib::fabric {

bool is_further_plane(const Fabric& fabric, PortRef port) {
  const Node& node = fabric.node(port.node);
  const Guid guid = fabric.port(port).guid;
  if (node.type != wire::NodeType::ChannelAdapter || guid.value == 0) return false;
  for (unsigned lower = 1; lower < port.port; ++lower)
    if (fabric.port(port.node, lower).guid == guid) return true;
  return false;
}

}  // namespace ib::fabric
