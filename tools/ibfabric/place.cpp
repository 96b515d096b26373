// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibfabric/place.h"

#include <vector>

#include "libdiag/base/text.h"

namespace ibfabric {

using ib::ErrorKind;
using ib::Guid;
using ib::Result;
using ib::fabric::Fabric;
using ib::fabric::NodeIndex;

namespace {

Result<NodeIndex> only_one(const Fabric& fabric, std::string_view text,
                           const std::vector<NodeIndex>& found) {
  if (found.size() == 1) return found.front();
  std::string message = "several nodes are called '" + ib::printable(text) + "':";
  for (const NodeIndex n : found) {
    message += " " + ib::to_string(fabric.node(n).guid) + " (@" + std::to_string(n) + ")";
  }
  return ib::fail(ErrorKind::Usage, message);
}

/// Every node for which `matches` holds.
template <class Matches>
std::vector<NodeIndex> nodes_where(const Fabric& fabric, Matches matches) {
  std::vector<NodeIndex> found;
  for (NodeIndex n = 0; n < fabric.nodes().size(); ++n) {
    if (matches(fabric.node(n))) found.push_back(n);
  }
  return found;
}

}  // namespace

Result<NodeIndex> find_node(const Fabric& fabric, std::string_view text) {
  text = ib::trim(text);
  const auto named = nodes_where(fabric, [&](const ib::fabric::Node& n) {
    return !text.empty() && ib::trim(n.description) == text;
  });
  if (!named.empty()) return only_one(fabric, text, named);
  const auto with_id = nodes_where(
      fabric, [&](const ib::fabric::Node& n) { return !text.empty() && n.file_id == text; });
  if (!with_id.empty()) return only_one(fabric, text, with_id);

  if (Guid guid; ib::parse_guid(text, guid)) {
    const auto bearing =
        nodes_where(fabric, [&](const ib::fabric::Node& n) { return n.guid == guid; });
    if (!bearing.empty()) return only_one(fabric, text, bearing);
    if (const auto port = fabric.find_port_guid(guid)) return port->node;
  }
  std::uint64_t number = 0;
  if (text.starts_with('@') && !fabric.nodes().empty() &&
      ib::parse_number(text.substr(1), fabric.nodes().size() - 1, number)) {
    return static_cast<NodeIndex>(number);
  }
  return ib::fail(ErrorKind::NotFound, "no node '" + ib::printable(text) +
                                           "': expected a name, a node id of the file, or a GUID");
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
  const auto whole = find_node(fabric, text);
  if (whole) return Place{*whole, std::nullopt};
  const auto colon = text.rfind(':');
  std::uint64_t port = 0;
  if (colon == std::string_view::npos || !ib::parse_number(text.substr(colon + 1), 255, port)) {
    return tl::unexpected(whole.error());
  }
  const auto node = find_node(fabric, text.substr(0, colon));
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
