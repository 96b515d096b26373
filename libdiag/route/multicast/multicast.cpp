// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/multicast/multicast.h"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

namespace ib::route {
namespace {

using fabric::Arc;
using fabric::CompactGraph;
using fabric::Fabric;
using fabric::kNoSwitch;
using fabric::PortRef;
using fabric::SwitchIndex;

struct Leaf {
  SwitchIndex at{kNoSwitch};
  std::uint8_t port{};  // 0: the switch itself
};

Leaf leaf_of(const Fabric& fabric, const CompactGraph& graph, Guid guid) {
  const auto port = fabric.find_port_guid(guid);
  if (!port) return {};
  if (fabric.node(port->node).is_switch()) return {graph.switch_of(port->node), 0};
  const PortRef peer = fabric.port(*port).peer;
  if (!peer || !fabric.node(peer.node).is_switch()) return {};
  return {graph.switch_of(peer.node), peer.port};
}

/// Of the number written to this base. Modulo the base it takes all values in turn, whether one
/// counts by ones or by powers of the base.
unsigned digit_sum(std::size_t number, std::size_t base) {
  if (base < 2) return 0;
  std::size_t sum = 0;
  for (; number != 0; number /= base) sum += number % base;
  return static_cast<unsigned>(sum);
}

class Planner {
 public:
  Planner(const Fabric& fabric, const CompactGraph& graph, const MulticastRule& rule)
      : fabric_(fabric),
        graph_(graph),
        rule_(rule),
        pieces_(pieces_of(graph)),
        rooted_(graph.switch_count(), 0),
        trees_over_(graph.arc_count(), 0) {}

  std::map<SwitchIndex, tables::PortMask> tree(const MulticastGroup& group) {
    masks_.clear();
    std::vector<Leaf> receivers;
    std::vector<SwitchIndex> leaves;
    for (const auto* list : {&group.receivers, &group.senders}) {
      for (const Guid guid : *list) {
        const Leaf l = leaf_of(fabric_, graph_, guid);
        if (l.at == kNoSwitch) continue;
        leaves.push_back(l.at);
        if (list == &group.receivers) receivers.push_back(l);
      }
    }
    if (receivers.empty()) return {};
    std::sort(leaves.begin(), leaves.end());
    leaves.erase(std::unique(leaves.begin(), leaves.end()), leaves.end());
    // A tree in each piece of the fabric.
    std::map<std::uint32_t, std::vector<SwitchIndex>> by_piece;
    for (const SwitchIndex s : leaves) by_piece[pieces_.of[s]].push_back(s);
    for (const auto& [piece, of_piece] : by_piece) plant(group.mlid, of_piece, receivers);
    return std::move(masks_);
  }

 private:
  static constexpr unsigned kMissesMax = 16;

  struct Up {
    Arc arc;
    std::size_t index;  // CompactGraph::arc_index
  };

  void plant(Lid mlid, const std::vector<SwitchIndex>& leaves, std::span<const Leaf> receivers) {
    if (rule_.up_order.empty() || !rule_.parent.empty() || !plant_anywhere(mlid, leaves)) {
      by_order_ = true;
      grow_by_turn(mlid, roots_for(leaves), leaves);
    }
    for (const Leaf& l : receivers)
      if (level_[l.at] != kNoSwitch) masks_[l.at].set(l.port);
  }

  /// An order has one top, over which all groups would go. Trees from the middle that are grown
  /// without it may keep to it all the same, as those of full trees do; those that do not are left.
  bool plant_anywhere(Lid mlid, const std::vector<SwitchIndex>& leaves) {
    by_order_ = false;
    auto& roots = roots_for(leaves);
    while (!roots.empty() && misses_ < kMissesMax) {
      const auto masks = masks_;
      const auto trees_over = trees_over_;
      const SwitchIndex root = grow_by_turn(mlid, roots, leaves);
      if (keeps_to_order()) return true;
      masks_ = masks;
      trees_over_ = trees_over;
      ++misses_;
      std::erase(roots, root);
    }
    return false;
  }

