// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// PortGroups: named sets of ports of a fabric, by rules: GUIDs, names of hosts, expressions on
// NodeDescriptions, and other groups. Files of such groups are read elsewhere
// (sm/policy/port_group_file.h); here is what they mean.
#pragma once

#include <bitset>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "libdiag/base/diagnostic.h"
#include "libdiag/base/expression.h"
#include "libdiag/fabric/fabric.h"

namespace ib::fabric {

/// Ports of one node, by their numbers.
using PortBits = std::bitset<256>;

/// What rules go by, of a node.
struct GroupedNode {
  wire::NodeType type{wire::NodeType::ChannelAdapter};
  Guid guid{};
  std::string_view description;
  bool aggregates{false};  // an aggregation node
  PortBits ports;          // that it has; of a switch port 0, too
  PortBits to_switches;    // ports of a switch with a cable to another switch
  std::vector<std::pair<Guid, std::uint8_t>> end_ports;  // by port GUID
};
/// Valid as long as the fabric.
GroupedNode grouped_node(const Fabric& fabric, NodeIndex node);

/// A node by its GUID, or one port by its own; a switch by either.
struct GuidRule {
  struct Ports {
    Guid guid{};
    std::optional<PortBits> only;  // nothing: all
    std::uint32_t line{};          // of the file
  };
  std::vector<Ports> of;  // by GUID
};
struct GuidRangeRule {
  Guid first{}, last{};  // both included
};
/// CAs whose NodeDescription begins with the name of their host.
struct HostRule {
  struct Host {
    std::string name;
    std::optional<std::uint8_t> port;
    std::optional<std::uint32_t> hca;  // the number that the second word ends in: HCA-1, mlx5_1
  };
  std::vector<Host> of;
};
/// Nodes in whose NodeDescription an expression is found.
struct ExpressionRule {
  std::shared_ptr<const Expression> expression;
  std::optional<std::uint8_t> port;
};
/// Ports of two groups together, or those of `first` without those of `second`.
struct CombiningRule {
  enum class Kind { Union, Subtraction } kind{};
  std::string first, second;
};
/// Groups that there are without being defined.
struct KindRule {
  PortBits (*ports)(const GroupedNode&){};
};
using PortRule =
    std::variant<GuidRule, GuidRangeRule, HostRule, ExpressionRule, CombiningRule, KindRule>;

struct PortGroup {
  std::string name, use;
  std::vector<PortRule> rules;  // a port is in the group by any of them
  TextPlace place;              // where it is defined
};

class PortGroups {
 public:
  /// Groups that stand on each other more than this deep have no ports, and no file has such.
  static constexpr unsigned kNestingMost = 32;
  /// ALL, ALL_SWITCHES, ALL_CAS, ALL_ANS (aggregation nodes), ALL_SWITCH_TO_SWITCH (ports of
  /// switches that lead to other switches).
  static std::span<const std::string_view> predefined();

  /// Names are those of no other and of no predefined group, whatever their case.
  explicit PortGroups(std::vector<PortGroup> defined);
  PortGroups() : PortGroups(std::vector<PortGroup>{}) {}

  /// Whatever the case. nullptr: there is none.
  const PortGroup* find(std::string_view name) const;
  /// Those of a file.
  std::span<const PortGroup> defined() const;
  /// The ports of the node that are in the group; none where there is no such group.
  PortBits ports_of(std::string_view group, const GroupedNode& node) const;

 private:
  std::optional<std::size_t> index_of(std::string_view name) const;
  PortBits ports_of(std::size_t group, const GroupedNode& node, unsigned depth,
                    std::map<std::size_t, PortBits>& known) const;

  std::vector<PortGroup> groups_;               // the predefined ones first
  std::map<std::string, std::size_t> by_name_;  // in small letters
};

}  // namespace ib::fabric
