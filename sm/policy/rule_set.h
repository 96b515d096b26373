// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Sets of rules by their number, and an index from values to the rules whose intervals have them.
// Inside sm/policy only.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "sm/policy/interval.h"

namespace sm::policy {

/// A bit each, 64 in a word.
using RuleSet = std::vector<std::uint64_t>;

inline void insert_rule(RuleSet& set, std::size_t rule) {
  set[rule / 64] |= std::uint64_t{1} << (rule % 64);
}
inline void add_all(RuleSet& set, const RuleSet& more) {
  for (std::size_t w = 0; w < set.size(); ++w) set[w] |= more[w];
}

/// For one criterion: which of `count` rules a value fits. A value lies in one of the segments that
/// the ends of all intervals cut the numbers into; equal sets are kept once.
template <class T>
class RangeIndex {
 public:
  explicit RangeIndex(std::size_t count = 0) : empty_((count + 63) / 64) {}

  /// The rule has this interval. Before build() only.
  void add(std::size_t rule, const Interval<T>& interval) {
    ends_.push_back({interval.first, rule, +1});
    if (interval.last != static_cast<T>(~T{0}))
      ends_.push_back({static_cast<T>(interval.last + 1), rule, -1});
  }
  /// The rule fits every value, and a request that says none.
  void add_always(std::size_t rule) { insert_rule(empty_, rule); }

  void build() {
    std::ranges::sort(ends_, {}, [](const End& e) { return std::pair(e.at, e.step); });
    std::map<RuleSet, std::uint32_t> known;
    std::vector<int> open(empty_.size() * 64, 0);
    RuleSet now = empty_;
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      const auto& [at, rule, step] = ends_[i];
      open[rule] += step;
      const std::uint64_t bit = std::uint64_t{1} << (rule % 64);
      now[rule / 64] = (now[rule / 64] & ~bit) | (empty_[rule / 64] & bit) |
                       (open[rule] > 0 ? bit : std::uint64_t{0});
      if (i + 1 < ends_.size() && ends_[i + 1].at == at) continue;
      const auto [set, is_new] = known.try_emplace(now, static_cast<std::uint32_t>(sets_.size()));
      if (is_new) sets_.push_back(now);
      starts_.push_back(at);
      set_of_.push_back(set->second);
    }
    ends_ = {};
  }

  /// The rules that fit a value, or a request without one.
  const RuleSet& of(std::optional<T> value) const {
    if (!value) return empty_;
    const auto after = std::ranges::upper_bound(starts_, *value);
    return after == starts_.begin()
               ? empty_
               : sets_[set_of_[static_cast<std::size_t>(after - starts_.begin()) - 1]];
  }

 private:
  struct End {
    T at{};
    std::size_t rule{};
    int step{};
  };
  RuleSet empty_;          // rules without the criterion
  std::vector<End> ends_;  // until build()
  std::vector<T> starts_;  // of the segments, ascending
  std::vector<std::uint32_t> set_of_;
  std::vector<RuleSet> sets_;
};

}  // namespace sm::policy
