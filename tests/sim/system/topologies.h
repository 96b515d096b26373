// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Fabrics of 20 to 60 nodes of every kind that the generators have, smaller with a smaller `size`.
#pragma once

#include <string>

#include "libdiag/fabric/fabric.h"
#include "tests/sim/system/dice.h"

namespace soak {

struct Topology {
  ib::fabric::Fabric fabric;
  std::string words;  // what it is
  bool is_tree{false};
};

/// `size` in per cent.
Topology draw_topology(Dice& dice, unsigned size);

}  // namespace soak
