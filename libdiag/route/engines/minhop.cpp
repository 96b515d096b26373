// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/engines/engines.h"
#include "libdiag/route/spread/spread.h"
#include "libdiag/route/up_down/live_ways.h"
#include "libdiag/route/ways/even_out.h"
#include "libdiag/tables/least_hops.h"

namespace ib::route {

Result<CandidateRule> minhop_candidates(const Request& request) {
  CandidateRule rule;
  const auto& weights = request.options.hop_weights;
  if (weights.empty()) {
    rule.of = [](const fabric::CompactGraph& graph, std::span<const fabric::SwitchIndex> targets) {
      return tables::least_hops(graph, targets);
    };
    rule.follow = [](const fabric::CompactGraph& graph,
                     std::span<const fabric::SwitchIndex> targets) {
      return follow_least_hops(graph, {}, targets);
    };
    return rule;
  }
  const auto lengths_of = [weights](const fabric::CompactGraph& graph) {
    std::vector<std::uint8_t> lengths(graph.arc_count(), 1);
    for (fabric::SwitchIndex s = 0; s < graph.switch_count(); ++s)
      for (std::size_t i = 0; i < graph.arcs(s).size(); ++i)
        if (const auto at = weights.find({graph.guid(s), graph.arcs(s)[i].out_port});
            at != weights.end())
          lengths[graph.arc_index(s, i)] = at->second;
    return lengths;
  };
  rule.of = [lengths_of](const fabric::CompactGraph& graph,
                         std::span<const fabric::SwitchIndex> targets) {
    return tables::least_hops(graph, targets, lengths_of(graph));
  };
  rule.follow = [lengths_of](const fabric::CompactGraph& graph,
                             std::span<const fabric::SwitchIndex> targets) {
    return follow_least_hops(graph, lengths_of(graph), targets);
  };
  return rule;
}

Result<Routes> minhop(const Request& request) {
  const Targets targets(request);
  Routes result;
  result.engine = "minhop";
  const auto rule = minhop_candidates(request);
  result.lfts =
      spread_evenly(request, targets, candidates_of(rule->of, *request.graph, targets), *rule);
  return result;
}

}  // namespace ib::route
