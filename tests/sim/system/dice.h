// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Dice: numbers from a seed, the same on every machine (SplitMix64).
#pragma once

#include <cstddef>
#include <cstdint>

namespace soak {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
  unsigned below(std::size_t end) { return static_cast<unsigned>(next() % end); }
  unsigned from(unsigned low, unsigned high) { return low + below(high - low + 1); }
  bool chance(unsigned percent) { return below(100) < percent; }

 private:
  std::uint64_t state_;
};

}  // namespace soak
