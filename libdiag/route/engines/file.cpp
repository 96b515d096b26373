// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Engine `file`: tables an operator saved (-U), or hop counts (-M) and the spreading of minhop.
// LIDs may have moved since: rows that name port GUIDs are found again by them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <unordered_map>

#include "libdiag/route/engines/engines.h"
#include "libdiag/route/spread/spread.h"
#include "libdiag/route/ways/even_out.h"
#include "libdiag/tables/names.h"

namespace ib::route {
namespace {

using fabric::SwitchIndex;

/// For each LID in use the one that the file knows its port by; kNoLid where it knows neither.
std::vector<Lid> old_lids(const Request& request, const TableFiles& files) {
  std::unordered_map<Guid, std::vector<Lid>> by_guid;  // ascending
  for (std::size_t lid = 0; lid < files.owners.size(); ++lid)
    if (files.owners[lid].value != 0)
      by_guid[files.owners[lid]].push_back(Lid{static_cast<std::uint16_t>(lid)});
  const auto& graph = *request.graph;
  std::vector<Lid> old(graph.max_lid().value + std::size_t{1}, kNoLid);
  for (const auto& d : graph.destinations()) {
    const auto& port = request.fabric->port(d.end_port);
    const Guid guid = port.guid.value != 0 ? port.guid : request.fabric->node(d.end_port.node).guid;
    const auto known = by_guid.find(guid);
    const std::size_t offset = d.lid.value - std::size_t{port.lid.value};
    if (known != by_guid.end()) {
      if (offset < known->second.size()) old[d.lid.value] = known->second[offset];
    } else if (d.lid.value >= files.owners.size() || files.owners[d.lid.value].value == 0) {
      old[d.lid.value] = d.lid;  // the file names nobody: LIDs are as they were
    }
  }
  return old;
}

/// Ways to one destination: entries that were saved, as far as they lead there, and for every other
/// switch the nearest one from which they do. So what is filled in never leads back along an entry
/// that was saved.
class Filler {
 public:
  explicit Filler(const fabric::CompactGraph& graph)
      : graph_(graph), next_(graph.switch_count()), steps_(graph.switch_count()) {
    far_end_.resize(graph.switch_count());
    for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
      far_end_[s].fill(fabric::kNoSwitch);
      for (const auto& arc : graph.arcs(s)) far_end_[s][arc.out_port] = arc.to;
    }
  }

  /// The port of every switch towards `d`, kNoPort where there is no way; `saved` and `usual` are
  /// asked for the port of a switch, and of equally near ways the usual one is taken. Tells `fill`
  /// the switches whose entry is not that which was saved.
  template <class Saved, class Usual, class Fill>
  std::vector<std::uint8_t> ports(const fabric::Destination& d, Saved saved, Usual usual,
                                  Fill fill) {
    const std::size_t switches = graph_.switch_count();
    std::vector<std::uint8_t> port(switches, tables::kNoPort);
    steps_.assign(switches, kNotYet);
    steps_[d.leaf] = 0;
    port[d.leaf] = d.port;
    for (SwitchIndex s = 0; s < switches; ++s) {
      next_[s] = s == d.leaf ? fabric::kNoSwitch : far_end_[s][saved(s)];
      if (next_[s] != fabric::kNoSwitch) port[s] = saved(s);
    }
    std::vector<SwitchIndex> open;  // from which saved entries do not lead there
    for (SwitchIndex s = 0; s < switches; ++s)
      if (!settle(s)) open.push_back(s);
    while (!open.empty()) {
      // A gap comes before an entry that leads into one, and the nearest before all others.
      std::tuple<bool, unsigned, bool, SwitchIndex, std::uint8_t> best{
          true, kNotYet, true, fabric::kNoSwitch, tables::kNoPort};
      for (const SwitchIndex s : open)
        for (const auto& arc : graph_.arcs(s))
          if (steps_[arc.to] != kNotYet)
            best = std::min(best, std::tuple(next_[s] != fabric::kNoSwitch, steps_[arc.to],
                                             arc.out_port != usual(s), s, arc.out_port));
      const SwitchIndex s = std::get<3>(best);
      if (s == fabric::kNoSwitch) break;  // no way from the others
      port[s] = std::get<4>(best);
      next_[s] = far_end_[s][port[s]];
      fill(s);
      std::erase_if(open, [&](SwitchIndex one) { return settle(one); });
    }
    for (const SwitchIndex s : open) port[s] = tables::kNoPort;
    return port;
  }

 private:
  static constexpr unsigned kNotYet = ~0U;

  /// Follows next_ from s; true when that leads to the destination.
  bool settle(SwitchIndex s) {
    walk_.clear();
    while (s != fabric::kNoSwitch && steps_[s] == kNotYet && walk_.size() <= next_.size()) {
      walk_.push_back(s);
      s = next_[s];
    }
    if (s == fabric::kNoSwitch || steps_[s] == kNotYet) return false;
    for (unsigned steps = steps_[s]; !walk_.empty(); walk_.pop_back())
      steps_[walk_.back()] = ++steps;
    return true;
  }