  SwitchIndex grow_by_turn(Lid mlid, const std::vector<SwitchIndex>& roots,
                           const std::vector<SwitchIndex>& leaves) {
    turn_ = mlid.value - unsigned{kLidMulticastMin.value};
    const SwitchIndex root = by_turn(roots, [&](SwitchIndex s) { return rooted_[s]; });
    ++rooted_[root];
    turn_ /= static_cast<unsigned>(roots.size());
    grow(root, leaves);
    return root;
  }

  /// Every switch of the tree but one has one neighbour above it, whatever it was grown from.
  bool keeps_to_order() const {
    std::map<SwitchIndex, unsigned> above;
    for (const auto& [a, b] : links_)
      if (++above[rule_.up_order[a] < rule_.up_order[b] ? b : a] > 1) return false;
    return true;
  }

  /// The one whose turn it is, unless it has well more than the one that has least: groups may be
  /// such that the same is meant again and again. What is little more is let be, so that a group
  /// that comes or goes rarely changes another.
  template <class Choice, class Load>
  const Choice& by_turn(const std::vector<Choice>& choices, Load load) const {
    const Choice& meant = choices[digit_sum(turn_, choices.size()) % choices.size()];
    const Choice& least =
        *std::min_element(choices.begin(), choices.end(),
                          [&](const Choice& a, const Choice& b) { return load(a) < load(b); });
    return load(meant) > load(least) + load(least) / 4 + 1 ? least : meant;
  }

  /// Whether a tree may have `to` above `s`.
  bool may_climb(SwitchIndex s, SwitchIndex to) const {
    if (!by_order_) return true;
    if (!rule_.up_order.empty() && rule_.up_order[to] > rule_.up_order[s]) return false;
    return rule_.parent.empty() || rule_.parent[s] == to;
  }

  /// Switches that most members can climb to, with the fewest levels; by GUID.
  std::vector<SwitchIndex>& roots_for(const std::vector<SwitchIndex>& leaves) {
    const auto [at, fresh] = roots_[by_order_].try_emplace(leaves);
    if (!fresh) return at->second;
    const std::size_t n = graph_.switch_count();
    std::vector<std::uint32_t> reached(n, 0), height(n, 0);
    for (std::size_t first = 0; first < leaves.size(); first += 64)
      climb(std::span(leaves).subspan(first, std::min<std::size_t>(64, leaves.size() - first)),
            reached, height);
    const std::uint32_t most = *std::max_element(reached.begin(), reached.end());
    std::uint32_t least = kNoSwitch;
    for (SwitchIndex s = 0; s < n; ++s)
      if (reached[s] == most) least = std::min(least, height[s]);
    auto& roots = at->second;
    for (SwitchIndex s = 0; s < n; ++s)
      if (reached[s] == most && height[s] == least) roots.push_back(s);
    std::sort(roots.begin(), roots.end(),
              [&](SwitchIndex a, SwitchIndex b) { return graph_.guid(a) < graph_.guid(b); });
    return roots;
  }

  /// Up to 64 leaves climb at once, a bit each: how many come by each switch, and the longest way.
  void climb(std::span<const SwitchIndex> leaves, std::vector<std::uint32_t>& reached,
             std::vector<std::uint32_t>& height) const {
    std::vector<std::uint64_t> here(graph_.switch_count(), 0), next;
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      here[leaves[i]] |= std::uint64_t{1} << i;
      ++reached[leaves[i]];
    }
    bool moved = true;
    for (std::uint32_t level = 1; moved; ++level) {
      next = here;
      for (SwitchIndex s = 0; s < here.size(); ++s) {
        if (here[s] == 0) continue;
        for (const Arc& arc : graph_.arcs(s))
          if ((here[s] & ~next[arc.to]) != 0 && may_climb(s, arc.to)) next[arc.to] |= here[s];
      }
      moved = false;
      for (SwitchIndex s = 0; s < here.size(); ++s) {
        if (next[s] == here[s]) continue;
        reached[s] += static_cast<std::uint32_t>(std::popcount(next[s] & ~here[s]));
        height[s] = std::max(height[s], level);
        moved = true;
      }
      here.swap(next);
    }
  }

