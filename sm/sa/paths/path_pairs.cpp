// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/paths/path_pairs.h"

#include <algorithm>
#include <utility>

#include "sm/sa/paths/path_bits.h"

namespace sm::sa {

using ib::wire::PathRecord;

PathPairs::PathPairs(const World& world, const PathChoice& choice, std::size_t per_pair_max,
                     const PathEnd& from, const PathEnd& to)
    : paths_(world.paths),
      choice_(choice),
      from_(from, *paths_, world.state.aliases.all()),
      to_(to, *paths_, world.state.aliases.all()),
      per_pair_max_(per_pair_max) {
  // What no partition here has needs no look at the pairs.
  const bool other_key =
      has_bit(choice.mask(), path_bit::kPKey) &&
      std::none_of(world.policy.partitions.begin(), world.policy.partitions.end(),
                   [&](const Partition& p) { return p.base == choice.wanted().p_key.base(); });
  at_end_ = per_pair_max_ == 0 || other_key || from_.at_end() || to_.at_end();
}

std::optional<PathRecord> PathPairs::next(std::size_t& candidates) {
  if (std::exchange(is_passed_, false)) advance(true);
  for (; !at_end_ && candidates != 0; --candidates) {
    if (is_new_pair_ && !choice_.shows(from_.port(), to_.port())) {
      next_pair();
      continue;
    }
    is_new_pair_ = false;
    auto path = choice_.path(from_.port(), from_.lid(from_lid_), to_.port(), to_.lid(to_lid_));
    if (path) {
      path->sgid = from_.gid();
      path->dgid = to_.gid();
      path->preference = diagonal_ ? path_preference::kFirst : path_preference::kOther;
    }
    if (path) {
      // Who wants no more need not have it looked for.
      is_passed_ = true;
      --candidates;
      return path;
    }
    advance(false);
  }
  return std::nullopt;
}

/// LID pairs of two ports: the diagonal first, then the others, destinations fastest.
void PathPairs::advance(bool found) {
  if (found) ++of_pair_;
  if (of_pair_ == per_pair_max_ || !next_lid_pair()) next_pair();
}

void PathPairs::next_pair() {
  of_pair_ = 0;
  from_lid_ = to_lid_ = 0;
  diagonal_ = is_new_pair_ = true;
  to_.next();
  if (!to_.at_end()) return;
  to_.restart();
  from_.next();
  at_end_ = from_.at_end();
}

bool PathPairs::next_lid_pair() {
  const unsigned sources = from_.lid_count(), destinations = to_.lid_count();
  if (diagonal_) {
    if (++from_lid_ < std::min(sources, destinations)) {
      to_lid_ = from_lid_;
      return true;
    }
    diagonal_ = false;
    from_lid_ = 0;
    to_lid_ = 0;  // skipped below: it was on the diagonal
  }
  do {
    if (++to_lid_ == destinations) {
      to_lid_ = 0;
      if (++from_lid_ == sources) return false;
    }
  } while (from_lid_ == to_lid_);
  return true;
}

}  // namespace sm::sa
