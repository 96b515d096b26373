// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/plan/wanted_tables.h"

namespace sm::plan {

WantedTables::WantedTables(const ib::fabric::Fabric& fabric) {
  nodes_.reserve(fabric.nodes().size());
  for (const auto& node : fabric.nodes()) nodes_.emplace_back(node.num_ports);
}

}  // namespace sm::plan
