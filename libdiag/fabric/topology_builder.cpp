// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/fabric/topology_builder.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

namespace ib::fabric {
namespace {

constexpr std::uint64_t kSwitchGuids = 0x0002c90200400000ULL;  // 16 apart
constexpr std::uint64_t kHostGuids = 0x0002c90300000000ULL;    // 16 apart; ports follow the node

std::size_t share(std::size_t of, double percent) {
  return static_cast<std::size_t>(std::llround(static_cast<double>(of) * percent / 100.0));
}

using Id = TopologyBuilder::Id;

/// Union-find with path halving.
class Pieces {
 public:
  explicit Pieces(std::size_t size) : parent_(size) {
    std::iota(parent_.begin(), parent_.end(), Id{0});
  }
  Id find(Id x) {
    while (parent_[x] != x) x = parent_[x] = parent_[parent_[x]];
    return x;
  }
  bool join(Id a, Id b) {
    a = find(a);
    b = find(b);
    if (a == b) return false;
    parent_[std::max(a, b)] = std::min(a, b);
    return true;
  }

 private:
  std::vector<Id> parent_;
};

}  // namespace

std::uint64_t Dice::next() {
  std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

TopologyBuilder::TopologyBuilder(const GenerateCommon& common)
    : common_(common), dice_(common.seed) {}

Id TopologyBuilder::add_switch(std::string name, unsigned ports) {
  Node node;
  node.type = wire::NodeType::Switch;
  node.guid = Guid{kSwitchGuids + 16 * switches_++};
  node.system_image_guid = Guid{node.guid.value + 3};
  node.vendor_id = 0x2c9;
  node.device_id = 0xcf08;
  node.num_ports = static_cast<std::uint8_t>(std::min(ports, 254U));
  node.enhanced_port0 = true;
  node.description = std::move(name);
  if (ports > 254) overflow_ = node.description;
  return add(std::move(node), ports);
}

Id TopologyBuilder::add_host(std::string name, unsigned ports) {
  Node node;
  node.type = wire::NodeType::ChannelAdapter;
  node.guid = Guid{kHostGuids + 16 * hosts_++};
  node.system_image_guid = Guid{node.guid.value + 3};
  node.vendor_id = 0x2c9;
  node.device_id = 0x1017;
  node.num_ports = static_cast<std::uint8_t>(ports);
  node.description = std::move(name);
  return add(std::move(node), ports);
}

/// Once there are too many the last stands for all that would follow.
Id TopologyBuilder::add(Node node, unsigned ports) {
  too_many_ = too_many_ || nodes_.size() >= kNodesMax;
  if (!too_many_) {
    nodes_.push_back(std::move(node));
    used_.emplace_back(ports + 1, false);
    gone_.push_back(false);
  }
  return static_cast<Id>(nodes_.size() - 1);
}

unsigned TopologyBuilder::free_ports(Id id) const {
  return static_cast<unsigned>(std::count(used_[id].begin() + 1, used_[id].end(), false));
}

unsigned TopologyBuilder::next_free(Id id) {
  const auto it = std::find(used_[id].begin() + 1, used_[id].end(), false);
  if (it == used_[id].end()) {
    if (overflow_.empty()) overflow_ = nodes_[id].description;
    return 0;
  }
  *it = true;
  return static_cast<unsigned>(it - used_[id].begin());
}

void TopologyBuilder::connect(Id a, Id b, unsigned count) {
  if (is_hopeless()) return;
  for (unsigned i = 0; i < count; ++i) {
    const unsigned a_port = next_free(a);
    const unsigned b_port = next_free(b);
    if (a_port == 0 || b_port == 0) return;
    cables_.push_back({a, b, a_port, b_port, common_.width, common_.speed});
  }
}

void TopologyBuilder::connect_ports(Id a, unsigned a_port, Id b, unsigned b_port) {
  connect_ports(a, a_port, b, b_port, common_.width, common_.speed);
}

void TopologyBuilder::connect_ports(Id a, unsigned a_port, Id b, unsigned b_port,
                                    wire::LinkWidth width, wire::LinkSpeed speed) {
  if (is_hopeless()) return;
  used_[a][a_port] = true;
  used_[b][b_port] = true;
  cables_.push_back({a, b, a_port, b_port, width, speed});
}

void TopologyBuilder::attach_hosts(Id s, unsigned count) {
  for (unsigned i = 0; i < count && !is_hopeless(); ++i) {
    char name[40];
    std::snprintf(name, sizeof name, "host%04zu HCA-1", hosts_ + 1);
    connect(s, add_host(name));
  }
}

void TopologyBuilder::remove_switches() {
  std::vector<Id> switches;
  for (Id id = 0; id < nodes_.size(); ++id) {
    if (nodes_[id].is_switch()) switches.push_back(id);
  }
  dice_.shuffle(switches);
  switches.resize(std::min(share(switches.size(), common_.missing_switches_percent),
                           switches.empty() ? 0 : switches.size() - 1));
  for (const Id id : switches) gone_[id] = true;
}

void TopologyBuilder::remove_hosts() {
  std::vector<Id> hosts;
  for (Id id = 0; id < nodes_.size(); ++id) {
    if (!nodes_[id].is_switch()) hosts.push_back(id);
  }
  dice_.shuffle(hosts);
  hosts.resize(share(hosts.size(), common_.missing_hosts_percent));
  for (const Id id : hosts) gone_[id] = true;
}

/// Cables of a spanning tree stay, so that the fabric stays in one piece.
void TopologyBuilder::remove_links() {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < cables_.size(); ++i) {
    if (nodes_[cables_[i].a].is_switch() && nodes_[cables_[i].b].is_switch()) order.push_back(i);
  }
  std::size_t wanted = share(order.size(), common_.missing_links_percent);
  if (wanted == 0) return;
  dice_.shuffle(order);
  Pieces pieces(nodes_.size());
  std::vector<bool> removed(cables_.size(), false);
  // The last of the shuffled order make the tree; the first go.
  std::vector<std::size_t> spare;
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    if (!pieces.join(cables_[*it].a, cables_[*it].b)) spare.push_back(*it);
  }
  for (auto it = spare.rbegin(); it != spare.rend() && wanted > 0; ++it, --wanted) {
    removed[*it] = true;
  }
  std::size_t i = 0;
  std::erase_if(cables_, [&](const Cable&) { return removed[i++]; });
}

