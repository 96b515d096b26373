// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/plan/vl_weights.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>

#include "libdiag/fabric/labels.h"
#include "sm/device/tables/kinds.h"
#include "sm/plan/vl_tables.h"

namespace sm::plan {
namespace {

using device::Block;
using device::kSlToVl;
using device::kVlArbitration;
using ib::discover::Observed;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using ib::wire::PortInfo;

constexpr unsigned kVls = 15, kSls = 16, kWeightMax = 255;

/// VLs with weight in the wanted tables of a port, a bit each; none wanted: all.
std::uint16_t weighted(const WantedTables& tables, PortRef p) {
  unsigned vls = 0;
  bool any = false;
  for (std::uint16_t number = device::kArbitrationLow; number <= device::kArbitrationHigh + 1;
       ++number) {
    const Block* block = tables.find(kVlArbitration, p.node, {p.port, 0, number});
    if (block == nullptr) continue;
    any = true;
    const auto table = ib::wire::decode<ib::wire::VlArbitrationTable>(block->data());
    for (std::size_t i = 0; i < table.vl.size(); ++i)
      if (table.weight[i] != 0) vls |= 1U << table.vl[i];
  }
  return static_cast<std::uint16_t>(any ? vls : 0xFFFFU);
}

/// The VLs that packets of `used` leave by `p` on, and their SLs.
std::array<std::uint16_t, kVls> used_vls(const Observed& observed, const WantedTables& tables,
                                         PortRef p, std::uint16_t used) {
  std::array<std::uint16_t, kVls> sls{};
  const auto& node = observed.fabric.node(p.node);
  const Block* before = nullptr;
  for (unsigned in = 0; in <= (node.is_switch() ? node.num_ports : 0U); ++in) {
    const Block* row = tables.find(kSlToVl, p.node, {p.port, static_cast<std::uint8_t>(in), 0});
    if (row == nullptr || row == before) continue;
    before = row;
    const auto map = ib::wire::decode<ib::wire::SlToVlTable>(row->data()).vl;
    for (unsigned sl = 0; sl < kSls; ++sl)
      if (((used >> sl) & 1U) != 0 && map[sl] < kVls)
        sls[map[sl]] |= static_cast<std::uint16_t>(1U << sl);
  }
  return sls;
}

}  // namespace

unsigned weighable_vls(const ib::discover::ObservedPort* port, unsigned vls) {
  if (port == nullptr || !port->known) return vls;
  for (const unsigned entries : {unsigned{port->get<&PortInfo::vl_arbitration_low_cap>()},
                                 unsigned{port->get<&PortInfo::vl_arbitration_high_cap>()}})
    if (entries != 0) vls = std::min(vls, entries);
  return vls;
}

policy::VlArbitrationTemplate fitted(policy::VlArbitrationTemplate table, unsigned vls,
                                     unsigned entries) {
  for (policy::VlWeight& entry : table)
    if (entry.vl >= vls) entry = {};
  if (table.size() > entries)
    std::erase_if(table, [](const policy::VlWeight& entry) { return entry.weight == 0; });
  const auto is_among_the_first = [&](const policy::VlWeight& entry) {
    const auto end = table.begin() + static_cast<std::ptrdiff_t>(entries);
    return std::find_if(table.begin(), end,
                        [&](const policy::VlWeight& first) { return first.vl == entry.vl; }) != end;
  };
  if (table.size() > entries && !std::ranges::all_of(table, is_among_the_first)) {
    policy::VlArbitrationTemplate merged;
    for (const policy::VlWeight& entry : table) {
      const auto same = std::ranges::find(merged, entry.vl, &policy::VlWeight::vl);
      if (same == merged.end())
        merged.push_back(entry);
      else
        same->weight =
            static_cast<std::uint8_t>(std::min<unsigned>(kWeightMax, same->weight + entry.weight));
    }
    table = std::move(merged);
  }
  table.resize(entries);
  return table;
}

std::vector<std::string> vls_without_weight(const Observed& observed,
                                            std::span<const PortWant> ports,
                                            const WantedTables& tables, std::uint16_t used) {
  struct Found {
    PortRef first;
    std::size_t ports{};
    std::array<std::uint16_t, kVls> sls{};
  };
  std::map<policy::QosKind, Found> by_kind;
  for (NodeIndex n = 0; n < observed.nodes.size(); ++n)
    for (unsigned number = 1; number <= observed.fabric.node(n).num_ports; ++number) {
      const PortRef p{n, static_cast<std::uint8_t>(number)};
      if (!ports[observed.port_index(p)].activate) continue;
      const std::uint16_t has = weighted(tables, p);
      if (has == 0xFFFF) continue;
      const auto sls = used_vls(observed, tables, p, used);
      bool lacks = false;
      for (unsigned vl = 0; vl < kVls; ++vl) {
        if (sls[vl] == 0 || ((has >> vl) & 1U) != 0) continue;
        Found& found = by_kind[qos_kind(observed.fabric, p)];
        if (found.ports == 0 && !lacks) found.first = p;
        lacks = true;
        found.sls[vl] |= sls[vl];
      }
      if (lacks) ++by_kind[qos_kind(observed.fabric, p)].ports;
    }
  std::vector<std::string> lines;
  for (const auto& [kind, found] : by_kind) {
    std::vector<std::string> vls;
    for (unsigned vl = 0; vl < kVls; ++vl)
      if (found.sls[vl] != 0)
        vls.push_back(fmt::format("VL {} ({})", vl, class_names({found.sls[vl]})));
    lines.push_back(fmt::format(
        "{}vlarb_high and {}vlarb_low leave no weight for {} at {} port{}, the first is {}: "
        "packets there may never be sent",
        policy::kQosPrefixes[static_cast<std::size_t>(kind)],
        policy::kQosPrefixes[static_cast<std::size_t>(kind)], fmt::join(vls, ", "), found.ports,
        found.ports == 1 ? "" : "s", ib::fabric::port_name(observed.fabric, found.first)));
  }
  return lines;
}

}  // namespace sm::plan
