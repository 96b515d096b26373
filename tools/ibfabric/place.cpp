// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibfabric/place.h"

#include "libdiag/base/text.h"
#include "libdiag/fabric/names.h"

namespace ibfabric {

using ib::ErrorKind;
using ib::Result;
using ib::fabric::Fabric;
using ib::fabric::NodeIndex;

Result<NodeIndex> find_node(const Fabric& fabric, std::string_view text) {
  text = ib::trim(text);
  std::uint64_t number = 0;
  if (text.starts_with('@') && !fabric.nodes().empty() &&
      ib::parse_number(text.substr(1), fabric.nodes().size() - 1, number)) {
    return static_cast<NodeIndex>(number);
  }
  return ib::fabric::find_node(fabric, text);
}

bool is_host_port(const Fabric& fabric, ib::fabric::PortRef port) {
  const auto& node = fabric.node(port.node);
  return node.is_switch() ? port.port == 0 : port.port >= 1 && port.port <= node.num_ports;
}

Result<Place> find_place(const Fabric& fabric, std::string_view text) {
  if (text.empty()) {
    for (NodeIndex n = 0; n < fabric.nodes().size(); ++n) {
      if (fabric.node(n).type == ib::wire::NodeType::ChannelAdapter) return Place{n, std::nullopt};
    }
    return ib::fail(ErrorKind::Usage, "the topology has no channel adapter");
  }
  const auto whole = ibfabric::find_node(fabric, text);
  if (whole) return Place{*whole, std::nullopt};
  const auto colon = text.rfind(':');
  std::uint64_t port = 0;
  if (colon == std::string_view::npos || !ib::parse_number(text.substr(colon + 1), 255, port)) {
    return tl::unexpected(whole.error());
  }
  const auto node = ibfabric::find_node(fabric, text.substr(0, colon));
  if (!node) return tl::unexpected(node.error());
  const Place place{*node, static_cast<std::uint8_t>(port)};
  if (!is_host_port(fabric, {place.node, *place.port})) {
    return ib::fail(ErrorKind::Usage, describe_node(fabric, *node) + " has no port " +
                                          std::to_string(port) + " for a host's software");
  }
  return place;
}

std::string describe_node(const Fabric& fabric, NodeIndex node) {
  const auto& n = fabric.node(node);
  return "'" + ib::printable(n.description) + "' (" + ib::to_string(n.guid) + ")";
}

}  // namespace ibfabric
