// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <algorithm>
#include <numeric>
#include <tuple>

#include "libdiag/route/spread/spread.h"

namespace ib::route {
namespace {

using fabric::Destination;
using fabric::SwitchIndex;

/// Destinations of hosts in the order their targets are routed: leaves by GUID, then by
/// port and LID.
std::vector<const Destination*> by_leaf(const fabric::CompactGraph& graph) {
  std::vector<SwitchIndex> leaves(graph.switch_count());
  std::iota(leaves.begin(), leaves.end(), SwitchIndex{0});
  std::sort(leaves.begin(), leaves.end(), [&](SwitchIndex a, SwitchIndex b) {
    return std::tuple(graph.guid(a), a) < std::tuple(graph.guid(b), b);
  });
  std::vector<std::size_t> end(graph.switch_count(), 0);  // of a leaf's share, in the end
  std::size_t total = 0;
  for (const Destination& d : graph.destinations())
    if (d.is_host) ++end[d.leaf];
  for (const SwitchIndex s : leaves) std::swap(total, end[s]), total += end[s];
  std::vector<const Destination*> sorted(total);
  for (const Destination& d : graph.destinations())
    if (d.is_host) sorted[end[d.leaf]++] = &d;
  std::size_t first = 0;
  for (const SwitchIndex s : leaves) {
    std::sort(sorted.begin() + static_cast<std::ptrdiff_t>(first),
              sorted.begin() + static_cast<std::ptrdiff_t>(end[s]),
              [](const auto* a, const auto* b) {
                return std::tuple(a->port, a->lid) < std::tuple(b->port, b->lid);
              });
    first = end[s];
  }
  return sorted;
}

/// Moves what the operator wants routed first to the front, in his order.
void move_to_front(const Request& request, std::vector<const Destination*>& destinations) {
  std::map<fabric::PortRef, std::size_t> turns;
  for (const auto& entry : request.options.guid_routing_order.entries)
    if (const auto port = request.fabric->find_port_guid(entry.guid))
      turns.emplace(*port, turns.size());
  if (turns.empty()) return;
  const auto turn = [&](const Destination* d) {
    const auto at = turns.find(d->end_port);
    return at == turns.end() ? turns.size() : at->second;
  };
  std::stable_sort(destinations.begin(), destinations.end(),
                   [&](const auto* a, const auto* b) { return turn(a) < turn(b); });
}

}  // namespace

void Targets::add(const Request& request, const Destination& destination) {
  // An end port's LIDs stay together whatever the order, so the one before is a sibling or not.
  if (targets_.empty() || targets_.back().leaf != destination.leaf)
    targets_.push_back({destination.leaf, columns_.size(), columns_.size()});
  Target& target = targets_.back();
  Column column{destination.lid, destination.port, 0, true};
  const bool sibling = target.columns() != 0 && columns_.back().port == destination.port;
  if (sibling)
    column.offset = static_cast<std::uint8_t>(columns_.back().offset + 1);
  else
    ++sources_[destination.leaf];
  const auto& ignored = request.options.ignored;
  if (!ignored.empty()) {
    const fabric::PortRef end = destination.end_port;
    // By the node's GUID and the port's number, or by the port's own GUID.
    column.counts = ignored.count({request.fabric->node(end.node).guid, end.port}) == 0 &&
                    ignored.count({request.fabric->port(end).guid, 0}) == 0;
  }
  target.has_siblings |= sibling;
  lids_of_a_port_ = std::max<std::size_t>(lids_of_a_port_, column.offset + 1U);
  target.has_ignored |= !column.counts;
  target.lids_in_a_row &=
      target.columns() == 0 || columns_.back().lid.value + 1 == destination.lid.value;
  columns_.push_back(column);
  target.last_column = columns_.size();
}

Targets::Targets(const Request& request) {
  const fabric::CompactGraph& graph = *request.graph;
  const std::size_t switches = graph.switch_count();
  sources_.assign(switches, 0);
  auto destinations = by_leaf(graph);
  if (!request.options.guid_routing_order.empty()) move_to_front(request, destinations);
  columns_.reserve(destinations.size());
  for (const Destination* destination : destinations) add(request, *destination);

  first_switch_lid_.assign(switches + 1, 0);
  for (const Destination& d : graph.destinations())
    if (!d.is_host) ++first_switch_lid_[d.leaf + 1];
  std::partial_sum(first_switch_lid_.begin(), first_switch_lid_.end(), first_switch_lid_.begin());
  switch_lids_.resize(first_switch_lid_.back());
  std::vector<std::size_t> next(first_switch_lid_.begin(), first_switch_lid_.end() - 1);
  for (const Destination& d : graph.destinations())
    if (!d.is_host) switch_lids_[next[d.leaf]++] = {d.lid, d.port};

  std::vector<SwitchIndex> others;
  for (SwitchIndex s = 0; s < switches; ++s)
    if (sources_[s] == 0) others.push_back(s);
  std::sort(others.begin(), others.end(), [&](SwitchIndex a, SwitchIndex b) {
    return std::tuple(graph.guid(a), a) < std::tuple(graph.guid(b), b);
  });
  for (SwitchIndex s : others) targets_.push_back({s, columns_.size(), columns_.size()});
}

}  // namespace ib::route
