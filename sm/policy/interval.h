// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Intervals of numbers. Ranges in policy files are kept as they are, never expanded: one may span
// 2^64 GUIDs.
#pragma once

#include <algorithm>
#include <vector>

namespace sm::policy {

/// Numbers from `first` to `last`, both included.
template <class T>
struct Interval {
  T first{}, last{};
  bool has(T value) const { return first <= value && value <= last; }
  friend bool operator==(const Interval&, const Interval&) = default;
};

template <class T>
using Intervals = std::vector<Interval<T>>;

/// Sorted, and merged where they overlap or touch.
template <class T>
void normalize(Intervals<T>& list) {
  std::ranges::sort(list, {}, &Interval<T>::first);
  Intervals<T> merged;
  for (const auto& next : list) {
    const bool joins = !merged.empty() &&
                       (next.first <= merged.back().last || next.first - 1 == merged.back().last);
    if (joins) {
      merged.back().last = std::max(merged.back().last, next.last);
    } else {
      merged.push_back(next);
    }
  }
  list = std::move(merged);
}

/// Whether a normalized list has the value, in logarithmic time.
template <class T>
bool contains(const Intervals<T>& list, T value) {
  auto after = std::ranges::upper_bound(list, value, {}, &Interval<T>::first);
  return after != list.begin() && std::prev(after)->has(value);
}

}  // namespace sm::policy
