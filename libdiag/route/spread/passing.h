// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Passing: how many sources send through each switch to each LID of a batch of targets. Nothing is
// written down for a switch until somebody passes something on to it: until then it is what hangs
// on the switch itself.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "libdiag/route/spread/spread.h"

namespace ib::route {

/// Calls function(i) for every bit i, ascending.
template <class Function>
inline __attribute__((always_inline)) void for_bits(std::uint64_t bits, Function function) {
  for (; bits != 0; bits &= bits - 1) function(static_cast<std::size_t>(std::countr_zero(bits)));
}

class Passing {
 public:
  Passing(const Targets& targets, std::size_t switches)
      : targets_(targets),
        switches_(switches),
        stride_((switches + kAtOnce - 1) / kAtOnce * kAtOnce),
        written_(stride_ * tables::kTargetsPerBatch, 0) {}

  /// The next batch: nothing is written.
  void begin(std::span<const Target> batch);

  bool is_written(fabric::SwitchIndex s, std::size_t b) const { return written_[b * stride_ + s]; }
  /// is_written() of kAtOnce switches from `first` on, which is a multiple of it: a bit a target.
  static constexpr std::size_t kAtOnce = 8;
  std::array<std::uint64_t, kAtOnce> written_of(fabric::SwitchIndex first) const;

  /// Writes what s itself sends to target b, to columns that count.
  void write_own(fabric::SwitchIndex s, std::size_t b);
  /// More sources pass `to`. Sums never exceed the number of end ports, which LIDs limit to 49,151.
  void add(fabric::SwitchIndex to, std::size_t b, std::size_t column, std::size_t sources) {
    std::uint64_t* at = cell(to, b);
    if (!is_written(to, b)) write_own(to, b);
    std::uint16_t& sum = numbers(at, b)[column];
    std::uint64_t& word = at[column / 64];
    const std::uint64_t bit = std::uint64_t{1} << (column % 64);
    sum = static_cast<std::uint16_t>(((word & bit) != 0 ? sum : 0U) + sources);
    word |= bit;
  }

  /// Calls visit(column, sources) for columns that anybody passes s for. Precondition: written.
  template <class Visit>
  void for_columns(fabric::SwitchIndex s, std::size_t b, Visit visit) const {
    const std::uint64_t* at = cell(s, b);
    const std::uint16_t* sums = numbers(cell(s, b), b);
    for (std::size_t word = 0; word < layout_[b].masks; ++word)
      for_bits(at[word], [&](std::size_t bit) { visit(word * 64 + bit, sums[word * 64 + bit]); });
  }
  /// Soon somebody wants to know.
  void prefetch(fabric::SwitchIndex s, std::size_t b) const { __builtin_prefetch(cell(s, b)); }

 private:
  // What is written of a switch and a target: a bit for each column that anybody passes for, then
  // their numbers. Targets one after the other, so that what is passed on to one stays within the
  // cache.
  struct Layout {
    std::size_t first, size, masks;  // in words
  };
  std::uint64_t* cell(fabric::SwitchIndex s, std::size_t b) const {
    return cells_ + layout_[b].first + s * layout_[b].size;
  }
  std::uint16_t* numbers(std::uint64_t* cell, std::size_t b) const {
    return reinterpret_cast<std::uint16_t*>(cell + layout_[b].masks);
  }

  const Targets& targets_;
  std::size_t switches_;
  std::size_t stride_;                 // of switches, in written_
  std::vector<std::uint8_t> written_;  // [target * stride_ + switch]
  std::span<const Target> batch_;
  std::array<Layout, tables::kTargetsPerBatch> layout_{};
  std::unique_ptr<std::byte[]> room_;
  std::size_t room_size_{0};
  std::uint64_t* cells_{};  // in room_, where a line of the cache begins
};

}  // namespace ib::route
