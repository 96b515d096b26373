// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/fabric/export/picture.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "libdiag/base/text.h"
#include "libdiag/fabric/aggregation_node.h"

namespace ib::fabric {
namespace {

constexpr unsigned kNoTier = ~0U;

/// Calls f(port, peer) for each cabled port of n.
template <class F>
void for_each_cable(const Fabric& fabric, NodeIndex n, F f) {
  const auto ports = fabric.ports(n);
  for (std::size_t p = 0; p < ports.size(); ++p) {
    if (ports[p].peer) f(PortRef{n, static_cast<std::uint8_t>(p)}, ports[p].peer);
  }
}

bool to_switch(const Fabric& fabric, PortRef peer) { return fabric.node(peer.node).is_switch(); }

std::vector<unsigned> host_counts(const Fabric& fabric) {
  std::vector<unsigned> hosts(fabric.nodes().size(), 0);
  for (NodeIndex n = 0; n < fabric.nodes().size(); ++n) {
    if (fabric.node(n).is_switch()) continue;
    if (is_aggregation_node(fabric.node(n))) continue;
    for_each_cable(fabric, n, [&](PortRef, PortRef peer) { ++hosts[peer.node]; });
  }
  return hosts;
}

/// Signalling rate of a cable in Gb/s; 0 unknown.
double rate(const Port& port) { return wire::lanes(port.width) * wire::gbps_per_lane(port.speed); }

/// Without PortInfo at hand: a cable looks degraded when both its switches have faster ones to
/// other switches, or it runs on one lane.
class DegradedByComparison {
 public:
  explicit DegradedByComparison(const Fabric& fabric)
      : fabric_(fabric), fastest_(fabric.nodes().size(), 0) {
    for (NodeIndex n = 0; n < fabric.nodes().size(); ++n) {
      for_each_cable(fabric, n, [&](PortRef from, PortRef to) {
        if (to.node != n && to_switch(fabric, to)) {
          fastest_[n] = std::max(fastest_[n], rate(fabric.port(from)));
        }
      });
    }
  }
  bool operator()(PortRef end) const {
    const Port& port = fabric_.port(end);
    if (!port.peer) return false;
    if (port.width == wire::LinkWidth::W1x) return true;
    const double own = rate(port);
    if (own == 0 || !fabric_.node(end.node).is_switch() || !to_switch(fabric_, port.peer)) {
      return false;
    }
    return own < fastest_[end.node] && own < fastest_[port.peer.node];
  }

 private:
  const Fabric& fabric_;
  std::vector<double> fastest_;
};

/// Chassis of each node: switches that share a SystemImageGUID.
std::vector<std::size_t> group_chassis(const Fabric& fabric, std::vector<Chassis>& out) {
  std::map<Guid, std::vector<NodeIndex>> groups;
  for (NodeIndex n = 0; n < fabric.nodes().size(); ++n) {
    const Node& node = fabric.node(n);
    if (node.is_switch() && node.system_image_guid.value != 0) {
      groups[node.system_image_guid].push_back(n);
    }
  }
  std::vector<std::size_t> chassis_of(fabric.nodes().size(), kNoChassis);
  for (const auto& [guid, members] : groups) {
    if (members.size() < 2) continue;
    // "Director-1 L05/U1" and its like share the part before the blank.
    const std::string first = short_name(fabric.node(members[0]));
    std::string name = first.substr(0, first.find(' '));
    for (const NodeIndex n : members) {
      if (!short_name(fabric.node(n)).starts_with(name + ' ')) name = "chassis " + to_string(guid);
      chassis_of[n] = out.size();
    }
    out.push_back({name, guid, members.size()});
  }
  return chassis_of;
}

class Builder {
 public:
  Builder(const Fabric& fabric, const PictureOptions& options)
      : fabric_(fabric), options_(options), tiers_(switch_tiers(fabric)) {
    degraded_ = options.degraded ? options.degraded : DegradedByComparison(fabric);
  }

