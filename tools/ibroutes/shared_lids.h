// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Duplicate LIDs, assigned to more than one port: only one of the ports is reachable, since the
// tables lead to one of them.
#pragma once

#include <string>
#include <vector>

#include "libdiag/fabric/fabric.h"

namespace ib::tools {

struct SharedLid {
  Lid lid{};
  std::vector<fabric::PortRef> ports;  // two or more, in the order of the fabric
};

/// Ascending by LID; LMC is counted.
std::vector<SharedLid> shared_lids(const fabric::Fabric& fabric);

/// Whether the end port `at` has `lid`, alone or with others.
bool has_lid(const fabric::Fabric& fabric, fabric::PortRef at, Lid lid);

/// 'name' (0x guid), of a CA or router with its port.
std::string end_port_name(const fabric::Fabric& fabric, fabric::PortRef at);

/// "duplicate LID 42: assigned to 2 ports: 'a' (0x...) port 1, 'b' (0x...) port 1"; the first few
/// of many.
std::string shared_lid_text(const fabric::Fabric& fabric, const SharedLid& shared);

}  // namespace ib::tools
