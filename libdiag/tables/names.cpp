// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/tables/names.h"

#include <fmt/format.h>

#include "libdiag/base/text.h"

namespace ib::tables {

std::string node_name(const fabric::Fabric& fabric, fabric::NodeIndex node) {
  if (node == fabric::kNoNode) return "an unknown node";
  const auto& n = fabric.node(node);
  return fmt::format("'{}' ({})", printable(n.name()), to_string(n.guid));
}

std::string switch_name(const fabric::Fabric& fabric, const fabric::CompactGraph& graph,
                        fabric::SwitchIndex s) {
  return node_name(fabric, graph.node_of(s));
}

std::string counted(std::size_t n, const char* one, const char* many) {
  return fmt::format("{} {}", n, n == 1 ? one : many);
}

}  // namespace ib::tables
