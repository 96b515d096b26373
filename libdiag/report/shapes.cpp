// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/report/shapes.h"

#include "libdiag/base/text.h"
#include "libdiag/wire/words.h"

namespace ib::report {
namespace {

void write_guid(JsonWriter& json, const char* key, Guid guid) {
  json.key(key);
  guid.value != 0 ? json.value(guid) : json.null();
}

void write_node_members(JsonWriter& json, std::optional<wire::NodeType> type, Guid guid,
                        const std::string& name) {
  json.key("type");
  type ? json.value(wire::type_word(*type)) : json.null();
  write_guid(json, "node_guid", guid);
  json.field("name", name);
}

}  // namespace

PortShape port_shape(const fabric::Fabric& fabric, fabric::PortRef port,
                     const fabric::NodeNames* names) {
  const fabric::Node& node = fabric.node(port.node);
  const fabric::Port& end = fabric.port(fabric::end_port_of(fabric, port));
  PortShape shape;
  shape.type = node.type;
  shape.node_guid = node.guid;
  shape.name = names != nullptr ? names->name_of(node) : node.name();
  shape.port = port.port;
  shape.port_guid = node.is_switch() ? node.guid : end.guid;
  shape.lid = end.lid;
  return shape;
}

PortShape port_shape(const fabric::Fabric* fabric, Guid port_guid) {
  const auto port = fabric != nullptr ? fabric->find_port_guid(port_guid) : std::nullopt;
  PortShape shape;
  if (port) shape = port_shape(*fabric, *port);
  shape.port_guid = port_guid;
  return shape;
}

NodeShape node_shape(const fabric::Node& node) { return {node.type, node.guid, node.name()}; }

std::string port_text(const PortShape& port) {
  const std::string name =
      port.name.empty() ? to_string(port.node_guid) : '"' + printable(port.name) + '"';
  return name + " port " + std::to_string(port.port);
}

void write_node(JsonWriter& json, const NodeShape& node) {
  write_node_members(json, node.type, node.guid, node.name);
}

void write_node(JsonWriter& json, const fabric::Node& node, const fabric::NodeNames* names) {
  write_node_members(json, node.type, node.guid,
                     names != nullptr ? names->name_of(node) : node.name());
}

void write_port(JsonWriter& json, const PortShape& port) {
  write_node_members(json, port.type, port.node_guid, port.name);
  json.field("port", port.port);
  write_guid(json, "port_guid", port.port_guid);
  json.field("lid", port.lid);
}

void write_hop(JsonWriter& json, const fabric::Fabric& fabric, fabric::NodeIndex node,
               std::uint8_t ingress_port, std::uint8_t egress_port) {
  const auto shape = port_shape(fabric, {node, ingress_port != 0 ? ingress_port : egress_port});
  write_node_members(json, shape.type, shape.node_guid, shape.name);
  write_guid(json, "port_guid", shape.port_guid);
  json.field("lid", shape.lid)
      .field("ingress_port", ingress_port)
      .field("egress_port", egress_port);
}

void write_link_ends(JsonWriter& json, const PortShape& from, const PortShape& to) {
  for (const auto& [key, end] : {std::pair{"from", &from}, std::pair{"to", &to}}) {
    json.key(key).begin_object();
    write_port(json, *end);
    json.end_object();
  }
}

}  // namespace ib::report
