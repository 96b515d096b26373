// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Engine `file`: tables an operator saved (-U), or hop counts (-M) and the spreading of minhop.
// LIDs may have moved since: rows that name port GUIDs are found again by them.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "libdiag/route/engines/engines.h"
#include "libdiag/route/even_out.h"
#include "libdiag/route/spread.h"
#include "libdiag/routes/names.h"

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

/// True when the port carries traffic to where the LID may be: a link to a switch, or the port of
/// the LID itself.
bool is_live(const fabric::CompactGraph& graph, SwitchIndex s, const fabric::Destination& d,
             std::uint8_t port) {
  if (s == d.leaf) return port == d.port;
  const auto arcs = graph.arcs(s);
  return std::any_of(arcs.begin(), arcs.end(), [&](const auto& a) { return a.out_port == port; });
}

Result<Routes> from_lfts(const Request& request, const TableFiles& files) {
  auto routes = minhop(request);
  if (!routes) return routes;
  const auto& graph = *request.graph;
  const auto saved = routes::linear_tables(graph, files.lfts);
  const auto old = old_lids(request, files);
  std::size_t filled = 0;
  std::string first;
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
    for (const auto& d : graph.destinations()) {
      const Lid lid = old[d.lid.value];
      const std::uint8_t port = lid == kNoLid ? routes::kNoPort : saved.at(s, lid);
      if (is_live(graph, s, d, port)) {
        routes->lfts.set(s, d.lid, port);
      } else if (routes->lfts.at(s, d.lid) != routes::kNoPort && s != d.leaf) {
        if (filled++ == 0)
          first = fmt::format("{} to LID {}", routes::switch_name(*request.fabric, graph, s),
                              d.lid.value);
      }
    }
  }
  if (filled != 0)
    routes->notes.push_back(
        fmt::format("{} has no live port for {} entries, the first {}: least hops there",
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
    std::unordered_map<Guid, const routes::LidMatrix*> by_guid;
    for (const auto& one : files.matrix) by_guid[one.guid] = &one;
    for (SwitchIndex s = 0; s < switches; ++s)
      if (const auto at = by_guid.find(graph_.guid(s)); at != by_guid.end()) rows_[s] = at->second;
  }

  bool knows(SwitchIndex s) const { return rows_[s] != nullptr; }
  /// Of port 0: the least of all ports.
  std::uint8_t at(SwitchIndex s, SwitchIndex target, std::uint8_t port) const {
    if (rows_[s] == nullptr) return routes::LidMatrix::kUnreachable;
    const auto row = rows_[s]->hops.find(lid_of_[target]);
    if (row == rows_[s]->hops.end() || port >= row->second.size())
      return routes::LidMatrix::kUnreachable;
    return row->second[port];
  }

 private:
  const fabric::CompactGraph& graph_;
  std::vector<Lid> lid_of_;
  std::vector<const routes::LidMatrix*> rows_;
};

Result<Routes> from_matrix(const Request& request, const TableFiles& files) {
  const auto& graph = *request.graph;
  const Hops hops(request, files);
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
    if (!hops.knows(s))
      return fail(ErrorKind::NotFound,
                  fmt::format("{} says nothing about {}", files.lid_matrix_file,
                              routes::switch_name(*request.fabric, graph, s)));
  const Targets targets(request);
  std::vector<routes::LeastHops> candidates(targets.batch_count());
  for (std::size_t batch = 0; batch < candidates.size(); ++batch) {
    auto& out = candidates[batch];
    out.arcs.assign(graph.arc_count(), 0);
    std::size_t b = 0;
    for (const Target& target : targets.batch(batch)) {
      const std::uint64_t bit = std::uint64_t{1} << b++;
      for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
        const std::uint8_t least = s == target.leaf ? 0 : hops.at(s, target.leaf, 0);
        if (least == routes::LidMatrix::kUnreachable) continue;
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
