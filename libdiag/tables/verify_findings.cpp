// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/tables/verify_findings.h"

#include <fmt/format.h>

#include "libdiag/tables/names.h"

namespace ib::tables::check {
namespace {

/// "'leaf 3' (0x...) port 7", with the VL where there is more than one to tell apart.
std::string place(const fabric::Fabric& fabric, const SwitchGraph& switch_graph,
                  const VlView& virtual_lanes, const Dependencies& turns, Node node) {
  const Channel c = turns.channel(node);
  std::string out =
      fmt::format("{} port {}", switch_name(fabric, switch_graph.graph, switch_graph.from(c)),
                  switch_graph.port(c));
  if (!virtual_lanes.trivial())
    out += fmt::format(" VL {}", virtual_lanes.kind() == VlView::Kind::One ? virtual_lanes.vl(c, 0)
                                                                           : turns.vl(node));
  return out;
}

}  // namespace

Finding credit_loop(const fabric::Fabric& fabric, const SwitchGraph& switch_graph,
                    const VlView& virtual_lanes, const Dependencies& turns,
                    const std::vector<Node>& left, bool must) {
  const std::vector<Node> trail = cycle_in(switch_graph, turns, left);
  Finding finding{Finding::Kind::CreditLoop, must, kNoLid, {}, {}};
  finding.message = fmt::format("credit loop through {} links: ", trail.size());
  for (const Node n : trail) {
    const Channel c = turns.channel(n);
    finding.hops.emplace_back(switch_graph.from(c), switch_graph.port(c));
    finding.message += place(fabric, switch_graph, virtual_lanes, turns, n) + " -> ";
  }
  finding.message +=
      switch_name(fabric, switch_graph.graph, switch_graph.from(turns.channel(trail.front())));
  return finding;
}

Finding refused_turns(const fabric::Fabric& fabric, const SwitchGraph& switch_graph,
                      const VlView& virtual_lanes, const Dependencies& turns,
                      const LinearTables& tables, const std::vector<Turn>& refused) {
  const Turn turn = refused.front();
  const Channel before = turns.channel(turn.before), after = turns.channel(turn.after);
  Finding finding{Finding::Kind::CreditLoop, false, kNoLid, {}, {}};
  finding.hops = {{switch_graph.from(before), switch_graph.port(before)},
                  {switch_graph.from(after), switch_graph.port(after)}};
  // A LID to name: one of a switch rather than one that only switches send to this way.
  const fabric::Destination* example = nullptr;
  for (const auto& d : switch_graph.destinations) {
    if (tables.at(switch_graph.from(before), d.lid) != switch_graph.port(before) ||
        tables.at(switch_graph.from(after), d.lid) != switch_graph.port(after))
      continue;
    if (example == nullptr || (d.is_switch() && !example->is_switch())) example = &d;
    if (example->is_switch()) break;
  }
  std::string lid;
  if (example != nullptr) {
    finding.lid = example->lid;
    lid = fmt::format(" (LID {})", example->lid.value);
  }
  finding.message = fmt::format(
      "traffic with LIDs of switches{} that goes on from {} to {} would close a credit loop", lid,
      place(fabric, switch_graph, virtual_lanes, turns, turn.before),
      place(fabric, switch_graph, virtual_lanes, turns, turn.after));
  if (refused.size() > 1) finding.message += fmt::format("; {} turns like this", refused.size());
  return finding;
}

/// Why the walk from `source` does not arrive; nullopt when it does.
std::optional<Finding> explain(const fabric::Fabric& fabric, const SwitchGraph& switch_graph,
                               const LinearTables& tables, const fabric::Destination& destination,
                               SwitchIndex source, bool must) {
  const auto& graph = switch_graph.graph;
  Finding finding{Finding::Kind::Unreachable, must, destination.lid, {}, {}};
  const std::string target = fmt::format("LID {} ({})", destination.lid.value,
                                         node_name(fabric, destination.end_port.node));
  SwitchIndex s = source;
  for (unsigned hop = 0; hop <= kHopsMax; ++hop) {
    const std::uint8_t port = tables.at(s, destination.lid);
    finding.hops.emplace_back(s, port);
    const std::string here = switch_name(fabric, graph, s);
    if (s == destination.leaf) {
      if (port == destination.port) return std::nullopt;
      finding.message =
          port == kNoPort
              ? fmt::format("{} is not delivered: {} has no entry", target, here)
              : fmt::format("{} is not delivered: {} sends it out of port {} instead of {}", target,
                            here, port, destination.port);
      return finding;
    }
    const Channel channel = switch_graph.link(s, port);
    if (channel != kNoChannel) {
      s = switch_graph.to[channel];
      continue;
    }
    const std::string from =
        fmt::format("{} is not reached from {}: ", target, switch_name(fabric, graph, source));
    const auto node = graph.node_of(s);
    if (port == kNoPort) {
      finding.message = from + fmt::format("{} has no entry", here);
    } else if (port == 0) {
      finding.message = from + fmt::format("{} takes it for its own", here);
    } else if (port > graph.num_ports(s)) {
      finding.message = from + fmt::format("{} has no port {}", here, port);
    } else if (const auto peer = fabric.port(node, port).peer; peer) {
      finding.message =
          from + fmt::format("{} port {} leads to {}", here, port, node_name(fabric, peer.node));
    } else {
      finding.message = from + fmt::format("{} port {} has no link", here, port);
    }
    return finding;
  }

  // A loop: from the last hop back to where that switch was met before.
  finding.kind = Finding::Kind::Loop;
  std::size_t start = finding.hops.size();
  for (std::size_t i = 0; i < finding.hops.size() && start == finding.hops.size(); ++i)
    if (finding.hops[i].first == s) start = i;
  if (start == finding.hops.size()) {
    finding.message = fmt::format("{} is more than {} hops from {}", target, kHopsMax,
                                  switch_name(fabric, graph, source));
    return finding;
  }
  finding.message = fmt::format("{} loops from {}: ", target, switch_name(fabric, graph, source));
  std::size_t i = start;
  do {
    finding.message +=
        fmt::format("{} port {} -> ", switch_name(fabric, graph, finding.hops[i].first),
                    finding.hops[i].second);
    ++i;
  } while (i < finding.hops.size() && finding.hops[i].first != s);
  finding.hops.resize(i);
  finding.message += switch_name(fabric, graph, s);
  return finding;
}

}  // namespace ib::tables::check
