// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// I12: what happens costs so many MADs and no more, and when it is settled nothing waits. Memory
// and floods have tests of their own.
#include <fmt/format.h>

#include "tests/sim/system/checks/check.h"
#include "tests/sim/system/system.h"

namespace soak {
namespace {

constexpr std::uint64_t kMadsMost = 5'000'000;  // of one run

class BoundCheck final : public Check {
 public:
  void on_step(System& system) override {
    if (said_ || system.model().counters().sent < kMadsMost) return;
    said_ = true;
    system.report("I12", fmt::format("{} MADs were sent", kMadsMost));
  }
  void on_settled(System& system) override {
    for (Seat* master : system.masters())
      if (const auto pending = master->manager->core().mads_pending(); pending > 1)
        system.report("I12", fmt::format("{} MADs of the master are under way", pending));
  }

 private:
  bool said_{false};
};

}  // namespace

std::unique_ptr<Check> make_bound_check() { return std::make_unique<BoundCheck>(); }

}  // namespace soak
