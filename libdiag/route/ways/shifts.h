// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Shift permutations: every CA sends to the one that is k places on. On a complete tree D-mod-K
// lets no two packets meet; in a damaged one this moves single LIDs until the worst shift is as
// good as it gets.
#pragma once

#include <span>
#include <vector>

#include "libdiag/route/shape/tree_places.h"
#include "libdiag/route/ways/even_out.h"

namespace ib::route {

struct CalmShiftsOptions {
  std::size_t ends_max{2048};           // with more CAs nothing is done
  std::uint64_t looks_max{10'000'000};  // at counters, in all
};

/// Lowers the most packets that meet on any link under any shift, in the order of `places` and in
/// that of LIDs, as long as moving one LID at a leaf does it and no link gets more load than the
/// most loaded has. Precondition and honour_previous as for even_out().
void calm_shifts(const Request& request, const Targets& targets, const TreePlaces& places,
                 std::span<const tables::LeastHops> hops, tables::LinearTables& tables,
                 const CalmShiftsOptions& options = {});

}  // namespace ib::route