void TopologyBuilder::keep_largest_piece() {
  Pieces pieces(nodes_.size());
  for (const Cable& cable : cables_) {
    if (!gone_[cable.a] && !gone_[cable.b]) pieces.join(cable.a, cable.b);
  }
  std::vector<std::size_t> size(nodes_.size(), 0);
  for (Id id = 0; id < nodes_.size(); ++id) {
    if (!gone_[id]) ++size[pieces.find(id)];
  }
  const auto largest = static_cast<Id>(std::max_element(size.begin(), size.end()) - size.begin());
  for (Id id = 0; id < nodes_.size(); ++id) {
    if (pieces.find(id) != largest) gone_[id] = true;
  }
}

Result<Fabric> TopologyBuilder::finish() {
  if (too_many_)
    return fail(ErrorKind::Usage,
                "this fabric has more than " + std::to_string(kNodesMax) + " nodes");
  if (!overflow_.empty()) {
    return fail(ErrorKind::Usage, "switch '" + overflow_ + "' has too few ports for this fabric");
  }
  if (nodes_.empty()) return fail(ErrorKind::Usage, "this fabric has no nodes");
  remove_switches();
  remove_links();
  remove_hosts();
  keep_largest_piece();

  Fabric fabric;
  std::vector<NodeIndex> index_of(nodes_.size(), kNoNode);
  std::size_t lid = 0;
  for (Id id = 0; id < nodes_.size(); ++id) {
    if (!gone_[id]) index_of[id] = fabric.add_node(std::move(nodes_[id]));
  }
  for (const Cable& cable : cables_) {
    if (gone_[cable.a] || gone_[cable.b]) continue;
    fabric.connect({index_of[cable.a], static_cast<std::uint8_t>(cable.a_port)},
                   {index_of[cable.b], static_cast<std::uint8_t>(cable.b_port)}, cable.width,
                   cable.speed);
  }
  const auto next_lid = [&]() -> Lid {
    if (!common_.lids || lid >= kLidUnicastMax.value) return kNoLid;
    return Lid{static_cast<std::uint16_t>(++lid)};
  };
  for (NodeIndex n = 0; n < fabric.nodes().size(); ++n) {
    Node& node = fabric.node(n);
    node.file_id = (node.is_switch() ? "S-" : "H-") + to_string(node.guid).substr(2);
    for (unsigned p = 0; p <= node.num_ports; ++p) {
      Port& port = fabric.port(n, p);
      if (node.is_switch() && p > 0) break;
      if (!port.present) continue;
      port.guid = Guid{node.guid.value + p};
      port.lid = next_lid();
      if (fabric.initiated_from_node.value == 0 && !node.is_switch()) {
        fabric.initiated_from_node = node.guid;
        fabric.initiated_from_port = port.guid;
      }
    }
  }
  fabric.reindex();
  return fabric;
}

}  // namespace ib::fabric
