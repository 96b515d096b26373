// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Things that are joined two by two: which of them hang together (union and find).
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace ib {

class Groups {
 public:
  explicit Groups(std::size_t size) : parent_(size) {
    std::iota(parent_.begin(), parent_.end(), 0U);
  }
  /// The smallest member of its group, which stands for it.
  std::uint32_t find(std::uint32_t x) {
    while (parent_[x] != x) x = parent_[x] = parent_[parent_[x]];
    return x;
  }
  /// False when they were in one group already.
  bool join(std::uint32_t a, std::uint32_t b) {
    a = find(a), b = find(b);
    parent_[std::max(a, b)] = std::min(a, b);
    return a != b;
  }
  /// Numbers the groups in the order of their smallest members.
  std::vector<std::uint32_t> numbers(std::size_t& count) {
    std::vector<std::uint32_t> number(parent_.size());
    count = 0;
    for (std::uint32_t x = 0; x < parent_.size(); ++x)
      number[x] = find(x) == x ? static_cast<std::uint32_t>(count++) : number[find(x)];
    return number;
  }

 private:
  std::vector<std::uint32_t> parent_;  // never larger than the member itself
};

}  // namespace ib
