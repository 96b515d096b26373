// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/shape/ca_order.h"

#include <algorithm>
#include <map>

#include "libdiag/route/shape/tree_places.h"
#include "libdiag/route/shape/tree_shape.h"
#include "libdiag/route/spread/spread.h"

namespace ib::route {

Result<std::vector<std::optional<Lid>>> ca_order(const Request& request) {
  const auto ranks = ranks_from_roots(request);
  if (!ranks) return tl::unexpected<Error>(ranks.error());
  if (const auto tree = check_tree(request, *ranks); !tree)
    return tl::unexpected<Error>(tree.error());
  const Targets targets(request);
  const TreePlaces places(request, *ranks, targets);

  std::map<fabric::SwitchIndex, std::map<std::uint64_t, Lid>> leaves;  // by place
  std::size_t room = 0;
  for (const Target& target : targets.all())
    for (std::size_t c = target.first_column; c < target.last_column; ++c) {
      const auto& column = targets.columns()[c];
      if (column.offset != 0 || !places.computes[c]) continue;
      auto& hosts = leaves[target.leaf];
      hosts.emplace(places.place[c], column.lid);
      room = std::max(room, hosts.size());
    }
  std::map<std::uint64_t, const std::map<std::uint64_t, Lid>*> in_order;
  for (const auto& [leaf, hosts] : leaves) in_order.emplace(hosts.begin()->first, &hosts);
  std::vector<std::optional<Lid>> order;
  for (const auto& [first, hosts] : in_order) {
    for (const auto& [place, lid] : *hosts) order.emplace_back(lid);
    order.resize(order.size() + room - hosts->size());
  }
  return order;
}

}  // namespace ib::route
