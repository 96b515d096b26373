// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/up_down.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstring>
#include <functional>
#include <numeric>
#include <queue>

namespace ib::route {
namespace {

using fabric::SwitchIndex;

// ---- up_down_hops: one byte a target, 64 of them side by side ----

using Bytes = std::array<std::uint8_t, routes::kTargetsPerBatch>;
constexpr std::uint8_t kFar = 255;

/// Bit b of the result: byte b is not 0 (bytes are 0 or 255).
std::uint64_t bits_of(const Bytes& flags) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, flags.data() + 8 * i, 8);
    if constexpr (std::endian::native == std::endian::big) eight = __builtin_bswap64(eight);
    // The product brings the lowest bit of byte j to bit 56 + j.
    bits |= (((eight & 0x0101010101010101ULL) * 0x0102040810204080ULL) >> 56) << (8 * i);
  }
  return bits;
}

std::uint64_t where_equal(const Bytes& a, const Bytes& b) {
  Bytes equal;
  for (std::size_t i = 0; i < equal.size(); ++i) equal[i] = a[i] == b[i] ? 255 : 0;
  return bits_of(equal);
}

void keep_smaller(Bytes& to, const Bytes& from) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = std::min(to[i], from[i]);
}

Bytes one_more(const Bytes& from) {
  Bytes more;
  for (std::size_t i = 0; i < more.size(); ++i)
    more[i] = static_cast<std::uint8_t>(from[i] + (from[i] != kFar ? 1 : 0));
  return more;
}

Bytes filled(std::uint8_t value) {
  Bytes bytes;
  bytes.fill(value);
  return bytes;
}

// ---- with_single_tops ----

class Joiner {
 public:
  Joiner(const fabric::CompactGraph& graph, const UpDownOrder& order)
      : graph_(graph), order_(order), joined_(graph.switch_count(), false) {}

  UpDownOrder run() {
    // The first switch of a component stays its top.
    std::vector<bool> seen(graph_.switch_count(), false);
    for (SwitchIndex s : order_.from_top()) {
      if (seen[s]) continue;
      mark_component(s, seen);
      join_below(s);
    }
    for (SwitchIndex valley = next_valley(); valley != fabric::kNoSwitch; valley = next_valley())
      turn_round(valley);
    return order_;
  }

 private:
  void mark_component(SwitchIndex top, std::vector<bool>& seen) const {
    std::vector<SwitchIndex> stack{top};
    seen[top] = true;
    while (!stack.empty()) {
      const SwitchIndex s = stack.back();
      stack.pop_back();
      for (const auto& arc : graph_.arcs(s))
        if (!seen[arc.to]) {
          seen[arc.to] = true;
          stack.push_back(arc.to);
        }
    }
  }

  void join_below(SwitchIndex top) {
    std::vector<SwitchIndex> stack{top};
    joined_[top] = true;
    while (!stack.empty()) {
      const SwitchIndex s = stack.back();
      stack.pop_back();
      for (const auto& arc : graph_.arcs(s))
        if (!joined_[arc.to] && !order_.is_up(s, arc.to)) {
          joined_[arc.to] = true;
          stack.push_back(arc.to);
        }
    }
  }

  /// The highest switch below a joined top and also below one that is not. None of its joined
  /// ancestors is another such, or that one would be higher.
  SwitchIndex next_valley() const {
    for (SwitchIndex s : order_.from_top()) {
      if (!joined_[s]) continue;
      for (const auto& arc : graph_.arcs(s))
        if (!joined_[arc.to] && order_.is_up(s, arc.to)) return s;
    }
    return fabric::kNoSwitch;
  }

  /// Turns round every link on the ways from `valley` up to tops that are not joined, then sorts
  /// all switches anew, the former order deciding where links do not.
  void turn_round(SwitchIndex valley) {
    std::vector<bool> turned(graph_.switch_count(), false);
    std::vector<SwitchIndex> above{valley};
    turned[valley] = true;
    for (std::size_t i = 0; i < above.size(); ++i)
      for (const auto& arc : graph_.arcs(above[i]))
        if (!turned[arc.to] && !joined_[arc.to] && order_.is_up(above[i], arc.to)) {
          turned[arc.to] = true;
          above.push_back(arc.to);
        }
    const auto is_up = [&](SwitchIndex from, SwitchIndex to) {
      return order_.is_up(from, to) != (turned[from] && turned[to]);
    };

    const auto position = order_.positions();
    std::vector<std::uint32_t> parents(graph_.switch_count(), 0);
    std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
    for (SwitchIndex s = 0; s < graph_.switch_count(); ++s) {
      for (const auto& arc : graph_.arcs(s)) parents[s] += is_up(s, arc.to) ? 1 : 0;
      if (parents[s] == 0) ready.push(position[s]);
    }
    std::vector<SwitchIndex> from_top;
    while (!ready.empty()) {
      const SwitchIndex s = order_.from_top()[ready.top()];
      ready.pop();
      from_top.push_back(s);
      for (const auto& arc : graph_.arcs(s))
        if (!is_up(s, arc.to) && --parents[arc.to] == 0) ready.push(position[arc.to]);
    }
    order_ = UpDownOrder(std::move(from_top));
    join_below(valley);
  }

