// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Paths that have little in common: which of many share the fewest cables. Chosen step by step,
// since to compare hundreds with each other takes longer than one request may.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "libdiag/wire/sa_records.h"
#include "sm/sa/subnet/paths.h"

namespace sm::sa {

/// A path and the cables it runs over.
struct CabledPath {
  ib::wire::PathRecord path;
  std::size_t source{}, destination{};  // which of the GIDs that were asked for
  std::vector<std::uint32_t> cables;
};

/// Numbers for cables, in the order they are met.
class Cables {
 public:
  std::vector<std::uint32_t> of(const Paths& paths, const ib::wire::PathRecord& path);

 private:
  std::map<ib::fabric::PortRef, std::uint32_t> numbers_;
};

/// One after the other the path that shares the fewest cables with those before it; of equals the
/// shortest, then the first.
class LeastShared {
 public:
  /// Looks at every path of `all` once. The same `all` each time; nullptr: all were chosen.
  const CabledPath* next(const std::vector<CabledPath>& all);

 private:
  std::vector<std::uint32_t> uses_;  // by cable: how many of the chosen run over it
  std::vector<bool> taken_;
};

/// Automatic path migration asks for two paths between two ports each: each port is used once, and
/// of the ways to do so the one that shares the fewest cables, then with the shortest path, then
/// with the fewest cables in all.
class ForMigration {
 public:
  /// Compares the next path of the first source with all of the second; false when that is done.
  bool step(const std::vector<CabledPath>& all);
  /// nullopt: there are no such two.
  std::optional<std::pair<ib::wire::PathRecord, ib::wire::PathRecord>> best(
      const std::vector<CabledPath>& all) const;

 private:
  std::size_t at_{0};
  std::optional<std::pair<std::size_t, std::size_t>> best_;
  std::array<std::size_t, 3> cost_{};
};

}  // namespace sm::sa
