// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tests/sim/system/shrink.h"

#include <numeric>

namespace soak {
namespace {

/// Without `count` items from `first` on.
Case without(const Case& c, std::size_t first, std::size_t count) {
  Case less = c;
  auto& kept = *less.kept;
  const auto from = kept.begin() + static_cast<std::ptrdiff_t>(first);
  kept.erase(from, from + static_cast<std::ptrdiff_t>(std::min(count, kept.size() - first)));
  return less;
}

/// Drops items, many at once and then each; true: something was dropped.
bool drop_items(Case& c, const std::function<bool(const Case&)>& still_fails) {
  bool any = false;
  for (std::size_t many = std::max<std::size_t>(1, c.kept->size() / 2); many > 0; many /= 2) {
    for (std::size_t first = 0; first < c.kept->size();) {
      const Case less = without(c, first, many);
      if (still_fails(less)) {
        c = less;
        any = true;
      } else {
        first += many;
      }
    }
  }
  return any;
}

bool use_smaller_fabric(Case& c, const std::function<bool(const Case&)>& still_fails) {
  for (const unsigned size : {1U, 10U, 25U, 40U, 60U, 80U}) {
    if (size >= c.size) return false;
    Case smaller = c;
    smaller.size = size;
    if (!still_fails(smaller)) continue;
    c = smaller;
    return true;
  }
  return false;
}

}  // namespace

Case shrink(Case c, unsigned items, const std::function<bool(const Case&)>& still_fails) {
  if (!c.kept) {
    c.kept.emplace(items);
    std::iota(c.kept->begin(), c.kept->end(), 0U);
  }
  while (drop_items(c, still_fails) | use_smaller_fabric(c, still_fails)) {
  }
  return c;
}

}  // namespace soak
