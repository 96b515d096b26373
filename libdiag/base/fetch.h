// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Memory that will be needed soon, so that nobody has to wait for it then.
#pragma once

namespace ib {

/// Begins to fetch the cache line at `at`, which need not exist.
inline void fetch_line(const void* at) {
  __builtin_prefetch(at);
  // g++ 12 takes a function that does nothing else for one without effects, and leaves out the
  // calls of it.
  asm volatile("" : : "r"(at));
}

}  // namespace ib
