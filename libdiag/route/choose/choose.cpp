// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/choose/choose.h"

#include <algorithm>
#include <numeric>

#include "libdiag/base/groups.h"
#include "libdiag/route/option_use.h"

namespace ib::route {
namespace {

using fabric::CompactGraph;
using fabric::kNoSwitch;
using fabric::SwitchIndex;

/// How many hosts share a switch with the host in the middle when hosts are sorted by that number.
std::uint32_t usual_hosts(const CompactGraph& graph) {
  std::vector<std::uint32_t> counts(graph.attached().begin(), graph.attached().end());
  std::sort(counts.begin(), counts.end());
  const auto all = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  std::uint64_t before = 0;
  for (const std::uint32_t n : counts) {
    before += n;
    if (before * 2 >= all) return n;
  }
  return 0;
}

/// Distances from the switches that hosts hang off. Those with few hosts beside others with many
/// are tops of a tree with a storage box.
std::vector<std::uint32_t> ranks(const CompactGraph& graph) {
  const std::uint32_t usual = usual_hosts(graph);
  std::vector<std::uint32_t> rank(graph.switch_count(), kNoSwitch);
  std::vector<SwitchIndex> queue;
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
    if (graph.attached()[s] != 0 && graph.attached()[s] * 2 >= usual) {
      rank[s] = 0;
      queue.push_back(s);
    }
  for (std::size_t i = 0; i < queue.size(); ++i)
    for (const auto& arc : graph.arcs(queue[i]))
      if (rank[arc.to] == kNoSwitch) {
        rank[arc.to] = rank[queue[i]] + 1;
        queue.push_back(arc.to);
      }
  return rank;
}

/// At most one way between any two switches, parallel cables aside.
bool is_forest(const CompactGraph& graph) {
  Groups joined(graph.switch_count());
  std::vector<SwitchIndex> neighbours;
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
    neighbours.clear();
    for (const auto& arc : graph.arcs(s))
      if (arc.to > s) neighbours.push_back(arc.to);
    std::sort(neighbours.begin(), neighbours.end());
    neighbours.erase(std::unique(neighbours.begin(), neighbours.end()), neighbours.end());
    for (const SwitchIndex far : neighbours)
      if (!joined.join(s, far)) return false;
  }
  return true;
}

/// Levels with hosts at the bottom and next to no cable within a level.
bool is_tree_like(const CompactGraph& graph) {
  if (is_forest(graph)) return true;
  const auto rank = ranks(graph);
  std::size_t level = 0;
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
    for (const auto& arc : graph.arcs(s)) level += rank[s] == rank[arc.to] ? 1 : 0;
  constexpr std::size_t kOneIn = 20;
  return level * kOneIn <= graph.arc_count();
}

/// Every two switches are neighbours: shortest paths take one link, and nothing waits for another.
bool is_full_mesh(const CompactGraph& graph) {
  std::vector<SwitchIndex> neighbours;
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
    neighbours.clear();
    for (const auto& arc : graph.arcs(s)) neighbours.push_back(arc.to);
    std::sort(neighbours.begin(), neighbours.end());
    const auto last = std::unique(neighbours.begin(), neighbours.end());
    if (last - neighbours.begin() + 1 != static_cast<std::ptrdiff_t>(graph.switch_count()))
      return false;
  }
  return true;
}

std::string why_it_fails(const tables::Verdict& verdict) {
  for (const auto& finding : verdict.findings)
    if (finding.must) return finding.message;
  return std::to_string(verdict.must_failures) + " checks that must hold fail";
}

Result<Routes> followed(Rerouter& rerouter, const fabric::Fabric& fabric,
                        const CompactGraph& graph) {
  if (const auto change = rerouter.update(fabric, graph); !change)
    return tl::unexpected(change.error());
  return rerouter.routes();
}

std::string sentence(const Tried& row) {
  return "routing engine " + row.engine + (row.verdict ? " is refused: " : " does not fit: ") +
         row.why;
}

}  // namespace

std::vector<std::string> default_engines(const CompactGraph& graph) {
  static constexpr const char* kTrees[] = {"ftree", "updn", "nue", "dfsssp", "minhop"};
  // The engines of one kind of network look for it themselves and say when it is not there.
  static constexpr const char* kOthers[] = {"torus-2QoS", "dfp",  "dfsssp", "nue",
                                            "lash",       "updn", "minhop"};
  std::vector<std::string> names;
  const auto add = [&](std::span<const char* const> list) {
    for (const char* name : list)
      if (find_engine(name) != nullptr &&
          std::find(names.begin(), names.end(), name) == names.end())
        names.emplace_back(name);
  };
  if (is_tree_like(graph)) {
    add(kTrees);
  } else {
    // VLs would be for nothing.
    if (is_full_mesh(graph)) names.emplace_back("updn");
    add(kOthers);
  }
  return names;
}

Result<void> check_engine_names(std::span<const std::string> names) {
  for (const std::string& name : names) {
    if (find_engine(name) != nullptr) continue;
    std::string known;
    for (const EngineEntry& e : engines()) known.append(known.empty() ? "" : ", ").append(e.name);
    std::string message = "no routing engine is called '";
    message.append(name).append("'; there are: ").append(known);
    return fail(ErrorKind::Usage, std::move(message));
  }
  return {};
}