  const fabric::CompactGraph& graph_;
  std::vector<SwitchIndex> next_;
  std::vector<unsigned> steps_;
  std::vector<SwitchIndex> walk_;
  std::vector<std::array<SwitchIndex, 256>> far_end_;  // by switch and port
};

Result<Routes> from_lfts(const Request& request, const TableFiles& files) {
  auto routes = minhop(request);
  if (!routes) return routes;
  const auto& graph = *request.graph;
  const auto saved = tables::linear_tables(graph, files.lfts);
  const auto old = old_lids(request, files);
  Filler filler(graph);
  std::size_t filled = 0;
  std::string first;
  for (const auto& d : graph.destinations()) {
    const Lid lid = old[d.lid.value];
    const auto ports = filler.ports(
        d, [&](SwitchIndex s) { return lid == kNoLid ? tables::kNoPort : saved.at(s, lid); },
        [&](SwitchIndex s) { return routes->lfts.at(s, d.lid); },
        [&](SwitchIndex s) {
          if (filled++ == 0)
            first = fmt::format("{} to LID {}", tables::switch_name(*request.fabric, graph, s),
                                d.lid.value);
        });
    for (SwitchIndex s = 0; s < graph.switch_count(); ++s) routes->lfts.set(s, d.lid, ports[s]);
  }
  if (filled != 0)
    routes->notes.push_back(fmt::format(
        "{} has no live port for {} entries, the first {}: they follow the nearest entries that "
        "lead there",
        files.lfts_file, filled, first));
  return routes;
}

/// Hops of the file, by switch and by target switch; kUnreachable where it says nothing.
class Hops {
 public:
  Hops(const Request& request, const TableFiles& files) : graph_(*request.graph) {
    const std::size_t switches = graph_.switch_count();
    lid_of_.assign(switches, kNoLid);
    for (const auto& d : graph_.destinations())
      if (d.is_switch() && lid_of_[d.leaf] == kNoLid) lid_of_[d.leaf] = d.lid;
    rows_.assign(switches, nullptr);
    std::unordered_map<Guid, const tables::LidMatrix*> by_guid;
    for (const auto& one : files.matrix) by_guid[one.guid] = &one;
    for (SwitchIndex s = 0; s < switches; ++s)
      if (const auto at = by_guid.find(graph_.guid(s)); at != by_guid.end()) rows_[s] = at->second;
  }

  bool knows(SwitchIndex s) const { return rows_[s] != nullptr; }
  /// Of port 0: the least of all ports.
  std::uint8_t at(SwitchIndex s, SwitchIndex target, std::uint8_t port) const {
    if (rows_[s] == nullptr) return tables::LidMatrix::kUnreachable;
    const auto row = rows_[s]->hops.find(lid_of_[target]);
    if (row == rows_[s]->hops.end() || port >= row->second.size())
      return tables::LidMatrix::kUnreachable;
    return row->second[port];
  }

 private:
  const fabric::CompactGraph& graph_;
  std::vector<Lid> lid_of_;
  std::vector<const tables::LidMatrix*> rows_;
};

Result<Routes> from_matrix(const Request& request, const TableFiles& files) {
  const auto& graph = *request.graph;
  const Hops hops(request, files);
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
    if (!hops.knows(s))
      return fail(ErrorKind::NotFound,
                  fmt::format("{} says nothing about {}", files.lid_matrix_file,
                              tables::switch_name(*request.fabric, graph, s)));
  const Targets targets(request);
  std::vector<tables::LeastHops> candidates(targets.batch_count());
  for (std::size_t batch = 0; batch < candidates.size(); ++batch) {
    auto& out = candidates[batch];
    out.arcs.assign(graph.arc_count(), 0);
    std::size_t b = 0;
    for (const Target& target : targets.batch(batch)) {
      const std::uint64_t bit = std::uint64_t{1} << b++;
      for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
        const std::uint8_t least = s == target.leaf ? 0 : hops.at(s, target.leaf, 0);
        if (least == tables::LidMatrix::kUnreachable) continue;
        bool any = s == target.leaf;
        for (std::size_t i = 0; i < graph.arcs(s).size() && s != target.leaf; ++i) {
          const auto& arc = graph.arcs(s)[i];
          const std::uint8_t beyond =
              arc.to == target.leaf ? std::uint8_t{0} : hops.at(arc.to, target.leaf, 0);
          // Only what leads nearer, so that no loop can come of a file that is out of date.
          if (hops.at(s, target.leaf, arc.out_port) != least || beyond + 1 != least) continue;
          out.arcs[graph.arc_index(s, i)] |= bit;
          any = true;
        }
        if (!any) continue;
        while (out.at.size() <= least) out.at.emplace_back(graph.switch_count(), 0);
        out.at[least][s] |= bit;
      }
    }
    if (out.at.empty()) out.at.emplace_back(graph.switch_count(), 0);
  }
  Routes routes;
  routes.lfts = spread_evenly(request, targets, candidates, {});
  return routes;
}

}  // namespace

Result<Routes> file(const Request& request) {
  const TableFiles* files = request.options.tables.get();
  if (files == nullptr)
    return fail(ErrorKind::NotFound,
                "it needs tables to take over: --lfts_file or --lid_matrix_file");
  auto routes =
      files->lfts_file.empty() ? from_matrix(request, *files) : from_lfts(request, *files);
  if (routes) routes->engine = "file";
  return routes;
}

}  // namespace ib::route
