// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Component-mask bits by number.
#pragma once

#include <cstdint>

namespace sm::sa {

constexpr std::uint64_t bit(unsigned n) { return std::uint64_t{1} << n; }
constexpr bool has_bit(std::uint64_t mask, unsigned n) { return ((mask >> n) & 1) != 0; }
constexpr bool has_both(std::uint64_t mask, unsigned a, unsigned b) {
  return has_bit(mask, a) && has_bit(mask, b);
}

}  // namespace sm::sa
