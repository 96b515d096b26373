// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// I4: LIDs of end ports that are joined are distinct, aligned, within range, and those that subnet
// administration knows. I5: ports keep theirs, whatever has happened, as far as one disk or one
// store on etcd remembers them. When it is settled.
#include <fmt/format.h>

#include "tests/sim/system/checks/check.h"
#include "tests/sim/system/system.h"

namespace soak {
namespace {

class LidCheck final : public Check {
 public:
  void on_report(System& system, Seat& seat, const sm::core::Report& report) override {
    if (!report.up() || report.unmanaged > 0 || !seat.is_master()) return;
    // Who had a LID first when all was well is to have it to the end.
    for (const PortRef at : system.wires().end_ports()) {
      if (system.is_excused(at)) continue;
      if (system.wires().component(at.node) != system.wires().component(seat.at.node)) continue;
      const ib::Lid lid = system.model().port_info(at).lid;
      if (lid.is_unicast()) first_.emplace(guid_of(system, at), lid);
    }
  }
  void on_settled(System& system) override {
    for (Seat* master : system.masters()) {
      look_at_ranges(system, *master);
      look_at_answers(system, *master);
    }
    if (system.has_one_memory() && !system.was_cable_moved()) look_at_changes(system);
  }

 private:
  static ib::Guid guid_of(System& system, PortRef at) {
    return system.model().topology().port(at).guid;
  }

  void look_at_ranges(System& system, const Seat& master) {
    std::map<unsigned, PortRef> owners;
    for (const PortRef at : system.wires().end_ports()) {
      if (system.is_excused(at)) continue;
      if (system.wires().component(at.node) != system.wires().component(master.at.node)) continue;
      const auto info = system.model().port_info(at);
      const unsigned first = info.lid.value, count = 1U << info.lmc;
      if (first == 0 || first + count > 0xC000 || first % count != 0)
        return system.report(
            "I4", fmt::format("{} has LID {} with LMC {}", system.name(at), first, info.lmc));
      for (unsigned lid = first; lid < first + count; ++lid) {
        const auto [other, is_new] = owners.emplace(lid, at);
        if (!is_new)
          return system.report("I4", fmt::format("{} and {} have LID {}",
                                                 system.name(other->second), system.name(at), lid));
      }
    }
  }

  void look_at_answers(System& system, const Seat& master) {
    const auto snapshot = master.manager->snapshot();
    if (!snapshot) return;
    for (const PortRef at : system.wires().end_ports()) {
      if (system.is_excused(at) || system.master_of(at.node) != &master) continue;
      const auto known = snapshot->fabric().find_port_guid(guid_of(system, at));
      const auto info = system.model().port_info(at);
      if (!known || snapshot->fabric().port(*known).lid != info.lid)
        return system.report("I4", fmt::format("subnet administration does not know that {} has "
                                               "LID {}",
                                               system.name(at), info.lid.value));
    }
  }

  void look_at_changes(System& system) {
    for (const PortRef at : system.wires().end_ports()) {
      if (system.is_excused(at) || system.master_of(at.node) == nullptr) continue;
      const auto first = first_.find(guid_of(system, at));
      const ib::Lid now = system.model().port_info(at).lid;
      if (first != first_.end() && first->second != now)
        return system.report("I5", fmt::format("{} had LID {} and has {}", system.name(at),
                                               first->second.value, now.value));
    }
  }

  std::map<ib::Guid, ib::Lid> first_;
};

}  // namespace

std::unique_ptr<Check> make_lid_check() { return std::make_unique<LidCheck>(); }

}  // namespace soak
