// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The one shape that a node, a port, a link and a hop have in all documents (doc/formats.md).
#pragma once

#include "libdiag/fabric/names.h"
#include "libdiag/report/json.h"

namespace ib::report {

/// What is known of a node, wherever it is known from. GUID 0: unknown.
struct NodeShape {
  std::optional<wire::NodeType> type;
  Guid guid{};
  std::string name;
  friend bool operator==(const NodeShape&, const NodeShape&) = default;
};
NodeShape node_shape(const fabric::Node& node);

/// What is known of a port, wherever it is known from. GUID 0: unknown.
struct PortShape {
  std::optional<wire::NodeType> type;
  Guid node_guid{};
  std::string name;
  std::uint8_t port{};
  Guid port_guid{};
  Lid lid{};
  friend bool operator==(const PortShape&, const PortShape&) = default;
};
PortShape port_shape(const fabric::Fabric& fabric, fabric::PortRef port,
                     const fabric::NodeNames* names = nullptr);
/// By its GUID; of one that the fabric (null: nothing is known) does not have that alone.
PortShape port_shape(const fabric::Fabric* fabric, Guid port_guid);
/// "leaf-003" port 9; by its GUID, without quotes, where it has no name.
std::string port_text(const PortShape& port);

// Members of the object that is open.

/// type, node_guid, name
void write_node(JsonWriter& json, const fabric::Node& node,
                const fabric::NodeNames* names = nullptr);
void write_node(JsonWriter& json, const NodeShape& node);
/// Those of its node, port, port_guid, lid
void write_port(JsonWriter& json, const PortShape& port);
/// Those of its node, port_guid, lid, ingress_port, egress_port; port 0: none.
void write_hop(JsonWriter& json, const fabric::Fabric& fabric, fabric::NodeIndex node,
               std::uint8_t ingress_port, std::uint8_t egress_port);
/// from and to, ports as above
void write_link_ends(JsonWriter& json, const PortShape& from, const PortShape& to);

}  // namespace ib::report
