// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/managers/performance/port_record.h"

#include <algorithm>
#include <chrono>

namespace sm::managers::performance {
namespace {

std::int64_t seconds_of(ib::Duration d) {
  return std::chrono::round<std::chrono::seconds>(d).count();
}

/// Where readings are further apart than a window is long, as many more are not too many.
bool is_too_many(std::uint64_t count, std::uint64_t threshold, ib::Duration period,
                 ib::Duration window) {
  const auto windows = static_cast<double>(period.count()) / static_cast<double>(window.count());
  return count > threshold &&
         static_cast<double>(count) > static_cast<double>(threshold) * std::max(1.0, windows);
}

ErrorChange change_of(const PortRecord& record, std::size_t counter, const Windows& windows) {
  ErrorChange change;
  change.here = record.here;
  change.there = record.there;
  change.counter = policy::error_counters()[counter].name;
  change.category = policy::error_counters()[counter].category;
  change.threshold = windows.thresholds[counter].value_or(0);
  return change;
}

}  // namespace

std::int64_t Windows::began(ib::Instant t) const {
  const ib::Duration wall = wall_at_zero + ib::Duration{t.ns};
  const std::int64_t seconds = std::chrono::floor<std::chrono::seconds>(wall).count();
  const std::int64_t step = std::chrono::duration_cast<std::chrono::seconds>(length).count();
  return seconds - (seconds % step + step) % step;
}

void PortRecord::take(ib::Instant now, const Reading& reading, const Windows& windows,
                      std::size_t kept, std::vector<ErrorChange>& changes) {
  const std::int64_t began = windows.began(now);
  if (!ended.empty() && windows.began(totals.last_reading()) != began) {
    judge_end(windows, changes);
    ended.push_back({windows.began(totals.last_reading()), totals.last_reading(), totals.values()});
    if (ended.size() > kept)
      ended.erase(ended.begin(), ended.end() - static_cast<std::ptrdiff_t>(kept));
  }
  totals.take(now, reading);
  if (ended.empty()) ended.push_back({began - seconds_of(windows.length), now, totals.values()});
  judge(windows, changes);
}

void PortRecord::forget(ib::Instant now, const Windows& windows,
                        std::vector<ErrorChange>& changes) {
  give_up(windows, changes);
  totals.forget(now);
  ended.assign(1, {windows.began(now) - seconds_of(windows.length), now, {}});
}

void PortRecord::give_up(const Windows& windows, std::vector<ErrorChange>& changes) {
  for (std::size_t i = 0; i < policy::kErrorCounters; ++i)
    if ((above & 1U << i) != 0) changes.push_back(change_of(*this, i, windows));
  above = 0;
}

/// A window has ended: what had no more than its threshold in it is below it.
void PortRecord::judge_end(const Windows& windows, std::vector<ErrorChange>& changes) {
  const WindowEnd& before = ended.back();
  const ib::Duration period = totals.last_reading() - before.read;
  for (std::size_t i = 0; i < policy::kErrorCounters; ++i) {
    if ((above & 1U << i) == 0) continue;
    const std::uint64_t count = totals.values()[i] - before.totals[i];
    const auto& threshold = windows.thresholds[i];
    if (threshold && is_too_many(count, *threshold, period, windows.length)) continue;
    above &= ~(1U << i);
    ErrorChange change = change_of(*this, i, windows);
    change.count = count;
    change.seconds = seconds_of(period);
    changes.push_back(std::move(change));
  }
}

void PortRecord::judge(const Windows& windows, std::vector<ErrorChange>& changes) {
  const WindowEnd& before = ended.back();
  const ib::Duration period = totals.last_reading() - before.read;
  for (std::size_t i = 0; i < policy::kErrorCounters; ++i) {
    const auto& threshold = windows.thresholds[i];
    const std::uint64_t count = totals.values()[i] - before.totals[i];
    if ((above & 1U << i) != 0 || !threshold ||
        !is_too_many(count, *threshold, period, windows.length))
      continue;
    above |= 1U << i;
    ErrorChange change = change_of(*this, i, windows);
    change.is_above = true;
    change.count = count;
    change.seconds = seconds_of(period);
    changes.push_back(std::move(change));
  }
}

}  // namespace sm::managers::performance
