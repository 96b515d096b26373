// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/shape/tree_places.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_set>

#include "libdiag/base/groups.h"

namespace ib::route {
namespace {

using fabric::SwitchIndex;
constexpr std::uint32_t kNoSlot = 0xFFFFFFFF;

/// Compute nodes are what -u lists, or what -G does not list, or all.
class ComputeNodes {
 public:
  explicit ComputeNodes(const Request& request) : fabric_(*request.fabric) {
    const Options& options = request.options;
    all_ = options.compute_nodes.empty() && options.io_nodes.empty();
    listed_are_ = !options.compute_nodes.empty();
    for (const auto& entry : (listed_are_ ? options.compute_nodes : options.io_nodes).entries)
      listed_.insert(entry.guid);
  }
  bool has(Lid lid) const {
    if (all_) return true;
    const auto port = fabric_.find_lid(lid);
    return port && (listed_.count(fabric_.port(*port).guid) != 0) == listed_are_;
  }

 private:
  const fabric::Fabric& fabric_;
  bool all_{true}, listed_are_{false};
  std::unordered_set<Guid> listed_;
};

}  // namespace

TreePlaces::TreePlaces(const Request& request, const Ranks& ranks, const Targets& targets)
    : height(ranks.of) {
  const auto& graph = *request.graph;
  const std::uint32_t lowest = height.empty() ? 0 : *std::max_element(height.begin(), height.end());
  switches.assign(lowest + std::size_t{1}, 0);
  for (auto& h : height) ++switches[h = lowest - h];
  for (const auto& column : targets.columns())
    siblings_ = std::max<std::uint32_t>(siblings_, column.offset + 1U);
  find_slots(request);

  slots.assign(lowest + std::size_t{1}, 1);
  cables.assign(lowest + std::size_t{1}, 1);
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
    std::map<SwitchIndex, std::uint32_t> to_each;
    for (const auto& arc : graph.arcs(s)) {
      if (height[arc.to] <= height[s]) continue;
      slots[height[s]] = std::max(slots[height[s]], slot[arc.to] + 1);
      cables[height[s]] = std::max(cables[height[s]], ++to_each[arc.to]);
    }
  }
  divisor.assign(lowest + std::size_t{1}, 1);
  for (std::uint32_t h = 0; h < lowest; ++h) divisor[h + 1] = divisor[h] * uplinks(h);
  number_columns(request, targets);
}

/// Switches that share a child get different slots; those that share a parent the same where that
/// is possible, so that a slot of one pod is the same plane as that slot of another.
void TreePlaces::find_slots(const Request& request) {
  const auto& graph = *request.graph;
  slot.assign(graph.switch_count(), kNoSlot);
  std::vector<SwitchIndex> order(graph.switch_count());
  std::iota(order.begin(), order.end(), SwitchIndex{0});
  // Slots of one system lie side by side, so that LIDs of one end port, which go as many slots away
  // as there is room, lie in different ones.
  const auto system = [&](SwitchIndex s) {
    return siblings_ > 1 ? request.fabric->node(graph.node_of(s)).system_image_guid : Guid{};
  };
  std::sort(order.begin(), order.end(), [&](auto a, auto b) {
    return std::tuple(height[a], system(a), graph.guid(a), a) <
           std::tuple(height[b], system(b), graph.guid(b), b);
  });
  std::vector<SwitchIndex> taken_by, liked_by;  // by slot: the last switch that found it so
  std::vector<std::uint32_t> votes;
  for (SwitchIndex s : order) {
    const auto mark = [&](std::vector<SwitchIndex>& by, std::uint32_t at) {
      if (by.size() <= at) by.resize(at + std::size_t{1}, fabric::kNoSwitch);
      const bool fresh = by[at] != s;
      by[at] = s;
      return fresh;
    };
    const auto arcs = graph.arcs(s);
    for (std::size_t i = 0; i < arcs.size(); ++i) {
      if (i > 0 && arcs[i].to == arcs[i - 1].to) continue;
      const bool child = height[arcs[i].to] < height[s];
      if (!child && height[arcs[i].to] == height[s]) continue;
      for (const auto& back : graph.arcs(arcs[i].to)) {
        const std::uint32_t at = slot[back.to];
        if (at == kNoSlot || height[back.to] != height[s]) continue;
        if (child) {
          mark(taken_by, at);
        } else {
          if (votes.size() <= at) votes.resize(at + std::size_t{1});
          votes[at] = mark(liked_by, at) ? 1 : votes[at] + 1;
        }
      }
    }
    const auto is_taken = [&](std::uint32_t at) {
      return at < taken_by.size() && taken_by[at] == s;
    };
    std::uint32_t best = kNoSlot;
    for (std::uint32_t at = 0; at < liked_by.size(); ++at)
      if (liked_by[at] == s && !is_taken(at) && (best == kNoSlot || votes[at] > votes[best]))
        best = at;
    if (best == kNoSlot)
      for (best = 0; is_taken(best);) ++best;
    slot[s] = best;
  }
}

