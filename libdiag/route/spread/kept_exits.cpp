// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/spread/kept_exits.h"

namespace ib::route {

KeptExits::KeptExits(const tables::LinearTables* previous, const fabric::CompactGraph& graph,
                     const Exits& exits)
    : previous_(previous) {
  if (previous == nullptr) return;
  ports_ = graph.max_ports() + std::size_t{1};
  rank_of_port_.assign(graph.switch_count() * ports_, kNoRank);
  for (fabric::SwitchIndex s = 0; s < graph.switch_count(); ++s) {
    const auto of_switch = exits.of(graph, s);
    for (std::size_t rank = 0; rank < of_switch.size(); ++rank)
      rank_of_port_[s * ports_ + of_switch[rank].port] = static_cast<std::uint8_t>(rank);
  }
}

}  // namespace ib::route
