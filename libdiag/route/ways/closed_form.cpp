// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/ways/closed_form.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <utility>

#include "libdiag/base/parallel.h"

namespace ib::route {
namespace {

using fabric::SwitchIndex;
constexpr std::uint8_t kNone = 255;  // no arc has this index: a switch has 254 ports

/// One row of the tables.
class Row {
 public:
  Row(const Request& request, const Targets& targets, const TreePlaces& places,
      std::span<const std::vector<std::uint16_t>> uplinks,
      std::span<const std::vector<std::uint32_t>> others, SwitchIndex s,
      std::span<const std::uint32_t> ranks, tables::LinearTables& tables)
      : targets_(targets),
        places_(places),
        uplinks_(uplinks),
        others_(others[places.height[s]]),
        s_(s),
        ranks_(ranks),
        height_(places.height[s]),
        arcs_(request.graph->arcs(s)),
        first_(request.graph->arc_index(s, 0)),
        row_(tables.row(s)),
        uplink_to_(places.uplinks(height_), kNone) {
    if (request.options.honour_previous && request.previous != nullptr &&
        s < request.previous->switch_count())
      previous_ = request.previous->row(s);
    for (std::uint8_t i = 0; std::size_t{i} < arcs_.size(); ++i) {
      if (places.height[arcs_[i].to] <= height_) continue;
      std::uint32_t uplink = places.slot[arcs_[i].to];
      while (uplink < uplink_to_.size() && uplink_to_[uplink] != kNone)
        uplink += places.slots[height_];
      if (uplink < uplink_to_.size()) uplink_to_[uplink] = i;
      up_.push_back(i);
    }
    for (const std::uint8_t arc : uplink_to_) {
      no_gaps_ &= arc != kNone;
      uplink_port_.push_back(arc == kNone ? tables::kNoPort : arcs_[arc].out_port);
    }
  }

  void fill(std::span<const Target> batch, const tables::LeastHops& hops,
            std::size_t first_target) {
    // Most targets can be reached over all ways up, or over one arc.
    std::uint64_t all_up = up_.empty() ? 0 : ~std::uint64_t{0};
    for (const std::uint8_t i : up_) all_up &= hops.arcs[first_ + i];
    std::array<std::uint8_t, tables::kTargetsPerBatch> count{}, only;
    for (std::uint8_t i = 0; std::size_t{i} < arcs_.size(); ++i)
      for (std::uint64_t bits = hops.arcs[first_ + i] & ~all_up; bits != 0; bits &= bits - 1) {
        const auto b = static_cast<std::size_t>(std::countr_zero(bits));
        ++count[b];
        only[b] = i;
      }
    std::array<std::uint8_t, 256> list;
    for (std::size_t b = 0; b < batch.size(); ++b) {
      const Target& target = batch[b];
      if (target.leaf == s_) {
        for (const auto& column : targets_.columns(target)) row_[column.lid.value] = column.port;
        for (const auto& [lid, port] : targets_.switch_lids(s_)) row_[lid.value] = port;
        continue;
      }
      std::span<const std::uint8_t> candidates;
      if ((all_up >> b) & 1) {
        candidates = up_;
      } else if (count[b] == 1) {
        candidates = {&only[b], 1};
      } else if (count[b] != 0) {
        std::size_t n = 0;
        for (std::uint8_t i = 0; std::size_t{i} < arcs_.size(); ++i)
          if ((hops.arcs[first_ + i] >> b) & 1) list[n++] = i;
        candidates = {list.data(), n};
      } else {
        continue;
      }
      fill_target(target, candidates, first_target + b);
    }
  }

 private:
  void fill_target(const Target& target, std::span<const std::uint8_t> candidates,
                   std::size_t index) {
    const auto columns = targets_.columns(target);
    const std::size_t n = candidates.size();
    const bool only_up = candidates.data() == up_.data();
    const auto& own = uplinks_[height_];
    const bool as_numbered = height_ > 0 || !has_left_over(target);
    if (previous_.empty() && (n == 1 || (only_up && no_gaps_ && as_numbered))) {
      fill_simple(target, only_up && n > 1 ? nullptr : &candidates[0]);
      deal_switch_lids(target, candidates, index);
      return;
    }
    std::array<bool, 256> allowed{};
    if (!only_up)
      for (const std::uint8_t i : candidates) allowed[i] = true;
    const SwitchIndex to = arcs_[candidates[0]].to;
    const bool one_neighbour = std::all_of(candidates.begin(), candidates.end(),
                                           [&](auto i) { return arcs_[i].to == to; });
    // Cables to a child are numbered as the child numbers those that lead up.
    const bool down = one_neighbour && places_.height[to] < height_;
    const auto& below = uplinks_[down ? places_.height[to] : height_];
    const std::uint32_t below_slots = places_.slots[down ? places_.height[to] : height_];
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const std::size_t c = target.first_column + i;
      std::uint8_t arc = n == 1 ? candidates[0] : uplink_to_[own[c]];
      if (n > 1 && down)
        arc = candidates[below[c] / below_slots % n];
      else if (n > 1 && height_ == 0 && places_.left_over[c])
        arc = candidates[(own[c] + leaves_between(target.leaf)) % n];
      else if (arc == kNone || (!only_up && !allowed[arc]))
        arc = candidates[(own[c] + others_[c] + ranks_[s_]) % n];
      set(columns[i].lid, candidates, arc);
    }
    deal_switch_lids(target, candidates, index);
  }

