// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Vendor attributes of subnet management (Mellanox) by which switches are told to choose among
// several ports for a LID: adaptive routing (AR) and fast link fault recovery. Layouts and meanings
// are restated from OpenSM 5.24's public iba/ib_types.h and opensm/osm_advanced_routing.h, the
// order of ports in a group from the latter (doc/adaptive-routing.md).
#pragma once

#include <array>
#include <cstdint>

#include "libdiag/wire/layout.h"

namespace ib::wire {

namespace attr {
inline constexpr std::uint16_t kMlnxArInfo = 0xFF20, kMlnxArGroupTable = 0xFF21,
                               kMlnxArLft = 0xFF23;
}

namespace mlnx_cap {
/// Of word 0 of GeneralInfo: the three attributes below, ARLinearForwardingTable in this form.
inline constexpr std::uint32_t kAdaptiveRouting = 1U << 2;
}  // namespace mlnx_cap

/// One a switch. What it can do, what it is to do.
struct MlnxArInfo {
  bool no_fallback{};
  bool is4_mode{};  // of an older chip
  bool global_groups{};
  bool by_sl_cap{}, by_sl_enabled{};  // AR is of the SLs in `enabled_sls` only
  bool by_transport_cap{};
  bool dynamic_cap{};  // capabilities depend on what is set
  std::uint8_t directions{};
  std::uint8_t group_copy_supported{}, sub_groups_active{};  // of each group; 4 bits each
  bool enabled{};
  bool arn_supported{}, frn_supported{};  // notifications of load and of faults
  bool fr_supported{}, fr_enabled{};      // another port of the group where one is down
  bool rn_xmit_enabled{};                 // notifications are sent and passed on
  std::uint8_t string_width_cap{}, group_table_cap{};  // 4 bits each
  std::uint16_t group_top{};                           // 12 bits: the last group that is in use
  std::uint16_t group_cap{};                           // 12 bits: groups of a table; 0: no AR
  std::uint16_t enabled_sls{};
  std::uint8_t sub_groups_supported{};
  std::uint8_t rn_version{}, ar_version{};  // 4 bits each
  std::uint8_t disabled_transports{};       // bit 0 UD, 1 RC, 2 UC, 3 DC
  std::uint32_t ageing_time{};              // us without traffic until a burst counts as over
  bool pfrn_supported{}, pfrn_enabled{};
  friend bool operator==(const MlnxArInfo&, const MlnxArInfo&) = default;
};
template <>
struct LayoutOf<MlnxArInfo>
    : Layout<"MlnxAdaptiveRoutingInfo", "OpenSM 5: AdaptiveRoutingInfo", 64,
             Field<&MlnxArInfo::dynamic_cap, at(0, 1), 1, "DynCapCalcSup">,
             Field<&MlnxArInfo::by_transport_cap, at(0, 2), 1, "ByTranspCap">,
             Field<&MlnxArInfo::by_sl_enabled, at(0, 3), 1, "BySLEn">,
             Field<&MlnxArInfo::by_sl_cap, at(0, 4), 1, "BySLCap">,
             Field<&MlnxArInfo::global_groups, at(0, 5), 1, "GlobalGroups">,
             Field<&MlnxArInfo::is4_mode, at(0, 6), 1, "IS4Mode">,
             Field<&MlnxArInfo::no_fallback, at(0, 7), 1, "NoFallback">,
             Field<&MlnxArInfo::directions, at(1), 8, "DirectionNumSup">,
             Field<&MlnxArInfo::group_copy_supported, at(2), 4, "GroupTableCopySup">,
             Field<&MlnxArInfo::sub_groups_active, at(2, 4), 4, "SubGrpsActive">,
             Field<&MlnxArInfo::rn_xmit_enabled, at(3, 2), 1, "RNXmitEnabled">,
             Field<&MlnxArInfo::fr_enabled, at(3, 3), 1, "FREnabled">,
             Field<&MlnxArInfo::fr_supported, at(3, 4), 1, "FRSupported">,
             Field<&MlnxArInfo::frn_supported, at(3, 5), 1, "FRNSupported">,
             Field<&MlnxArInfo::arn_supported, at(3, 6), 1, "ARNSupported">,
             Field<&MlnxArInfo::enabled, at(3, 7), 1, "E">,
             Field<&MlnxArInfo::string_width_cap, at(4), 4, "StringWidthCap">,
             Field<&MlnxArInfo::group_table_cap, at(4, 4), 4, "GroupTableCap">,
             Field<&MlnxArInfo::group_top, at(5), 12, "GroupTop">,
             Field<&MlnxArInfo::group_cap, at(6, 4), 12, "GroupCap">,
             Field<&MlnxArInfo::enabled_sls, at(8), 16, "EnableBySLMask", Show::Hex>,
             Field<&MlnxArInfo::sub_groups_supported, at(10), 8, "SubGrpsSupported">,
             Field<&MlnxArInfo::rn_version, at(11), 4, "RNVersionCap">,
             Field<&MlnxArInfo::ar_version, at(11, 4), 4, "ARVersionCap">,
             Field<&MlnxArInfo::disabled_transports, at(15), 8, "ByTransportDisable", Show::Hex>,
             Field<&MlnxArInfo::ageing_time, at(16), 32, "AgeingTimeValue">,
             Field<&MlnxArInfo::pfrn_supported, at(20, 6), 1, "PFRNSupported">,
             Field<&MlnxArInfo::pfrn_enabled, at(22, 3), 1, "PFRNEnabled">> {};

/// AttributeModifier: the group, of a switch whose groups have two sub-groups. Each is 256 bits,
/// that of port 0 the last.
struct MlnxArGroup {
  std::array<std::uint64_t, 4> primary{}, secondary{};

