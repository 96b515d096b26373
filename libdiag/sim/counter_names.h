// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Error counters of a port by the names that perfquery(8) prints. Private to libdiag/sim.
#pragma once

#include <span>
#include <string_view>

#include "libdiag/sim/impl.h"

namespace ib::sim {

struct CounterName {
  std::string_view name;
  std::uint32_t Counters::*counter;
};
std::span<const CounterName> counter_names();

}  // namespace ib::sim