  Picture build() {
    picture_.title = options_.title;
    chassis_of_ = group_chassis(fabric_, picture_.chassis);
    vertex_of_.assign(fabric_.nodes().size(), kNoVertex);
    const std::size_t switches = fabric_.count(wire::NodeType::Switch);
    const bool fold =
        options_.fold == PictureOptions::Fold::Always ||
        (options_.fold == PictureOptions::Fold::Auto && switches > kFoldAbove && !options_.hosts);
    count_names();
    add_switches(fold);
    // Without a switch to stand beside, hosts are all there is to see.
    if (options_.hosts || switches == 0) add_hosts();
    sort_vertices();
    add_bundles();
    judge_uplinks();
    judge_layers();
    summarize(switches);
    return std::move(picture_);
  }

 private:
  static constexpr std::size_t kNoVertex = ~std::size_t{0};
  static constexpr std::size_t kFoldAbove = 64;

  bool is_built_in(NodeIndex n) const {
    const Node& node = fabric_.node(n);
    return is_aggregation_node(node) || std::ranges::binary_search(options_.built_in, node.guid);
  }

  void count_names() {
    for (const Node& node : fabric_.nodes()) {
      if (node.is_switch()) ++holders_[node.description];
    }
  }

  /// What two chips must share to be drawn as one.
  using Likeness = std::map<std::tuple<NodeIndex, wire::LinkWidth, wire::LinkSpeed>, unsigned>;

  void add_switches(bool fold) {
    std::map<std::tuple<std::size_t, unsigned, Likeness>, std::size_t> alike;
    for (NodeIndex n = 0; n < fabric_.nodes().size(); ++n) {
      if (!fabric_.node(n).is_switch()) continue;
      Likeness likeness;
      bool plain = fold && chassis_of_[n] != kNoChassis;
      for_each_cable(fabric_, n, [&](PortRef from, PortRef to) {
        const Port& port = fabric_.port(from);
        ++likeness[{to.node, port.width, port.speed}];
        plain = plain && to_switch(fabric_, to) && !degraded_(from);
      });
      std::size_t v = picture_.vertices.size();
      if (plain && !likeness.empty()) {
        const auto [it, fresh] =
            alike.emplace(std::tuple{chassis_of_[n], tiers_[n], std::move(likeness)}, v);
        v = it->second;
      }
      if (v == picture_.vertices.size()) add_vertex(n);
      vertex_of_[n] = v;
      picture_.vertices[v].members.push_back(n);
    }
    for (Vertex& vertex : picture_.vertices) name_switch(vertex);
  }

  void add_vertex(NodeIndex n) {
    Vertex vertex;
    vertex.id = (fabric_.node(n).is_switch() ? "S-" : "H-") + hex(fabric_.node(n).guid);
    vertex.tier = tiers_[n];
    vertex.chassis = chassis_of_[n];
    picture_.vertices.push_back(std::move(vertex));
  }
  static std::string hex(Guid guid) { return to_string(guid).substr(2); }

  std::string own_name(NodeIndex n) const {
    const Node& node = fabric_.node(n);
    if (options_.names != nullptr) {
      if (const auto mapped = options_.names->find(node.guid)) return std::string(*mapped);
    }
    // A name that many have says nothing: the end of the GUID tells them apart.
    const auto holders = holders_.find(node.description);
    if (node.description.empty() || (holders != holders_.end() && holders->second > 1)) {
      return "switch " + hex(node.guid).substr(8);
    }
    std::string name = short_name(node);
    if (chassis_of_[n] != kNoChassis) {
      const std::string& chassis = picture_.chassis[chassis_of_[n]].name;
      if (name.starts_with(chassis + ' ')) name.erase(0, chassis.size() + 1);
      if (name.ends_with("/U1")) name.erase(name.size() - 3);
    }
    return name;
  }

  void name_switch(Vertex& vertex) {
    std::vector<std::string> names, hosts;
    for (const NodeIndex n : vertex.members) {
      names.push_back(own_name(n));
      for_each_cable(fabric_, n, [&](PortRef from, PortRef to) {
        if (to_switch(fabric_, to) || is_built_in(to.node)) return;
        ++vertex.hosts;
        if (degraded_(from)) ++vertex.hosts_slow;
        hosts.push_back(host_name(to.node));
      });
    }
    std::sort(names.begin(), names.end());
    vertex.member_names = names;
    vertex.name = compress_names(std::move(names), 28);
    vertex.detail = compress_names(std::move(hosts), 34);
  }

