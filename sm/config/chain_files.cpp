// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/config/chain_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "libdiag/base/text.h"
#include "libdiag/route/engine.h"
#include "sm/policy/blocks.h"

namespace sm::config {
namespace {

using ib::route::ChainStep;
using ib::route::ChainTopology;
using policy::Field;
using policy::Piece;
using policy::Problems;

constexpr std::uint64_t kIdMax = UINT32_MAX, kPathBitMax = 127;

/// What a file says, and where. 0: a number that is not said, for none of them is.
struct TopologyLines {
  ib::TextPlace place;
  std::uint64_t id{0};
  Piece switches, hosts;
};
struct StepLines {
  ib::TextPlace place;
  std::uint64_t id{0};
  Piece engine;
  std::string use, config;
  std::uint64_t topology{0}, path_bit{0};
  std::optional<std::uint64_t> fallback_to;
  ib::TextPlace topology_place, fallback_place, path_bit_place;
};

const Field<TopologyLines> kTopologyFields[] = {
    {"id", false,
     [](Problems& p, const Piece& v, TopologyLines& t) {
       t.id = p.number(v, "the ID of a topology", 1, kIdMax).value_or(1);
     }},
    {"sw-grp", false, [](Problems&, const Piece& v, TopologyLines& t) { t.switches = v; }},
    {"hca-grp", false, [](Problems&, const Piece& v, TopologyLines& t) { t.hosts = v; }},
};

const Field<StepLines> kStepFields[] = {
    {"id", false,
     [](Problems& p, const Piece& v, StepLines& s) {
       s.id = p.number(v, "the ID of a step", 1, kIdMax).value_or(1);
     }},
    {"engine", false, [](Problems&, const Piece& v, StepLines& s) { s.engine = v; }},
    {policy::kUse, false, [](Problems&, const Piece& v, StepLines& s) { s.use = v.text; }},
    {"config", false,
     [](Problems&, const Piece& v, StepLines& s) { s.config = policy::unquoted(v.text); }},
    {"topology", false,
     [](Problems& p, const Piece& v, StepLines& s) {
       s.topology = p.number(v, "the ID of a topology", 0, kIdMax).value_or(0);
       s.topology_place = v.place;
     }},
    {"fallback-to", false,
     [](Problems& p, const Piece& v, StepLines& s) {
       s.fallback_to = p.number(v, "the ID of a step", 1, kIdMax);
       s.fallback_place = v.place;
     }},
    {"path-bit", false,
     [](Problems& p, const Piece& v, StepLines& s) {
       s.path_bit = p.number(v, "a path bit", 0, kPathBitMax).value_or(0);
       s.path_bit_place = v.place;
     }},
};

/// Errors about IDs that are missing or twice there.
template <class Lines>
void check_ids(const std::vector<Lines>& all, std::string_view what, Problems& problems) {
  for (auto at = all.begin(); at != all.end(); ++at) {
    if (at->id == 0) {
      problems.error(at->place, fmt::format("this {} has no id", what));
      continue;
    }
    const auto first = std::ranges::find(all.begin(), at, at->id, &Lines::id);
    if (first != at)
      problems.error(at->place, fmt::format("{} {} is defined twice (first in line {})", what,
                                            at->id, first->place.line));
  }
}

void check_group(const Piece& name, const TopologyLines& topology, std::string_view field,
                 const ib::fabric::PortGroups& groups, const std::string& groups_file,
                 Problems& problems) {
  if (name.text.empty())
    return problems.error(topology.place, fmt::format("this topology has no {}", field));
  if (groups.find(policy::unquoted(name.text)) != nullptr) return;
  std::vector<std::string_view> known(ib::fabric::PortGroups::predefined().begin(),
                                      ib::fabric::PortGroups::predefined().end());
  for (const auto& group : groups.defined()) known.push_back(group.name);
  problems.error(name.place,
                 fmt::format("'{}' is no port group{}{}", ib::printable(name.text),
                             groups_file.empty() ? std::string(", and pgrp_policy_file names no "
                                                               "file of them")
                                                 : " of " + groups_file,
                             policy::did_you_mean(name.text, known)));
}

/// Errors of one step alone.
void check_step(const StepLines& step, const std::vector<ChainTopology>& topologies,
                const std::string& topologies_file, Problems& problems) {
  if (step.engine.text.empty()) {
    problems.error(step.place, "this unicast-step has no engine");
  } else if (step.engine.text == "chain" || ib::route::find_engine(step.engine.text) == nullptr) {
    std::vector<std::string_view> known;
    for (const auto& engine : ib::route::engines())
      if (engine.name != std::string_view("chain")) known.emplace_back(engine.name);
    problems.expected(fmt::format("an engine ({})", fmt::join(known, ", ")), step.engine);
  }
  if (step.topology != 0 &&
      std::ranges::find(topologies, step.topology, &ChainTopology::id) == topologies.end())
    problems.error(step.topology_place,
                   fmt::format("there is no topology {}{}", step.topology,
                               topologies_file.empty()
                                   ? std::string(": topo_policy_file names no file of them")
                                   : " in " + topologies_file));
}

/// Steps that are passed over, as the manuals have it: nobody falls back to them.
bool is_ignored(const StepLines& step, const std::vector<StepLines>& all, Problems& problems) {
  if (!step.fallback_to) return false;
  const auto target = std::ranges::find(all, *step.fallback_to, &StepLines::id);
  if (target == all.end())
    problems.warning(step.fallback_place, fmt::format("there is no step {}: step {} is ignored",
                                                      *step.fallback_to, step.id));
  else if (target->fallback_to)
    problems.warning(step.fallback_place,
                     fmt::format("step {} is a fallback itself: step {} is ignored",
                                 *step.fallback_to, step.id));
  else
    return false;
  return true;
}

/// The first step has something for every LID, so a LID that is in no other has routes.
void check_first(const std::vector<StepLines>& by_id, Problems& problems) {
  const StepLines& first = by_id.front();
  if (first.fallback_to)
    problems.error(first.fallback_place,
                   fmt::format("step {} is the first one and cannot be a fallback", first.id));
  for (const StepLines& step : by_id) {
    const bool is_first = step.id == first.id;
    if (!is_first && step.fallback_to != first.id) continue;
    const std::string which =
        is_first ? fmt::format("step {} is the first one", step.id)
                 : fmt::format("step {} takes the place of the first one", step.id);
    if (step.topology != 0)
      problems.error(step.topology_place, which + " and must be of topology 0, all of the fabric");
    if (step.path_bit != 0)
      problems.error(step.path_bit_place, which + ", which routes all LIDs: expected path-bit 0");
  }
}

/// What is wrong with the whole of a text, if it is one.
bool is_text(std::string_view text, const std::string& file,
             std::vector<ib::Diagnostic>& diagnostics) {
  auto wrong = policy::not_text(text, file);
  if (wrong) diagnostics.push_back(*std::move(wrong));
  return diagnostics.empty();
}

}  // namespace

TopologyFile read_topology_file(std::string_view text, const std::string& file,
                                const ib::fabric::PortGroups& groups,
                                const std::string& groups_file) {
  TopologyFile out;
  if (!is_text(text, file, out.diagnostics)) return out;
  Problems problems(file, out.diagnostics);
  const auto all = policy::read_blocks(text, "topology", kTopologyFields, problems);
  check_ids(all, "topology", problems);
  for (const TopologyLines& lines : all) {
    check_group(lines.switches, lines, "sw-grp", groups, groups_file, problems);
    check_group(lines.hosts, lines, "hca-grp", groups, groups_file, problems);
    out.topologies.push_back({lines.id, policy::unquoted(lines.switches.text),
                              policy::unquoted(lines.hosts.text), lines.place.line});
  }
  std::ranges::sort(out.topologies, {}, &ChainTopology::id);
  std::ranges::stable_sort(out.diagnostics, {}, &ib::Diagnostic::place);
  if (ib::has_errors(out.diagnostics)) out.topologies.clear();
  return out;
}

ChainFile read_chain_file(std::string_view text, const std::string& file,
                          const std::vector<ChainTopology>& topologies,
                          const std::string& topologies_file) {
  ChainFile out;
  if (!is_text(text, file, out.diagnostics)) return out;
  Problems problems(file, out.diagnostics);
  auto all = policy::read_blocks(text, "unicast-step", kStepFields, problems);
  if (all.empty()) problems.error({}, "this file has no unicast-step");
  check_ids(all, "unicast-step", problems);
  for (const StepLines& step : all) check_step(step, topologies, topologies_file, problems);
  std::ranges::stable_sort(all, {}, &StepLines::id);
  if (!all.empty() && !ib::has_errors(out.diagnostics)) check_first(all, problems);
  for (const StepLines& step : all) {
    if (is_ignored(step, all, problems)) continue;
    ChainStep& made = out.steps.emplace_back();
    made.id = step.id;
    made.engine = step.engine.text;
    made.use = step.use;
    made.config = step.config;
    made.topology = step.topology;
    made.fallback_to = step.fallback_to;
    made.path_bit = static_cast<std::uint8_t>(step.path_bit);
    made.line = step.place.line;
  }
  std::ranges::stable_sort(out.diagnostics, {}, &ib::Diagnostic::place);
  if (ib::has_errors(out.diagnostics)) out.steps.clear();
  return out;
}

}  // namespace sm::config
