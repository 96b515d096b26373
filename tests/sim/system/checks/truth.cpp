// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// I11: SUBNET UP is said only where every port that can be is ACTIVE, of the nodes that the subnet
// manager has seen since it started, and no two have one LID; or where a switch says that something
// has changed since, or the report says so or names who is missing; or where the switch said it to
// another subnet manager, which cleared PortStateChange while this one swept. At every report.
#include <fmt/format.h>

#include "tests/sim/system/checks/check.h"
#include "tests/sim/system/system.h"

namespace soak {
namespace {

class TruthCheck final : public Check {
 public:
  void on_send(System&, Seat& seat, const sm::core::Outgoing& out) override {
    const auto& mad = out.packet.mad;
    if (mad.method() == ib::wire::Method::Set &&
        mad.attribute_id() == ib::wire::attr::kSwitchInfo &&
        ib::wire::body<ib::wire::SwitchInfo>(mad).port_state_change)
      senders_[low_tid(mad)] = seat.number;
  }
  void on_set(System& system, PortRef at, const ib::wire::Mad& answer) override {
    if (answer.attribute_id() != ib::wire::attr::kSwitchInfo) return;
    const auto sender = senders_.find(low_tid(answer));
    if (sender != senders_.end()) cleared_[at.node] = std::pair(sender->second, system.now());
  }
  void on_report(System& system, Seat& seat, const sm::core::Report& report) override {
    if (!report.up() || report.unmanaged > 0 || report.silent > 0 || report.held_down > 0 ||
        report.changed > 0)
      return;
    const Wires& wires = system.wires();
    std::map<ib::Lid, PortRef> owners;
    const std::set<ib::Guid>& seen = seen_by(seat);
    const std::vector<bool> in_use = reached_by_active_links(wires, seat.at.node);
    for (NodeIndex n = 0; n < wires.nodes(); ++n) {
      if (wires.component(n) != wires.component(seat.at.node) || system.is_excused(n)) continue;
      for (unsigned p = wires.is_switch(n) ? 0 : 1; p <= wires.ports(n); ++p) {
        const PortRef at{n, static_cast<std::uint8_t>(p)};
        const Wires::End& end = wires.end(at);
        if (p != 0 && (!end.peer || system.is_excused(end.peer) || system.is_excused(at))) continue;
        if (p != 0 && !end.active && seen.contains(system.model().topology().node(n).guid) &&
            !is_told(system, at) && !another_was_told(at, seat, system.now() - report.took) &&
            !another_was_told(end.peer, seat, system.now() - report.took))
          return system.report(
              "I11", fmt::format("SUBNET UP is said, and {} is not ACTIVE", system.name(at)));
        // Who has just come, as the switch tells, has the LID of where he was.
        if (!in_use[n] || (p != 0 && (wires.is_switch(n) || !end.active))) continue;
        const ib::Lid lid = system.model().port_info(at).lid;
        if (!lid.is_unicast()) continue;
        if (const auto [other, is_new] = owners.emplace(lid, at); !is_new)
          return system.report("I11",
                               fmt::format("SUBNET UP is said, and {} and {} have LID {}",
                                           system.name(other->second), system.name(at), lid.value));
      }
    }
  }

 private:
  /// The kernel of a host fills in the upper half.
  static std::uint32_t low_tid(const ib::wire::Mad& mad) {
    return static_cast<std::uint32_t>(mad.tid().value);
  }
  /// Nodes that this subnet manager has found since it started.
  const std::set<ib::Guid>& seen_by(const Seat& seat) {
    auto& [manager, seen] = seen_[seat.number];
    if (std::exchange(manager, seat.manager.get()) != seat.manager.get()) seen.clear();
    if (const auto snapshot = seat.manager->snapshot())
      for (const auto& node : snapshot->fabric().nodes()) seen.insert(node.guid);
    return seen;
  }
  /// Nodes that some way of links leads to which are ACTIVE at both ends.
  static std::vector<bool> reached_by_active_links(const Wires& wires, NodeIndex from) {
    std::vector<bool> reached(wires.nodes(), false);
    std::vector<NodeIndex> next{from};
    reached[from] = true;
    while (!next.empty()) {
      const NodeIndex here = next.back();
      next.pop_back();
      for (unsigned p = 1; p <= wires.ports(here); ++p) {
        const Wires::End& end = wires.end({here, static_cast<std::uint8_t>(p)});
        if (!end.peer || !end.active || !wires.end(end.peer).active || reached[end.peer.node])
          continue;
        reached[end.peer.node] = true;
        if (wires.is_switch(end.peer.node)) next.push_back(end.peer.node);
      }
    }
    return reached;
  }
  /// The switch at either end says that a port of it has changed.
  static bool is_told(System& system, PortRef at) {
    for (const PortRef end : {at, system.wires().end(at).peer})
      if (system.wires().is_switch(end.node) &&
          system.model().switch_info(end.node).port_state_change)
        return true;
    return false;
  }
  /// Another subnet manager than that of `seat` cleared what the switch said last, since `began`.
  bool another_was_told(PortRef at, const Seat& seat, ib::Instant began) const {
    const auto last = cleared_.find(at.node);
    return last != cleared_.end() && last->second.first != seat.number &&
           last->second.second >= began;
  }

  std::map<unsigned, std::pair<const Manager*, std::set<ib::Guid>>> seen_;  // by number
  std::map<std::uint32_t, unsigned> senders_;  // of Sets that clear PortStateChange, by TID
  std::map<NodeIndex, std::pair<unsigned, ib::Instant>> cleared_;  // last, by whom and when
};

}  // namespace

std::unique_ptr<Check> make_truth_check() { return std::make_unique<TruthCheck>(); }

}  // namespace soak
