// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Routes that leave a switch a choice: beside the port of its LFT a group of ports that it may send
// by, as adaptive routing has it. Values, and the proof that whatever switches choose packets
// arrive and wait for each other in no circle.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libdiag/fabric/graph.h"
#include "libdiag/tables/tables.h"
#include "libdiag/tables/virtual_lanes.h"

namespace ib::tables {

/// Groups of all switches of a CompactGraph, and which LID goes by which.
class PortGroups {
 public:
  /// A LID without a group goes by the LFT alone.
  static constexpr std::uint16_t kNone = 0xFFFF;

  PortGroups() = default;
  PortGroups(std::size_t switches, Lid max_lid)
      : lids_(max_lid.value + std::size_t{1}),
        groups_(switches),
        of_lid_(switches * lids_, kNone) {}

  /// By their number.
  const std::vector<PortMask>& groups(fabric::SwitchIndex s) const { return groups_[s]; }
  std::uint16_t at(fabric::SwitchIndex s, Lid lid) const {
    return lid.value < lids_ ? of_lid_[s * lids_ + lid.value] : kNone;
  }
  /// nullptr: none.
  const PortMask* find(fabric::SwitchIndex s, Lid lid) const {
    const std::uint16_t group = at(s, lid);
    return group == kNone ? nullptr : &groups_[s][group];
  }
  /// Of a group of these ports at this switch, which is made where there is none. At most 65,535.
  std::uint16_t number_of(fabric::SwitchIndex s, const PortMask& ports);
  void set(fabric::SwitchIndex s, Lid lid, std::uint16_t group) {
    of_lid_[s * lids_ + lid.value] = group;
  }
  void clear(fabric::SwitchIndex s, Lid lid) { set(s, lid, kNone); }
  bool empty() const { return of_lid_.empty(); }
  std::size_t lid_count() const { return lids_; }
  std::size_t switch_count() const { return groups_.size(); }
  friend bool operator==(const PortGroups&, const PortGroups&) = default;

 private:
  std::size_t lids_{0};
  std::vector<std::vector<PortMask>> groups_;  // by switch
  std::vector<std::uint16_t> of_lid_;          // by switch, then LID
};

/// What choice is wrong, in one sentence that names a switch.
struct ChoiceFault {
  enum class Kind {
    NoLink,      // a port of a group leads to no switch
    OwnPort,     // the port of the LFT is not in the group
    Lost,        // a choice leads where there is no route
    Loop,        // choices can lead back
    CreditLoop,  // packets can wait for each other in a circle
  } kind;
  Lid lid{};  // of the first three
  std::string message;
};

/// Checks each LID by itself: every port of a group leads to a switch that has a route on, and no
/// choices lead back. The first fault of each LID that has one, ascending.
std::vector<ChoiceFault> faulty_choices(const fabric::Fabric& fabric,
                                        const fabric::CompactGraph& graph, const LinearTables& lfts,
                                        const PortGroups& groups);

/// A circle in which packets could wait for each other, whatever switches choose: nothing if there
/// is none. Of packets to LIDs of CAs and routers, from switches with such ports and from where the
/// SM is. Which VLs they are on where is looked at only if it would not do that all are on one.
/// Precondition: faulty_choices() is empty.
std::optional<ChoiceFault> credit_loop_of_choices(const fabric::Fabric& fabric,
                                                  const fabric::CompactGraph& graph,
                                                  const LinearTables& lfts,
                                                  const PortGroups& groups,
                                                  const VirtualLanes& virtual_lanes, Lid sm_lid);

}  // namespace ib::tables
