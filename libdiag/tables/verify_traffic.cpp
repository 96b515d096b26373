// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/tables/verify_traffic.h"

#include <algorithm>
#include <array>

#include "libdiag/base/parallel.h"

namespace ib::tables::check {

std::vector<std::uint8_t> taken_turns(const SwitchGraph& switch_graph, const LinearTables& tables,
                                      Lid sm_lid, const std::vector<Turn>& turns) {
  const Traffic traffic(switch_graph, tables, sm_lid);
  std::vector<const fabric::Destination*> ends;
  for (const auto& d : switch_graph.destinations)
    if (traffic.is_end(d)) ends.push_back(&d);
  // Turns with the same channel before: what its switch sends that way is looked up once.
  std::vector<std::size_t> groups;
  for (std::size_t i = 0; i < turns.size(); ++i)
    if (i == 0 || turns[i].before != turns[i - 1].before) groups.push_back(i);
  groups.push_back(turns.size());

  std::vector<std::uint8_t> taken(turns.size(), 0);
  parallel_for(std::size_t{1}, groups.size(), [&](std::size_t group) {
    constexpr std::size_t kNone = ~std::size_t{0};
    std::array<std::size_t, 256> waiting;  // by port taken next: place of the turn
    waiting.fill(kNone);
    std::size_t left = groups[group] - groups[group - 1];
    for (std::size_t i = groups[group - 1]; i < groups[group]; ++i)
      waiting[switch_graph.port(turns[i].after)] = i;
    const Turn& first = turns[groups[group - 1]];
    const SwitchIndex s = switch_graph.from(first.before), next = switch_graph.from(first.after);
    const std::uint8_t port = switch_graph.port(first.before);
    const auto row = tables.row(s), next_row = tables.row(next);
    for (const auto* d : ends) {
      if (row[d->lid.value] != port || d->leaf == s || d->leaf == next) continue;
      std::size_t& place = waiting[next_row[d->lid.value]];
      if (place == kNone || !traffic.passes(s, d->lid)) continue;
      taken[place] = 1;
      place = kNone;
      if (--left == 0) return;
    }
  });
  return taken;
}

}  // namespace ib::tables::check
