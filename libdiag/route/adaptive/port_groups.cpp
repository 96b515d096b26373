// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/adaptive/port_groups.h"

#include <bit>
#include <optional>
#include <vector>

#include "libdiag/route/spread/spread.h"

namespace ib::route {
namespace {

using fabric::SwitchIndex;
using tables::PortGroups;
using tables::PortMask;

bool has_several(const PortMask& ports) {
  int count = 0;
  for (const std::uint64_t word : ports.bits) count += std::popcount(word);
  return count > 1;
}

/// The group of these ports, made when a LID first goes by it.
class Group {
 public:
  explicit Group(const PortMask& ports) : ports_(ports), is_one_(has_several(ports)) {}
  void take(PortGroups& groups, SwitchIndex s, Lid lid, std::uint8_t port) {
    if (!is_one_ || port == tables::kNoPort || !ports_.test(port)) return;
    if (!number_) number_ = groups.number_of(s, ports_);
    groups.set(s, lid, *number_);
  }

 private:
  PortMask ports_;
  bool is_one_;
  std::optional<std::uint16_t> number_;
};

/// Groups of one target at each switch.
void take_target(const fabric::CompactGraph& graph, const tables::LinearTables& lfts,
                 const Targets& targets, const Target& target, std::size_t bit,
                 const tables::LeastHops& hops, PortGroups& groups) {
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
    if (s == target.leaf) continue;
    PortMask ports;
    const auto arcs = graph.arcs(s);
    for (std::size_t i = 0; i < arcs.size(); ++i)
      if ((hops.arcs[graph.arc_index(s, i)] >> bit & 1U) != 0) ports.set(arcs[i].out_port);
    Group group(ports);
    for (const Targets::Column& column : targets.columns(target))
      group.take(groups, s, column.lid, lfts.at(s, column.lid));
  }
}

}  // namespace

PortGroups parallel_links(const fabric::CompactGraph& graph, const tables::LinearTables& lfts) {
  PortGroups groups(graph.switch_count(), graph.max_lid());
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
    std::vector<std::optional<Group>> by_port(graph.num_ports(s) + std::size_t{1});
    for (const fabric::Arc& arc : graph.arcs(s)) {
      PortMask ports;
      for (const fabric::Arc& other : graph.arcs(s))
        if (other.to == arc.to) ports.set(other.out_port);
      by_port[arc.out_port].emplace(ports);
    }
    for (const fabric::Destination& to : graph.destinations()) {
      const std::uint8_t port = lfts.at(s, to.lid);
      if (to.is_switch() || s == to.leaf || port >= by_port.size() || !by_port[port]) continue;
      by_port[port]->take(groups, s, to.lid, port);
    }
  }
  return groups;
}

Result<PortGroups> shortest_ways(const Request& request, std::string_view engine,
                                 std::shared_ptr<const PlacedSwitches> order,
                                 const tables::LinearTables& lfts) {
  const EngineEntry* entry = find_engine(engine);
  if (entry == nullptr || entry->candidates == nullptr)
    return fail(ErrorKind::Unavailable, "routing engine " + std::string(engine) +
                                            " has no tree; minhop, updn, dnup and ftree have one");
  auto rule = entry->candidates(request);
  if (!rule) return tl::unexpected<Error>(rule.error());
  if (order != nullptr && rule->by_order)
    if (auto kept = rule->by_order(*request.graph, std::move(order))) *rule = *std::move(kept);
  const Targets targets(request);
  PortGroups groups(request.graph->switch_count(), request.graph->max_lid());
  for (std::size_t batch = 0; batch < targets.batch_count(); ++batch) {
    const auto here = targets.batch(batch);
    std::vector<SwitchIndex> leaves;
    for (const Target& target : here) leaves.push_back(target.leaf);
    const tables::LeastHops hops = rule->of(*request.graph, leaves);
    for (std::size_t b = 0; b < here.size(); ++b)
      take_target(*request.graph, lfts, targets, here[b], b, hops, groups);
  }
  return groups;
}

}  // namespace ib::route
