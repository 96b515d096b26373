// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/against.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "libdiag/base/text.h"
#include "libdiag/fabric/text_file.h"
#include "sm/device/end_port_facts.h"
#include "sm/policy/partition_file.h"
#include "sm/policy/partition_policy.h"
#include "sm/policy/port_group_file.h"
#include "sm/policy/rate_file.h"

namespace sm::daemon {
namespace {

using ib::fabric::Fabric;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;

constexpr std::size_t kReportBytesMax = std::size_t{64} << 20;

class Against {
 public:
  explicit Against(const Fabric& topology) : fabric_(topology) {
    for (NodeIndex n = 0; n < fabric_.nodes().size(); ++n) {
      const auto& node = fabric_.node(n);
      const unsigned first = node.is_switch() ? 0 : 1, last = node.is_switch() ? 0 : node.num_ports;
      for (unsigned p = first; p <= last; ++p)
        ports_.push_back(end_port_facts(fabric_, {n, static_cast<std::uint8_t>(p)}, false));
    }
    nodes_.emplace(ports_);
  }

  void partitions(const std::string& path) {
    const auto text = read(path);
    if (!text) return;
    for (const auto& definition : policy::read_partition_file(*text, path).definitions)
      for (const auto& member : definition.members)
        if (auto why = nobody(member.who)) warn(path, member.place, *why);
  }

  void groups(const std::string& path) {
    const auto text = read(path);
    if (!text) return;
    if (policy::has_group_rules(*text)) return group_rules(path, *text);
    for (const auto& group : policy::read_qos_file(*text, path).groups) {
      // Members of partitions are whom the partition file says.
      if (group.self || !group.partitions.empty() || !group.p_keys.empty()) continue;
      if (!std::ranges::any_of(ports_, [&](const auto& port) { return names_port(group, port); }))
        warn(path, group.place, "port group '" + group.name + "' names no port of the topology");
    }
  }

  void group_rules(const std::string& path, std::string_view text) {
    const auto groups = policy::read_port_group_file(text, path).groups;
    std::vector<ib::fabric::GroupedNode> nodes;
    for (NodeIndex n = 0; n < fabric_.nodes().size(); ++n)
      nodes.push_back(grouped_node(fabric_, n));
    for (const auto& group : groups.defined())
      if (std::ranges::none_of(
              nodes, [&](const auto& node) { return groups.ports_of(group.name, node).any(); }))
        warn(path, group.place, "port group '" + group.name + "' names no port of the topology");
  }

  void rates(const std::string& path) {
    const auto text = read(path);
    if (!text) return;
    for (const auto& rule : policy::read_rate_file(*text, path).rules)
      if (rule.group.empty() && !has(rule.guid, rule.guid))
        warn(path, rule.place, "no port of the topology has GUID " + to_string(rule.guid));
  }

  void routing(const std::vector<ib::route::Mentions>& mentions) {
    std::ranges::move(ib::route::unknown_names(fabric_, mentions), std::back_inserter(lines_));
  }

  std::vector<std::string> take() { return std::move(lines_); }

 private:
  static std::optional<std::string> read(const std::string& path) {
    if (path.empty()) return std::nullopt;
    auto text = ib::fabric::read_regular_file(path, kReportBytesMax);
    return text ? std::optional(*std::move(text)) : std::nullopt;
  }

  bool has(ib::Guid first, ib::Guid last) const {
    return std::ranges::any_of(
        ports_, [&](const auto& port) { return first <= port.guid && port.guid <= last; });
  }

  /// Why an entry of a member list names nobody; nothing: it names somebody, or is not for us.
  std::optional<std::string> nobody(const policy::Selector& who) const {
    if (who.kind == policy::Selector::Kind::Guids) {
      if (has(who.first, who.last)) return std::nullopt;
      if (who.first != who.last)
        return fmt::format("no port of the topology has a GUID from {} to {}", to_string(who.first),
                           to_string(who.last));
      std::string why = "no port of the topology has GUID " + to_string(who.first);
      const auto node = fabric_.find_node(who.first);
      return node && !fabric_.node(*node).is_switch() ? why + "; a node has it" : why;
    }
    if (who.kind != policy::Selector::Kind::Node) return std::nullopt;
    const auto meant = nodes_->ports(who.name);
    const bool there = std::ranges::any_of(
        meant, [&](std::size_t at) { return !who.port || *who.port == ports_[at].port; });
    if (there) return std::nullopt;
    if (const auto several = nodes_->nodes(who.name); several.size() > 1)
      return fmt::format("{} nodes of the topology are called \"{}\", and none of them is meant",
                         several.size(), ib::printable(who.name));
    return fmt::format("the topology has no node \"{}\"{}", ib::printable(who.name),
                       who.port ? fmt::format(" with a port {}", *who.port) : "");
  }

  void warn(const std::string& path, ib::TextPlace place, std::string what) {
    lines_.push_back(
        to_string(ib::Diagnostic{ib::Severity::Warning, path, place, std::move(what)}));
  }

  const Fabric& fabric_;
  std::vector<policy::EndPortFacts> ports_;
  std::optional<policy::NamedNodes> nodes_;
  std::vector<std::string> lines_;
};

}  // namespace

std::vector<std::string> unknown_names(const Fabric& topology, const DaemonOptions& options) {
  Against against(topology);
  against.partitions(options.partition_files.file);
  const std::string& groups = options.partition_files.groups_file;
  against.groups(groups);
  if (options.sa.qos_policy_file != groups) against.groups(options.sa.qos_policy_file);
  against.rates(options.rates_file);
  against.routing(options.core.plan.mentions);
  return against.take();
}

}  // namespace sm::daemon
