// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/counted_windows.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "sm/managers/performance/window_code.h"

namespace sm::daemon {

using managers::performance::StoredWindow;
using std::chrono::milliseconds;

std::vector<StoredWindow> stored_windows(const std::vector<store::CountedWindow>& kept,
                                         ib::Duration wall_at_zero) {
  std::vector<StoredWindow> windows;
  windows.reserve(kept.size());
  constexpr std::int64_t kMsMost = std::int64_t{1} << 43;  // in nanoseconds of an Instant
  for (const store::CountedWindow& window : kept) {
    const auto state = managers::performance::decode(window.counters, wall_at_zero);
    const bool is_in_time = window.read_ms >= 0 && window.read_ms <= kMsMost &&
                            std::abs(window.key.began / 1000) <= kMsMost / 1'000'000;
    if (!state || !is_in_time) continue;
    windows.push_back({{window.key.node_guid, window.key.port}, window.key.began, *state});
    windows.back().state.last_reading = ib::Instant{} + milliseconds(window.read_ms) - wall_at_zero;
  }
  return windows;
}

store::Batch batch_of(const managers::performance::PerformanceManager::Unstored& unstored,
                      ib::Duration wall_at_zero) {
  store::Batch batch;
  const auto key_of = [](const auto& window) {
    return store::CountedWindowKey{window.port.first, window.port.second, window.began};
  };
  std::ranges::transform(unstored.dropped, std::back_inserter(batch.counted_windows_removed),
                         key_of);
  for (const StoredWindow& window : unstored.windows) {
    const ib::Duration read = wall_at_zero + ib::Duration{window.state.last_reading.ns};
    batch.counted_windows.push_back({key_of(window),
                                     std::chrono::duration_cast<milliseconds>(read).count(),
                                     managers::performance::encode(window.state, wall_at_zero)});
  }
  std::ranges::sort(batch.counted_windows, {}, &store::CountedWindow::key);
  return batch;
}

}  // namespace sm::daemon
