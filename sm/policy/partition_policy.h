// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// PartitionPolicy: the partitions in force, with what is needed to say which ports are members.
// Immutable; planner and subnet administration share it.
#pragma once

#include <string_view>
#include <vector>

#include "sm/policy/named_nodes.h"
#include "sm/policy/partitions.h"
#include "sm/policy/qos_file.h"

namespace sm::policy {

struct PartitionPolicy {
  Partitions partitions{open_partitions()};
  bool from_file{false};               // false: one partition, and everybody a full member
  std::vector<PortGroup> port_groups;  // that member lists may name
  bool allow_both{false};              // MembershipOptions::allow_both

  /// The keys of each of `ports`, as port_partitions() says.
  std::vector<std::vector<PortPartition>> keys_of(std::span<const EndPortFacts> ports) const;
};

/// Whether a group names the port by GUID, by name or by kind. Its lines of partitions and P_Keys
/// do not count: what they say hangs on what is decided here. With `nodes` a name that several of
/// them have names none of them.
bool names_port(const PortGroup& group, const EndPortFacts& port,
                const NamedNodes* nodes = nullptr);

/// An error in `diagnostics` for each name in a member list of `file` that is no port group of
/// `groups`, which are those of `groups_file` (empty: there is no file of port groups).
void check_groups(const PartitionFile& file, const std::string& file_name,
                  std::span<const PortGroup> groups, const std::string& groups_file,
                  std::vector<ib::Diagnostic>& diagnostics);

}  // namespace sm::policy