  const fabric::CompactGraph& graph_;
  UpDownOrder order_;
  std::vector<bool> joined_;  // below the first top of its component
};

}  // namespace

UpDownOrder::UpDownOrder(std::vector<SwitchIndex> from_top)
    : from_top_(std::move(from_top)), position_(from_top_.size()) {
  for (std::size_t i = 0; i < from_top_.size(); ++i)
    position_[from_top_[i]] = static_cast<std::uint32_t>(i);
}

UpDownOrder with_single_tops(const fabric::CompactGraph& graph, const UpDownOrder& order) {
  return Joiner(graph, order).run();
}

routes::LeastHops up_down_hops(const fabric::CompactGraph& graph, const UpDownOrder& order,
                               std::span<const SwitchIndex> targets) {
  assert(targets.size() <= routes::kTargetsPerBatch);
  const std::size_t switches = graph.switch_count();
  routes::LeastHops result;
  result.arcs.assign(graph.arc_count(), 0);
  const auto is_repeated = [](std::span<const fabric::Arc> arcs, std::size_t i) {
    return i > 0 && arcs[i - 1].to == arcs[i].to;
  };

  // Hops to each target by steps down alone; from the bottom to the top, so that what lies below a
  // switch is known.
  std::vector<Bytes> down(switches, filled(kFar));
  for (std::size_t b = 0; b < targets.size(); ++b) down[targets[b]][b] = 0;
  std::vector<Bytes> down_and_one(switches);
  for (std::size_t i = switches; i-- > 0;) {
    const SwitchIndex s = order.from_top()[i];
    Bytes least = down[s];
    const auto arcs = graph.arcs(s);
    for (std::size_t a = 0; a < arcs.size(); ++a)
      if (!is_repeated(arcs, a) && !order.is_up(s, arcs[a].to))
        keep_smaller(least, down_and_one[arcs[a].to]);
    down[s] = least;
    down_and_one[s] = one_more(least);
  }

  // Then from the top to the bottom. A switch that something above it descends to goes on
  // descending; any other takes the shorter of both ways, or both.
  std::vector<Bytes> hops(switches), hops_and_one(switches);
  std::vector<std::uint64_t> descends(switches);
  std::uint8_t longest = 0;
  for (SwitchIndex s : order.from_top()) {
    const auto arcs = graph.arcs(s);
    const std::size_t first = graph.arc_index(s, 0);
    Bytes least = filled(kFar);
    std::uint64_t entered = 0;
    for (std::size_t a = 0; a < arcs.size(); ++a) {
      const SwitchIndex to = arcs[a].to;
      if (is_repeated(arcs, a) || !order.is_up(s, to)) continue;
      keep_smaller(least, hops_and_one[to]);
      entered |= where_equal(down_and_one[s], hops[to]) & descends[to];
    }
    keep_smaller(least, down[s]);
    for (std::uint64_t bits = entered; bits != 0; bits &= bits - 1) {
      const auto b = static_cast<std::size_t>(std::countr_zero(bits));
      least[b] = down[s][b];
    }
    hops[s] = least;
    hops_and_one[s] = one_more(least);
    const std::uint64_t finite = ~where_equal(least, filled(kFar));
    descends[s] = where_equal(least, down[s]) & finite;
    const std::uint64_t climbs = finite & ~entered;
    for (std::size_t a = 0; a < arcs.size(); ++a) {
      const SwitchIndex to = arcs[a].to;
      if (is_repeated(arcs, a))
        result.arcs[first + a] = result.arcs[first + a - 1];
      else if (order.is_up(s, to))
        result.arcs[first + a] = where_equal(least, hops_and_one[to]) & climbs;
      else
        result.arcs[first + a] = where_equal(least, down_and_one[to]) & descends[s];
    }
    for (std::uint64_t bits = finite; bits != 0; bits &= bits - 1)
      longest = std::max(longest, least[static_cast<std::size_t>(std::countr_zero(bits))]);
  }

  result.at.assign(longest + std::size_t{1}, std::vector<std::uint64_t>(switches, 0));
  for (SwitchIndex s = 0; s < switches; ++s)
    for (std::size_t b = 0; b < targets.size(); ++b)
      if (hops[s][b] != kFar) result.at[hops[s][b]][s] |= std::uint64_t{1} << b;
  return result;
}

std::vector<routes::LeastHops> up_down_candidates(const fabric::CompactGraph& graph,
                                                  const UpDownOrder& order,
                                                  const Targets& targets) {
  std::vector<routes::LeastHops> hops(targets.batch_count());
  tbb::parallel_for(std::size_t{0}, hops.size(), [&](std::size_t i) {
    std::vector<SwitchIndex> leaves;
    for (const Target& target : targets.batch(i)) leaves.push_back(target.leaf);
    hops[i] = up_down_hops(graph, order, leaves);
  });
  return hops;
}

Routes up_down_routes(const Request& request, std::string engine, const UpDownOrder& order) {
  const Targets targets(request);
  Routes result;
  result.engine = std::move(engine);
  result.lfts = spread(request, targets, up_down_candidates(*request.graph, order, targets));
  result.promises_deadlock_freedom = true;
  result.multicast.up_order.assign(order.positions().begin(), order.positions().end());
  return result;
}

}  // namespace ib::route
