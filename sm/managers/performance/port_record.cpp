// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/managers/performance/port_record.h"

#include <algorithm>
#include <chrono>
#include <utility>

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
                      std::size_t kept, RecordNews& news) {
  const std::int64_t began = windows.began(now);
  if (!ended.empty() && windows.began(totals.last_reading()) != began) {
    judge_end(windows, news);
    ended.push_back({windows.began(totals.last_reading()), totals.last_reading(), totals.values()});
    if (ended.size() > kept) {
      const auto end = ended.end() - static_cast<std::ptrdiff_t>(kept);
      for (auto at = ended.begin(); at != end; ++at) news.dropped.push_back({key(), at->began});
      ended.erase(ended.begin(), end);
    }
  }
  totals.take(now, reading);
  if (ended.empty()) {
    ended.push_back({began - seconds_of(windows.length), now, totals.values()});
    has_new_past = true;
  }
  judge(windows, news);
}

void PortRecord::resume(ib::Instant now, std::span<const StoredWindow> stored,
                        const Windows& windows) {
  const auto at_most_now = [now](ib::Instant t) { return std::min(t, now); };
  PortTotals::State state = stored.back().state;
  state.last_reading = at_most_now(state.last_reading);
  state.last_reset = at_most_now(state.last_reset);
  totals.resume(state);
  for (std::size_t i = 0; i + 1 < stored.size(); ++i) {
    const PortTotals::State &window = stored[i].state, &next = stored[i + 1].state;
    ended.push_back({stored[i].began, at_most_now(window.last_reading), window.totals});
    // Totals never go down: what was before is of another time.
    if (!std::ranges::equal(window.totals, next.totals, std::ranges::less_equal{})) ended.clear();
  }
  // Without one before it, it is the past itself.
  if (ended.empty())
    ended.push_back(
        {stored.back().began - seconds_of(windows.length), state.last_reading, state.totals});
  RecordNews known;
  judge(windows, known);
  if (ended.size() < 2) return;
  const WindowEnd &last = ended.back(), &before = ended[ended.size() - 2];
  for (std::size_t i = 0; i < policy::kErrorCounters; ++i)
    if (const auto& threshold = windows.thresholds[i];
        threshold && is_too_many(last.totals[i] - before.totals[i], *threshold,
                                 last.read - before.read, windows.length))
      above |= 1U << i;
}

std::vector<StoredWindow> PortRecord::to_store(const Windows& windows) {
  std::vector<StoredWindow> stored;
  if (std::exchange(has_new_past, false))
    for (const WindowEnd& end : ended)
      stored.push_back({key(), end.began, {end.totals, end.totals, end.read, totals.last_reset()}});
  stored.push_back({key(), windows.began(totals.last_reading()), totals.state()});
  return stored;
}

void PortRecord::forget(ib::Instant now, const Windows& windows, RecordNews& news) {
  give_up(windows, news);
  totals.forget(now);
  ended.assign(1, {windows.began(now) - seconds_of(windows.length), now, {}});
  has_new_past = true;
}

void PortRecord::give_up(const Windows& windows, RecordNews& news) {
  for (std::size_t i = 0; i < policy::kErrorCounters; ++i)
    if ((above & 1U << i) != 0) news.changes.push_back(change_of(*this, i, windows));
  above = 0;
  for (const WindowEnd& end : ended) news.dropped.push_back({key(), end.began});
  if (totals.readings() > 0) news.dropped.push_back({key(), windows.began(totals.last_reading())});
}

/// A window has ended: what had no more than its threshold in it is below it.
void PortRecord::judge_end(const Windows& windows, RecordNews& news) {
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
    news.changes.push_back(std::move(change));
  }
}

void PortRecord::judge(const Windows& windows, RecordNews& news) {
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
    news.changes.push_back(std::move(change));
  }
}

}  // namespace sm::managers::performance
