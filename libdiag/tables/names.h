// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What nodes are called in messages and dumps.
#pragma once

#include <string>

#include "libdiag/fabric/graph.h"

namespace ib::tables {

/// 'name' (0x guid), the name made printable.
std::string node_name(const fabric::Fabric& fabric, fabric::NodeIndex node);
std::string switch_name(const fabric::Fabric& fabric, const fabric::CompactGraph& graph,
                        fabric::SwitchIndex s);

/// "1 VL", "2 VLs".
std::string counted(std::size_t n, const char* one, const char* many);

}  // namespace ib::tables
