// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "sm/console/texts.h"

namespace sm::console {
namespace {

using ib::fabric::Destination;
using ib::fabric::SwitchIndex;

constexpr std::size_t kPortsMax = 256;
constexpr std::uint32_t kEvenBelow = 2;    // ports that differ by no more than 1 are even
constexpr std::size_t kUnevenLidsMin = 4;  // 3 one way and 1 another; there are no ports with 3

/// The switches that a command is about: the one of a GUID, or all.
std::vector<SwitchIndex> all_switches(const ib::fabric::CompactGraph& graph) {
  std::vector<SwitchIndex> all(graph.switch_count());
  for (SwitchIndex s = 0; s < all.size(); ++s) all[s] = s;
  std::ranges::sort(all, {}, [&](SwitchIndex s) { return graph.guid(s); });
  return all;
}
std::vector<SwitchIndex> one_switch(const ib::fabric::CompactGraph& graph, ib::Guid guid) {
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
    if (graph.guid(s) == guid) return {s};
  return {};
}

std::string balance_of(const Snapshot& snapshot, SwitchIndex s, bool is_verbose) {
  const Routing& routing = *snapshot.routing;
  std::array<std::uint32_t, kPortsMax> lids{};
  for (const Destination& to : routing.graph.destinations())
    if (!to.is_switch()) ++lids[routing.lfts.at(s, to.lid)];
  const auto arcs = routing.graph.arcs(s);
  if (arcs.empty() && !is_verbose) return {};
  const auto of_arc = [&](const ib::fabric::Arc& arc) { return lids[arc.out_port]; };
  std::uint32_t spread = 0;
  if (!arcs.empty()) {
    const auto [least, most] = std::ranges::minmax_element(arcs, {}, of_arc);
    spread = of_arc(*most) - of_arc(*least);
  }
  const bool is_even = spread < kEvenBelow;
  if (is_even && !is_verbose) return {};
  std::string text = fmt::format("{}: {}\n", is_even ? "Switch" : "Unbalanced Switch",
                                 node_text(snapshot.fabric(), routing.graph.node_of(s)));
  for (const auto& arc : arcs) text += fmt::format("Port {}: {}\n", arc.out_port, of_arc(arc));
  return text;
}

/// How a switch forwards to the LIDs of one end port.
struct Spread {
  template <class What>
  using Counts = std::vector<std::pair<What, std::uint32_t>>;  // in the order of LIDs
  Counts<std::uint8_t> ports;
  Counts<ib::fabric::NodeIndex> nodes;
};

template <class What>
void count(Spread::Counts<What>& counts, What what) {
  const auto at = std::ranges::find(counts, what, [](const auto& entry) { return entry.first; });
  if (at == counts.end())
    counts.emplace_back(what, 1);
  else
    ++at->second;
}

std::uint32_t difference(const auto& counts) {
  if (counts.empty()) return 0;
  const auto [least, most] =
      std::ranges::minmax_element(counts, {}, [](const auto& entry) { return entry.second; });
  return most->second - least->second;
}

std::string spread_text(const Snapshot& snapshot, SwitchIndex s, ib::fabric::NodeIndex host,
                        const Spread& spread) {
  const auto& fabric = snapshot.fabric();
  const bool is_router = fabric.node(host).type == ib::wire::NodeType::Router;
  const std::string who =
      fmt::format("Switch {}: {} {}: ", node_text(fabric, snapshot.routing->graph.node_of(s)),
                  is_router ? "Router" : "CA", node_text(fabric, host));
  std::string text;
  if (difference(spread.nodes) >= kEvenBelow) {
    text += "Unbalanced Remote Forwarding: " + who;
    for (const auto& [node, count] : spread.nodes)
      text += fmt::format("Dest {} - {} ", node_text(fabric, node, ""), count);
    text += '\n';
  }
  if (difference(spread.ports) >= kEvenBelow) {
    text += "Unbalanced Port Forwarding: " + who;
    for (const auto& [port, count] : spread.ports)
      text += fmt::format("Port {} - {}: ", port, count);
    text += '\n';
  }
  return text;
}

void take_lid(const Snapshot& snapshot, SwitchIndex s, ib::Lid lid, Spread& to) {
  const auto& fabric = snapshot.fabric();
  const auto node = snapshot.routing->graph.node_of(s);
  const std::uint8_t port = snapshot.routing->lfts.at(s, lid);
  if (port == 0 || port > fabric.node(node).num_ports) return;
  const auto peer = fabric.port(node, port).peer;
  if (!peer) return;
  count(to.ports, port);
  count(to.nodes, peer.node);
}

/// End ports with so many LIDs that they can be spread unevenly.
using LidsOfPort = std::span<const Destination>;
std::vector<LidsOfPort> spreadable(const ib::fabric::CompactGraph& graph) {
  std::vector<LidsOfPort> ports;
  const auto all = graph.destinations();
  for (std::size_t i = 0, end = 0; i < all.size(); i = end) {
    for (end = i; end < all.size() && all[end].end_port == all[i].end_port;) ++end;
    if (!all[i].is_switch() && end - i >= kUnevenLidsMin) ports.push_back(all.subspan(i, end - i));
  }
  return ports;
}

std::string spreads_of(const Snapshot& snapshot, SwitchIndex s, std::span<const LidsOfPort> ports) {
  std::string text;
  Spread spread;
  for (const LidsOfPort& lids : ports) {
    spread.ports.clear();
    spread.nodes.clear();
    for (const Destination& to : lids) take_lid(snapshot, s, to.lid, spread);
    std::ranges::sort(spread.ports);
    text += spread_text(snapshot, s, lids.front().end_port.node, spread);
  }
  return text;
}

/// `words` is nothing or a GUID. Else, or where there is no such switch, `wrong` says it.
std::vector<SwitchIndex> switches_of(const ib::fabric::CompactGraph& graph, Words words,
                                     std::optional<Outcome>& wrong, std::string_view what,
                                     std::string_view command) {
  if (words.empty()) return all_switches(graph);
  ib::Guid guid;
  if (!ib::parse_guid(words.front(), guid)) {
    wrong = usage(fmt::format("Invalid {} specified", what), command);
    return {};
  }
  auto one = one_switch(graph, guid);
  if (one.empty()) wrong = failed(ib::cli::kExitFound, fmt::format("{} not found\n", what));
  return one;
}

bool is_routed(const View& view) { return view.snapshot && view.snapshot->routing; }

}  // namespace

Outcome switch_balance(const View& view, Words words) {
  const bool is_verbose = !words.empty() && words.front() == "verbose";
  if (!is_routed(view)) return not_ready();
  std::optional<Outcome> wrong;
  const auto switches =
      switches_of(view.snapshot->routing->graph, words.subspan(is_verbose ? 1 : 0), wrong, "guid",
                  "switchbalance");
  if (wrong) return *std::move(wrong);
  std::string text;
  for (const SwitchIndex s : switches) text += balance_of(*view.snapshot, s, is_verbose);
  return {std::move(text)};
}

Outcome lid_balance(const View& view, Words words) {
  if (!is_routed(view)) return not_ready();
  std::optional<Outcome> wrong;
  const auto switches =
      switches_of(view.snapshot->routing->graph, words, wrong, "switchguid", "lidbalance");
  if (wrong) return *std::move(wrong);
  std::string text;
  const auto ports = spreadable(view.snapshot->routing->graph);
  for (const SwitchIndex s : switches) text += spreads_of(*view.snapshot, s, ports);
  return {std::move(text)};
}

}  // namespace sm::console
