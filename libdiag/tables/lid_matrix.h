// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// opensm-lid-matrix.dump: how many hops a LID is from each port of each switch.
#pragma once

#include <map>
#include <string_view>
#include <vector>

#include "libdiag/base/diagnostic.h"
#include "libdiag/base/ids.h"
#include "libdiag/base/result.h"
#include "libdiag/tables/dump.h"

namespace ib::tables {

/// What one switch says.
struct LidMatrix {
  static constexpr std::uint8_t kUnreachable = 0xFF;
  Guid guid{};
  /// By LID: hops by port; index 0 is the least of them.
  std::map<Lid, std::vector<std::uint8_t>> hops;
};

/// A header `Switch: guid 0x...`, rows `0x0005: 01 ff 01 02 # portguid 0x...`, comments behind `#`.
/// An error is `FILE:LINE: expected X, got Y`.
/// `mistakes`, if given, gets all of them.
Result<std::vector<LidMatrix>> read_lid_matrix(std::string_view text, std::string_view file_name,
                                               std::vector<Diagnostic>* mistakes = nullptr);

/// The whole file, a switch at a time: hops to the LIDs of switches, by the shortest ways, as
/// opensm has them (a host's are those of its switch). Switches in the order of GUIDs.
void write_lid_matrix(const TextSink& write, const fabric::Fabric& fabric,
                      const fabric::CompactGraph& graph);

}  // namespace ib::tables
