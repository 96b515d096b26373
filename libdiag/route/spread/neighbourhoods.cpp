// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/spread/neighbourhoods.h"

#include <algorithm>
#include <compare>
#include <numeric>

namespace ib::route {

using fabric::SwitchIndex;

Neighbourhoods::Neighbourhoods(const fabric::CompactGraph& graph, const Exits& exits) {
  order.resize(graph.switch_count());
  std::iota(order.begin(), order.end(), SwitchIndex{0});
  const auto compare = [&](SwitchIndex a, SwitchIndex b) {
    const auto x = exits.of(graph, a), y = exits.of(graph, b);
    return std::lexicographical_compare_three_way(
        x.begin(), x.end(), y.begin(), y.end(),
        [](const Exit& m, const Exit& n) { return m.to <=> n.to; });
  };
  const auto before = [&](SwitchIndex a, SwitchIndex b) { return std::is_lt(compare(a, b)); };
  std::stable_sort(order.begin(), order.end(), before);
  of.assign(order.size(), 0);
  for (std::size_t i = 1; i < order.size(); ++i)
    of[i] = of[i - 1] + (std::is_neq(compare(order[i - 1], order[i])) ? 1U : 0U);
}

}  // namespace ib::route
