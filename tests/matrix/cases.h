// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The fabrics of the matrix: every kind `ibfabric gen` knows in several sizes, each whole and with
// parts missing.
#pragma once

#include <string>
#include <vector>

#include "libdiag/fabric/fabric.h"

namespace ib::matrix {

/// A kind of fabric, smallest size first, in the words of `ibfabric gen`.
struct Kind {
  const char* name;
  bool tree;  // levels that only ever lead up or down
  std::vector<std::string> sizes;
};
const std::vector<Kind>& kinds();

struct Damage {
  const char* name;
  unsigned links_percent{0};
  bool without_a_switch{false};
};
const std::vector<Damage>& damages();

/// Aborts the test when the words are not understood.
fabric::Fabric make(const std::string& words, const Damage& damage, unsigned seed);
/// The same damage done to a fabric that was read.
fabric::Fabric damaged(fabric::Fabric fabric, const Damage& damage, unsigned seed);

}  // namespace ib::matrix
