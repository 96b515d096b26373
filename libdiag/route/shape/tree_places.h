// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Places in a tree: numbers of leaves' CAs and of the switches above, such that a number alone says
// which way up to take (D-mod-K). What is missing leaves a gap and moves nothing else.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "libdiag/route/shape/ranks.h"

namespace ib::route {

/// Ways up from a switch of height h are *uplinks*: a slot (which switch above) and which of the
/// cables there. A CA with number D takes uplink D / divisor[h] mod uplinks(h); on a complete tree
/// consecutive CAs take different uplinks at every height, and what comes down a link is for
/// different CAs of the leaf.
struct TreePlaces {
  TreePlaces(const Request& request, const Ranks& ranks, const Targets& targets);

  std::vector<std::uint32_t> height;    // by switch, 0 at the bottom
  std::vector<std::uint32_t> slot;      // by switch; different for those that share a child
  std::vector<std::uint32_t> switches;  // by height
  // By height of the lower switch.
  std::vector<std::uint32_t> slots, cables;
  std::vector<std::uint64_t> divisor;
  std::vector<std::uint64_t> number;  // by column of the targets
  std::vector<std::uint64_t> place;   // likewise: CAs in the order of leaves, all of one in a row
  /// Likewise: left over where CAs of a leaf are dealt to its uplinks in rounds. With an uplink of
  /// its own everywhere it would double what that carries, so each leaf sends to it by another.
  std::vector<bool> left_over;
  std::vector<bool> computes;  // likewise: a compute node, which are numbered first

  std::uint32_t uplinks(std::uint32_t h) const { return slots[h] * cables[h]; }
  /// Further LIDs of an end port (offset > 0) go as far from the first as there is room.
  std::uint32_t uplink(std::uint32_t h, std::uint64_t of, std::uint8_t offset) const {
    const std::uint32_t step = slots[h] > siblings_ ? slots[h] / siblings_ : 1;
    return static_cast<std::uint32_t>((of / divisor[h] + std::uint64_t{offset} * step) %
                                      uplinks(h));
  }

 private:
  void find_slots(const Request& request);
  void number_columns(const Request& request, const Targets& targets);
  std::vector<std::vector<Guid>> parts_of(const fabric::CompactGraph& graph,
                                          std::span<const fabric::SwitchIndex> leaves) const;
  std::pair<std::vector<std::uint64_t>, std::uint64_t> places_in_parts(
      const fabric::CompactGraph& graph, std::span<const fabric::SwitchIndex> leaves) const;

  std::uint32_t siblings_{1};  // LIDs of one end port, at most
};

}  // namespace ib::route
