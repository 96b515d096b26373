// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/counters.h"

#include <fmt/format.h>

#include "sm/sa/reports/forwarding.h"

namespace sm::sa {
namespace {

constexpr NamedCounter kNamed[] = {
    {"requests", &Counters::requests},
    {"answers", &Counters::answers},
    {"records", &Counters::records},
    {"errors", &Counters::errors},
    {"dropped_not_ready", &Counters::dropped_not_ready},
    {"dropped_sm_key", &Counters::dropped_sm_key},
    {"dropped_malformed", &Counters::dropped_malformed},
    {"dropped_stray", &Counters::dropped_stray},
    {"dropped_unanswerable", &Counters::dropped_unanswerable},
    {"replayed", &Counters::replayed},
    {"under_way", &Counters::under_way},
    {"busy_queue_full", &Counters::busy_queue_full},
    {"busy_too_old", &Counters::busy_too_old},
    {"denied_untrusted", &Counters::denied_untrusted},
    {"denied_source_gid", &Counters::denied_source_gid},
    {"waiting_most", &Counters::waiting_most},
    {"transfers", &Counters::transfers},
    {"transfers_aborted", &Counters::transfers_aborted},
    {"segments", &Counters::segments},
    {"segments_resent", &Counters::segments_resent},
    {"messages_in", &Counters::messages_in},
    {"segments_in", &Counters::segments_in},
    {"segments_in_lost", &Counters::segments_in_lost},
    {"messages_refused", &Counters::messages_refused},
    {"messages_expired", &Counters::messages_expired},
    {"notices", &Counters::notices},
    {"notices_dropped", &Counters::notices_dropped},
    {"notices_implausible", &Counters::notices_implausible},
    {"notices_limited", &Counters::notices_limited},
    {"reports", &Counters::reports},
    {"reports_answered", &Counters::reports_answered},
    {"reports_failed", &Counters::reports_failed},
    {"reports_dropped", &Counters::reports_dropped},
    {"subscribers_dead", &Counters::subscribers_dead},
};
static_assert(sizeof(Counters) == std::size(kNamed) * sizeof(std::uint64_t),
              "every counter has a name");

}  // namespace

std::span<const NamedCounter> named_counters() { return kNamed; }

std::string describe(const Counters& counters) {
  std::string text;
  for (const auto& [name, value] : kNamed)
    if (counters.*value != 0)
      text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, counters.*value);
  return text;
}

void count_forwarding(const Forwarding& forwarding, Counters& counters) {
  const auto& r = forwarding.reports.counters();
  counters.notices = r.notices;
  counters.notices_dropped = r.notices_dropped;
  counters.notices_implausible = forwarding.counters().implausible;
  counters.notices_limited = forwarding.counters().limited;
  counters.reports = r.sent;
  counters.reports_answered = r.answered;
  counters.reports_failed = r.failed;
  counters.reports_dropped = r.dropped;
  counters.subscribers_dead = r.dead;
}

}  // namespace sm::sa
