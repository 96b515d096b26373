// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// I3 (a): no Set of a forwarding table closes a loop, for no destination, at no step. A loop that
// is new goes through an entry that is new, so only those are followed. An entry above LinearFDBTop
// is none (IBA 14.2.5.4), until a Set of SwitchInfo raises that.
#include <fmt/format.h>

#include "libdiag/wire/smp_attributes.h"
#include "tests/sim/system/checks/check.h"
#include "tests/sim/system/system.h"

namespace soak {
namespace {

class LoopCheck final : public Check {
 public:
  void on_set(System& system, PortRef at, const ib::wire::Mad& answer) override {
    const auto attribute = answer.attribute_id();
    auto& before = tables_[at.node];
    std::size_t first = 0;
    if (attribute == ib::wire::attr::kLinearForwarding) {
      first = std::size_t{answer.attribute_modifier()} * 64;
      if (before.size() < first + 64) before.resize(first + 64, 255);
    } else if (attribute != ib::wire::attr::kSwitchInfo) {
      return;
    }
    const std::size_t end =
        attribute == ib::wire::attr::kLinearForwarding ? first + 64 : before.size();
    for (std::size_t i = first; i < end; ++i) {
      const ib::Lid lid{static_cast<std::uint16_t>(i)};
      const std::uint8_t now = entry(system, at.node, lid);
      if (before[i] == now) continue;
      before[i] = now;
      if (closes_loop(system, at.node, lid) && !system.is_moved_cable_new())
        system.report("I3", fmt::format("the entry of {} for LID {}, which is port {} now, closes "
                                        "a loop",
                                        system.name({at.node, 0}), i, now));
    }
  }

 private:
  static std::uint8_t entry(System& system, NodeIndex node, ib::Lid lid) {
    const auto& model = system.model();
    return lid.value <= model.switch_info(node).linear_fdb_top ? model.lft(node, lid) : 255;
  }
  static bool closes_loop(System& system, NodeIndex from, ib::Lid lid) {
    const auto& model = system.model();
    const auto& fabric = model.topology();
    NodeIndex here = from;
    for (std::size_t hops = 0; hops < fabric.nodes().size(); ++hops) {
      const std::uint8_t out = entry(system, here, lid);
      if (out == 0 || out > fabric.node(here).num_ports) return false;
      const PortRef port{here, out}, peer = fabric.port(port).peer;
      if (!peer || !fabric.node(peer.node).is_switch()) return false;
      if (model.port_info(port).port_state != ib::wire::PortState::Active) return false;
      here = peer.node;
      if (system.is_liar(here)) return false;
      if (here == from) return true;
    }
    return false;  // into a loop that was there before
  }

  std::map<NodeIndex, std::vector<std::uint8_t>> tables_;
};

}  // namespace

std::unique_ptr<Check> make_loop_check() { return std::make_unique<LoopCheck>(); }

}  // namespace soak
