// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Snapshot: the subnet as the subnet manager last programmed it. Immutable once published and
// shared by pointer, so that the SA answers from it while the next sweep runs. Data only.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "libdiag/fabric/fabric.h"
#include "libdiag/fabric/graph.h"
#include "libdiag/routes/tables.h"

namespace sm::core {

struct Snapshot {
  Snapshot(ib::fabric::Fabric f, ib::fabric::CompactGraph g)
      : fabric(std::move(f)), graph(std::move(g)) {}

  std::uint64_t generation{};  // grows with every publication
  ib::fabric::Fabric fabric;   // nodes, cables, LIDs, descriptions
  ib::fabric::CompactGraph graph;
  std::shared_ptr<const ib::routes::LinearTables> lfts;  // by SwitchIndex of `graph`

  // What devices last answered, M_Keys included. By NodeIndex, and by port_index().
  std::vector<ib::wire::NodeInfo> node_infos;
  std::vector<ib::wire::SwitchInfo> switch_infos;  // meaningless for others
  std::vector<ib::wire::PortInfo> port_infos;
  // P_Keys of end ports; an empty table is not known, and counts as the default partition's.
  std::vector<std::vector<ib::PKey>> p_keys;

  ib::Lid sm_lid{};
  ib::Guid sm_port_guid{};
  std::uint64_t subnet_prefix{ib::kDefaultSubnetPrefix};
  std::uint8_t subnet_timeout{18};  // 4.096 us x 2^n: PathRecord's packet life
  ib::Lid mlid_max{0xC3FF};         // by the smallest MulticastFDBCap

  std::size_t port_index(ib::fabric::PortRef p) const {
    return fabric.node(p.node).first_port + std::size_t{p.port};
  }
  const ib::wire::PortInfo& port_info(ib::fabric::PortRef p) const {
    return port_infos[port_index(p)];
  }
};
using SnapshotPtr = std::shared_ptr<const Snapshot>;

}  // namespace sm::core
