// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// SL to VL mapping and VL arbitration of one node: which Sets make its ports hold what the routes
// need, and what it holds after an answer. Rows are folded to the VLs that a link operates, since
// hardware drops what maps to another one. Pure.
//
// A switch has a row for each pair of input and output port. One that knows optimised programming
// (SwitchInfo) takes a row for all pairs, or for all inputs of an output, in one Set; the rows that
// differ from it follow. Only pairs of ports with a link count.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "libdiag/wire/mad.h"
#include "sm/plan/desired.h"

namespace sm::apply {

/// What a node is known to hold, from answers.
struct KnownLanes {
  /// 16 nibbles, SL 0 in the highest, by input * (ports + 1) + output; a CA's at 0 * ... + port.
  std::vector<std::uint64_t> rows;
  /// VL and weight of 32 entries each, by block and port.
  std::map<std::pair<std::uint8_t, std::uint8_t>, ib::wire::VlArbitrationTable> arbitration;
};
/// No row in use: it drops everything.
inline constexpr std::uint64_t kRowUnknown = ~std::uint64_t{0};

/// Blocks of VLArbitrationTable: the first of the low and of the high priority table.
inline constexpr std::uint8_t kArbitrationLow = 1, kArbitrationHigh = 3;

/// One SLtoVLMappingTable or VLArbitrationTable, to be set or asked for.
struct LaneTable {
  std::uint16_t attribute{};
  std::uint32_t modifier{};
  std::uint8_t port{};  // output; 0: all
  std::uint64_t row{};  // of an SLtoVLMappingTable
  ib::wire::VlArbitrationTable arbitration;

  void write(ib::wire::Mad& mad) const;
  /// "SLtoVLMappingTable, input 3, output 4": for complaints.
  std::string where() const;
};

/// What `node` still needs. Ports that came up anew count as unknown.
std::vector<LaneTable> lane_sets(const plan::Desired& desired, const ib::discover::Observed& seen,
                                 KnownLanes& known, ib::fabric::NodeIndex node);

/// What of it can only be known by asking: of ports that are up, and so may hold it already. A
/// switch can be told a row for many pairs of ports at once, but is asked one pair at a time.
std::vector<LaneTable> lane_reads(const plan::Desired& desired, const ib::discover::Observed& seen,
                                  KnownLanes& known, ib::fabric::NodeIndex node);

/// `read` was answered with `mad`.
void note_read(KnownLanes& known, const LaneTable& read, const ib::wire::Mad& mad,
               unsigned num_ports);

/// `set` was answered with `mad`; without an answer nothing is known of what it wrote.
void note_lanes(KnownLanes& known, const LaneTable& set, const ib::wire::Mad* answer,
                unsigned num_ports);

/// The specified defaults (VL 0 in the high priority table, the others in the low one, 4 x 64 bytes
/// each), of `vls` data VLs. `high`: which of the two.
ib::wire::VlArbitrationTable default_arbitration(unsigned vls, bool high);

}  // namespace sm::apply
