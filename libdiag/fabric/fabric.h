// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Fabric: a snapshot of nodes, ports and links as plain data; read from a file, a sweep or
// libibnetdisc, and input to routing, drawing, comparing and the simulated fabric. It keeps link
// *ends* (node and port), so a moved cable shows.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "libdiag/base/ids.h"
#include "libdiag/wire/rates.h"
#include "libdiag/wire/smp_attributes.h"

namespace ib::fabric {

using NodeIndex = std::uint32_t;
inline constexpr NodeIndex kNoNode = 0xFFFFFFFF;

/// One end of a link.
struct PortRef {
  NodeIndex node{kNoNode};
  std::uint8_t port{};
  explicit operator bool() const { return node != kNoNode; }
  friend auto operator<=>(const PortRef&, const PortRef&) = default;
};

struct Port {
  bool present{false};  // known at all (a CA port nobody saw is not)
  Guid guid{};          // of a switch: only port 0's means anything
  Lid lid{};            // end ports only (CA, router, switch port 0)
  std::uint8_t lmc{};
  PortRef peer;                                      // none: nothing plugged in, or not scanned
  wire::PortState state{wire::PortState::NoChange};  // NoChange: not known
  wire::PhysState phys_state{wire::PhysState::NoChange};
  wire::LinkWidth width{wire::LinkWidth::Unknown};
  wire::LinkSpeed speed{wire::LinkSpeed::Unknown};
  std::uint8_t vl_cap{};         // raw code, 0 unknown
  std::uint8_t mtu_cap{};        // raw code, 0 unknown
  std::uint8_t external_port{};  // chassis-external number, 0 none
};

struct Node {
  wire::NodeType type{wire::NodeType::ChannelAdapter};
  Guid guid{};
  Guid system_image_guid{};
  std::uint32_t vendor_id{};
  std::uint16_t device_id{};
  std::uint32_t revision{};
  std::uint8_t num_ports{};
  bool enhanced_port0{};
  std::string description;     // raw bytes; printable() before it is shown
  std::string map_name;        // of a node name map; empty: it names another node, or there is none
  std::string file_id;         // "S-0002c9...", as the file wrote it; empty if not from a file
  std::uint32_t first_port{};  // index of port 0 in Fabric::ports_

  bool is_switch() const { return type == wire::NodeType::Switch; }
  /// What people call it. Raw bytes, too.
  const std::string& name() const { return map_name.empty() ? description : map_name; }
};

/// The whole snapshot. Nodes are in the order they were added; ports of a node are contiguous,
/// 0..num_ports.
class Fabric {
 public:
  /// Room for so many, which then need not be moved as they are added.
  void reserve(std::size_t nodes, std::size_t ports);
  /// Adds a node with num_ports + 1 ports (port 0 of a CA or router stays absent).
  NodeIndex add_node(Node node);
  /// Records a cable between a and b on both ends, width and speed included.
  void connect(PortRef a, PortRef b, wire::LinkWidth width, wire::LinkSpeed speed);
  void disconnect(PortRef end);

  std::span<const Node> nodes() const { return nodes_; }
  std::size_t port_count() const { return ports_.size(); }
  const Node& node(NodeIndex n) const { return nodes_[n]; }
  Node& node(NodeIndex n) { return nodes_[n]; }
  /// Precondition: n and port exist.
  const Port& port(NodeIndex n, unsigned port) const { return ports_[nodes_[n].first_port + port]; }
  Port& port(NodeIndex n, unsigned port) { return ports_[nodes_[n].first_port + port]; }
  const Port& port(PortRef p) const { return port(p.node, p.port); }
  Port& port(PortRef p) { return port(p.node, p.port); }
  /// Ports 0..num_ports of node n.
  std::span<const Port> ports(NodeIndex n) const {
    return {ports_.data() + nodes_[n].first_port, nodes_[n].num_ports + std::size_t{1}};
  }

  std::optional<NodeIndex> find_node(Guid guid) const;
  std::optional<PortRef> find_port_guid(Guid guid) const;  // end ports; a switch's is port 0
  /// The end port that owns `lid`, LMC included. Built on first use; call reindex() after changing
  /// LIDs or GUIDs.
  std::optional<PortRef> find_lid(Lid lid) const;
  void reindex();

  std::size_t count(wire::NodeType type) const;
  std::size_t link_count() const;  // cables with both ends known

  // Where the snapshot came from (ibnetdiscover's header).
  Guid initiated_from_node{}, initiated_from_port{};

 private:
  std::vector<Node> nodes_;
  std::vector<Port> ports_;
  std::unordered_map<Guid, NodeIndex> by_guid_;
  mutable std::unordered_map<Guid, PortRef> by_port_guid_;
  mutable std::vector<PortRef> by_lid_;
  mutable bool indexed_{false};
};

/// The end port that stands for p: p itself on a CA or router, port 0 on a switch.
PortRef end_port_of(const Fabric& fabric, PortRef p);

}  // namespace ib::fabric
