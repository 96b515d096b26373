// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/fabric/port_groups.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "libdiag/base/text.h"
#include "libdiag/fabric/aggregation_node.h"

namespace ib::fabric {
namespace {

PortBits all_if(bool is_meant, const GroupedNode& node) {
  return is_meant ? node.ports : PortBits{};
}

constexpr std::array<std::string_view, 5> kNames = {"ALL", "ALL_SWITCHES", "ALL_CAS", "ALL_ANS",
                                                    "ALL_SWITCH_TO_SWITCH"};
/// In the order of the names.
constexpr std::array<PortBits (*)(const GroupedNode&), kNames.size()> kKinds = {
    [](const GroupedNode& node) { return node.ports; },
    [](const GroupedNode& node) { return all_if(node.type == wire::NodeType::Switch, node); },
    [](const GroupedNode& node) {
      return all_if(node.type == wire::NodeType::ChannelAdapter, node);
    },
    [](const GroupedNode& node) { return all_if(node.aggregates, node); },
    [](const GroupedNode& node) { return node.to_switches; }};

std::string in_small_letters(std::string_view name) {
  std::string small(name);
  for (char& c : small)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return small;
}

PortBits only(const std::optional<std::uint8_t>& port, const PortBits& ports) {
  return port ? ports & PortBits{}.set(*port) : ports;
}

/// What a rule alone says; of those that combine groups nothing.
struct Alone {
  const GroupedNode& node;

  PortBits operator()(const GuidRule& rule) const {
    PortBits ports;
    const auto add = [&](Guid guid, const PortBits& meant) {
      const auto at = std::ranges::lower_bound(rule.of, guid, {}, &GuidRule::Ports::guid);
      if (at != rule.of.end() && at->guid == guid) ports |= at->only ? meant & *at->only : meant;
    };
    add(node.guid, node.ports);
    for (const auto& [guid, port] : node.end_ports) add(guid, meant_by(port));
    return ports;
  }
  PortBits operator()(const GuidRangeRule& rule) const {
    const auto has = [&](Guid guid) { return rule.first <= guid && guid <= rule.last; };
    if (has(node.guid)) return node.ports;
    PortBits ports;
    for (const auto& [guid, port] : node.end_ports)
      if (has(guid)) ports |= meant_by(port);
    return ports;
  }
  PortBits operator()(const HostRule& rule) const {
    if (node.type != wire::NodeType::ChannelAdapter) return {};
    PortBits ports;
    for (const HostRule::Host& host : rule.of)
      if (is_of(host)) ports |= only(host.port, node.ports);
    return ports;
  }
  PortBits operator()(const ExpressionRule& rule) const {
    return rule.expression->matches(printable(node.description)) ? only(rule.port, node.ports)
                                                                 : PortBits{};
  }
  PortBits operator()(const CombiningRule&) const { return {}; }
  PortBits operator()(const KindRule& rule) const { return rule.ports(node); }

 private:
  PortBits meant_by(std::uint8_t port) const {
    return node.type == wire::NodeType::Switch ? node.ports : PortBits{}.set(port);
  }
  bool is_of(const HostRule::Host& host) const {
    const std::string_view whole = trim(node.description);
    if (!whole.starts_with(host.name)) return false;
    const std::string_view rest = whole.substr(host.name.size());
    if (!rest.empty() && rest.front() != ' ') return false;
    if (!host.hca) return true;
    const std::string_view second = trim(rest).substr(0, trim(rest).find(' '));
    const auto last = second.find_last_not_of("0123456789");
    std::uint64_t number = 0;
    return last != std::string_view::npos && last + 1 < second.size() &&
           parse_number(second.substr(last + 1), UINT32_MAX, number) && number == *host.hca;
  }
};

}  // namespace

GroupedNode grouped_node(const Fabric& fabric, NodeIndex node) {
  const Node& of = fabric.node(node);
  GroupedNode out{of.type, of.guid, of.description, is_aggregation_node(of), {}, {}, {}};
  for (unsigned p = of.is_switch() ? 0 : 1; p <= of.num_ports; ++p) {
    out.ports.set(p);
    const Port& port = fabric.port(node, p);
    if (of.is_switch() && port.peer && port.peer.node != node &&
        fabric.node(port.peer.node).is_switch())
      out.to_switches.set(p);
    if (port.guid.value != 0 && (p == 0 || !of.is_switch()))
      out.end_ports.emplace_back(port.guid, static_cast<std::uint8_t>(p));
  }
  return out;
}

std::span<const std::string_view> PortGroups::predefined() { return kNames; }

PortGroups::PortGroups(std::vector<PortGroup> defined) {
  groups_.reserve(kNames.size() + defined.size());
  for (std::size_t i = 0; i < kNames.size(); ++i)
    groups_.push_back({std::string(kNames[i]), {}, {KindRule{kKinds[i]}}, {}});
  std::ranges::move(defined, std::back_inserter(groups_));
  for (std::size_t i = 0; i < groups_.size(); ++i)
    by_name_.emplace(in_small_letters(groups_[i].name), i);
}

std::optional<std::size_t> PortGroups::index_of(std::string_view name) const {
  const auto at = by_name_.find(in_small_letters(name));
  return at == by_name_.end() ? std::nullopt : std::optional(at->second);
}

const PortGroup* PortGroups::find(std::string_view name) const {
  const auto at = index_of(name);
  return at ? &groups_[*at] : nullptr;
}

std::span<const PortGroup> PortGroups::defined() const {
  return std::span(groups_).subspan(kNames.size());
}

PortBits PortGroups::ports_of(std::string_view group, const GroupedNode& node) const {
  const auto at = index_of(group);
  std::map<std::size_t, PortBits> known;
  return at ? ports_of(*at, node, 0, known) : PortBits{};
}

PortBits PortGroups::ports_of(std::size_t group, const GroupedNode& node, unsigned depth,
                              std::map<std::size_t, PortBits>& known) const {
  if (const auto at = known.find(group); at != known.end()) return at->second;
  if (depth > kNestingMost) return {};
  const auto of = [&](const std::string& name) {
    const auto at = index_of(name);
    return at ? ports_of(*at, node, depth + 1, known) : PortBits{};
  };
  PortBits ports;
  for (const PortRule& rule : groups_[group].rules) {
    const auto* combines = std::get_if<CombiningRule>(&rule);
    if (combines == nullptr) {
      ports |= std::visit(Alone{node}, rule);
      continue;
    }
    const PortBits first = of(combines->first), second = of(combines->second);
    ports |= combines->kind == CombiningRule::Kind::Union ? first | second : first & ~second;
  }
  known.emplace(group, ports);
  return ports;
}

}  // namespace ib::fabric
