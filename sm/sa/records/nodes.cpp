// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// NodeRecord: one an end port: a CA's or router's port, a switch as its port 0 (IBA 15.2.5.2).
#include <cstring>

#include "sm/sa/records/families.h"
#include "sm/sa/records/walk.h"

namespace sm::sa {
namespace {

using ib::wire::NodeRecord;

constexpr unsigned kPortGuidBit = 8, kDescriptionBit = 14;

class NodeSource final : public PortWalk<NodeRecord, &NodeRecord::lid> {
 public:
  NodeSource(const World& world, const Query& query)
      : PortWalk(world, query, bit(kDescriptionBit)) {
    if (is_named(kPortGuidBit)) narrow_to(paths().find(wanted().node_info.port_guid));
  }

 private:
  Grid grid(const EndPort&) const override { return {kOne}; }

  bool make(const EndPort& port, unsigned, unsigned, NodeRecord& r) const override {
    const auto& node = node_of(port);
    r.lid = port.lid;
    r.node_info = snapshot().observed->nodes[port.port.node].info;
    r.node_info.port_guid = port.guid;
    r.node_info.local_port_num = ib::PortNum{port.port.port};
    auto& text = r.node_description.text;
    std::copy_n(node.description.begin(), std::min(text.size(), node.description.size()),
                text.begin());
    return true;
  }
  bool is_meant(const NodeRecord& made) const override {
    // A description ends at its first NUL; what clients leave behind that is not compared.
    const auto& text = made.node_description.text;
    if (is_named(kDescriptionBit) &&
        std::strncmp(text.data(), wanted().node_description.text.data(), text.size()) != 0)
      return false;
    return PortWalk::is_meant(made);
  }
};

}  // namespace

Opened open_nodes(const World& world, const Query& query) {
  return std::make_unique<NodeSource>(world, query);
}

}  // namespace sm::sa
