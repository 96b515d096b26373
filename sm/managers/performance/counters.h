// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Port counters (IBA 16.1.3.5, 16.1.4.11), a row each: how wide they are in PortCounters, by which
// bit they are cleared, and what dumps call them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "libdiag/wire/performance_attributes.h"

namespace sm::managers::performance {

enum class CounterKind : std::uint8_t {
  Error,
  Wait,  // PortXmitWait: ticks in which there was something to send and no credit
  Data,  // 64 bits wide in PortCountersExtended
};

struct CounterRow {
  std::string_view name;       // of the specification
  std::string_view dump_name;  // as opensm_port_counters.log has it; empty: not in there
  CounterKind kind;
  unsigned bits;         // of the field in PortCounters; 0: it is not in there
  std::uint32_t select;  // CounterSelect
  std::uint8_t select2;  // CounterSelect2
  std::uint64_t (*narrow)(const ib::wire::PortCounters&);
  std::uint64_t (*wide)(const ib::wire::PortCountersExtended&);  // null: not in there
  std::uint64_t (*wide_error)(const ib::wire::PortErrorsExtended&);  // null: not in there
};

inline constexpr std::size_t kCounterCount = 22;
using CounterValues = std::array<std::uint64_t, kCounterCount>;

/// Errors first, in the order of opensm's dumps.
std::span<const CounterRow, kCounterCount> counter_rows();

/// The largest value of the field in PortCounters, where it stops.
constexpr std::uint64_t largest(const CounterRow& row) {
  return row.bits == 0 ? 0 : (std::uint64_t{1} << row.bits) - 1;
}

}  // namespace sm::managers::performance
