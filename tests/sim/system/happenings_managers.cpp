// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <fmt/format.h>

#include "tests/sim/system/happenings.h"
#include "tests/sim/system/system.h"

namespace soak {
namespace {

using namespace std::chrono_literals;

Seat& any_seat(System& system, std::uint64_t pick) {
  return *system.seats()[pick % system.seats().size()];
}
/// From a few milliseconds to `most`.
Duration while_of(std::uint64_t pick, Duration most) {
  return 5ms + Duration(static_cast<std::int64_t>(pick % static_cast<std::uint64_t>(most.count())));
}

}  // namespace

void start_another(System& system, const Item& item) {
  const std::size_t count = system.seats().size();
  for (std::size_t i = 0; i < count; ++i) {
    Seat& seat = *system.seats()[(item.picks[0] + i) % count];
    if (!seat.runs()) return system.start(seat);
  }
}

void kill_soon(System& system, const Item& item) {
  // Mostly while it does something, which is whenever it sends.
  const std::uint64_t sends = item.picks[1] % (item.picks[1] % 4 == 0 ? 20 : 800);
  constexpr Duration kDown[] = {10ms, 500ms, 3s, 12s};
  system.kill_after(any_seat(system, item.picks[0]), sends, kDown[item.picks[2] % 4]);
}

void hang(System& system, const Item& item) {
  Seat& seat = any_seat(system, item.picks[0]);
  if (!seat.runs() || seat.hangs) return;
  seat.hangs = true;
  system.world().remove(*seat.manager);
  system.later(while_of(item.picks[1], 10s), [&system, s = &seat] {
    if (s->hangs) system.world().add(*s->manager);
    s->hangs = false;
    system.note_event();
  });
}

void fill_disk(System& system, const Item& item) {
  Seat& seat = any_seat(system, item.picks[0]);
  seat.disk->is_full = true;
  system.later(while_of(item.picks[1], 15s), [s = &seat] { s->disk->is_full = false; });
}

void lose_disk(System& system, const Item& item) {
  Seat& seat = any_seat(system, item.picks[0]);
  system.kill(seat);
  seat.disk->contents = {};
  system.note_lost_disk();
  // The daemon is told by its mark that something was there. (System: until all clients were
  // asked.)
  seat.options.registrations_lost = true;
  system.later(while_of(item.picks[1], 2s), [&system, s = &seat] { system.start(*s); });
}

void set_clock(System& system, const Item& item) {
  constexpr Duration kJumps[] = {1h, -1h, 24h * 3650, -24h * 3650};
  system.set_wall_jump(kJumps[item.picks[0] % 4]);
}

void order_sweep(System& system, const Item& item) {
  Seat& seat = any_seat(system, item.picks[0]);
  if (seat.runs() && !seat.hangs)
    seat.manager->core().sweep_now(system.now(), sm::core::Reason::Operator);
}

void order_reroute(System& system, const Item& item) {
  Seat& seat = any_seat(system, item.picks[0]);
  if (seat.runs() && !seat.hangs) seat.manager->core().reroute_now(system.now());
}

void change_priority(System& system, const Item& item) {
  Seat& seat = any_seat(system, item.picks[0]);
  const auto priority = static_cast<std::uint8_t>(item.picks[1] % 4);
  seat.options.mastership.priority = priority;
  if (seat.runs() && !seat.hangs) seat.manager->core().set_priority(system.now(), priority);
}

void change_partitions(System& system, const Item& item) {
  if (!system.partitions().are_set()) return;
  system.partitions().change(system.model().topology(), system.hosts(), item.picks[0]);
  for (const auto& seat : system.seats()) {
    if (!seat->runs()) continue;
    seat->manager->core().set_partitions(system.partitions().policy());
    seat->manager->core().sweep_now(system.now(), sm::core::Reason::Operator);
  }
}

}  // namespace soak