  void add(unsigned port) { primary[3 - port / 64] |= std::uint64_t{1} << (port % 64); }
  bool has(unsigned port) const { return (primary[3 - port / 64] >> (port % 64) & 1U) != 0; }
  friend bool operator==(const MlnxArGroup&, const MlnxArGroup&) = default;
};
template <>
struct LayoutOf<MlnxArGroup>
    : Layout<"MlnxAdaptiveRoutingGroup", "OpenSM 5: AdaptiveRoutingGroupTable", 64,
             Field<&MlnxArGroup::primary, at(0), 64, "SubGroup0", Show::Hex>,
             Field<&MlnxArGroup::secondary, at(32), 64, "SubGroup1", Show::Hex>> {};

enum class ArLidState : std::uint8_t {
  Bounded = 0,  // the port of a burst of packets stays
  Free = 1,
  Static = 2,  // by `port` alone
};

/// AttributeModifier: block of 16 LIDs, of the first of the switch's tables.
struct MlnxArLft {
  static constexpr std::size_t kLids = 16;
  std::array<ArLidState, kLids> state{};
  std::array<std::uint8_t, kLids> table{};   // 4 bits: of groups
  std::array<std::uint8_t, kLids> port{};    // without AR; 255: none
  std::array<std::uint16_t, kLids> group{};  // 12 bits
  friend bool operator==(const MlnxArLft&, const MlnxArLft&) = default;
};
template <>
struct LayoutOf<MlnxArLft>
    : Layout<"MlnxAdaptiveRoutingLFT", "OpenSM 5: AdaptiveRoutingLinearForwardingTable", 64,
             Field<&MlnxArLft::state, at(0), 2, "LIDState", Show::Named, -1, 32>,
             Field<&MlnxArLft::table, at(0, 4), 4, "TableNumber", Show::Decimal, -1, 32>,
             Field<&MlnxArLft::port, at(1), 8, "DefaultPort", Show::Decimal, -1, 32>,
             Field<&MlnxArLft::group, at(2, 4), 12, "GroupNumber", Show::Decimal, -1, 32>> {};

}  // namespace ib::wire
