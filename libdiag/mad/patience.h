// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// How long a Transactor waits for answers: by what the target has shown, and by what was asked of
// it. Inside Transactor only.
#pragma once

#include <algorithm>
#include <chrono>

#include "libdiag/mad/request.h"
#include "libdiag/mad/round_trip.h"
#include "libdiag/mad/targets.h"
#include "libdiag/mad/transactor.h"

namespace ib::mad {

class Patience {
 public:
  /// `elsewhere`: what all SMAs showed, the start for targets that were not heard yet. Both are the
  /// caller's to keep, and to change.
  Patience(const TransactorOptions& options, const RoundTrip& elsewhere)
      : options_(options), elsewhere_(elsewhere) {}

  /// How long an answer of `target` may take before it is presumed lost. `overtaken`: one to a
  /// later request has come.
  Duration of(const Target& target, const Request& request, bool overtaken = false) const {
    Duration wait;
    if (target.round_trip.measured()) {
      wait = target.round_trip.timeout();
    } else {
      wait = options_.timeout_start;
      if (elsewhere_.measured()) wait = std::max(wait, elsewhere_.timeout());
    }
    // A small answer of the SA takes as long as others do: it is not busy, it goes on answering.
    if (overtaken && request.first_wait > Duration{0} && target.round_trip.measured())
      return std::clamp(wait, std::min(kOvertaken, request.first_wait), request.first_wait);
    // The SA may have thousands of records to collect: a repeated table is dearer than a late one.
    if (request.mad.mgmt_class() == wire::MgmtClass::SubnAdm)
      wait = std::max(
          {wait, options_.timeout_ceiling,
           request.first_wait > Duration{0} ? request.first_wait : request.resp_time_hint});
    return std::clamp(wait, options_.timeout_floor, kLongestWait);
  }

  /// The wait after attempt `attempt`: doubling, up to the ceiling.
  Duration backed_off(const Target& target, const Request& request, std::uint8_t attempt,
                      bool overtaken) const {
    const Duration base = of(target, request, overtaken);
    if (attempt <= 1) return base;
    const Duration ceiling = std::max({options_.timeout_ceiling, request.resp_time_hint, base});
    // Nothing is known of a target that never answered: it may be slow rather than deaf, and a
    // second repetition would only lengthen its queue.
    if (!target.round_trip.measured()) return ceiling;
    const int shift = std::min<int>(attempt - 1, 20);
    return std::min(base * (std::int64_t{1} << shift), ceiling);
  }

 private:
  static constexpr Duration kLongestWait = std::chrono::seconds(10);
  static constexpr Duration kOvertaken =
      std::chrono::milliseconds(50);  // an SA may serve out of turn

  const TransactorOptions& options_;
  const RoundTrip& elsewhere_;
};

}  // namespace ib::mad
