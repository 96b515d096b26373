// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Nodes and ports in messages and logs.
#pragma once

#include <string>

#include "libdiag/fabric/fabric.h"

namespace ib::fabric {

/// 0x0002c90200000001 "spine-001"; of one without a name its maker: 0x0002c90200000001 (Mellanox
/// device 4119)
std::string node_label(const Node& node);
/// 0x0002c90200000001 "spine-001" port 4
std::string port_label(const Fabric& fabric, PortRef at);
/// "spine-001" port 4: where the name is enough, and there is one.
std::string port_name(const Fabric& fabric, PortRef at);

}  // namespace ib::fabric
