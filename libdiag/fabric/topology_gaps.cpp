// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/fabric/topology_gaps.h"

namespace ib::fabric {

TopologyGaps take_gaps(std::vector<std::string>& warnings) {
  const auto says = [](const std::string& warning, std::string_view what) {
    return warning.find(what) != std::string::npos;
  };
  TopologyGaps gaps;
  for (std::string& warning : warnings) {
    if (!says(warning, kUndescribed)) continue;
    gaps.summary = says(warning, kTruncated) || says(warning, kEndsInTheMiddle)
                       ? "the topology file ends in the middle"
                       : "the topology file does not describe all nodes";
    gaps.lines.push_back(std::move(warning));
    warning.clear();
  }
  std::erase(warnings, std::string());
  return gaps;
}

}  // namespace ib::fabric
