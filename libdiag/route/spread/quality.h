// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What routes that may be programmed are compared by: the load of the most loaded link, then how
// many packets of a shift meet on one, then VLs.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "libdiag/route/engine.h"

namespace ib::route {

/// Less is better.
struct Quality {
  /// CA-to-CA routes over the most loaded link between switches, as many more on a slower link as
  /// it is slower than the fastest (Options::link_capacity); ignored ports count nothing.
  double load{0};
  /// Packets that meet on the most loaded link under a shift of all hosts, the mean of a sample;
  /// none: it was not needed.
  std::optional<double> contention;
  unsigned vls{1};
};

/// Quality::load of tables for the fabric of `request`.
double greatest_load(const Request& request, const tables::LinearTables& tables);

/// No routes load the most loaded link less: what the hosts of a switch send and get crosses its
/// links. In the unit of greatest_load().
double least_load(const Request& request);

/// Quality::contention.
double sampled_contention(const fabric::CompactGraph& graph, const tables::LinearTables& tables);

/// Loads this near to each other count as equal, and contentions likewise.
inline constexpr double kEqualLoad = 1.01, kEqualContention = 1.02;

/// Nothing can be better in what counts first: as little load as there can be, and no two packets
/// of a shift on one link.
bool is_perfect(const Quality& quality, double least_load);

/// Loads this near to the least there can be are as good as it where finding out whether there is
/// less takes long.
inline constexpr double kNearLeast = 1.02;

/// Which of them: least load, of those the least contention, of those the fewest VLs, of those the
/// first. Precondition: not empty; contention is known where loads are equal.
std::size_t best_of(std::span<const Quality> of);

}  // namespace ib::route
