// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// I6: every port with a working neighbour is ACTIVE. When it is settled.
#include <fmt/format.h>

#include "tests/sim/system/checks/check.h"
#include "tests/sim/system/system.h"

namespace soak {
namespace {

class PortCheck final : public Check {
 public:
  void on_settled(System& system) override { look(system); }
  void on_end(System& system) override { look(system); }

 private:
  static void look(System& system) {
    const Wires& wires = system.wires();
    for (NodeIndex n = 0; n < wires.nodes(); ++n) {
      if (system.master_of(n) == nullptr || system.is_excused(n)) continue;
      for (unsigned p = 1; p <= wires.ports(n); ++p) {
        const PortRef at{n, static_cast<std::uint8_t>(p)};
        const Wires::End& end = wires.end(at);
        if (!end.peer || end.active || system.is_excused(at) || system.is_excused(end.peer))
          continue;
        return system.report("I6", fmt::format("{} is not ACTIVE", system.name(at)));
      }
    }
  }
};

}  // namespace

std::unique_ptr<Check> make_port_check() { return std::make_unique<PortCheck>(); }

}  // namespace soak
