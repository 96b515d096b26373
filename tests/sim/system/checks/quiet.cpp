// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// I18: where nothing happens nothing is set, the master makes no full sweep, and nobody is asked to
// register again. From when it is settled to the end, where a cable joins the subnet manager to
// others.
#include <fmt/format.h>

#include "libdiag/wire/smp_attributes.h"
#include "tests/sim/system/checks/check.h"
#include "tests/sim/system/system.h"

namespace soak {
namespace {

class QuietCheck final : public Check {
 public:
  void on_settled(System& system) override {
    for (const auto& seat : system.seats()) {
      if (!seat->is_master() || !system.wires().end(seat->at).peer) continue;
      sweeps_[seat.get()] = seat->manager->counters().full_sweeps;
      clears_groups_ = clears_groups_ || seat->manager->core().keeps_unknown_groups();
    }
  }
  void on_send(System& system, Seat& seat, const sm::core::Outgoing& out) override {
    const auto& mad = out.packet.mad;
    if (!system.is_settled() || mad.method() != ib::wire::Method::Set ||
        mad.attribute_id() == ib::wire::attr::kSmInfo || said_ || is_clearing(mad) ||
        !system.wires().end(seat.at).peer)
      return;
    said_ = true;
    system.report("I18", fmt::format("nothing has happened, and subnet manager {} sends a Set of "
                                     "attribute 0x{:x}, modifier 0x{:x}",
                                     seat.number, mad.attribute_id(), mad.attribute_modifier()));
  }
  void on_set(System& system, PortRef at, const ib::wire::Mad& answer) override {
    if (!system.is_settled() || said_ || is_clearing(answer)) return;
    if (at.port != 0 && !system.wires().end(at).peer) return;
    said_ = true;
    system.report("I18", fmt::format("nothing has happened, and {} takes a Set of attribute 0x{:x}",
                                     system.name(at), answer.attribute_id()));
  }
  void on_end(System& system) override {
    for (const auto& [seat, before] : sweeps_) {
      if (!seat->runs() || seat->manager->counters().full_sweeps == before) continue;
      system.report("I18",
                    fmt::format("nothing has happened, and subnet manager {} made {} full "
                                "sweeps",
                                seat->number, seat->manager->counters().full_sweeps - before));
    }
  }

 private:
  /// Of trees of a master before, some time after a take-over.
  bool is_clearing(const ib::wire::Mad& mad) const {
    return clears_groups_ && (mad.attribute_id() == ib::wire::attr::kMulticastForwarding ||
                              mad.attribute_id() == ib::wire::attr::kSwitchInfo);
  }

  std::map<const Seat*, std::uint64_t> sweeps_;
  bool said_{false}, clears_groups_{false};
};

}  // namespace

std::unique_ptr<Check> make_quiet_check() { return std::make_unique<QuietCheck>(); }

}  // namespace soak
