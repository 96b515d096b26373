// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What the SA has done so far: one struct, for the log and for metrics.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sm::sa {

struct Counters {
  std::uint64_t requests{};  // whole ones, let in or not
  std::uint64_t answers{};   // and tables begun
  std::uint64_t records{};
  std::uint64_t errors{};  // answers with a status, BUSY included
  // Not answered, on purpose.
  std::uint64_t dropped_not_ready{}, dropped_sm_key{}, dropped_malformed{}, dropped_stray{};
  std::uint64_t dropped_unanswerable{};  // requests by a method that has no answer
  std::uint64_t replayed{};              // repeated requests answered from the first one's answer
  std::uint64_t under_way{};             // repeated requests whose answer was still to come
  std::uint64_t busy_queue_full{}, busy_too_old{};  // answered BUSY
  std::uint64_t denied_untrusted{};                 // by the enhanced trust model
  std::uint64_t denied_source_gid{};                // a GRH with another port's GID
  std::uint64_t waiting_most{};                     // the longest that the queues ever were
  std::uint64_t transfers{}, transfers_aborted{}, segments{}, segments_resent{};  // tables out
  std::uint64_t messages_in{};                      // requests that came by RMPP
  std::uint64_t segments_in{}, segments_in_lost{};  // lost: repeated, stray or beyond the window
  std::uint64_t messages_refused{}, messages_expired{};  // with ABORT or STOP
  std::uint64_t notices{}, notices_dropped{};  // to be forwarded; dropped: too many at once
  std::uint64_t notices_implausible{},
      notices_limited{};  // in another's name; too many of one port
  std::uint64_t reports{}, reports_answered{}, reports_failed{}, reports_dropped{};
  std::uint64_t subscribers_dead{};
};

struct NamedCounter {
  std::string_view name;  // "busy_queue_full"
  std::uint64_t Counters::*value;
};
/// Every counter, as declared.
std::span<const NamedCounter> named_counters();

/// "requests=12 answers=12 ...": those that are not 0, as one line; empty when all are.
std::string describe(const Counters& counters);

class Forwarding;
/// What `counters` says of notices and reports.
void count_forwarding(const Forwarding& forwarding, Counters& counters);

}  // namespace sm::sa
