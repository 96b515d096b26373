// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// I9: no port of a host is told a P_Key, at any step, that neither the partitions in force nor
// those of just before give it, and a key that stays keeps its index. When it is settled it has all
// its keys.
#include <fmt/format.h>

#include <algorithm>

#include "libdiag/wire/smp_attributes.h"
#include "tests/sim/system/checks/check.h"
#include "tests/sim/system/system.h"

namespace soak {
namespace {

class PKeyCheck final : public Check {
 public:
  void on_set(System& system, PortRef at, const ib::wire::Mad& answer) override {
    if (answer.attribute_id() != ib::wire::attr::kPKeyTable || at.port == 0) return;
    const auto keys = ib::wire::body<ib::wire::PKeyTable>(answer).p_keys;
    const ib::Guid guid = system.model().topology().port(at).guid;
    for (const ib::PKey key : keys) {
      if (key.value == 0 || system.partitions().allows(guid, key)) continue;
      // It was meant for who was at this end of the route before.
      if (system.is_moved_cable_new()) continue;
      return system.report("I9",
                           fmt::format("{} is told P_Key 0x{:04x}", system.name(at), key.value));
    }
    const std::size_t block = answer.attribute_modifier() & 0xFFFF;
    if (block == 0) look_at_indexes(system, at, keys);
  }

  void on_settled(System& system) override {
    if (!system.partitions().are_set()) return;
    for (const PortRef at : system.hosts()) {
      if (system.is_excused(at) || !system.wires().end(at).active) continue;
      const Seat* master = system.master_of(at.node);
      // It names who did not take them.
      if (master == nullptr || master->manager->last().refused > 0) continue;
      std::set<std::uint16_t> held;
      for (const ib::PKey key : system.model().p_keys(at))
        if (key.value != 0) held.insert(key.value);
      const auto& wanted = system.partitions().keys_of(system.model().topology().port(at).guid);
      if (held != wanted)
        return system.report("I9", fmt::format("{} has {} P_Keys and is to have {}, or others",
                                               system.name(at), held.size(), wanted.size()));
    }
  }

 private:
  template <class Keys>
  void look_at_indexes(System& system, PortRef at, const Keys& keys) {
    if (system.is_liar(at.node)) return;  // a key stays where the device says that it is
    auto& before = tables_[at];
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (before[i].value == 0 || keys[i] == before[i]) continue;
      const auto now = std::ranges::find(keys, before[i]);
      // The device may have forgotten them since; or the table was meant for who was at this end of
      // the route before.
      if (now != keys.end() && system.last_event() < set_at_[at] && !system.is_moved_cable_new())
        system.report("I9", fmt::format("P_Key 0x{:04x} of {} moves from index {} to {}",
                                        before[i].value, system.name(at), i, now - keys.begin()));
    }
    before.assign(keys.begin(), keys.end());
    set_at_[at] = system.now();
  }

  std::map<PortRef, std::vector<ib::PKey>> tables_;
  std::map<PortRef, ib::Instant> set_at_;
};

}  // namespace

std::unique_ptr<Check> make_p_key_check() { return std::make_unique<PKeyCheck>(); }

}  // namespace soak
