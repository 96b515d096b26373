// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A fabric in several pieces: what is in which. Packets pass through switches only, so a host with
// ports in two pieces joins nothing, and is in both.
#pragma once

#include <string>
#include <vector>

#include "libdiag/fabric/graph.h"

namespace ib::tables {

struct Piece {
  std::vector<fabric::NodeIndex> switches, hosts;  // ascending; no switch: hosts back to back
};

/// The pieces that no link joins, those with most hosts first; none when all is one piece. A host
/// without a cable is no piece of anything.
std::vector<Piece> find_pieces(const fabric::Fabric& fabric, const fabric::CompactGraph& graph);

/// A heading, and a line for each of the first pieces with what is in it.
std::vector<std::string> piece_lines(const fabric::Fabric& fabric,
                                     const std::vector<Piece>& pieces);

}  // namespace ib::tables
