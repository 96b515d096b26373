// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Transition: in which order to write the blocks that lie between two sets of forwarding tables, so
// that no packet ever goes round in circles, whichever of the Sets in flight have arrived. Pure; it
// sends nothing and waits for nobody, that is the caller's.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "libdiag/fabric/graph.h"
#include "libdiag/tables/tables.h"

namespace ib::route {

inline constexpr std::size_t kBlockSize = 64;  // entries that one Set writes

struct Transition {
  struct Write {
    fabric::SwitchIndex at{};
    std::uint16_t block{};
    std::array<std::uint8_t, kBlockSize> ports{};
  };
  /// Writes of one round may be in flight together, in any order; a round begins when everything of
  /// the one before was acknowledged. Blocks that repair something broken come first in theirs.
  std::vector<std::vector<Write>> rounds;
  std::size_t extra{};  // writes beyond one for every block that differs
};

/// From what switches hold to `after`, by the switches of `graph`, which holds the links that work.
/// `held`: the blocks that are not as in `after` yet, by switch, then by number. It costs what lies
/// between the tables, however large they are. Precondition: neither has loops over these links.
Transition plan_transition(const fabric::CompactGraph& graph,
                           std::span<const Transition::Write> held,
                           const tables::LinearTables& after);

/// The block of a table; past its end there is nothing.
Transition::Write block_of(const tables::LinearTables& tables, fabric::SwitchIndex at,
                           std::uint16_t block);

}  // namespace ib::route
