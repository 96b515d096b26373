// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// LIDs that more than one port bears: a fault that hides a port behind another, since the tables
// lead to one of them.
#pragma once

#include <string>
#include <vector>

#include "libdiag/fabric/fabric.h"

namespace ib::tools {

struct SharedLid {
  Lid lid{};
  std::vector<fabric::PortRef> bearers;  // two or more, in the order of the fabric
};

/// Ascending by LID; LMC is counted.
std::vector<SharedLid> shared_lids(const fabric::Fabric& fabric);

/// Whether the end port `at` has `lid`, alone or with others.
bool bears(const fabric::Fabric& fabric, fabric::PortRef at, Lid lid);

/// 'name' (0x guid), of a CA or router with its port.
std::string end_port_name(const fabric::Fabric& fabric, fabric::PortRef at);

/// "LID 42 is borne by 2 ports: 'a' (0x...) port 1, 'b' (0x...) port 1"; the first few of many.
std::string shared_lid_text(const fabric::Fabric& fabric, const SharedLid& shared);

}  // namespace ib::tools
