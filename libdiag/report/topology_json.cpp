// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/report/topology_json.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "libdiag/report/shapes.h"
#include "libdiag/report/words.h"

namespace ib::report {
namespace {

using fabric::Fabric;
using fabric::NodeIndex;
using fabric::PortRef;
using wire::NodeType;

class Document {
 public:
  Document(const Fabric& fabric, const fabric::NodeNames* names,
           const std::function<bool(PortRef)>& degraded, const std::vector<Guid>& built_in)
      : fabric_(fabric), names_(names), degraded_(degraded), built_in_(built_in) {
    order_.resize(fabric.nodes().size());
    std::iota(order_.begin(), order_.end(), NodeIndex{0});
    std::stable_sort(order_.begin(), order_.end(),
                     [&](NodeIndex a, NodeIndex b) { return rank(a) < rank(b); });
  }

  std::string write(const Envelope& envelope) {
    begin_document(json_, envelope);
    json_.key("initiated_from").begin_object();
    json_.field("node_guid", fabric_.initiated_from_node);
    json_.field("port_guid", fabric_.initiated_from_port).end_object();
    json_.key("counts").begin_object();
    json_.field("switches", fabric_.count(NodeType::Switch));
    json_.field("cas", fabric_.count(NodeType::ChannelAdapter));
    json_.field("routers", fabric_.count(NodeType::Router));
    json_.field("links", fabric_.link_count()).end_object();
    json_.key("nodes").begin_array();
    for (const NodeIndex n : order_) write_node(n);
    json_.end_array();
    json_.key("links").begin_array();
    for (const NodeIndex n : order_) write_links(n);
    json_.end_array();
    json_.end_object();
    return json_.take();
  }

 private:
  /// Switches, CAs, routers; then by GUID.
  std::tuple<int, Guid> rank(NodeIndex n) const {
    const auto& node = fabric_.node(n);
    const int type = node.is_switch() ? 0 : node.type == NodeType::ChannelAdapter ? 1 : 2;
    return {type, node.guid};
  }

  void write_node(NodeIndex n) {
    const fabric::Node& node = fabric_.node(n);
    json_.begin_object();
    report::write_node(json_, node, names_);
    json_.field("description", node.description);
    json_.field("system_image_guid", node.system_image_guid);
    json_.field("vendor_id", node.vendor_id).field("device_id", node.device_id);
    json_.field("num_ports", node.num_ports);
    if (std::ranges::binary_search(built_in_, node.guid)) json_.field("built_in", true);
    if (node.is_switch()) {
      const fabric::Port& port0 = fabric_.port(n, 0);
      json_.field("enhanced_port0", node.enhanced_port0);
      json_.field("port_guid", port0.guid).field("lid", port0.lid).field("lmc", port0.lmc);
    } else {
      json_.key("ports").begin_array();
      for (unsigned p = 1; p <= node.num_ports; ++p) {
        const fabric::Port& port = fabric_.port(n, p);
        if (!port.present) continue;
        json_.begin_object().field("port", p).field("port_guid", port.guid);
        json_.field("lid", port.lid).field("lmc", port.lmc).end_object();
      }
      json_.end_array();
    }
    json_.end_object();
  }

  void write_links(NodeIndex n) {
    const auto ports = fabric_.ports(n);
    for (std::size_t p = 0; p < ports.size(); ++p) {
      const PortRef self{n, static_cast<std::uint8_t>(p)};
      const PortRef peer = ports[p].peer;
      // Each cable once, from the end that comes first in the document.
      if (!peer ||
          std::tuple{rank(peer.node), peer.node, peer.port} < std::tuple{rank(n), n, self.port}) {
        continue;
      }
      json_.begin_object();
      write_link_ends(json_, port_shape(fabric_, self, names_), port_shape(fabric_, peer, names_));
      json_.field("width", wire::width_name(ports[p].width));
      json_.field("speed", wire::speed_name(ports[p].speed));
      const char* state = link_state_word(ports[p].state);
      json_.key("state");
      state != nullptr ? json_.value(state) : json_.null();
      json_.key("degraded");
      degraded_ ? json_.value(degraded_(self) || degraded_(peer)) : json_.null();
      json_.end_object();
    }
  }

  const Fabric& fabric_;
  const fabric::NodeNames* names_;
  const std::function<bool(PortRef)>& degraded_;
  const std::vector<Guid>& built_in_;
  std::vector<NodeIndex> order_;
  JsonWriter json_;
};

}  // namespace

std::string topology_json(const Fabric& fabric, const Envelope& envelope,
                          const fabric::NodeNames* names,
                          const std::function<bool(PortRef)>& degraded,
                          const std::vector<Guid>& built_in) {
  return Document(fabric, names, degraded, built_in).write(envelope);
}

}  // namespace ib::report
