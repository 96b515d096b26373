// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/base/parallel.h"
#include "libdiag/route/spread/spread.h"

namespace ib::route {

std::vector<tables::LeastHops> candidates_of(const CandidatesOf& rule,
                                             const fabric::CompactGraph& graph,
                                             const Targets& targets) {
  std::vector<tables::LeastHops> hops(targets.batch_count());
  parallel_for(std::size_t{0}, hops.size(), [&](std::size_t i) {
    std::vector<fabric::SwitchIndex> leaves;
    for (const Target& target : targets.batch(i)) leaves.push_back(target.leaf);
    hops[i] = rule(graph, leaves);
  });
  return hops;
}

}  // namespace ib::route
