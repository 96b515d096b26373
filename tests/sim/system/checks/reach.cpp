// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// I1: from every switch the tables lead to every LID of a host, and of the subnet manager, that it
// is joined to. When it is settled.
#include <fmt/format.h>

#include "tests/sim/system/checks/check.h"
#include "tests/sim/system/system.h"

namespace soak {
namespace {

class ReachCheck final : public Check {
 public:
  void on_settled(System& system) override { look(system); }
  void on_end(System& system) override { look(system); }

 private:
  enum class Way : std::uint8_t { Unknown, Walked, Good, Bad };

  void look(System& system) {
    const Wires& wires = system.wires();
    tops_.clear();
    for (NodeIndex n = 0; n < wires.nodes(); ++n)
      tops_.push_back(wires.is_switch(n) ? system.model().switch_info(n).linear_fdb_top : 0U);
    for (const PortRef target : wires.end_ports()) {
      if (system.is_excused(target)) continue;
      const Seat* master = system.master_of(target.node);
      // Those of switches should be reached, and those of hosts must.
      if (master == nullptr || (target.port == 0 && target != master->at)) continue;
      const auto info = system.model().port_info(target);
      for (unsigned i = 0; i < 1U << info.lmc; ++i)
        if (!look(system, target, ib::Lid{static_cast<std::uint16_t>(info.lid.value + i)})) return;
    }
  }

  bool look(System& system, PortRef target, ib::Lid lid) {
    const Wires& wires = system.wires();
    ways_.assign(wires.nodes(), Way::Unknown);
    for (NodeIndex n = 0; n < wires.nodes(); ++n) {
      if (!wires.is_switch(n) || wires.component(n) != wires.component(target.node)) continue;
      if (system.is_excused(n) || walk(system, n, target, lid)) continue;
      // The first switch whose way is bad is walked from to its end.
      system.report("I1", fmt::format("from {} no way leads to LID {} of {}: the last switch is {}",
                                      system.name({n, 0}), lid.value, system.name(target),
                                      system.name(last_)));
      return false;
    }
    return true;
  }

  bool walk(System& system, NodeIndex from, PortRef target, ib::Lid lid) {
    const Wires& wires = system.wires();
    passed_.clear();
    NodeIndex here = from;
    Way end = Way::Bad;
    while (ways_[here] == Way::Unknown) {
      ways_[here] = Way::Walked;
      passed_.push_back(here);
      const std::uint8_t out = lid.value <= tops_[here] ? system.model().lft(here, lid) : 255;
      last_ = {here, out};
      if (here == target.node && out == target.port) end = Way::Good;
      if (out == 0 || out > wires.ports(here)) break;
      const Wires::End& next = wires.end({here, out});
      if (!next.peer || !next.active) break;
      if (next.peer == target) end = Way::Good;
      if (!wires.is_switch(next.peer.node)) break;
      here = next.peer.node;
      if (ways_[here] == Way::Good) end = Way::Good;
    }
    for (const NodeIndex n : passed_) ways_[n] = end;
    return ways_[from] == Way::Good;
  }

  std::vector<unsigned> tops_;
  std::vector<Way> ways_;
  std::vector<NodeIndex> passed_;
  PortRef last_;  // of the last walk
};

}  // namespace

std::unique_ptr<Check> make_reach_check() { return std::make_unique<ReachCheck>(); }

}  // namespace soak
