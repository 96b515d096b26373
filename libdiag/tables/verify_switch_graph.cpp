// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/tables/verify_switch_graph.h"

#include <algorithm>

namespace ib::tables::check {
namespace {

/// Sorts switches by piece; where each begins, and the end.
std::vector<std::size_t> by_piece(const fabric::Pieces& pieces, std::vector<SwitchIndex>& all) {
  std::stable_sort(all.begin(), all.end(),
                   [&](SwitchIndex a, SwitchIndex b) { return pieces.of[a] < pieces.of[b]; });
  std::vector<std::size_t> first(pieces.count + std::size_t{1}, 0);
  for (const SwitchIndex s : all) ++first[pieces.of[s] + std::size_t{1}];
  for (std::uint32_t i = 0; i < pieces.count; ++i) first[i + 1] += first[i];
  return first;
}

}  // namespace

SwitchGraph::SwitchGraph(const fabric::CompactGraph& g, Lid sm_lid)
    : graph(g),
      stride(g.max_ports() + std::size_t{1}),
      own(g.switch_count(), 0),
      hosts(g.switch_count(), 0) {
  const auto switches = static_cast<SwitchIndex>(graph.switch_count());
  to.assign(switches * stride, fabric::kNoSwitch);
  in_port.assign(switches * stride, 0);
  first_into_.assign(switches + std::size_t{1}, 0);
  for (SwitchIndex s = 0; s < switches; ++s) {
    for (const auto& arc : graph.arcs(s)) {
      const Channel c = channel(s, arc.out_port);
      to[c] = arc.to;
      in_port[c] = arc.in_port;
      ++first_into_[arc.to + std::size_t{1}];
    }
  }
  for (SwitchIndex s = 0; s < switches; ++s) first_into_[s + 1] += first_into_[s];
  into_.resize(first_into_.back());
  std::vector<std::size_t> next(first_into_.begin(), first_into_.end() - 1);
  for (SwitchIndex s = 0; s < switches; ++s)
    for (const auto& arc : graph.arcs(s)) into_[next[arc.to]++] = channel(s, arc.out_port);

  for (const auto& destination : graph.destinations()) {
    if (destination.leaf >= switches) continue;
    const bool sibling = !destinations.empty() &&
                         destinations.back().end_port == destination.end_port &&
                         destinations.back().leaf == destination.leaf;
    if (!destination.is_switch() && !sibling) {
      ++own[destination.leaf];
      hosts[destination.leaf] += destination.is_host ? 1 : 0;
    }
    if (destination.lid == sm_lid) sm_leaf = destination.leaf;
    if (!destinations.empty() && destinations.back().lid == destination.lid)
      destinations.back() = destination;  // a duplicate LID: the last holder counts
    else
      destinations.push_back(destination);
  }
  for (SwitchIndex s = 0; s < switches; ++s)
    (own[s] != 0 || s == sm_leaf ? sources : bystanders).push_back(s);
  pieces = fabric::pieces_of(graph);
  first_source_ = by_piece(pieces, sources);
  first_bystander_ = by_piece(pieces, bystanders);
}

std::uint64_t SwitchGraph::pairs() const {
  std::uint64_t sum = 0;
  for (const auto& d : destinations) sum += sources_near(d.leaf).size();
  return sum;
}

const fabric::Destination* SwitchGraph::find(Lid lid) const {
  const auto at = std::lower_bound(destinations.begin(), destinations.end(), lid,
                                   [](const auto& d, Lid l) { return d.lid < l; });
  return at != destinations.end() && at->lid == lid ? &*at : nullptr;
}

}  // namespace ib::tables::check
