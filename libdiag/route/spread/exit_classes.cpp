// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/spread/exit_classes.h"

#include <algorithm>
#include <bit>

namespace ib::route {

void ExitClasses::sort(std::span<const std::uint64_t> arcs) {
  // Arcs that are candidates for the same targets mostly follow each other.
  struct Run {
    std::uint64_t targets;
    std::size_t first, count;
  };
  std::array<Run, 256> runs;
  std::size_t n = 0;
  std::uint64_t once = 0, again = 0, last = 0;
  for (std::size_t i = 0; i < arcs.size(); last = arcs[i++]) {
    if (arcs[i] == 0) continue;
    if (arcs[i] == last) {
      ++runs[n - 1].count;
      continue;
    }
    again |= once & arcs[i];
    once |= arcs[i];
    runs[n++] = {arcs[i], i, 1};
  }
  count_ = 0;
  masks_.clear();
  words_ = std::max<std::size_t>(1, (arcs.size() + 63) / 64);
  reached_ = once;
  if (again != 0) {
    for (std::size_t i = 0; i < n; ++i)
      if (runs[i].count > 1) again |= runs[i].targets;
    return sort_each(arcs, again);
  }
  std::size_t several = 0;  // of the runs; these go to the front of `runs`
  for (std::size_t i = 0; i < n; ++i) {
    if (runs[i].count == 1)
      add(runs[i].targets, runs[i].first);
    else
      runs[several++] = runs[i];
  }
  std::sort(runs.begin(), runs.begin() + several, [](const Run& a, const Run& b) {
    return std::countr_zero(a.targets) < std::countr_zero(b.targets);
  });
  for (std::size_t i = 0; i < several; ++i)
    add_several(runs[i].targets, runs[i].first, runs[i].count);
}

/// The same whatever arcs have in common; `several`: targets with more than one candidate.
void ExitClasses::sort_each(std::span<const std::uint64_t> arcs, std::uint64_t several) {
  for (std::size_t i = 0; i < arcs.size(); ++i)
    if (const std::uint64_t alone = arcs[i] & ~several; alone != 0) add(alone, i);
  while (several != 0) {
    const auto b = static_cast<unsigned>(std::countr_zero(several));
    std::uint64_t same = several;
    ExitClass& made = add_several(0, 0, 0);
    std::uint64_t* mask = masks_.data() + made.mask * words_;
    for (std::size_t i = arcs.size(); i-- > 0;) {
      const std::uint64_t in = (arcs[i] >> b) & 1;
      same &= ~(arcs[i] ^ (0 - in));
      mask[i / 64] |= in << (i % 64);
      if (in == 0) continue;
      made.first = static_cast<std::uint8_t>(i);
      ++made.count;
    }
    made.targets = same;
    several &= ~same;
  }
}

ExitClass& ExitClasses::add_several(std::uint64_t targets, std::size_t first, std::size_t count) {
  const std::size_t at = masks_.size() / words_;
  masks_.resize(masks_.size() + words_, 0);
  std::uint64_t* mask = masks_.data() + at * words_;
  for (std::size_t i = first, end = first + count; i < end; i = (i / 64 + 1) * 64) {
    const std::size_t bits = std::min(end, (i / 64 + 1) * 64) - i;
    mask[i / 64] |= (~std::uint64_t{0} >> (64 - bits)) << (i % 64);
  }
  return all_[count_++] = {targets, static_cast<std::uint8_t>(first),
                           static_cast<std::uint8_t>(count), static_cast<std::uint8_t>(at),
                           count != 0};
}

}  // namespace ib::route
