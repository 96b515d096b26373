// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/device/end_port_facts.h"

#include "libdiag/fabric/aggregation_node.h"

namespace sm {
namespace {

policy::EndPortKind kind_of(ib::wire::NodeType type) {
  switch (type) {
    case ib::wire::NodeType::Switch:
      return policy::EndPortKind::Switch;
    case ib::wire::NodeType::Router:
      return policy::EndPortKind::Router;
    default:
      return policy::EndPortKind::Ca;
  }
}

}  // namespace

policy::EndPortFacts end_port_facts(const ib::fabric::Fabric& fabric, ib::fabric::PortRef port,
                                    bool is_sm) {
  const auto& node = fabric.node(port.node);
  policy::EndPortFacts facts;
  // A switch read from a file has no GUID at port 0.
  const ib::Guid own = fabric.port(port).guid;
  facts.guid = node.is_switch() && own == ib::Guid{} ? node.guid : own;
  facts.kind = kind_of(node.type);
  facts.node_description = node.description;
  facts.map_name = node.map_name;
  facts.node = node.guid;
  facts.port = port.port;
  facts.is_sm = is_sm;
  facts.aggregates = is_aggregation_node(node);
  return facts;
}

}  // namespace sm
