// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/policy/partition_policy.h"

#include <fmt/format.h>

#include <optional>

#include "libdiag/base/text.h"
#include "sm/policy/words.h"

namespace sm::policy {
namespace {

/// What of its node is known of an end port.
ib::fabric::GroupedNode grouped(const EndPortFacts& port) {
  using ib::wire::NodeType;
  ib::fabric::GroupedNode node;
  node.type = port.kind == EndPortKind::Switch   ? NodeType::Switch
              : port.kind == EndPortKind::Router ? NodeType::Router
                                                 : NodeType::ChannelAdapter;
  node.guid = port.node;
  node.description = port.node_description;
  node.aggregates = port.aggregates;
  node.ports.set(port.port);
  node.end_ports.emplace_back(port.guid, port.port);
  return node;
}

}  // namespace

bool names_port(const PortGroup& group, const EndPortFacts& port, const NamedNodes* nodes) {
  if (group.rules != nullptr)
    return group.rules->ports_of(group.name, grouped(port)).test(port.port);
  if (contains(group.guids, port.guid.value) || (group.self && port.is_sm)) return true;
  const bool kind =
      (group.cas && (port.kind == EndPortKind::Ca || port.kind == EndPortKind::Virtual)) ||
      (group.switches && port.kind == EndPortKind::Switch) ||
      (group.routers && port.kind == EndPortKind::Router);
  return kind || std::ranges::any_of(group.ports, [&](const NamedPort& named) {
           return named.port == port.port &&
                  (nodes != nullptr ? nodes->means(named.node, port) : is_called(port, named.node));
         });
}

void check_groups(const PartitionFile& file, const std::string& file_name,
                  std::span<const PortGroup> groups, const std::string& groups_file,
                  std::vector<ib::Diagnostic>& diagnostics) {
  std::vector<std::string_view> known = {"ALL",         "ALL_CAS",  "ALL_SWITCHES",
                                         "ALL_ROUTERS", "ALL_VCAS", "SELF"};
  for (const PortGroup& group : groups) known.push_back(group.name);
  for (const PartitionDefinition& definition : file.definitions)
    for (const Member& member : definition.members) {
      if (member.who.kind != Selector::Kind::Group) continue;
      const bool there = std::ranges::any_of(
          groups, [&](const PortGroup& group) { return equal_words(group.name, member.who.name); });
      if (there) continue;
      std::string hint = did_you_mean(member.who.name, known);
      if (hint.empty()) hint = "; the name of a node stands in quotes";
      const std::string what = groups_file.empty()
                                   ? "would be a port group, and no file of port groups is given"
                                   : "is no port group of " + groups_file;
      diagnostics.push_back({ib::Severity::Error, file_name, member.place,
                             fmt::format("'{}' {}{}", ib::printable(member.who.name), what, hint)});
    }
}

std::vector<std::vector<PortPartition>> PartitionPolicy::keys_of(
    std::span<const EndPortFacts> ports) const {
  MembershipOptions options;
  options.allow_both = allow_both;
  std::optional<NamedNodes> nodes;
  if (!port_groups.empty()) nodes.emplace(ports);
  options.in_group = [&](std::string_view name, const EndPortFacts& port) {
    return std::ranges::any_of(port_groups, [&](const PortGroup& group) {
      return equal_words(group.name, name) && names_port(group, port, &*nodes);
    });
  };
  return port_partitions(partitions, ports, options);
}

}  // namespace sm::policy
