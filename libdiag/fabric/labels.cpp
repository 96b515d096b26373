// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/fabric/labels.h"

#include "libdiag/base/text.h"
#include "libdiag/fabric/makers.h"

namespace ib::fabric {
namespace {

/// A node that nobody has named, or that did not tell its name.
bool is_known_by_its_maker(const Node& node) { return node.name().empty() && node.vendor_id != 0; }

std::string quoted(const Node& node) {
  if (is_known_by_its_maker(node)) return '(' + device_label(node.vendor_id, node.device_id) + ')';
  return '"' + printable(node.name()) + '"';
}
std::string behind(const std::string& node, PortRef at) {
  return node + " port " + std::to_string(at.port);
}

}  // namespace

std::string node_label(const Node& node) { return to_string(node.guid) + ' ' + quoted(node); }

std::string port_label(const Fabric& fabric, PortRef at) {
  return behind(node_label(fabric.node(at.node)), at);
}

std::string port_name(const Fabric& fabric, PortRef at) {
  const Node& node = fabric.node(at.node);
  return behind(is_known_by_its_maker(node) ? node_label(node) : quoted(node), at);
}

}  // namespace ib::fabric
