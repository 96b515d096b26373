// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Texts of kept counters: opensm_port_counters.log in the two forms that opensm writes, and JSON.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "libdiag/report/json.h"
#include "sm/managers/performance/manager.h"

namespace sm::managers::performance {

/// The wall clock at an Instant, for dates.
struct Clock {
  std::chrono::system_clock::time_point wall;
  ib::Instant now;
  std::chrono::system_clock::time_point at(ib::Instant t) const { return wall - (now - t); }
};

/// Which ports a text is about.
struct Which {
  std::optional<ib::Guid> node;  // nothing: all
  int port{-1};                  // -1: all
  bool errors_only{false};       // ports with errors or waits, and of these the counters above 0
};

bool is_asked_for(const PortRecord& record, const Which& which);
/// Counters of data are words of 4 bytes.
bool is_words(const CounterRow& row);

/// Blocks of lines, as opensm's `print_counters`, `print_errors` and `dump_counters` have them.
std::string counters_text(const PortRecords& records, const Which& which, const Clock& clock);
/// `dump_counters mach`: columns separated by tabs, under a head for each node.
std::string counters_table(const PortRecords& records, const Clock& clock);
inline constexpr const char* kCountersSchema = "ibkit.ibsm-counters/2";
inline constexpr const char* kHistorySchema = "ibkit.ibsm-counter-history/2";

/// The members of a port in a document: the shape of a port, "peer" and "active".
void write_record_port(ib::report::JsonWriter& json, const PortRecord& record);
/// A document (doc/formats.md): rates are a second, bytes and packets of the time
/// between the last two readings.
std::string counters_json(const PortRecords& records, const Which& which, const Clock& clock,
                          const std::string& version);

}  // namespace sm::managers::performance
