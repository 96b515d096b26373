// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/explain_view.h"

#include "libdiag/wire/rates.h"
#include "sm/device/tables/kinds.h"
#include "sm/sa/registry/partitions.h"

namespace sm::daemon {
namespace {

using device::Block;
using device::Slot;
using device::TableKind;
using ib::fabric::PortRef;
using ib::wire::PortInfo;

/// A block of a table of a node; nullptr: not there.
using Find = std::function<const Block*(const TableKind&, ib::fabric::NodeIndex, Slot)>;

VlTables read_by(const Find& find) {
  VlTables tables;
  tables.sl_to_vl = [find](PortRef out, std::uint8_t in) -> std::optional<ib::wire::SlToVlTable> {
    const Block* block = find(device::kSlToVl, out.node, {out.port, in, 0});
    if (block == nullptr) return std::nullopt;
    return ib::wire::decode<ib::wire::SlToVlTable>(block->data());
  };
  tables.arbitration = [find](PortRef port, std::uint16_t first) {
    std::vector<ib::wire::VlArbitrationTable> blocks;
    for (std::uint16_t b = first; b < first + 2; ++b)
      if (const Block* block = find(device::kVlArbitration, port.node, {port.port, 0, b}))
        blocks.push_back(ib::wire::decode<ib::wire::VlArbitrationTable>(block->data()));
    return blocks;
  };
  return tables;
}

}  // namespace

VlTables planned_vl_tables(const std::shared_ptr<const plan::Desired>& desired,
                           const SnapshotPtr& snapshot) {
  VlTables tables = read_by([desired](const TableKind& kind, ib::fabric::NodeIndex n, Slot slot) {
    return desired->vl_tables ? desired->vl_tables->find(kind, n, slot) : nullptr;
  });
  const auto want = [desired, snapshot](PortRef port) -> const plan::PortWant& {
    return desired->ports[snapshot->observed->port_index(port)];
  };
  tables.data_vls = [want](PortRef p) { return ib::wire::data_vls(want(p).operational_vls); };
  tables.high_limit = [want](PortRef p) { return want(p).vl_high_limit.value_or(std::uint8_t{0}); };
  return tables;
}

VlTables held_vl_tables(const SnapshotPtr& snapshot, const DeviceStatePtr& device_state) {
  VlTables tables =
      read_by([snapshot, device_state](const TableKind& kind, ib::fabric::NodeIndex n, Slot slot) {
        return device_state->tables->held(kind, snapshot->fabric().node(n).guid, slot);
      });
  tables.data_vls = [snapshot](PortRef p) {
    return ib::wire::data_vls(snapshot->observed->port(p).get<&PortInfo::operational_vls>());
  };
  tables.high_limit = [snapshot](PortRef p) {
    return snapshot->observed->port(p).get<&PortInfo::vl_high_limit>();
  };
  return tables;
}

ExplainView::ExplainView(SnapshotPtr snapshot, VlTables vl_tables, sa::Policy policy,
                         std::shared_ptr<const policy::QosPolicy> rules)
    : paths_(std::make_shared<const sa::Paths>(std::move(snapshot))),
      vl_tables_(std::move(vl_tables)),
      rules_(std::move(rules)),
      policy_(std::move(policy)) {
  policy_.partitions = sa::partitions_of(*paths_);
  policy_.qos = sa::Qos(rules_, *paths_, policy_);
}

}  // namespace sm::daemon
