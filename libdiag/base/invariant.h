// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// invariant(): what the code around it relies on, checked in release builds too. For mistakes of
// the program itself; what comes from outside is an ib::Error.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace ib {

/// Ends the program with the sentence when `holds` is false. A state that cannot be is no base for
/// what a subnet manager sends to a fabric.
inline void invariant(bool holds, const char* sentence) {
  if (holds) return;
  std::fprintf(stderr, "internal error: %s\n", sentence);
  std::abort();
}

}  // namespace ib
