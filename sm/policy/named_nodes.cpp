// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/policy/named_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>

#include "libdiag/base/text.h"
#include "sm/policy/partition_policy.h"
#include "sm/policy/words.h"

namespace sm::policy {
namespace {

/// Names of nodes in member lists and in the port groups that these name.
std::set<std::string_view> names_in(const PartitionPolicy& policy) {
  std::set<std::string_view> names;
  for (const Partition& partition : policy.partitions.all)
    for (const PartitionMember& member : partition.members) {
      if (member.who.kind == Selector::Kind::Node) names.insert(member.who.name);
      if (member.who.kind != Selector::Kind::Group) continue;
      for (const PortGroup& group : policy.port_groups)
        if (equal_words(group.name, member.who.name))
          for (const NamedPort& port : group.ports) names.insert(port.node);
    }
  return names;
}

}  // namespace

NamedNodes::NamedNodes(std::span<const EndPortFacts> ports) : ports_(ports) {
  entries_.reserve(ports.size());
  for (std::size_t i = 0; i < ports.size(); ++i) {
    if (!ports[i].map_name.empty()) entries_.push_back({ports[i].map_name, false, i});
    if (ports[i].map_name != ports[i].node_description)
      entries_.push_back({ports[i].node_description, true, i});
  }
  std::ranges::sort(entries_);
}

std::span<const NamedNodes::Entry> NamedNodes::entries(std::string_view name) const {
  const auto called = std::ranges::equal_range(entries_, name, {}, &Entry::name);
  const auto described = std::ranges::find(called, true, &Entry::described);
  return {called.begin(), described == called.begin() ? called.end() : described};
}

std::vector<ib::Guid> NamedNodes::nodes(std::string_view name) const {
  std::set<ib::Guid> found;
  for (const Entry& entry : entries(name)) found.insert(ports_[entry.port].node);
  return {found.begin(), found.end()};
}

std::vector<std::size_t> NamedNodes::ports(std::string_view name) const {
  std::vector<std::size_t> found;
  for (const Entry& entry : entries(name)) {
    if (ports_[entry.port].node != ports_[entries(name).front().port].node) return {};
    found.push_back(entry.port);
  }
  return found;
}

bool NamedNodes::means(std::string_view name, const EndPortFacts& port) const {
  if (!is_called(port, name)) return false;
  const auto meant = entries(name);
  return std::ranges::all_of(
      meant, [&](const Entry& entry) { return ports_[entry.port].node == port.node; });
}

std::vector<std::string> ambiguous_names(const PartitionPolicy& policy,
                                         std::span<const EndPortFacts> ports) {
  const auto names = names_in(policy);
  std::vector<std::string> lines;
  if (names.empty()) return lines;
  const NamedNodes known(ports);
  constexpr std::size_t kGuidsShown = 8;
  for (const std::string_view name : names) {
    const auto nodes = known.nodes(name);
    if (nodes.size() < 2) continue;
    std::string guids;
    for (std::size_t i = 0; i < std::min(nodes.size(), kGuidsShown); ++i)
      guids += (i == 0 ? "" : ", ") + to_string(nodes[i]);
    if (nodes.size() > kGuidsShown) guids += ", ...";
    lines.push_back(
        fmt::format("partitions: ambiguous name \"{}\", {} nodes have it ({}): none of them is a "
                    "member of a partition by it; specify their ports by GUID",
                    ib::printable(name), nodes.size(), guids));
  }
  return lines;
}

}  // namespace sm::policy
