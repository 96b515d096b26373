// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What is known of a fabric and its tables once they are proved, so that the next ones are looked
// at by their difference; and the same by the switches of a fabric in which some are gone and
// others new. Inside libdiag/tables only.
#pragma once

#include "libdiag/tables/verify_proof.h"

namespace ib::tables::check {

/// A switch that was there and is not.
inline constexpr SwitchIndex kGoneSwitch = fabric::kNoSwitch - 1;

struct Known {
  /// Whose packets were followed from a switch: a new one's were not.
  enum class Followed : std::uint8_t { Nobodys, ItsOwn, Ends };

  Proof proof;
  VirtualLanes virtual_lanes;
  std::vector<SwitchIndex> to;  // as SwitchGraph has it, or kGoneSwitch
  std::vector<fabric::Destination> destinations;
  std::vector<Guid> guids;
  std::vector<Followed> followed;  // by switch
  fabric::Pieces pieces;           // of a new switch: kNoSwitch
  SwitchIndex sm_leaf{};
  std::uint64_t switch_sources_unreachable{};
};

std::vector<Guid> guids_of(const fabric::CompactGraph& graph);
std::vector<Known::Followed> followed_in(const SwitchGraph& switch_graph);

/// By the switches of `now`. What is known of the links and LIDs of those that are left stays; of
/// new ones nothing is. False, and it may be anything: GUIDs do not tell which switch is which, one
/// has more ports than any had, or something depends on which switches there are.
bool carry_over(Known& known, const SwitchGraph& now);

}  // namespace ib::tables::check
