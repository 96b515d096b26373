// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// PortTotals: what a port has counted as long as somebody watched it, from readings of counters
// that stop at their largest value, that others set back, and that start again with the device.
#pragma once

#include <optional>

#include "libdiag/base/instant.h"
#include "sm/managers/performance/counters.h"

namespace sm::managers::performance {

/// What one look at a port said.
struct Reading {
  ib::wire::PortCounters narrow;
  /// Where the device has PortCountersExtended.
  std::optional<ib::wire::PortCountersExtended> wide;
  /// Where it has these, too; then `narrow` is not read.
  std::optional<ib::wire::PortErrorsExtended> wide_errors;
  bool has_xmit_wait{true};     // ClassPortInfo:CapabilityMask says so
  bool has_packet_kinds{true};  // unicast and multicast packets, of `wide`
};

class PortTotals {
 public:
  /// Adds what has been counted since the reading before. A counter below its last value was set
  /// back in between, and counts from 0. Nothing ever goes down. The first reading adds what the
  /// device had counted before.
  void take(ib::Instant now, const Reading& reading);
  /// The device took a Set that put the counters of these bits to 0.
  void cleared(ib::Instant now, std::uint32_t select, std::uint8_t select2);
  /// Totals, not the device's counters, begin at 0 again.
  void forget(ib::Instant now);

  /// What goes on where this one ended, after a restart.
  struct State {
    CounterValues last{}, totals{};
    ib::Instant last_reading{}, last_reset{};
  };
  State state() const { return {last_, totals_, last_reading_, last_reset_}; }
  void resume(const State& state);

  const CounterValues& values() const { return totals_; }
  /// Of the last take(); all 0 after the first.
  const CounterValues& increase() const { return increase_; }
  /// Since the take() before the last; 0 before the second.
  ib::Duration period() const { return period_; }
  /// Counters by their numbers that are near their largest value in PortCounters, as CounterSelect
  /// and CounterSelect2: to be cleared lest they stop. Data only where `wide` was not there.
  struct Select {
    std::uint32_t select{};
    std::uint8_t select2{};
    bool empty() const { return select == 0 && select2 == 0; }
  };
  Select nearly_full() const { return nearly_full_; }

  unsigned readings() const { return readings_; }
  ib::Instant last_reading() const { return last_reading_; }
  ib::Instant last_reset() const { return last_reset_; }

 private:
  CounterValues last_{}, totals_{}, increase_{};
  Select nearly_full_;
  unsigned readings_{0};
  ib::Instant last_reading_{}, last_reset_{};
  ib::Duration period_{0};
};

}  // namespace sm::managers::performance
