// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Partitions: what the definitions of a partition file amount to, one entry a P_Key; and which
// ports are members of which. Values; nothing here knows a fabric or a table of a device.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libdiag/base/diagnostic.h"
#include "libdiag/base/ids.h"
#include "sm/policy/partition_file.h"

namespace sm::policy {

/// One multicast group that a partition creates and keeps.
struct PartitionGroup {
  ib::Gid mgid;
  std::uint8_t rate{3}, mtu{4}, sl{0}, scope{2};  // codes: 10 Gb/s, 2048 bytes, link-local
  std::uint32_t q_key{0};
  std::uint8_t traffic_class{0};
  std::uint32_t flow_label{0};
  friend bool operator==(const PartitionGroup&, const PartitionGroup&) = default;
};

/// An entry of a member list, with what its definition says of it.
struct PartitionMember {
  Selector who;
  Membership membership{Membership::Limited};
  bool index0{false};
  friend bool operator==(const PartitionMember&, const PartitionMember&) = default;
};

struct Partition {
  std::string name;          // of the first definition
  std::uint16_t p_key{};     // without the membership bit
  bool generated{false};     // the file does not say the key
  std::optional<ib::Sl> sl;  // of the partition's traffic, where said
  std::vector<PartitionGroup> groups;
  std::vector<PartitionMember>
      members;  // a later entry replaces what an earlier one says of a port
  friend bool operator==(const Partition&, const Partition&) = default;
};

/// In the order of the file; the default partition (0x7FFF) first, and always there.
struct Partitions {
  std::vector<Partition> all;
  friend bool operator==(const Partitions&, const Partitions&) = default;
};

/// Without a partition file: everybody is a full member of the default partition, which has the
/// IPv4 broadcast group.
Partitions open_partitions();

/// P_Keys that were generated for names, now or before. A key stays with its name for ever.
using GeneratedKeys = std::map<std::string, std::uint16_t, std::less<>>;

/// Merges the definitions of a file by P_Key. Generates keys for those without one: that which
/// `keys` has for the name, else the lowest from 1 that neither the file nor another name uses,
/// which `keys` has then; those `in_use` are somebody else's and are not generated. What is wrong,
/// or odd, goes to `diagnostics` under the name `file_name`.
Partitions merge_definitions(const PartitionFile& file, const std::string& file_name,
                             GeneratedKeys& keys, std::vector<ib::Diagnostic>& diagnostics,
                             const std::set<std::uint16_t>& in_use = {});

/// The IPv4 broadcast group of a partition (RFC 4391): ff1<scope>:401b:<P_Key|0x8000>::ffff:ffff.
ib::Gid broadcast_mgid(std::uint16_t p_key, std::uint8_t scope);

enum class EndPortKind : std::uint8_t { Ca, Switch, Router, Virtual };

/// What membership depends on, of one end port.
struct EndPortFacts {
  ib::Guid guid;
  EndPortKind kind{EndPortKind::Ca};
  std::string_view node_description;
  std::uint8_t port{};
  bool is_sm{false};
  std::string_view map_name{};  // of the node name map; empty: none
  ib::Guid node{};
  bool aggregates{false};  // of an aggregation node
};
/// Files may name a node by its NodeDescription, and by what the node name map calls it.
inline bool is_called(const EndPortFacts& port, std::string_view node_name) {
  return port.node_description == node_name ||
         (!port.map_name.empty() && port.map_name == node_name);
}

/// One P_Key that a port is to have.
struct PortPartition {
  ib::PKey p_key;      // with the membership bit
  bool index0{false};  // at index 0 of its table
  friend bool operator==(const PortPartition&, const PortPartition&) = default;
};

struct MembershipOptions {
  bool allow_both{false};  // limited and full key of one partition in one table (allow_both_pkeys)
  /// Whether the port is in the port group; empty: there are no groups.
  std::function<bool(std::string_view group, const EndPortFacts&)> in_group;
};

/// For each of `ports` its keys in the order of the file, the default partition's first. The subnet
/// manager's port is a full member of the default partition whatever the file says; every other
/// port is at least a limited one.
std::vector<std::vector<PortPartition>> port_partitions(const Partitions& partitions,
                                                        std::span<const EndPortFacts> ports,
                                                        const MembershipOptions& options = {});

}  // namespace sm::policy
