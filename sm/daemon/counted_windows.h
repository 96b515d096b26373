// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Windows of counters between the performance manager and the store.
#pragma once

#include <vector>

#include "sm/managers/performance/manager.h"
#include "sm/store/store.h"

namespace sm::daemon {

/// What the store has of them, in its order; what cannot be read is left out. `wall_at_zero`: the
/// wall clock, since 1970, at Instant 0.
std::vector<managers::performance::StoredWindow> stored_windows(
    const std::vector<store::CountedWindow>& kept, ib::Duration wall_at_zero);

/// What makes `unstored` durable.
store::Batch batch_of(const managers::performance::PerformanceManager::Unstored& unstored,
                      ib::Duration wall_at_zero);

}  // namespace sm::daemon
