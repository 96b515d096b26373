// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Which target a key stands for: one flat table with linear probing. Every request looks here, so
// that a std::unordered_map, which follows two or three pointers, showed in the profile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ib::mad {

class TargetIndex {
 public:
  using Index = std::uint32_t;
  static constexpr Index kNone = 0xFFFFFFFF;

  TargetIndex() : cells_(1024) {}

  std::size_t size() const { return size_; }

  /// The target of `key`, kNone where there is none. A new key's is to be written before anything
  /// else is asked of this.
  Index& at(std::uint64_t key) {
    if (2 * (size_ + 1) > cells_.size()) grow();
    Cell& cell = cells_[place(key)];
    if (cell.target == kNone) {
      cell.key = key;
      ++size_;
    }
    return cell.target;
  }
  Index find(std::uint64_t key) const { return cells_[place(key)].target; }

  void erase(std::uint64_t key) {
    std::size_t hole = place(key);
    if (cells_[hole].target == kNone) return;
    --size_;
    // Whatever was pushed past the hole moves back, so that no search ends too early.
    for (std::size_t i = next(hole); cells_[i].target != kNone; i = next(i)) {
      const std::size_t home = hash(cells_[i].key);
      if (((i - home) & mask()) < ((i - hole) & mask())) continue;
      cells_[hole] = cells_[i];
      hole = i;
    }
    cells_[hole] = {};
  }

 private:
  struct Cell {
    std::uint64_t key{};
    Index target{kNone};
  };

  std::size_t mask() const { return cells_.size() - 1; }
  std::size_t next(std::size_t i) const { return (i + 1) & mask(); }
  std::size_t hash(std::uint64_t key) const {
    key ^= key >> 32;
    key *= 0x9E3779B97F4A7C15ULL;
    return static_cast<std::size_t>(key ^ (key >> 29)) & mask();
  }
  /// Where `key` stands, or the empty cell where it would.
  std::size_t place(std::uint64_t key) const {
    std::size_t i = hash(key);
    while (cells_[i].target != kNone && cells_[i].key != key) i = next(i);
    return i;
  }
  void grow() {
    std::vector<Cell> old(2 * cells_.size());
    std::swap(old, cells_);
    for (const Cell& cell : old)
      if (cell.target != kNone) cells_[place(cell.key)] = cell;
  }

  std::vector<Cell> cells_;  // a power of two, at most half full
  std::size_t size_{0};
};

}  // namespace ib::mad