  /// From here to another leaf, in a ring of all: each number once from every leaf and to every
  /// leaf.
  std::size_t leaves_between(SwitchIndex leaf) const {
    const std::size_t leaves = places_.switches[height_];
    return (leaves + ranks_[leaf] - ranks_[s_] - 1) % leaves;
  }

  bool has_left_over(const Target& target) const {
    for (std::size_t c = target.first_column; c < target.last_column; ++c)
      if (places_.left_over[c]) return true;
    return false;
  }

  /// Nearly all targets of a complete tree: one arc for all columns, or the one of each uplink.
  void fill_simple(const Target& target, const std::uint8_t* only) {
    const auto columns = targets_.columns(target);
    if (columns.empty()) return;
    std::uint8_t* out = row_.data() + columns[0].lid.value;
    const std::uint16_t* uplinks = uplinks_[height_].data() + target.first_column;
    const std::uint8_t* ports = uplink_port_.data();
    if (only != nullptr && target.lids_in_a_row)
      std::fill_n(out, columns.size(), arcs_[*only].out_port);
    else if (only != nullptr)
      for (const auto& column : columns) row_[column.lid.value] = arcs_[*only].out_port;
    else if (target.lids_in_a_row)
      for (std::size_t i = 0; i < columns.size(); ++i) out[i] = ports[uplinks[i]];
    else
      for (std::size_t i = 0; i < columns.size(); ++i)
        row_[columns[i].lid.value] = ports[uplinks[i]];
  }

  void deal_switch_lids(const Target& target, std::span<const std::uint8_t> candidates,
                        std::size_t turn) {
    for (const auto& [lid, port] : targets_.switch_lids(target.leaf))
      if (row_[lid.value] == tables::kNoPort)
        set(lid, candidates, candidates[turn++ % candidates.size()]);
  }

  void set(Lid lid, std::span<const std::uint8_t> candidates, std::uint8_t arc) {
    std::uint8_t port = arcs_[arc].out_port;
    if (lid.value < previous_.size())
      for (const std::uint8_t i : candidates)
        if (arcs_[i].out_port == previous_[lid.value]) port = previous_[lid.value];
    row_[lid.value] = port;
  }

  const Targets& targets_;
  const TreePlaces& places_;
  std::span<const std::vector<std::uint16_t>> uplinks_;
  std::span<const std::uint32_t> others_;  // by column: where it goes whose uplink is missing
  SwitchIndex s_;
  std::span<const std::uint32_t> ranks_;  // of every switch among those of its height
  std::uint32_t height_;
  std::span<const fabric::Arc> arcs_;
  std::size_t first_;
  std::span<std::uint8_t> row_;
  std::span<const std::uint8_t> previous_;
  std::vector<std::uint8_t> up_;                       // arcs that lead up
  std::vector<std::uint8_t> uplink_to_, uplink_port_;  // by uplink: the arc, its port
  bool no_gaps_{true};                                 // an arc for every uplink
};

/// By height and column, a number that tells apart what shares an uplink there and takes the same
/// uplink at the next switch: so what has to leave an uplink does not meet again on another link.
std::vector<std::vector<std::uint32_t>> other_uplinks(const TreePlaces& places) {
  std::vector<std::vector<std::uint32_t>> others(places.slots.size());
  for (std::uint32_t h = 0; h < others.size(); ++h) {
    const std::uint32_t next =
        std::min<std::uint32_t>(h + 1, static_cast<std::uint32_t>(others.size()) - 1);
    for (const std::uint64_t number : places.number) {
      const std::uint64_t above = number / places.divisor[next];
      const std::uint32_t width = next > h ? places.uplinks(next) : 1;
      others[h].push_back(static_cast<std::uint32_t>(above % width + above / width));
    }
  }
  return others;
}

/// A number for each switch among those of its height, by GUID: a LID that one uplink of all of
/// them is missing for leaves them by different others.
std::vector<std::uint32_t> ranks_by_height(const fabric::CompactGraph& graph,
                                           const TreePlaces& places) {
  std::vector<SwitchIndex> order(graph.switch_count());
  std::iota(order.begin(), order.end(), SwitchIndex{0});
  std::ranges::sort(order, {}, [&](SwitchIndex s) { return std::pair(graph.guid(s), s); });
  std::vector<std::uint32_t> rank(graph.switch_count()), next(places.slots.size(), 0);
  for (const SwitchIndex s : order) rank[s] = next[places.height[s]]++;
  return rank;
}

}  // namespace

tables::LinearTables closed_form_tables(const Request& request, const Targets& targets,
                                        const TreePlaces& places,
                                        std::span<const tables::LeastHops> hops) {
  const auto& graph = *request.graph;
  tables::LinearTables tables(graph.switch_count(), graph.max_lid());
  std::vector<std::vector<std::uint16_t>> uplinks(places.slots.size());  // by height and column
  for (std::uint32_t h = 0; h < uplinks.size(); ++h)
    for (std::size_t c = 0; c < places.number.size(); ++c)
      uplinks[h].push_back(static_cast<std::uint16_t>(
          places.uplink(h, places.number[c], targets.columns()[c].offset)));
  const auto others = other_uplinks(places);
  const auto rank = ranks_by_height(graph, places);
  parallel_for(SwitchIndex{0}, static_cast<SwitchIndex>(graph.switch_count()), [&](SwitchIndex s) {
    Row row(request, targets, places, uplinks, others, s, rank, tables);
    for (std::size_t i = 0; i < hops.size(); ++i)
      row.fill(targets.batch(i), hops[i], i * tables::kTargetsPerBatch);
  });
  return tables;
}

}  // namespace ib::route
