// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// ExitClasses: the targets of a batch sorted by what a switch may choose from for them. In a tree
// there are few classes: one for all that lies above, and one for each exit down.
#pragma once

#include <vector>

#include "libdiag/route/spread/exit_queue.h"

namespace ib::route {

/// Targets that have the same candidates at a switch.
struct ExitClass {
  std::uint64_t targets;
  std::uint8_t first;  // candidate, by rank
  std::uint8_t count;  // of candidates
  std::uint8_t mask;   // where ExitClasses has them if there are several
  bool in_a_row;       // they are first, first + 1, and so on
  bool single() const { return count == 1; }
};

class ExitClasses {
 public:
  ExitClasses() {}  // leaves room for classes as it is

  /// `arcs`: of the switch, by rank, each with the targets it is a candidate for; at most 254.
  void sort(std::span<const std::uint64_t> arcs);

  /// Those of one candidate first, in the order of ranks, then by the first target.
  std::span<const ExitClass> all() const { return {all_.data(), count_}; }
  ExitMask mask(const ExitClass& c) const { return {masks_.data() + c.mask * words_, words_}; }
  /// Targets that have any candidate.
  std::uint64_t reached() const { return reached_; }

 private:
  void add(std::uint64_t targets, std::size_t first) {
    all_[count_++] = {targets, static_cast<std::uint8_t>(first), 1, 0, true};
  }
  ExitClass& add_several(std::uint64_t targets, std::size_t first, std::size_t count);
  void sort_each(std::span<const std::uint64_t> arcs, std::uint64_t several);

  std::array<ExitClass, 64> all_;  // each has a target for itself
  std::size_t count_{0};
  std::vector<std::uint64_t> masks_;
  std::size_t words_{1};  // of a mask
  std::uint64_t reached_{0};
};

}  // namespace ib::route