/// By leaf the part it belongs to when only switches up to a height are looked at, as the least
/// GUID of a leaf in it; from the greatest height down.
std::vector<std::vector<Guid>> TreePlaces::parts_of(const fabric::CompactGraph& graph,
                                                    std::span<const SwitchIndex> leaves) const {
  Groups parts(graph.switch_count());
  std::vector<std::vector<Guid>> part_of(leaves.size());
  for (std::uint32_t h = 0; h < slots.size(); ++h) {
    for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
      for (const auto& arc : graph.arcs(s))
        if (height[s] <= h && height[arc.to] <= h) parts.join(s, arc.to);
    std::map<SwitchIndex, Guid> least;
    for (SwitchIndex leaf : leaves) {
      auto& guid = least.try_emplace(parts.find(leaf), graph.guid(leaf)).first->second;
      guid = std::min(guid, graph.guid(leaf));
    }
    for (std::size_t i = 0; i < leaves.size(); ++i)
      part_of[i].insert(part_of[i].begin(), least[parts.find(leaves[i])]);
  }
  return part_of;
}

/// Where each leaf is among all, parts with room for as many as the largest has; and the room.
std::pair<std::vector<std::uint64_t>, std::uint64_t> TreePlaces::places_in_parts(
    const fabric::CompactGraph& graph, std::span<const SwitchIndex> leaves) const {
  const auto part_of = parts_of(graph, leaves);
  std::vector<std::size_t> order(leaves.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](auto a, auto b) {
    return std::tuple(part_of[a], graph.guid(leaves[a])) <
           std::tuple(part_of[b], graph.guid(leaves[b]));
  });
  // Indexes within the parts, from the lowest height to the highest; leaves may stand higher.
  std::vector<std::uint64_t> index_of(leaves.size(), 0);
  std::uint64_t size = 1;
  for (std::size_t level = slots.size(); level-- > 0;) {  // part_of[...][level]: fine to coarse
    std::uint64_t most = 0, index = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const auto& own = part_of[order[i]];
      const auto same = [&](std::size_t upto) {
        return i > 0 && std::equal(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(upto),
                                   part_of[order[i - 1]].begin());
      };
      // A new finer part takes the next index; a new part of this level starts from 0.
      index = !same(level) ? 0 : same(level + 1) ? index : index + 1;
      index_of[order[i]] += index * size;
      most = std::max(most, index + 1);
    }
    size *= std::max<std::uint64_t>(most, 1);
  }
  return {std::move(index_of), size};
}

/// Leaves of one pod follow each other, and so on up: they are sorted by the parts they belong to
/// when only switches up to a height are looked at, each part with room for as many as the largest
/// has, and each leaf with room for as many CAs.
void TreePlaces::number_columns(const Request& request, const Targets& targets) {
  const auto& graph = *request.graph;
  const ComputeNodes compute(request);
  number.assign(targets.columns().size(), 0);

  std::map<SwitchIndex, std::uint32_t> ends;  // compute nodes by leaf
  computes.assign(number.size(), false);
  for (const Target& target : targets.all())
    for (std::size_t c = target.first_column; c < target.last_column; ++c) {
      computes[c] = compute.has(targets.columns()[c].lid);
      if (computes[c]) ends[target.leaf] += targets.columns()[c].offset == 0 ? 1 : 0;
    }
  // Of each leaf as many as make full rounds over its uplinks, all if there are fewer than those.
  const auto in_rounds = [&](SwitchIndex leaf) {
    const std::uint32_t count = ends.at(leaf), width = uplinks(height[leaf]);
    return count < width ? count : count / width * width;
  };
  // Where that is usual, rounds of one leaf follow those of another. An odd host or two leave the
  // leaves to begin with different uplinks, which uneven ones should.
  std::size_t with_left_over = 0;
  for (const auto& [leaf, count] : ends) with_left_over += in_rounds(leaf) < count;
  const bool usual = 2 * with_left_over > ends.size();
  std::uint64_t room = 1, most_on_a_leaf = 1;
  std::vector<SwitchIndex> leaves;
  for (const auto& [leaf, count] : ends) {
    room = std::max<std::uint64_t>(room, usual ? in_rounds(leaf) : count);
    most_on_a_leaf = std::max<std::uint64_t>(most_on_a_leaf, count);
    leaves.push_back(leaf);
  }

  const auto [index_of, size] = places_in_parts(graph, leaves);
  std::map<SwitchIndex, std::uint64_t> index, next;
  for (std::size_t i = 0; i < leaves.size(); ++i) index[leaves[i]] = index_of[i];
  std::uint64_t other = 0;
  place.assign(number.size(), 0);
  left_over.assign(number.size(), false);
  for (const Target& target : targets.all())
    for (std::size_t c = target.first_column; c < target.last_column; ++c) {
      if (targets.columns()[c].offset != 0) {
        number[c] = number[c - 1];
        place[c] = place[c - 1];
        left_over[c] = left_over[c - 1];
      } else if (!computes[c]) {
        number[c] = size * room + other;
        place[c] = size * most_on_a_leaf + other++;
      } else {
        const std::uint64_t i = next[target.leaf]++, rounds = in_rounds(target.leaf);
        left_over[c] = i >= rounds;
        number[c] = index[target.leaf] * room + (left_over[c] ? i - rounds : i);
        place[c] = index[target.leaf] * most_on_a_leaf + i;
      }
    }
}

}  // namespace ib::route