  std::string host_name(NodeIndex n) const {
    if (options_.names != nullptr) {
      if (const auto mapped = options_.names->find(fabric_.node(n).guid)) {
        return std::string(*mapped);
      }
    }
    std::string name = short_name(fabric_.node(n));
    return name.empty() ? "host " + hex(fabric_.node(n).guid).substr(8) : name;
  }

  void add_hosts() {
    for (Vertex& vertex : picture_.vertices) {
      ++vertex.tier;
      vertex.detail.clear();
    }
    for (NodeIndex n = 0; n < fabric_.nodes().size(); ++n) {
      if (fabric_.node(n).is_switch() || is_aggregation_node(fabric_.node(n))) continue;
      add_vertex(n);
      Vertex& vertex = picture_.vertices.back();
      vertex.tier = 0;
      vertex.is_host = true;
      vertex.name = host_name(n);
      if (is_built_in(n)) vertex.detail = "built into a switch";
      vertex.members = {n};
      vertex_of_[n] = picture_.vertices.size() - 1;
    }
  }

  void sort_vertices() {
    std::vector<std::size_t> order(picture_.vertices.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto key = [&](std::size_t v) {
      const Vertex& vertex = picture_.vertices[v];
      return std::tie(vertex.tier, vertex.chassis, vertex.name, vertex.id);
    };
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
    std::vector<Vertex> sorted;
    std::vector<std::size_t> place(order.size());
    for (const std::size_t v : order) {
      place[v] = sorted.size();
      sorted.push_back(std::move(picture_.vertices[v]));
    }
    picture_.vertices = std::move(sorted);
    for (std::size_t& v : vertex_of_) {
      if (v != kNoVertex) v = place[v];
    }
  }

  void add_bundles() {
    using Key = std::tuple<std::size_t, std::size_t, wire::LinkWidth, wire::LinkSpeed, bool>;
    std::map<Key, std::vector<PortRef>> bundles;
    for (NodeIndex n = 0; n < fabric_.nodes().size(); ++n) {
      for_each_cable(fabric_, n, [&](PortRef from, PortRef to) {
        if (from <= to) ++picture_.cables;
        const std::size_t a = vertex_of_[n];
        const std::size_t b = vertex_of_[to.node];
        // Vertices are sorted by tier, so the smaller index is the lower end. A cable from a
        // switch to itself has nowhere to go in a picture.
        if (a == kNoVertex || b == kNoVertex || a >= b) return;
        const Port& port = fabric_.port(from);
        bundles[{a, b, port.width, port.speed, degraded_(from) || degraded_(to)}].push_back(from);
      });
    }
    for (auto& [key, ports] : bundles) {
      const auto& [lower, upper, width, speed, degraded] = key;
      picture_.bundles.push_back({lower, upper, static_cast<unsigned>(ports.size()), width, speed,
                                  degraded, std::move(ports)});
    }
    if (options_.load) weigh_bundles();
  }

  void weigh_bundles() {
    picture_.by_load = true;
    for (Bundle& bundle : picture_.bundles) {
      for (const PortRef end : bundle.lower_ports) {
        const PortRef far = fabric_.port(end).peer;
        bundle.load = std::max({bundle.load, options_.load(end), options_.load(far)});
      }
      picture_.load_max = std::max(picture_.load_max, bundle.load);
    }
    picture_.load_floor = options_.load_floor != 0 ? options_.load_floor : picture_.load_max;
    std::stable_sort(picture_.bundles.begin(), picture_.bundles.end(),
                     [](const Bundle& a, const Bundle& b) { return a.load < b.load; });
  }

  void judge_uplinks() {
    auto& vertices = picture_.vertices;
    for (const Bundle& bundle : picture_.bundles) {
      if (vertices[bundle.lower].tier < vertices[bundle.upper].tier) {
        vertices[bundle.lower].uplinks += bundle.cables;
      }
    }
    std::map<std::pair<unsigned, bool>, std::map<unsigned, unsigned>> numbers;
    const auto sort_of = [](const Vertex& v) { return std::pair{v.tier, v.members.size() > 1}; };
    for (const Vertex& v : vertices) ++numbers[sort_of(v)][v.uplinks];
    for (Vertex& v : vertices) {
      const auto& counts = numbers[sort_of(v)];
      v.uplinks_usual =
          std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) {
            return a.second < b.second;
          })->first;
    }
  }

