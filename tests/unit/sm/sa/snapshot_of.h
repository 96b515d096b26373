// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A fabric dressed up as if a sweep had observed it, with tables by breadth-first search.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "libdiag/fabric/generate.h"
#include "libdiag/wire/rates.h"
#include "sm/device/snapshot.h"

namespace sm::sa::test {

using ib::Lid;
using ib::fabric::Fabric;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;

/// Shortest paths, the lowest port first.
inline ib::tables::LinearTables route(const ib::fabric::CompactGraph& graph) {
  ib::tables::LinearTables tables(graph.switch_count(), graph.max_lid());
  for (const auto& destination : graph.destinations()) {
    std::deque<ib::fabric::SwitchIndex> frontier{destination.leaf};
    tables.set(destination.leaf, destination.lid, destination.port);
    std::vector<bool> seen(graph.switch_count());
    seen[destination.leaf] = true;
    while (!frontier.empty()) {
      const auto at = frontier.front();
      frontier.pop_front();
      // A way back over each arc: the cable works both ways.
      for (const auto& arc : graph.arcs(at)) {
        if (seen[arc.to]) continue;
        seen[arc.to] = true;
        tables.set(arc.to, destination.lid, arc.in_port);
        frontier.push_back(arc.to);
      }
    }
  }
  return tables;
}

/// What a port answered, to be changed.
inline ib::wire::View<ib::wire::PortInfo> fields_of(ib::discover::ObservedPort& port) {
  return ib::wire::View<ib::wire::PortInfo>(port.bytes.data());
}

inline ib::wire::PortInfo port_info_of(const Fabric& fabric, PortRef at) {
  const auto& node = fabric.node(at.node);
  const auto& port = fabric.port(at);
  const bool end_port = !node.is_switch() || at.port == 0;
  ib::wire::PortInfo info;
  info.m_key = 0x1122334455667788ULL;
  info.gid_prefix = ib::kDefaultSubnetPrefix;
  info.lid = end_port ? port.lid : ib::kNoLid;
  info.lmc = end_port ? port.lmc : std::uint8_t{0};
  info.master_sm_lid = Lid{1};
  info.capability_mask = node.is_switch() ? 0x4000U : 0x2594868U;
  info.local_port_num = ib::PortNum{at.port};
  info.link_width_enabled = info.link_width_supported = 3;
  info.link_speed_supported = info.link_speed_enabled = 7;
  const bool linked = at.port == 0 || static_cast<bool>(port.peer);
  info.port_state = linked ? ib::wire::PortState::Active : ib::wire::PortState::Down;
  info.port_physical_state = linked ? ib::wire::PhysState::LinkUp : ib::wire::PhysState::Polling;
  info.link_down_default_state = 2;
  info.neighbor_mtu = linked ? std::uint8_t{5} : std::uint8_t{0};
  info.mtu_cap = 5;
  info.vl_cap = node.is_switch() ? 4 : 3;
  info.operational_vls = 1;
  info.guid_cap = end_port ? 8 : 0;
  info.subnet_timeout = 18;
  info.resp_time_value = static_cast<std::uint8_t>(at.port % 3 + 16);
  info.p_key_violations = static_cast<std::uint16_t>(at.node % 5);
  if (linked && at.port != 0) {
    ib::wire::set_active_width(info, port.width);
    ib::wire::set_active_speed(info, port.speed);
  }
  return info;
}

/// The fabric as a sweep would have seen it, every LID as the fabric has it.
inline std::shared_ptr<Snapshot> snapshot_of(
    Fabric fabric, ib::tables::LinearTables (*tables_of)(const ib::fabric::CompactGraph&) = route) {
  auto observed = std::make_shared<ib::discover::Observed>();
  observed->fabric = std::move(fabric);
  auto& f = observed->fabric;
  for (NodeIndex n = 0; n < f.nodes().size(); ++n) {
    const auto& node = f.node(n);
    ib::discover::ObservedNode seen;
    seen.info.node_type = node.type;
    seen.info.num_ports = node.num_ports;
    seen.info.node_guid = node.guid;
    seen.info.system_image_guid = node.guid;
    seen.info.port_guid = f.port(n, node.is_switch() ? 0 : 1).guid;
    seen.info.partition_cap = node.is_switch() ? 32 : 128;
    seen.info.device_id = node.device_id;
    seen.info.vendor_id = node.vendor_id;
    seen.info.revision = n % 4;
    seen.info.local_port_num = ib::PortNum{1};
    if (node.is_switch()) {
      seen.switch_info.emplace();
      seen.switch_info->linear_fdb_cap = 0xBFFF;
      seen.switch_info->multicast_fdb_cap = 64;
    }
    observed->nodes.push_back(seen);
    for (unsigned p = 0; p <= node.num_ports; ++p) observed->ports.emplace_back();
  }
  for (NodeIndex n = 0; n < f.nodes().size(); ++n) {
    for (unsigned p = f.node(n).is_switch() ? 0 : 1; p <= f.node(n).num_ports; ++p) {
      const PortRef at{n, static_cast<std::uint8_t>(p)};
      auto& port = observed->port(at);
      ib::wire::encode(port_info_of(f, at), port.bytes.data());
      port.known = true;
      f.port(at).state = port.state();
    }
  }
  f.reindex();
  observed->complete = true;

  auto snapshot = std::make_shared<Snapshot>();
  ib::fabric::CompactGraph graph(f);
  auto tables = tables_of(graph);
  snapshot->routing =
      std::make_shared<Routing>(Routing{std::move(graph), std::move(tables), "test"});
  for (NodeIndex n = 0; n < f.nodes().size(); ++n) {
    if (f.node(n).is_switch()) continue;
    snapshot->sm_port = {n, 1};
    snapshot->sm_lid = f.port(n, 1).lid;
    snapshot->sm_port_guid = f.port(n, 1).guid;
    break;
  }
  snapshot->observed = observed;
  snapshot->generation = 1;
  snapshot->up = true;
  return snapshot;
}

}  // namespace sm::sa::test
