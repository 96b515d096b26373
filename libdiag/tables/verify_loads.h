// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Loads of links between switches, by channel. Inside libdiag/tables only.
#pragma once

#include <cstdint>
#include <vector>

#include "libdiag/tables/tables.h"
#include "libdiag/tables/verify_switch_graph.h"

namespace ib::tables::check {

/// CA-to-CA routes over each channel. Where tables loop a route counts on the links it passes
/// within kHopsMax.
std::vector<std::uint64_t> loads_by_channel(const SwitchGraph& switch_graph,
                                            const LinearTables& tables);

struct Loads {
  std::uint64_t max{};
  double mean{};  // over links that carry any
};
Loads summed(const std::vector<std::uint64_t>& load);

}  // namespace ib::tables::check
