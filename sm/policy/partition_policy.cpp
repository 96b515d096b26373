// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/policy/partition_policy.h"

#include "sm/policy/words.h"

namespace sm::policy {

bool names_port(const PortGroup& group, const EndPortFacts& port) {
  if (contains(group.guids, port.guid.value) || (group.self && port.is_sm)) return true;
  const bool kind =
      (group.cas && (port.kind == EndPortKind::Ca || port.kind == EndPortKind::Virtual)) ||
      (group.switches && port.kind == EndPortKind::Switch) ||
      (group.routers && port.kind == EndPortKind::Router);
  return kind || std::ranges::any_of(group.ports, [&](const NamedPort& named) {
           return named.port == port.port && named.node == port.node_description;
         });
}

std::vector<std::vector<PortPartition>> PartitionPolicy::keys_of(
    std::span<const EndPortFacts> ports) const {
  MembershipOptions options;
  options.allow_both = allow_both;
  options.in_group = [this](std::string_view name, const EndPortFacts& port) {
    return std::ranges::any_of(port_groups, [&](const PortGroup& group) {
      return equal_words(group.name, name) && names_port(group, port);
    });
  };
  return port_partitions(partitions, ports, options);
}

}  // namespace sm::policy
