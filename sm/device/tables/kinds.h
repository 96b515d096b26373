// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The tables that devices hold, each in the file of its name.
#pragma once

#include <string_view>
#include <vector>

#include "sm/device/table.h"

namespace sm::device {

extern const TableKind kGuidInfo;          // IBA 14.2.5.5: 8 GUIDs a block, of end ports
extern const TableKind kPKeyTable;         // IBA 14.2.5.7: 32 P_Keys a block
extern const TableKind kSlToVl;            // IBA 14.2.5.8: 16 SLs
extern const TableKind kGeneralInfo;       // Mellanox 0xFF17: capabilities of a node, one block
extern const TableKind kExtendedPortInfo;  // Mellanox 0xFF90: FDR10 of a port, one block
extern const TableKind kQosConfigSl;       // Mellanox 0xFF82: rate limits of a CA port, one block
extern const TableKind kArInfo;            // Mellanox 0xFF20: adaptive routing, one block
extern const TableKind kArGroup;           // Mellanox 0xFF21: the ports of a group, a block
extern const TableKind kArLft;             // Mellanox 0xFF23: groups of 16 LIDs a block
extern const TableKind kVlArbitration;  // IBA 14.2.5.9: 32 entries a block; blocks 1 and 2 are of
                                        // low priority, 3 and 4 of high priority

/// Slots of a table that is read only where a plan asks for it: none without.
inline void on_demand(const ib::discover::Observed&, ib::fabric::NodeIndex, std::vector<Slot>&) {}

/// "SLtoVLMappingTable"; "PortInfo", too
std::string_view table_name(std::uint16_t attribute);

inline constexpr unsigned kGuidsInBlock = 8, kPKeysInBlock = 32, kArbitrationInBlock = 32;
/// In the modifier of a Set of SL2VL by optimised programming: rows of many pairs at once.
inline constexpr std::uint32_t kAllOutputs = 1U << 16, kAllInputs = 1U << 17;
/// The first block of VLArbitrationTable of low and of high priority.
inline constexpr std::uint16_t kArbitrationLow = 1, kArbitrationHigh = 3;

}  // namespace sm::device
