// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// All paths between two ends of a request, one after the other: port by port and GID by GID, and of
// each pair its LIDs, the diagonal first.
#pragma once

#include <memory>
#include <optional>

#include "sm/sa/paths/path_choice.h"
#include "sm/sa/paths/path_ends.h"

namespace sm::sa {

class PathPairs {
 public:
  /// At most `per_pair_max` paths of each pair of GIDs.
  PathPairs(const World& world, const PathChoice& choice, std::size_t per_pair_max,
            const PathEnd& from, const PathEnd& to);

  /// The next path; nullopt at the end, or when it is not among the next `candidates`. Those looked
  /// at are taken off.
  std::optional<ib::wire::PathRecord> next(std::size_t& candidates);
  bool at_end() const { return at_end_; }

 private:
  void advance(bool found);
  void next_pair();
  bool next_lid_pair();

  std::shared_ptr<const Paths> paths_;
  PathChoice choice_;
  EndWalk from_, to_;
  std::size_t per_pair_max_;
  std::size_t of_pair_{0};
  unsigned from_lid_{0}, to_lid_{0};
  bool diagonal_{true}, is_new_pair_{true};
  bool is_passed_{false};  // the present one was given out
  bool at_end_{false};
};

}  // namespace sm::sa
