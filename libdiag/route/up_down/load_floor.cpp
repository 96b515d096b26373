// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/up_down/load_floor.h"

#include <algorithm>

namespace ib::route {

using fabric::SwitchIndex;

namespace {

/// Of the links that are there.
fabric::Pieces pieces_of(const LiveLinks& links) {
  fabric::Pieces pieces;
  pieces.of.assign(links.graph.switch_count(), fabric::kNoSwitch);
  std::vector<SwitchIndex> queue;
  for (SwitchIndex s = 0; s < pieces.of.size(); ++s) {
    if (pieces.of[s] != fabric::kNoSwitch) continue;
    queue.assign(1, s);
    pieces.of[s] = pieces.count;
    for (std::size_t i = 0; i < queue.size(); ++i) {
      const auto arcs = links.graph.arcs(queue[i]);
      for (std::size_t k = 0; k < arcs.size(); ++k) {
        std::uint32_t& piece = pieces.of[arcs[k].to];
        if (piece != fabric::kNoSwitch || links.alive[links.first(queue[i]) + k] == 0) continue;
        piece = pieces.count;
        queue.push_back(arcs[k].to);
      }
    }
    ++pieces.count;
  }
  return pieces;
}

}  // namespace

void LoadFloor::begin(const LiveLinks& links, const Targets& targets,
                      std::span<const std::uint32_t> costs) {
  pieces_ = fabric::pieces_of(links.graph);
  switches_.assign(links.graph.switch_count(), {});
  seen_.assign(switches_.size(), 0);
  for (const Target& target : targets.all())
    for (const auto& column : targets.columns(target))
      switches_[target.leaf].lids += column.counts ? 1 : 0;
  for (SwitchIndex s = 0; s < switches_.size(); ++s) {
    switches_[s].senders = targets.sources(s);
    measure(links, costs, s);
  }
  count();
}

void LoadFloor::count() {
  sums_.assign(pieces_.count, {});
  for (SwitchIndex s = 0; s < switches_.size(); ++s) {
    Piece& sum = sums_[pieces_.of[s]];
    sum.senders += switches_[s].senders;
    sum.lids += switches_[s].lids;
  }
}

void LoadFloor::measure(const LiveLinks& links, std::span<const std::uint32_t> costs,
                        SwitchIndex s) {
  switches_[s].out = switches_[s].in = 0;
  const auto end = links.first(s) + static_cast<std::uint32_t>(links.graph.arcs(s).size());
  for (std::uint32_t a = links.first(s); a < end; ++a) {
    if (links.alive[a] == 0) continue;
    switches_[s].out += 1.0 / costs[a];
    switches_[s].in += 1.0 / costs[links.reverse[a]];
  }
}

bool LoadFloor::follow(const LiveLinks& links, std::span<const std::uint32_t> costs) {
  bool other = false, joins = false;
  for (const std::uint32_t a : links.found) {
    measure(links, costs, links.from[a]);
    joins = joins || !joined(links.from[a], links.arc(a).to);
  }
  for (const std::uint32_t a : links.lost) {
    measure(links, costs, links.from[a]);
    other = other || !still_joined(links, links.from[a], links.arc(a).to);
  }
  if (joins || other) {
    pieces_ = pieces_of(links);
    count();
  }
  return joins;
}

/// Most often there is a way round a lost link within a few hops.
bool LoadFloor::still_joined(const LiveLinks& links, SwitchIndex from, SwitchIndex to) {
  ++search_;
  queue_.assign(1, from);
  seen_[from] = search_;
  for (std::size_t i = 0; i < queue_.size(); ++i) {
    const auto arcs = links.graph.arcs(queue_[i]);
    for (std::size_t k = 0; k < arcs.size(); ++k) {
      const SwitchIndex next = arcs[k].to;
      if (seen_[next] == search_ || links.alive[links.first(queue_[i]) + k] == 0) continue;
      if (next == to) return true;
      seen_[next] = search_;
      queue_.push_back(next);
    }
  }
  return from == to;
}

double LoadFloor::load() const {
  double floor = 0;
  for (SwitchIndex s = 0; s < switches_.size(); ++s) {
    const Switch& own = switches_[s];
    const Piece& all = sums_[pieces_.of[s]];
    if (const auto sent = own.senders * (all.lids - own.lids); sent != 0)
      floor = std::max(floor, static_cast<double>(sent) / own.out);
    if (const auto got = own.lids * (all.senders - own.senders); got != 0)
      floor = std::max(floor, static_cast<double>(got) / own.in);
  }
  return floor;
}

}  // namespace ib::route
