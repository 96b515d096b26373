// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/shape/tree_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "libdiag/base/parallel.h"
#include "libdiag/route/spread/exits.h"
#include "libdiag/tables/names.h"

namespace ib::route {
namespace {

using fabric::SwitchIndex;

/// Of links that a tree has not got, at most one in this many.
constexpr std::size_t kStrayLinks = 10;

bool is_stray(const Ranks& ranks, SwitchIndex a, SwitchIndex b) {
  return ranks.of[a] == ranks.of[b];
}

}  // namespace

Result<void> check_tree(const Request& request, const Ranks& ranks) {
  const auto& graph = *request.graph;
  const auto name = [&](SwitchIndex s) { return tables::switch_name(*request.fabric, graph, s); };
  std::size_t stray = 0, most = 0;
  SwitchIndex worst = 0;
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
    const auto arcs = graph.arcs(s);
    const auto own = static_cast<std::size_t>(std::count_if(
        arcs.begin(), arcs.end(), [&](const auto& arc) { return is_stray(ranks, s, arc.to); }));
    stray += own;
    if (own > most) most = own, worst = s;
  }
  if (stray * kStrayLinks > graph.arc_count())
    return fail(ErrorKind::NotFound,
                fmt::format("{} of {} links join switches of the same rank, {} of them at {}: "
                            "this is not a tree",
                            stray / 2, graph.arc_count() / 2, most, name(worst)));

  if (ranks.roots_given) return {};
  // Hosts may be anywhere, but in a tree most of them are at the bottom. Two switches are no ring.
  std::size_t cas = 0, above_others = 0;
  most = 0;
  std::uint32_t lowest = 0;
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
    const std::size_t own = graph.attached()[s];
    const auto arcs = graph.arcs(s);
    cas += own;
    lowest = std::max(lowest, ranks.of[s]);
    if (std::none_of(arcs.begin(), arcs.end(), [&](const auto& arc) {
          return ranks.of[arc.to] > ranks.of[s] && graph.attached()[arc.to] != 0;
        }))
      continue;
    above_others += own;
    if (own > most) most = own, worst = s;
  }
  if (lowest >= 2 && above_others * 2 > cas)
    return fail(ErrorKind::NotFound,
                fmt::format("{} of {} CAs hang above others, as at {}: this is not a tree",
                            above_others, cas, name(worst)));
  return {};
}

bool has_hosts_above(const fabric::CompactGraph& graph, const Ranks& ranks) {
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
    for (const auto& arc : graph.arcs(s))
      if (graph.attached()[s] != 0 && ranks.of[arc.to] > ranks.of[s]) return true;
  return false;
}

bool is_complete_tree(const Request& request, const Ranks& ranks, const Targets& targets,
                      std::span<const tables::LeastHops> hops) {
  const auto& graph = *request.graph;
  struct Shape {
    std::size_t up{}, down{};
    bool operator==(const Shape&) const = default;
  };
  std::vector<std::optional<Shape>> shapes;          // by rank
  std::vector<std::uint64_t> up(graph.arc_count());  // all bits: the arc leads up
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
    Shape own;
    const auto arcs = graph.arcs(s);
    for (std::size_t i = 0; i < arcs.size(); ++i) {
      if (ranks.of[arcs[i].to] == ranks.of[s]) return false;
      const bool is_up = ranks.of[arcs[i].to] < ranks.of[s];
      up[graph.arc_index(s, i)] = is_up ? ~std::uint64_t{0} : 0;
      ++(is_up ? own.up : own.down);
    }
    if (shapes.size() <= ranks.of[s]) shapes.resize(ranks.of[s] + std::size_t{1});
    auto& shape = shapes[ranks.of[s]];
    if (shape && *shape != own) return false;
    shape = own;
    if (targets.sources(s) != 0 && own.down != 0) return false;
  }
  const Exits exits(request);
  if (std::any_of(exits.all.begin(), exits.all.end(), [](const Exit& e) { return e.cost != 1; }))
    return false;

  std::atomic<bool> complete{true};
  parallel_for(std::size_t{0}, hops.size(), [&](std::size_t b) {
    const auto batch = targets.batch(b);
    std::uint64_t leaves = 0;
    for (std::size_t i = 0; i < batch.size(); ++i)
      leaves |= std::uint64_t{batch[i].columns() != 0} << i;
    if (leaves == 0) return;
    for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
      const auto arcs = graph.arcs(s);
      const std::size_t first = graph.arc_index(s, 0);
      std::uint64_t any_up = 0, all_up = ~std::uint64_t{0}, down = 0;
      for (std::size_t i = 0; i < arcs.size(); ++i) {
        const std::uint64_t bits = hops[b].arcs[first + i] & leaves;
        if (up[first + i] != 0) {
          any_up |= bits;
          all_up &= bits;
          continue;
        }
        // All links to one child, and no second child.
        const bool parallel = i > 0 && arcs[i - 1].to == arcs[i].to;
        if (parallel ? bits != (hops[b].arcs[first + i - 1] & leaves) : (bits & down) != 0)
          complete = false;
        down |= bits;
      }
      if (any_up != (all_up & leaves) && any_up != 0) complete = false;
      if ((any_up & down) != 0) complete = false;
    }
  });
  return complete;
}

}  // namespace ib::route
