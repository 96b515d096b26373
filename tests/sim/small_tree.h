// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A two-level tree of radix 4, as it comes out of the box: no LIDs.
#pragma once

#include "libdiag/fabric/generate.h"
#include "tests/sim/unconfigured.h"

namespace sm::test {

inline ib::fabric::Fabric small_tree() {
  ib::fabric::FatTree tree;
  tree.radix = 4;
  return unconfigured(tree);
}

}  // namespace sm::test
