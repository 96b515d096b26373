// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/tables/virtual_lanes.h"

#include <algorithm>
#include <cassert>
#include <unordered_map>

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

SlToVl SlToVl::of_switches(const fabric::CompactGraph& graph,
                           std::span<const fabric::SwitchIndex> former) const {
  if (uniform()) return *this;
  SlToVl result(graph, injection());
  result.palette_ = palette_;
  const std::size_t ports = std::min(stride_, result.stride_);
  for (fabric::SwitchIndex s = 0; s < former.size(); ++s)
    for (std::size_t in = 0; in < ports && former[s] != fabric::kNoSwitch; ++in)
      std::copy_n(
          which_.begin() + static_cast<std::ptrdiff_t>((former[s] * stride_ + in) * stride_), ports,
          result.which_.begin() +
              static_cast<std::ptrdiff_t>((s * result.stride_ + in) * result.stride_));
  return result;
}

namespace {

/// By switch of `to`: which of `from` it is.
std::vector<fabric::SwitchIndex> former_switches(const fabric::CompactGraph& from,
                                                 const fabric::CompactGraph& to) {
  std::unordered_map<Guid, fabric::SwitchIndex> old;
  for (fabric::SwitchIndex s = 0; s < from.switch_count(); ++s) old.emplace(from.guid(s), s);
  std::vector<fabric::SwitchIndex> former;
  for (fabric::SwitchIndex s = 0; s < to.switch_count(); ++s) {
    const auto at = old.find(to.guid(s));
    former.push_back(at != old.end() ? at->second : fabric::kNoSwitch);
  }
  return former;
}

}  // namespace

SlToVl carried_over(const SlToVl& rows, const fabric::CompactGraph& from,
                    const fabric::CompactGraph& to) {
  return rows.of_switches(to, former_switches(from, to));
}

PathSls carried_over(const PathSls& sls, const fabric::CompactGraph& from,
                     const fabric::CompactGraph& to) {
  const std::vector<fabric::SwitchIndex> former = former_switches(from, to);
  if (sls.uniform() && std::ranges::find(former, fabric::kNoSwitch) == former.end()) return sls;
  PathSls carried(to.switch_count(), kNoSl);
  for (fabric::SwitchIndex a = 0; a < former.size(); ++a)
    for (fabric::SwitchIndex b = 0; b < former.size(); ++b)
      if (former[a] != fabric::kNoSwitch && former[b] != fabric::kNoSwitch)
        carried.set_one_way(a, b, sls.at(former[a], former[b]));
  return carried;
}

std::vector<std::pair<fabric::SwitchIndex, fabric::SwitchIndex>> moved_pairs(
    const fabric::CompactGraph& graph, const PathSls& before, const PathSls& after) {
  std::vector<std::pair<fabric::SwitchIndex, fabric::SwitchIndex>> moved;
  if (before.uniform() && after.uniform() && before == after) return moved;
  const auto ends = graph.end_ports();
  for (fabric::SwitchIndex a = 0; a < graph.switch_count(); ++a)
    for (fabric::SwitchIndex b = 0; b < a && ends[a] != 0; ++b)
      if (ends[b] != 0 && before.at(a, b) != kNoSl && before.at(a, b) != after.at(a, b))
        moved.emplace_back(b, a);
  return moved;
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
