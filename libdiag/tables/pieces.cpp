// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/tables/pieces.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "libdiag/tables/names.h"

namespace ib::tables {
namespace {

using fabric::Fabric;
using fabric::NodeIndex;

constexpr std::size_t kPiecesMax = 8;  // that get a line
constexpr std::size_t kNamesMax = 4;   // of each kind in a line

/// "3 switches ('a' (0x...), 'b' (0x...) and 1 more)"
std::string named(const Fabric& fabric, std::span<const NodeIndex> nodes, const char* one,
                  const char* many) {
  if (nodes.empty()) return fmt::format("no {}", one);
  std::string out = counted(nodes.size(), one, many) + " (";
  for (std::size_t i = 0; i < std::min(nodes.size(), kNamesMax); ++i)
    out += (i == 0 ? "" : ", ") + node_name(fabric, nodes[i]);
  if (nodes.size() > kNamesMax) out += fmt::format(" and {} more", nodes.size() - kNamesMax);
  return out + ')';
}

}  // namespace

std::vector<Piece> find_pieces(const Fabric& fabric, const fabric::CompactGraph& graph) {
  const fabric::Pieces numbers = pieces_of(graph);
  std::vector<Piece> pieces(numbers.count);
  for (NodeIndex n = 0; n < fabric.nodes().size(); ++n) {
    if (fabric.node(n).is_switch()) {
      pieces[numbers.of[graph.switch_of(n)]].switches.push_back(n);
      continue;
    }
    for (const auto& port : fabric.ports(n)) {
      if (!port.peer) continue;
      const NodeIndex far = port.peer.node;
      if (fabric.node(far).is_switch()) {
        auto& hosts = pieces[numbers.of[graph.switch_of(far)]].hosts;
        if (hosts.empty() || hosts.back() != n) hosts.push_back(n);
      } else if (n < far && (pieces.empty() || pieces.back().hosts != std::vector{n, far})) {
        pieces.push_back({{}, {n, far}});
      }
    }
  }
  if (pieces.size() < 2) return {};
  std::stable_sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) {
    return std::pair(a.hosts.size(), a.switches.size()) >
           std::pair(b.hosts.size(), b.switches.size());
  });
  return pieces;
}

std::vector<std::string> piece_lines(const Fabric& fabric, const std::vector<Piece>& pieces) {
  if (pieces.empty()) return {};
  std::vector<std::string> lines;
  lines.push_back(
      fmt::format("the fabric is disconnected: no link joins its {} subfabrics", pieces.size()));
  for (std::size_t i = 0; i < std::min(pieces.size(), kPiecesMax); ++i)
    lines.push_back(fmt::format("subfabric {}: {} and {}", i + 1,
                                named(fabric, pieces[i].switches, "switch", "switches"),
                                named(fabric, pieces[i].hosts, "host", "hosts")));
  if (pieces.size() > kPiecesMax)
    lines.push_back(fmt::format("and {} more subfabrics", pieces.size() - kPiecesMax));
  return lines;
}

}  // namespace ib::tables