Result<void> read_engine_list(std::string_view list, ChoiceOptions& choice) {
  choice.engines.clear();
  choice.no_fallback = false;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find_first_of(", "), list.size());
    const std::string_view name = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    if (name == "no_fallback") {
      choice.no_fallback = true;
    } else if (!name.empty()) {
      choice.engines.emplace_back(name);
    }
  }
  if (choice.engines.empty() && !choice.no_fallback)
    return fail(ErrorKind::Usage, "expected an engine, got ''");
  if (auto known = check_engine_names(choice.engines); !known)
    return fail(ErrorKind::Usage, "expected engines; " + known.error().message);
  return {};
}

bool fails_less(const tables::Verdict& a, const tables::Verdict& b) {
  if (a.credit_loop_channels != 0 && b.credit_loop_channels == 0) return false;
  return a.unreachable < b.unreachable ||
         (a.unreachable == b.unreachable && a.credit_loop_channels == 0 &&
          b.credit_loop_channels != 0);
}

Choice choose_routes(const fabric::Fabric& fabric, const CompactGraph& graph,
                     const ChoiceOptions& options, const tables::VerifyOptions& verify,
                     Rerouter* rerouter, tables::Verifier* keep) {
  std::vector<std::string> names = options.engines;
  const std::size_t named = names.size();
  if (names.empty() || !options.no_fallback)
    for (std::string& name : default_engines(graph))
      if (std::find(names.begin(), names.end(), name) == names.end())
        names.push_back(std::move(name));

  const Request request{&fabric, &graph, options.engine, nullptr,
                        // Routes need one VL at least; verify names the link that has none.
                        std::max(1U, tables::data_vls(fabric, graph, options.vls_max))};
  tables::VerifyOptions checks = verify;
  checks.credit_loops_are_must = !options.allow_credit_loops;

  Choice choice;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool fallback = named != 0 && i >= named;
    if (choice.passed && (fallback || !options.compare)) break;
    Tried& row = choice.tried.emplace_back();
    row.engine = names[i];
    row.named = i < named;
    const EngineEntry* entry = find_engine(names[i]);
    if (entry == nullptr) {
      row.why = "there is no such engine";
      continue;
    }
    const double start = options.clock ? options.clock() : 0;
    const bool follows = rerouter != nullptr && rerouter->engine() == names[i];
    auto routes = follows ? followed(*rerouter, fabric, graph) : entry->compute(request);
    if (options.clock) row.seconds = options.clock() - start;
    if (!routes) {
      row.why = std::move(routes.error().message);
      continue;
    }
    const auto verdict_of = [&](const Routes& of) {
      return keep != nullptr ? keep->verify(fabric, graph, of.lfts, of.virtual_lanes)
                             : tables::verify(fabric, graph, of.lfts, of.virtual_lanes, {}, checks);
    };
    auto verdict = verdict_of(*routes);
    if (follows && !verdict.must_ok())
      if (auto fresh = entry->compute(request)) {
        routes = std::move(fresh);
        verdict = verdict_of(*routes);
      }
    row.vls_used = routes->vls_used;
    row.passed = verdict.must_ok();
    if (!row.passed) row.why = why_it_fails(verdict);
    row.verdict = verdict;
    if (options.compare) row.figures = tables::figures(graph, routes->lfts, {1, 0, 0});
    const bool better =
        choice.routes.engine.empty() ||
        (row.passed ? !choice.passed : !choice.passed && fails_less(verdict, choice.verdict));
    if (!better) continue;
    choice.passed = row.passed;
    choice.routes = std::move(*routes);
    choice.verdict = std::move(verdict);
  }
  auto& notes = choice.routes.notes;
  const std::string unused =
      choice.routes.engine.empty()
          ? std::string()
          : unused_options(options.engine, choice.routes.engine, options.engines);
  if (!unused.empty() && std::find(notes.begin(), notes.end(), unused) == notes.end())
    notes.push_back(unused);
  return choice;
}

std::vector<std::string> Choice::alarms() const {
  std::vector<std::string> lines;
  bool any_named = false;
  for (const Tried& row : tried) {
    any_named |= row.named;
    if (row.named && !row.passed) lines.push_back(sentence(row));
  }
  const auto taken =
      std::find_if(tried.begin(), tried.end(), [](const Tried& t) { return t.passed; });
  if (taken == tried.end()) {
    lines.push_back(routes.engine.empty()
                        ? "no routing engine fits this fabric"
                        : "no routing engine passes all checks; " + routes.engine + " fails least");
  } else if (any_named && !taken->named) {
    lines.push_back("none of the engines named can route this fabric; " + taken->engine + " does");
  }
  if (passed && verdict.credit_loop_channels != 0)
    lines.push_back("routes of " + routes.engine + " can deadlock, which is allowed: " +
                    std::to_string(verdict.credit_loop_channels) + " channels in credit loops");
  return lines;
}

std::vector<std::string> Choice::notes() const {
  std::vector<std::string> lines;
  for (const Tried& row : tried)
    if (!row.named && !row.passed) lines.push_back(sentence(row));
  lines.insert(lines.end(), routes.notes.begin(), routes.notes.end());
  return lines;
}

}  // namespace ib::route
