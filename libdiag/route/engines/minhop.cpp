// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <tbb/parallel_for.h>

#include "libdiag/route/engines/engines.h"
#include "libdiag/route/spread.h"
#include "libdiag/routes/least_hops.h"

namespace ib::route {

Result<Routes> minhop(const Request& request) {
  const auto& graph = *request.graph;
  const Targets targets(request);
  std::vector<routes::LeastHops> hops(targets.batch_count());
  tbb::parallel_for(std::size_t{0}, hops.size(), [&](std::size_t i) {
    std::vector<fabric::SwitchIndex> leaves;
    for (const Target& target : targets.batch(i)) leaves.push_back(target.leaf);
    hops[i] = routes::least_hops(graph, leaves);
  });
  Routes result;
  result.engine = "minhop";
  result.lfts = spread(request, targets, hops);
  return result;
}

}  // namespace ib::route