  /// Levels from the root down; then each switch that is needed, the lowest first, picks one above
  /// it: one that is needed anyway, else by turn.
  void grow(SwitchIndex root, const std::vector<SwitchIndex>& leaves) {
    links_.clear();
    level_.assign(graph_.switch_count(), kNoSwitch);
    level_[root] = 0;
    std::vector<SwitchIndex> order{root};
    for (std::size_t i = 0; i < order.size(); ++i)
      for (const Arc& arc : graph_.arcs(order[i]))
        if (level_[arc.to] == kNoSwitch && may_climb(arc.to, order[i])) {
          level_[arc.to] = level_[order[i]] + 1;
          order.push_back(arc.to);
        }

    std::vector<std::uint32_t> children(graph_.switch_count(), 0);
    std::vector<bool> needed(graph_.switch_count(), false), member(graph_.switch_count(), false);
    std::size_t left = 0;  // switches in the tree that have not picked theirs
    for (const SwitchIndex s : leaves)
      if (level_[s] != kNoSwitch) {
        needed[s] = member[s] = true;
        ++left;
      }
    SwitchIndex top = kNoSwitch;
    std::vector<Up> up;
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      const SwitchIndex s = *it;
      if (!needed[s]) continue;
      // All the others are below: the tree needs nothing above.
      if (--left == 0) {
        top = s;
        break;
      }
      up.clear();
      const auto arcs = graph_.arcs(s);
      for (std::size_t i = 0; i < arcs.size(); ++i)
        if (level_[arcs[i].to] + 1 == level_[s] && may_climb(s, arcs[i].to))
          up.push_back({arcs[i], graph_.arc_index(s, i)});
      const bool any =
          std::any_of(up.begin(), up.end(), [&](const Up& a) { return needed[a.arc.to]; });
      if (any) std::erase_if(up, [&](const Up& a) { return !needed[a.arc.to]; });
      std::sort(up.begin(), up.end(), [&](const Up& a, const Up& b) {
        return std::pair(graph_.guid(a.arc.to), a.arc.out_port) <
               std::pair(graph_.guid(b.arc.to), b.arc.out_port);
      });
      const auto& [arc, index] = by_turn(up, [&](const Up& a) { return trees_over_[a.index]; });
      ++trees_over_[index];
      links_.emplace_back(s, arc.to);
      masks_[s].set(arc.out_port);
      masks_[arc.to].set(arc.in_port);
      ++children[arc.to];
      if (!needed[arc.to]) {
        needed[arc.to] = true;
        ++left;
      }
    }
    trim(top, member, children);
  }

  /// A top that only hands on between itself and one switch below is none.
  void trim(SwitchIndex top, const std::vector<bool>& member,
            const std::vector<std::uint32_t>& children) {
    while (top != kNoSwitch && !member[top] && children[top] == 1) {
      const auto mask = masks_.extract(top);
      SwitchIndex below = kNoSwitch;
      for (const Arc& arc : graph_.arcs(top)) {
        if (mask.empty() || !mask.mapped().test(arc.out_port)) continue;
        below = arc.to;
        masks_[below].clear(arc.in_port);
      }
      top = below;
    }
  }

  const Fabric& fabric_;
  const CompactGraph& graph_;
  const MulticastRule& rule_;
  const fabric::Pieces pieces_;
  // By the members' switches; those of trees grown without the order, and by it.
  std::map<std::vector<SwitchIndex>, std::vector<SwitchIndex>> roots_[2];
  bool by_order_{true};
  unsigned misses_{0};                                      // trees that did not keep to the order
  std::vector<std::pair<SwitchIndex, SwitchIndex>> links_;  // of the tree at hand
  std::map<SwitchIndex, tables::PortMask> masks_;
  std::vector<std::uint32_t> level_;
  unsigned turn_{0};
  std::vector<std::uint32_t> rooted_;      // trees of this run, by the root they grew from
  std::vector<std::uint32_t> trees_over_;  // and by the arc that climbs
};

}  // namespace

tables::MulticastTables multicast_trees(const Fabric& fabric, const CompactGraph& graph,
                                        std::span<const MulticastGroup> groups,
                                        const MulticastRule& rule) {
  Planner planner(fabric, graph, rule);
  tables::MulticastTables tables;
  for (const MulticastGroup& group : groups) {
    auto tree = planner.tree(group);
    if (!tree.empty()) tables.emplace(group.mlid, std::move(tree));
  }
  return tables;
}

}  // namespace ib::route
