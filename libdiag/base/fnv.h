// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// FNV-1a, 64 bits: a checksum that finds damage, not forgery. Each step of it can be undone, so a
// change within one byte always changes it.
#pragma once

#include <cstdint>

namespace ib {

class Fnv1a {
 public:
  void add(std::uint8_t byte) { value_ = (value_ ^ byte) * 0x100000001B3ULL; }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_{0xCBF29CE484222325ULL};
};

}  // namespace ib
