// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Shortest paths with the least on them: of the ways of fewest hops each LID gets, from every
// switch, one whose links together carry the least so far. One VL, no promise about deadlocks.
#include "libdiag/route/engines/engines.h"
#include "libdiag/route/engines/layered.h"
#include "libdiag/route/ways/ways.h"

namespace ib::route {

Result<Routes> sssp(const Request& asked) {
  const Request request = listed_nodes_first(asked);
  const Targets targets(request);
  Routes result;
  result.engine = "sssp";
  result.lfts = tables_from(request, targets, find_ways(request, targets, {}));
  return result;
}

}  // namespace ib::route
