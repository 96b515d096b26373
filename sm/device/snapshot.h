// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Snapshot: the subnet as the subnet manager last knew it, immutable and shared. The SA answers
// from it alone, so a query never waits for a sweep. A new one is published before ports are made
// ACTIVE (LIDs and routes stand, states are behind) and again when a sweep has ended.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "libdiag/discover/observed.h"
#include "sm/device/routing.h"
#include "sm/device/virtual_ports.h"
#include "sm/policy/partition_policy.h"

namespace sm {

/// Entries of forwarding tables that are not what switches held, and in how many switches.
struct Changed {
  std::uint64_t entries{0}, switches{0};
};

struct Snapshot {
  std::uint64_t generation{0};  // grows with every publication
  /// Nodes, ports, cables, LIDs (observed->fabric), and every attribute as answered. Never null.
  std::shared_ptr<const ib::discover::Observed> observed;
  /// Node indexes of `graph` are those of observed->fabric. Null before the first routing.
  std::shared_ptr<const Routing> routing;

  /// While `routing` is the first: what it changed. None: switches held nothing, or nobody looked.
  std::optional<Changed> changed_at_start;

  ib::fabric::PortRef sm_port;  // end port of the subnet manager; on a switch port 0
  ib::Lid sm_lid{};
  ib::Sl sm_sl{};
  ib::Guid sm_port_guid{};
  /// What the P_Key tables of end ports were made by. Never null.
  std::shared_ptr<const policy::PartitionPolicy> partitions{
      std::make_shared<const policy::PartitionPolicy>()};
  std::uint64_t subnet_prefix{ib::kDefaultSubnetPrefix};
  std::uint8_t subnet_timeout{18};    // as programmed into PortInfo
  std::uint8_t packet_life_time{18};  // as programmed into SwitchInfo:LifeTimeValue
  bool up{false};                     // every port whose SMA answered is ACTIVE
  /// Tables that devices do not take, by node and attribute; PortInfo where the LID of another
  /// subnet manager is kept.
  std::set<std::pair<ib::Guid, std::uint16_t>> refused_tables;
  /// SLs, a bit each, that ports of hosts drop by the SLtoVLMappingTable that they keep; ports that
  /// drop none are absent.
  std::map<ib::fabric::PortRef, std::uint16_t> dropped_by_hosts;

  VirtualPortsPtr virtual_ports;      // null: no port has any
  bool virtual_ports_to_come{false};  // they were not looked for yet

  const ib::fabric::Fabric& fabric() const { return observed->fabric; }
};
using SnapshotPtr = std::shared_ptr<const Snapshot>;

}  // namespace sm
