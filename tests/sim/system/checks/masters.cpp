// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// I10: of subnet managers that are joined not two are master for longer than they need to notice,
// and who is not master sets nothing. At every step.
#include <fmt/format.h>

#include <bitset>
#include <set>

#include "libdiag/wire/smp_attributes.h"
#include "tests/sim/system/checks/check.h"
#include "tests/sim/system/system.h"

namespace soak {
namespace {

using namespace std::chrono_literals;

/// A master finds another one by its next light sweep, 10 s apart, and the sweep that follows; it
/// is polled every second, and silent after four. While MADs are lost both take longer.
constexpr Duration kWindow = 20s, kWindowWithFaults = 60s;

class MasterCheck final : public Check {
 public:
  void on_event(System&) override {
    since_ = ib::kNever;
    masters_.reset();  // cables may be others now
  }

  void on_step(System& system) override {
    std::bitset<64> masters;
    for (const auto& seat : system.seats())
      if (seat->is_master() && !seat->hangs) masters.set(seat->number);
    if (masters != masters_) {
      masters_ = masters;
      if (!two_are_joined(system))
        since_ = ib::kNever;
      else if (since_ == ib::kNever)
        since_ = system.now();
    }
    const Duration window = system.faults_are_over() ? kWindow : kWindowWithFaults;
    if (since_ == ib::kNever || system.now() - since_ < window) return;
    system.report("I10", fmt::format("{} are master for {} s", masters_.count(), window / 1s));
    since_ = system.now();
  }

  void on_send(System& system, Seat& seat, const sm::core::Outgoing& out) override {
    const auto& mad = out.packet.mad;
    if (mad.method() != ib::wire::Method::Set) return;
    if (mad.attribute_id() == ib::wire::attr::kSmInfo || seat.is_master()) return;
    system.report("I10", fmt::format("subnet manager {} is {} and sends a Set of attribute 0x{:x}",
                                     seat.number, seat.manager->state(), mad.attribute_id()));
  }

 private:
  static bool two_are_joined(System& system) {
    std::set<unsigned> components;
    for (const Seat* seat : system.masters())
      if (!components.insert(system.wires().component(seat->at.node)).second) return true;
    return false;
  }

  std::bitset<64> masters_;        // by number
  ib::Instant since_{ib::kNever};  // two of them are joined
};

}  // namespace

std::unique_ptr<Check> make_master_check() { return std::make_unique<MasterCheck>(); }

}  // namespace soak