  void judge_layers() {
    std::size_t inside = 0, all = 0;
    for (const Bundle& bundle : picture_.bundles) {
      const Vertex& lower = picture_.vertices[bundle.lower];
      const Vertex& upper = picture_.vertices[bundle.upper];
      if (lower.is_host) continue;
      all += bundle.cables;
      if (lower.tier == upper.tier) inside += bundle.cables;
    }
    picture_.layered = inside * 20 <= all;
  }

  void summarize(std::size_t switches) {
    for (NodeIndex n = 0; n < fabric_.nodes().size(); ++n) {
      if (!fabric_.node(n).is_switch()) continue;
      if (picture_.switches_in_tier.size() <= tiers_[n]) {
        picture_.switches_in_tier.resize(tiers_[n] + 1);
      }
      ++picture_.switches_in_tier[tiers_[n]];
    }
    std::size_t hosts = 0, routers = 0, aggregation = 0, built_in = 0;
    for (NodeIndex n = 0; n < fabric_.nodes().size(); ++n) {
      if (fabric_.node(n).is_switch()) continue;
      ++(fabric_.node(n).type == wire::NodeType::Router ? routers
         : is_aggregation_node(fabric_.node(n))         ? aggregation
         : is_built_in(n)                               ? built_in
                                                        : hosts);
    }
    const auto count = [](std::size_t n, const char* one, const char* many) {
      return std::to_string(n) + ' ' + (n == 1 ? one : many);
    };
    picture_.summary = count(switches, "switch", "switches") + ", " +
                       count(hosts, "channel adapter", "channel adapters") + ", " +
                       count(picture_.cables, "cable", "cables");
    if (routers > 0) picture_.summary += ", " + count(routers, "router", "routers");
    if (aggregation > 0) {
      picture_.summary += ", " + count(aggregation, "aggregation node", "aggregation nodes");
    }
    if (built_in > 0)
      picture_.summary +=
          ", " + count(built_in, "other node", "other nodes") + " built into switches";
  }

