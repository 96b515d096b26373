// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Neighbourhoods: switches with the same neighbours, the leaves of a pod say. They often choose the
// same.
#pragma once

#include <vector>

#include "libdiag/route/spread/exits.h"

namespace ib::route {

struct Neighbourhoods {
  Neighbourhoods(const fabric::CompactGraph& graph, const Exits& exits);

  std::vector<fabric::SwitchIndex> order;  // all switches, those of a neighbourhood together
  std::vector<std::uint32_t> of;           // by position in order: number of the neighbourhood
};

}  // namespace ib::route
