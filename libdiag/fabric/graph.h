// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// CompactGraph: the switch graph as arrays, the form every routing engine and verifier works on.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "libdiag/fabric/fabric.h"

namespace ib::fabric {

using SwitchIndex = std::uint32_t;
inline constexpr SwitchIndex kNoSwitch = 0xFFFFFFFF;

/// A directed link out of a switch.
struct Arc {
  SwitchIndex to{kNoSwitch};
  std::uint8_t out_port{};
  std::uint8_t in_port{};  // at the far switch
};

/// A LID to be reached: where it hangs.
struct Destination {
  Lid lid{};
  SwitchIndex leaf{kNoSwitch};
  std::uint8_t port{};  // of the leaf; 0: the switch itself
  PortRef end_port;
  bool is_host{false};  // of a CA or router that is no aggregation node and no node of `no_hosts`
  bool is_switch() const { return port == 0; }
};

class CompactGraph {
 public:
  /// Builds from the switches of `fabric`. Only cables whose two ends are not Down count. Behind
  /// CAs and routers whose node or port GUID is among `no_hosts` is no host, as behind aggregation
  /// nodes.
  explicit CompactGraph(const Fabric& fabric, std::span<const Guid> no_hosts = {});

  std::size_t switch_count() const { return node_of_.size(); }
  NodeIndex node_of(SwitchIndex s) const { return node_of_[s]; }
  SwitchIndex switch_of(NodeIndex n) const { return switch_of_[n]; }  // kNoSwitch for others
  /// Arcs out of s to other switches, ascending by out_port.
  std::span<const Arc> arcs(SwitchIndex s) const {
    return {arcs_.data() + first_arc_[s], first_arc_[s + 1] - first_arc_[s]};
  }
  std::size_t arc_count() const { return arcs_.size(); }
  std::size_t arc_index(SwitchIndex s, std::size_t i) const { return first_arc_[s] + i; }
  unsigned max_ports() const { return max_ports_; }
  std::uint8_t num_ports(SwitchIndex s) const { return num_ports_[s]; }
  Guid guid(SwitchIndex s) const { return guid_[s]; }

  /// Every unicast LID in use, ascending, LMC expanded.
  std::span<const Destination> destinations() const { return destinations_; }
  /// Number of host ports (Destination::is_host) at each switch.
  std::span<const std::uint32_t> attached() const { return attached_; }
  /// Number of CA and router ports at each switch, those without a host included: who sends.
  std::span<const std::uint32_t> end_ports() const { return end_ports_; }
  Lid max_lid() const { return max_lid_; }

 private:
  std::vector<NodeIndex> node_of_;
  std::vector<SwitchIndex> switch_of_;
  std::vector<std::size_t> first_arc_;
  std::vector<Arc> arcs_;
  std::vector<std::uint8_t> num_ports_;
  std::vector<Guid> guid_;
  std::vector<Destination> destinations_;
  std::vector<std::uint32_t> attached_, end_ports_;
  unsigned max_ports_{};
  Lid max_lid_{};
};

/// Pieces that no link joins: a number for each switch, from 0 in the order of their first switch.
struct Pieces {
  std::vector<std::uint32_t> of;
  std::uint32_t count{};
};
Pieces pieces_of(const CompactGraph& graph);

}  // namespace ib::fabric