  const Fabric& fabric_;
  const PictureOptions& options_;
  std::vector<unsigned> tiers_;
  std::function<bool(PortRef)> degraded_;
  std::vector<std::size_t> chassis_of_, vertex_of_;
  std::map<std::string, unsigned> holders_;
  Picture picture_;
};

/// A switch that the search reached from above (its neighbours are all one tier nearer to the
/// leaves) is a leaf with few hosts, or a line card with no cable down, when it has hosts or when
/// another switch two tiers nearer has all its neighbours too. It belongs as far below its
/// neighbours as it seemed above them.
void lower_what_hangs_from_above(const Fabric& fabric, const std::vector<unsigned>& hosts,
                                 const std::vector<NodeIndex>& reached,
                                 std::vector<unsigned>& tier) {
  std::vector<std::vector<NodeIndex>> neighbours(fabric.nodes().size());
  for (const NodeIndex n : reached) {
    for_each_cable(fabric, n, [&](PortRef, PortRef to) {
      if (to.node != n && to_switch(fabric, to)) neighbours[n].push_back(to.node);
    });
    auto& list = neighbours[n];
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  std::vector<NodeIndex> lowered;
  for (const NodeIndex n : reached) {
    const auto& own = neighbours[n];
    if (tier[n] < 2 || own.empty()) continue;
    if (std::any_of(own.begin(), own.end(), [&](NodeIndex m) { return tier[m] >= tier[n]; })) {
      continue;
    }
    const auto& far = neighbours[own[0]];
    const bool has_twin = std::any_of(far.begin(), far.end(), [&](NodeIndex m) {
      return tier[m] + 2 == tier[n] &&
             std::includes(neighbours[m].begin(), neighbours[m].end(), own.begin(), own.end());
    });
    if (hosts[n] > 0 || has_twin) lowered.push_back(n);
  }
  for (const NodeIndex n : lowered) tier[n] -= 2;
}

}  // namespace

std::vector<unsigned> switch_tiers(const Fabric& fabric) {
  const std::size_t size = fabric.nodes().size();
  const std::vector<unsigned> hosts = host_counts(fabric);
  // Leaves have a good part of the usual number of hosts; a spine with a management host has not.
  std::vector<unsigned> numbers;
  for (NodeIndex n = 0; n < size; ++n) {
    if (fabric.node(n).is_switch() && hosts[n] > 0) numbers.push_back(hosts[n]);
  }
  std::vector<unsigned> tier(size, kNoTier);
  std::vector<NodeIndex> queue;
  if (!numbers.empty()) {
    const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
    std::nth_element(numbers.begin(), middle, numbers.end());
    const unsigned enough = std::max(1U, (*middle + 3) / 4);
    for (NodeIndex n = 0; n < size; ++n) {
      if (!fabric.node(n).is_switch() || hosts[n] < enough) continue;
      tier[n] = 0;
      queue.push_back(n);
    }
  }
  for (std::size_t i = 0; i < queue.size(); ++i) {
    for_each_cable(fabric, queue[i], [&](PortRef, PortRef to) {
      if (!to_switch(fabric, to) || tier[to.node] != kNoTier) return;
      tier[to.node] = tier[queue[i]] + 1;
      queue.push_back(to.node);
    });
  }
  lower_what_hangs_from_above(fabric, hosts, queue, tier);
  for (unsigned& t : tier) {
    if (t == kNoTier) t = 0;
  }
  return tier;
}

std::string compress_names(std::vector<std::string> names, std::size_t length_max) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  // Stem and number of each: the last run of digits, with what follows it.
  struct Piece {
    std::string stem, tail;
    std::string digits;
  };
  const auto cut = [](const std::string& name) {
    const std::size_t end = name.find_last_of("0123456789");
    if (end == std::string::npos) return Piece{name, "", ""};
    const std::size_t before = name.find_last_not_of("0123456789", end);
    const std::size_t begin = before == std::string::npos ? 0 : before + 1;
    return Piece{name.substr(0, begin), name.substr(end + 1), name.substr(begin, end + 1 - begin)};
  };
  std::map<std::tuple<std::string, std::string, std::size_t>, std::vector<std::uint64_t>> groups;
  std::vector<std::pair<std::size_t, std::string>> parts;  // how many, and their text
  for (const std::string& name : names) {
    const Piece piece = cut(name);
    std::uint64_t number = 0;
    if (piece.digits.empty() || piece.digits.size() > 9 ||
        !parse_number(piece.digits, 999'999'999, number)) {
      parts.emplace_back(1, name);
    } else {
      groups[{piece.stem, piece.tail, piece.digits.size()}].push_back(number);
    }
  }
  for (const auto& [key, numbers] : groups) {
    const auto& [stem, tail, width] = key;
    const auto digits = [w = width](std::uint64_t n) {
      std::string text = std::to_string(n);
      if (text.size() < w) text.insert(0, w - text.size(), '0');
      return text;
    };
    std::string ranges;
    for (std::size_t i = 0; i < numbers.size();) {
      std::size_t last = i;
      while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
      if (!ranges.empty()) ranges += ',';
      ranges += digits(numbers[i]);
      if (last > i) ranges.append(1, '-').append(digits(numbers[last]));
      i = last + 1;
    }
    if (numbers.size() > 1) ranges.insert(0, 1, '[').append(1, ']');
    parts.emplace_back(numbers.size(), stem);
    parts.back().second.append(ranges).append(tail);
  }
  // The many first: they say most about the place.
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text;
  for (const auto& [ignored, part] : parts) {
    if (!text.empty()) text += ' ';
    text += part;
  }
  if (text.size() <= length_max) return text;
  // Cut between characters, not inside one of UTF-8.
  std::size_t end = length_max - std::min<std::size_t>(length_max, 3);
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end) + "...";
}

Picture make_picture(const Fabric& fabric, const PictureOptions& options) {
  return Builder(fabric, options).build();
}

}  // namespace ib::fabric
