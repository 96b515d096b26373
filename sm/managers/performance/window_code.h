// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A stored window's counters as bytes: a mark, when the counters were reset, their number, and for
// each its total and by how much it differs from what the device showed. Numbers are in groups of
// seven bits, the lowest first; differences zigzag around 0.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "sm/managers/performance/totals.h"

namespace sm::managers::performance {

/// All but last_reading. `wall_at_zero`: the wall clock, since 1970, at Instant 0.
std::vector<std::byte> encode(const PortTotals::State& state, ib::Duration wall_at_zero);
/// Nothing: it is not ours, or damaged. Counters that an older release did not have are 0, those
/// that a newer one had are left out.
std::optional<PortTotals::State> decode(std::span<const std::byte> bytes,
                                        ib::Duration wall_at_zero);

}  // namespace sm::managers::performance
