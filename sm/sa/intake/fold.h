// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A step of hashing two words.
#pragma once

#include <cstdint>

namespace sm::sa {

/// All bits of the product of two words, in one.
inline std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

}  // namespace sm::sa
