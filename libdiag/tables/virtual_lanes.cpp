// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/tables/virtual_lanes.h"

#include <algorithm>
#include <cassert>

namespace ib::tables {

SlToVlRow SlToVlRow::modulo(unsigned vls) {
  SlToVlRow row;
  for (unsigned sl = 0; sl < row.vl.size(); ++sl) row.vl[sl] = static_cast<std::uint8_t>(sl % vls);
  return row;
}

void SlToVl::set(fabric::SwitchIndex s, std::uint8_t in, std::uint8_t out, const SlToVlRow& row) {
  auto at = std::find(palette_.begin(), palette_.end(), row);
  if (at == palette_.end()) {
    assert(palette_.size() < 65536);
    at = palette_.insert(at, row);
  }
  which_[(s * stride_ + in) * stride_ + out] = static_cast<std::uint16_t>(at - palette_.begin());
}

unsigned data_vls(const fabric::Fabric& fabric, const fabric::CompactGraph& graph, unsigned limit) {
  unsigned least = limit;
  for (fabric::SwitchIndex s = 0; s < graph.switch_count(); ++s) {
    for (const auto& arc : graph.arcs(s)) {
      const std::uint8_t code = fabric.port(graph.node_of(s), arc.out_port).vl_cap;
      if (code != 0) least = std::min(least, wire::data_vls(code));
    }
  }
  return least;
}

}  // namespace ib::tables
