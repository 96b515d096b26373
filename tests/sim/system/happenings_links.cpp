// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <fmt/format.h>

#include "tests/sim/system/happenings.h"
#include "tests/sim/system/system.h"

namespace soak {
namespace {

using namespace std::chrono_literals;

/// One end of a cable; none: there are none.
PortRef any_cable(System& system, std::uint64_t pick) {
  const auto& fabric = system.model().topology();
  std::vector<PortRef> cables;
  for (NodeIndex n = 0; n < fabric.nodes().size(); ++n) {
    for (unsigned p = 1; p <= fabric.node(n).num_ports; ++p) {
      const PortRef a{n, static_cast<std::uint8_t>(p)};
      if (const PortRef b = fabric.port(a).peer; b && a < b) cables.push_back(a);
    }
  }
  if (cables.empty()) return {};
  const PortRef cable = cables[pick % cables.size()];
  system.trace(fmt::format("  the cable of {}", system.name(cable)));
  return cable;
}

/// A port of some switch without a cable; none: there is none.
PortRef free_port(System& system, std::uint64_t pick) {
  const auto& fabric = system.model().topology();
  std::vector<PortRef> free;
  for (NodeIndex n = 0; n < fabric.nodes().size(); ++n) {
    if (!fabric.node(n).is_switch()) continue;
    for (unsigned p = 1; p <= fabric.node(n).num_ports; ++p)
      if (!fabric.port(n, p).peer) free.push_back({n, static_cast<std::uint8_t>(p)});
  }
  return free.empty() ? PortRef{} : free[pick % free.size()];
}

void up(System& system, PortRef link) {
  // It may have been moved meanwhile.
  (void)system.model().link_up(system.now(), link);
  system.note_event();
}
void down(System& system, PortRef link) {
  (void)system.model().link_down(system.now(), link);
  system.note_event();
}

constexpr Duration kMoments[] = {100us, 2ms, 20ms, 400ms, 3s};

/// Its end at a switch, whichever that is.
PortRef switch_end(System& system, PortRef link) {
  const auto& fabric = system.model().topology();
  return fabric.node(link.node).is_switch() ? link : fabric.port(link).peer;
}

}  // namespace

void blink(System& system, const Item& item) {
  const PortRef link = any_cable(system, item.picks[0]);
  if (!link) return;
  down(system, link);
  system.later(kMoments[item.picks[1] % std::size(kMoments)],
               [&system, link] { up(system, link); });
}

void flap(System& system, const Item& item) {
  const PortRef link = any_cable(system, item.picks[0]);
  if (!link) return;
  Duration at{0};
  for (std::uint64_t i = 0; i < 2 + item.picks[1] % 8; ++i) {
    system.later(at, [&system, link] { down(system, link); });
    at += kMoments[(item.picks[2] >> (4 * i)) % 4];
    system.later(at, [&system, link] { up(system, link); });
    at += 11ms + kMoments[(item.picks[3] >> (4 * i)) % 4];
  }
}

void cut(System& system, const Item& item) {
  if (const PortRef link = any_cable(system, item.picks[0])) down(system, link);
}

void move_cable(System& system, const Item& item) {
  const PortRef link = any_cable(system, item.picks[0]), to = free_port(system, item.picks[1]);
  if (!link || !to) return;
  const PortRef from = switch_end(system, link);
  if (!from || system.model().topology().port(from).peer.node == to.node) return;
  (void)system.model().move_cable(system.now(), from, to);
  system.note_moved_cable();
}

void swap_cables(System& system, const Item& item) {
  const PortRef a = switch_end(system, any_cable(system, item.picks[0])),
                b = switch_end(system, any_cable(system, item.picks[1])),
                spare = free_port(system, item.picks[2]);
  const auto& fabric = system.model().topology();
  if (!a || !b || !spare || a == b || fabric.port(a).peer == b) return;
  (void)system.model().move_cable(system.now(), a, spare);
  (void)system.model().move_cable(system.now(), b, a);
  (void)system.model().move_cable(system.now(), spare, b);
  system.note_moved_cable();
}

void spoil_cable(System& system, const Item& item) {
  const PortRef link = any_cable(system, item.picks[0]);
  if (!link) return;
  ib::sim::Faults faults;
  faults.loss_percent = static_cast<double>(5 + item.picks[1] % 60);
  faults.delay = std::chrono::microseconds(item.picks[2] % 3000);
  system.model().set_link_faults(link, faults);
}

}  // namespace soak
