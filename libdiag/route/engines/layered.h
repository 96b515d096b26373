// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What sssp, dfsssp and lash share beside ways and layers: the order of their targets, how layers
// become routes, and what is said where there are too few VLs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libdiag/route/deadlock/layers.h"

namespace ib::route {

/// The request with compute nodes (-u), then I/O nodes (-G), routed behind what the operator's own
/// order (-X) names and ahead of all others: what is routed first finds the links empty.
Request listed_nodes_first(const Request& request);

/// Ways, and how layers are sought for them.
struct Attempt {
  WayOptions ways;
  bool hasty{false};  // LayerRules
};

/// In a grid its dimensions are taken in order; where end ports have several LIDs, in other orders
/// by the further ones if layers can hold that. Where something is missing, the shortest ways so,
/// then those that keep more of that order and are longer, in either order of the dimensions.
class GridAttempts {
 public:
  GridAttempts(const fabric::CompactGraph& graph, const Targets& targets, unsigned layers_max);
  GridAttempts(const GridAttempts&) = delete;  // attempts refer to grids

  /// Nothing where the links form no grid.
  const std::vector<Attempt>& all() const { return all_; }

 private:
  std::optional<Grid> grid_, turned_;
  std::vector<Attempt> all_;
};

struct LayeredWays {
  Ways ways;
  Layers layers;
};
/// Where LIDs of a port had ways apart, these are tried first.
LayeredWays layered_ways(const Request& request, const Targets& targets, const Attempt& attempt,
                         LayerRules rules);

/// Layer i becomes SL and VL first_vl + i.
Routes layered_routes(std::string_view engine, const Request& request, const Targets& targets,
                      const Ways& ways, const Layers& layers, unsigned first_vl);

/// What an operator should know where ways were parted (deadlock/part_ways.h).
std::string parted_note(std::string_view engine, std::size_t ways);

/// `needed` layers, of which the first would be first_vl.
tl::unexpected<Error> too_few_vls(std::string_view engine, const Request& request, unsigned needed,
                                  fabric::SwitchIndex crossing, unsigned first_vl);

}  // namespace ib::route
