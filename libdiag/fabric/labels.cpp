// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/fabric/labels.h"

#include "libdiag/base/text.h"

namespace ib::fabric {
namespace {

std::string quoted(const Node& node) { return '"' + printable(node.name()) + '"'; }
std::string behind(const std::string& node, PortRef at) {
  return node + " port " + std::to_string(at.port);
}

}  // namespace

std::string node_label(const Node& node) { return to_string(node.guid) + ' ' + quoted(node); }

std::string port_label(const Fabric& fabric, PortRef at) {
  return behind(node_label(fabric.node(at.node)), at);
}

std::string port_name(const Fabric& fabric, PortRef at) {
  return behind(quoted(fabric.node(at.node)), at);
}

}  // namespace ib::fabric
