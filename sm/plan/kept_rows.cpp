// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/plan/kept_rows.h"

#include <algorithm>

#include "libdiag/wire/rates.h"
#include "libdiag/wire/smp_attributes.h"
#include "sm/device/tables/kinds.h"

namespace sm::plan {

using ib::fabric::SwitchIndex;

namespace {
/// By the row in `block`, on a link of `vls` data VLs; 0: it is not known of how many.
std::uint16_t dropped_sls(const device::Block& block, unsigned vls) {
  constexpr std::uint8_t kVlDrops = 15;
  const auto row = ib::wire::decode<ib::wire::SlToVlTable>(block.data()).vl;
  std::uint16_t dropped = 0;
  for (std::size_t sl = 0; sl < row.size(); ++sl)
    if (row[sl] == kVlDrops || (vls != 0 && row[sl] >= vls))
      dropped = static_cast<std::uint16_t>(dropped | 1U << sl);
  return dropped;
}

unsigned operated_vls(const ib::discover::ObservedPort& port) {
  return ib::wire::data_vls(port.get<&ib::wire::PortInfo::operational_vls>());
}
}  // namespace

ib::tables::SlToVl with_kept_rows(const ib::tables::SlToVl& planned,
                                  const ib::fabric::CompactGraph& graph,
                                  const std::set<ib::Guid>& keepers,
                                  const device::Inventory& held) {
  ib::tables::SlToVl out =
      planned.uniform() ? ib::tables::SlToVl(graph, planned.injection()) : planned;
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
    const device::NodeTables* tables =
        keepers.contains(graph.guid(s)) ? held.find(graph.guid(s)) : nullptr;
    if (tables == nullptr) continue;
    for (unsigned output = 0; output <= graph.max_ports(); ++output)
      for (unsigned input = 0; input <= graph.max_ports(); ++input) {
        const auto to = static_cast<std::uint8_t>(output), in = static_cast<std::uint8_t>(input);
        const device::Block* block = tables->held(device::kSlToVl, {to, in, 0});
        if (block == nullptr) continue;
        ib::tables::SlToVlRow row;
        std::ranges::copy(ib::wire::decode<ib::wire::SlToVlTable>(block->data()).vl,
                          row.vl.begin());
        out.set(s, in, to, row);
      }
  }
  return out;
}

std::map<ib::fabric::PortRef, std::uint16_t> sls_dropped_by_hosts(
    const ib::discover::Observed& observed, const std::set<ib::Guid>& keepers,
    const device::Inventory& held) {
  std::map<ib::fabric::PortRef, std::uint16_t> out;
  for (const ib::Guid guid : keepers) {
    const auto n = observed.fabric.find_node(guid);
    if (!n || observed.fabric.node(*n).is_switch()) continue;
    for (unsigned p = 1; p <= observed.fabric.node(*n).num_ports; ++p) {
      const ib::fabric::PortRef port{*n, static_cast<std::uint8_t>(p)};
      const auto* seen = observed.known_port(port);
      const auto* block = held.held(device::kSlToVl, guid, {port.port, 0, 0});
      if (seen == nullptr || block == nullptr) continue;
      const std::uint16_t dropped = dropped_sls(*block, operated_vls(*seen));
      if (dropped != 0) out.emplace(port, dropped);
    }
  }
  return out;
}

bool any_row_drops(const ib::discover::Observed& observed, const device::Inventory& held,
                   std::uint16_t sls) {
  std::vector<device::Slot> slots;
  for (ib::fabric::NodeIndex n = 0; n < observed.nodes.size(); ++n) {
    const auto& node = observed.fabric.node(n);
    const device::NodeTables* tables = held.find(node.guid);
    if (tables == nullptr) continue;
    const auto is_active = [&](std::uint8_t p) {
      const auto* port = observed.known_port({n, p});
      return port != nullptr && port->state() == ib::wire::PortState::Active;
    };
    slots.clear();
    device::kSlToVl.slots(observed, n, slots);
    for (const device::Slot slot : slots) {
      const device::Block* block = tables->held(device::kSlToVl, slot);
      if (block == nullptr || slot.port == 0 || !is_active(slot.port)) continue;
      if (slot.input != 0 && !is_active(slot.input)) continue;
      const unsigned vls = operated_vls(*observed.known_port({n, slot.port}));
      if ((dropped_sls(*block, vls) & sls) != 0) return true;
    }
  }
  return false;
}

}  // namespace sm::plan
