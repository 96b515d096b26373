// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/managers/performance/totals.h"

namespace sm::managers::performance {
namespace {

bool is_narrow(const CounterRow& row, const Reading& reading) {
  return row.wide != nullptr ? !reading.wide : !reading.wide_errors;
}

/// The value that the reading has of a counter; nothing: it has none.
std::optional<std::uint64_t> value_of(const CounterRow& row, const Reading& reading) {
  if (row.wide_error != nullptr && reading.wide_errors) return row.wide_error(*reading.wide_errors);
  if (row.kind == CounterKind::Wait && !reading.has_xmit_wait) return std::nullopt;
  if (row.wide != nullptr && reading.wide) {
    if (row.bits == 0 && !reading.has_packet_kinds) return std::nullopt;
    return row.wide(*reading.wide);
  }
  if (row.bits == 0) return std::nullopt;
  return row.narrow(reading.narrow);
}

}  // namespace

void PortTotals::take(ib::Instant now, const Reading& reading) {
  const auto rows = counter_rows();
  nearly_full_ = {};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    increase_[i] = 0;
    const auto value = value_of(rows[i], reading);
    if (!value) continue;
    const std::uint64_t more = *value >= last_[i] ? *value - last_[i] : *value;
    constexpr auto kMost = ~std::uint64_t{0};
    totals_[i] = more > kMost - totals_[i] ? kMost : totals_[i] + more;
    if (readings_ > 0) increase_[i] = more;
    last_[i] = *value;
    const std::uint64_t full = largest(rows[i]);
    if (is_narrow(rows[i], reading) && *value >= full - full / 4) {
      nearly_full_.select |= rows[i].select;
      nearly_full_.select2 = static_cast<std::uint8_t>(nearly_full_.select2 | rows[i].select2);
    }
  }
  period_ = readings_ > 0 ? now - last_reading_ : ib::Duration{0};
  if (readings_ == 0) last_reset_ = now;
  ++readings_;
  last_reading_ = now;
}

void PortTotals::cleared(ib::Instant now, std::uint32_t select, std::uint8_t select2) {
  const auto rows = counter_rows();
  for (std::size_t i = 0; i < rows.size(); ++i)
    if ((rows[i].select & select) != 0 || (rows[i].select2 & select2) != 0) last_[i] = 0;
  last_reset_ = now;
  nearly_full_ = {};
}

void PortTotals::resume(const State& state) {
  *this = {};
  last_ = state.last;
  totals_ = state.totals;
  last_reading_ = state.last_reading;
  last_reset_ = state.last_reset;
  readings_ = 1;
}

void PortTotals::forget(ib::Instant now) {
  totals_ = {};
  increase_ = {};
  last_reset_ = now;
}

}  // namespace sm::managers::performance
