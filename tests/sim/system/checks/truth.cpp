// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// I11: SUBNET UP is said only where every port that can be is ACTIVE and no two have one LID; or
// where a switch says that something has changed since, or the report names who is missing. At
// every report.
#include <fmt/format.h>

#include "tests/sim/system/checks/check.h"
#include "tests/sim/system/system.h"

namespace soak {
namespace {

class TruthCheck final : public Check {
 public:
  void on_report(System& system, Seat& seat, const sm::core::Report& report) override {
    if (!report.up() || report.unmanaged > 0 || report.silent > 0 || report.held_down > 0) return;
    const Wires& wires = system.wires();
    std::map<ib::Lid, PortRef> owners;
    const std::vector<bool> in_use = reached_by_active_links(wires, seat.at.node);
    for (NodeIndex n = 0; n < wires.nodes(); ++n) {
      if (wires.component(n) != wires.component(seat.at.node) || system.is_excused(n)) continue;
      for (unsigned p = wires.is_switch(n) ? 0 : 1; p <= wires.ports(n); ++p) {
        const PortRef at{n, static_cast<std::uint8_t>(p)};
        const Wires::End& end = wires.end(at);
        if (p != 0 && (!end.peer || system.is_excused(end.peer) || system.is_excused(at))) continue;
        if (p != 0 && !end.active && !is_told(system, at))
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
};

}  // namespace

std::unique_ptr<Check> make_truth_check() { return std::make_unique<TruthCheck>(); }

}  // namespace soak
