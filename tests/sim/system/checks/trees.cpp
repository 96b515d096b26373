// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// I7: what a member of a group sends comes to every other member once and to nobody else, by the
// tables of the switches; and no switch forwards an MLID that no group has. When it is settled.
#include <fmt/format.h>

#include "tests/sim/system/checks/check.h"
#include "tests/sim/system/system.h"

namespace soak {
namespace {

class TreeCheck final : public Check {
 public:
  void on_settled(System& system) override {
    for (Seat* master : system.masters()) look(system, *master);
  }

 private:
  using Members = std::map<ib::Lid, std::set<PortRef>>;

  void look(System& system, const Seat& master) {
    const Members members = members_of(system, master);
    for (const auto& [mlid, ports] : members)
      for (const PortRef from : ports)
        if (!look(system, mlid, from, ports)) return;
    if (system.has_one_memory() && !master.manager->core().keeps_unknown_groups())
      look_at_unused(system, master, members);
  }

  static Members members_of(System& system, const Seat& master) {
    const auto contents = master.manager->registered();
    const Wires& wires = system.wires();
    std::map<ib::Guid, PortRef> ports;
    for (const PortRef at : wires.end_ports())
      if (at.port != 0 && wires.end(at).active && !system.is_excused(at) &&
          wires.component(at.node) == wires.component(master.at.node))
        ports[system.model().topology().port(at).guid] = at;
    Members members;
    for (const auto& group : contents.groups) {
      auto& of_group = members[group.mlid];
      for (const auto& member : contents.members)
        if (member.mgid == group.mgid && (member.join_state & 1) != 0)
          if (const auto at = ports.find(member.port_gid.guid()); at != ports.end())
            of_group.insert(at->second);
    }
    return members;
  }

  static bool look(System& system, ib::Lid mlid, PortRef from, const std::set<PortRef>& members) {
    std::map<PortRef, unsigned> copies;
    if (!flood(system, mlid, from, copies)) {
      system.report("I7", fmt::format("MLID 0x{:x} from {} goes round in circles", mlid.value,
                                      system.name(from)));
      return false;
    }
    for (const PortRef to : members) {
      if (to == from || copies[to] == 1) continue;
      system.report("I7", fmt::format("of MLID 0x{:x} from {} {} gets {} copies", mlid.value,
                                      system.name(from), system.name(to), copies[to]));
      return false;
    }
    for (const auto& [to, count] : copies) {
      if (count == 0 || members.contains(to)) continue;
      system.report("I7", fmt::format("of MLID 0x{:x} from {} {} gets a copy and is no member",
                                      mlid.value, system.name(from), system.name(to)));
      return false;
    }
    return true;
  }

  static bool flood(System& system, ib::Lid mlid, PortRef from,
                    std::map<PortRef, unsigned>& copies) {
    const Wires& wires = system.wires();
    std::vector<PortRef> arrivals{wires.end(from).peer};
    for (std::size_t i = 0; i < arrivals.size(); ++i) {
      if (i > wires.ends()) return false;
      const PortRef in = arrivals[i];
      if (!wires.is_switch(in.node)) {
        ++copies[in];
        continue;
      }
      for (const std::uint8_t out : system.model().multicast_ports(in.node, mlid)) {
        if (out == 0 || out == in.port || out > wires.ports(in.node)) continue;
        const Wires::End& next = wires.end({in.node, out});
        if (next.peer && next.active) arrivals.push_back(next.peer);
      }
    }
    return true;
  }

  static void look_at_unused(System& system, const Seat& master, const Members& members) {
    constexpr std::uint16_t kLooked = 32;
    const Wires& wires = system.wires();
    for (NodeIndex n = 0; n < wires.nodes(); ++n) {
      if (!wires.is_switch(n) || wires.component(n) != wires.component(master.at.node)) continue;
      for (std::uint16_t i = 0; i < kLooked; ++i) {
        const ib::Lid mlid{static_cast<std::uint16_t>(ib::kLidMulticastMin.value + i)};
        const auto used = members.find(mlid);
        if (used != members.end() && !used->second.empty()) continue;
        // Above its top a switch looks nothing up.
        if (mlid.value > system.model().switch_info(n).multicast_fdb_top) break;
        if (system.model().multicast_ports(n, mlid).empty()) continue;
        return system.report("I7", fmt::format("{} forwards MLID 0x{:x}, which nobody is in",
                                               system.name({n, 0}), mlid.value));
      }
    }
  }
};

}  // namespace

std::unique_ptr<Check> make_tree_check() { return std::make_unique<TreeCheck>(); }

}  // namespace soak
