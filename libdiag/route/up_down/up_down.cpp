// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/up_down/up_down.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <queue>
#include <unordered_map>

#include "libdiag/base/parallel.h"
#include "libdiag/route/up_down/detours.h"
#include "libdiag/route/up_down/live_ways.h"

namespace ib::route {
namespace {

using fabric::SwitchIndex;

// ---- up_down_hops: one byte a target, 64 of them side by side ----

using Bytes = std::array<std::uint8_t, tables::kTargetsPerBatch>;
constexpr std::uint8_t kFar = UpDownHops::kFar;

#ifdef __SSE2__

std::uint64_t where_equal(const Bytes& a, const Bytes& b) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < a.size(); i += sizeof(__m128i)) {
    __m128i x, y;
    std::memcpy(&x, a.data() + i, sizeof x);
    std::memcpy(&y, b.data() + i, sizeof y);
    const auto equal = static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(x, y)));
    bits |= std::uint64_t{equal} << i;
  }
  return bits;
}

#else

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

#endif

void keep_smaller(Bytes& to, const Bytes& from) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = std::min(to[i], from[i]);
}

Bytes plus_one(const Bytes& from) {
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

/// The hops of one switch to each target, and what its neighbours make of them.
struct Seen {
  Bytes hops = filled(kFar);
  Bytes straight = filled(kFar);  // a valley: by links that were below it all along
  Bytes one_more, turning;        // for a neighbour: in general, and if it was above a valley

  void finish(bool valley) {
    one_more = plus_one(hops);
    if (!valley) return;
    for (std::size_t b = 0; b < hops.size(); ++b)
      turning[b] = UpDownOrder::over_valley(hops[b], straight[b]);
  }
  const Bytes& from(const UpDownOrder& order, SwitchIndex neighbour, SwitchIndex self) const {
    return order.turns_at(neighbour, self) ? turning : one_more;
  }
};

// ---- with_single_tops ----

class Joiner {
 public:
  Joiner(const fabric::CompactGraph& graph, const UpDownOrder& order)
      : graph_(graph),
        order_(order),
        joined_(graph.switch_count(), false),
        valley_(graph.switch_count(), false) {}

  UpDownOrder run() {
    const UpDownOrder given = order_;
    // The first switch of a component stays its top.
    std::vector<bool> seen(graph_.switch_count(), false);
    for (SwitchIndex s : order_.from_top()) {
      if (seen[s]) continue;
      mark_component(s, seen);
      join_below(s);
    }
    for (SwitchIndex valley = next_valley(); valley != fabric::kNoSwitch; valley = next_valley())
      turn_round(valley);
    const auto former = given.positions();
    order_.set_valleys(std::move(valley_), {former.begin(), former.end()});
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

  /// Puts `valley` above everything that is above it and not joined. In each connected part of
  /// that, the neighbour with most links to the valley becomes the top, and hops from there decide;
  /// links to anything else stay as they are. Then sorts all switches again, the former order
  /// deciding where links do not.
  void turn_round(SwitchIndex valley) {
    valley_[valley] = true;
    constexpr std::uint32_t kOutside = 0xFFFFFFFF, kAbove = 0xFFFFFFFE;
    std::vector<std::uint32_t> hops(graph_.switch_count(), kOutside);
    std::vector<SwitchIndex> above{valley};
    for (std::size_t i = 0; i < above.size(); ++i)
      for (const auto& arc : graph_.arcs(above[i]))
        if (hops[arc.to] == kOutside && !joined_[arc.to] && order_.is_up(above[i], arc.to)) {
          hops[arc.to] = kAbove;
          above.push_back(arc.to);
        }
    std::vector<SwitchIndex> queue;
    for (SwitchIndex top = next_part(valley, hops, kAbove); top != fabric::kNoSwitch;
         top = next_part(valley, hops, kAbove)) {
      hops[top] = 1;
      queue.assign(1, top);
      for (std::size_t i = 0; i < queue.size(); ++i)
        for (const auto& arc : graph_.arcs(queue[i]))
          if (hops[arc.to] == kAbove) {
            hops[arc.to] = hops[queue[i]] + 1;
            queue.push_back(arc.to);
          }
    }
    hops[valley] = 0;
    const auto is_up = [&](SwitchIndex from, SwitchIndex to) {
      if (hops[from] == kOutside || hops[to] == kOutside || hops[from] == hops[to])
        return order_.is_up(from, to);
      return hops[to] < hops[from];
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

  /// The neighbour of `valley` with most links to it among those marked `above`; of equals the
  /// lowest.
  SwitchIndex next_part(SwitchIndex valley, const std::vector<std::uint32_t>& hops,
                        std::uint32_t above) const {
    std::unordered_map<SwitchIndex, std::size_t> links;
    SwitchIndex best = fabric::kNoSwitch;
    const auto key = [&](SwitchIndex s) { return std::pair(links[s], order_.positions()[s]); };
    for (const auto& arc : graph_.arcs(valley)) {
      if (hops[arc.to] != above) continue;
      ++links[arc.to];
      if (best == fabric::kNoSwitch || key(arc.to) > key(best)) best = arc.to;
    }
    return best;
  }

  const fabric::CompactGraph& graph_;
  UpDownOrder order_;
  std::vector<bool> joined_;  // below the first top of its component
  std::vector<bool> valley_;
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

namespace {

/// Ways to the targets of one batch.
class Ways {
 public:
  Ways(const fabric::CompactGraph& graph, const UpDownOrder& order,
       std::span<const SwitchIndex> targets)
      : graph_(graph),
        order_(order),
        targets_(targets),
        down_(graph.switch_count()),
        all_(graph.switch_count()),
        descends_(graph.switch_count()),
        climbs_(graph.switch_count()),
        arcs_(graph.arc_count()) {}

  void find() {
    descend();
    forced_ = climb({});
    if (forced_ == 0) return;
    // A switch with CAs must take a worse way than it could, since something above descends to it.
    // That something counts only if packets of CAs may pass it. Who they may pass depends on the
    // ways, so it grows until it covers itself.
    std::vector<std::uint64_t> counts(graph_.switch_count(), ~forced_);
    for (bool grows = true; grows;) {
      climb(counts);
      grows = false;
      const auto passed = passed_by_cas();
      for (SwitchIndex s = 0; s < counts.size(); ++s) {
        grows |= (passed[s] & ~counts[s]) != 0;
        counts[s] |= passed[s];
      }
    }
    settle(counts);
  }

  std::uint64_t forced() const { return forced_; }

  void copy_to(std::span<UpDownHops> rows) const {
    for (std::size_t b = 0; b < targets_.size(); ++b)
      for (SwitchIndex s = 0; s < down_.size(); ++s)
        rows[b * down_.size() + s] = {down_[s].hops[b], down_[s].straight[b], all_[s].hops[b]};
  }

  tables::LeastHops take() {
    const std::size_t switches = graph_.switch_count();
    const std::uint64_t everything = all_targets();
    tables::LeastHops result;
    for (SwitchIndex s = 0; s < switches; ++s) {
      const Bytes& hops = all_[s].hops;
      std::uint64_t left = everything & ~where_equal(hops, filled(kFar));
      for (std::uint8_t level = 0; left != 0; ++level) {
        const std::uint64_t here = left & where_equal(hops, filled(level));
        if (here == 0) continue;
        while (result.at.size() <= level) result.at.emplace_back(switches, 0);
        result.at[level][s] = here;
        left &= ~here;
      }
    }
    if (result.at.empty()) result.at.emplace_back(switches, 0);
    result.arcs = std::move(arcs_);
    return result;
  }

 private:
  std::uint64_t all_targets() const {
    return targets_.size() == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << targets_.size()) - 1;
  }

  static bool is_repeated(std::span<const fabric::Arc> arcs, std::size_t i) {
    return i > 0 && arcs[i - 1].to == arcs[i].to;
  }

  /// Hops to each target by steps down alone; from the bottom to the top, so that what lies below
  /// a switch is known.
  void descend() {
    for (std::size_t b = 0; b < targets_.size(); ++b) down_[targets_[b]].hops[b] = 0;
    for (std::size_t i = graph_.switch_count(); i-- > 0;) {
      const SwitchIndex s = order_.from_top()[i];
      Seen& own = down_[s];
      const auto arcs = graph_.arcs(s);
      own.straight = own.hops;
      for (std::size_t a = 0; a < arcs.size(); ++a) {
        const SwitchIndex to = arcs[a].to;
        if (is_repeated(arcs, a) || order_.is_up(s, to)) continue;
        keep_smaller(own.hops, down_[to].from(order_, s, to));
        if (!order_.was_up(s, to)) keep_smaller(own.straight, down_[to].from(order_, s, to));
      }
      own.finish(order_.is_valley(s));
    }
  }

  /// From the top to the bottom. A switch that something above it descends to goes on descending;
  /// any other takes the shorter of both ways, or both. `counts`: what above it is looked at, by
  /// switch; empty: all. Returns the targets for which a switch with CAs had to leave a climb that
  /// is no longer.
  std::uint64_t climb(const std::vector<std::uint64_t>& counts) {
    std::uint64_t forced = 0;
    for (SwitchIndex s : order_.from_top()) {
      const auto arcs = graph_.arcs(s);
      Bytes least = filled(kFar);
      std::uint64_t entered = 0;
      for (std::size_t a = 0; a < arcs.size(); ++a) {
        const SwitchIndex to = arcs[a].to;
        if (is_repeated(arcs, a) || !order_.is_up(s, to)) continue;
        keep_smaller(least, all_[to].from(order_, s, to));
        entered |= where_equal(down_[s].from(order_, to, s), all_[to].hops) & descends_[to] &
                   (counts.empty() ? ~std::uint64_t{0} : counts[to]);
      }
      for (std::uint64_t bits = entered; bits != 0; bits &= bits - 1) {
        const auto b = static_cast<std::size_t>(std::countr_zero(bits));
        if (least[b] <= down_[s].hops[b] && graph_.attached()[s] != 0) forced |= bits & (~bits + 1);
        least[b] = kFar;
      }
      keep_smaller(least, down_[s].hops);
      all_[s].hops = least;
      all_[s].straight = down_[s].straight;
      all_[s].finish(order_.is_valley(s));
      const std::uint64_t finite = ~where_equal(least, filled(kFar));
      descends_[s] = where_equal(least, down_[s].hops) & finite;
      climbs_[s] = 0;
      const std::size_t first = graph_.arc_index(s, 0);
      for (std::size_t a = 0; a < arcs.size(); ++a) {
        const SwitchIndex to = arcs[a].to;
        if (is_repeated(arcs, a)) {
          arcs_[first + a] = arcs_[first + a - 1];
        } else if (order_.is_up(s, to)) {
          arcs_[first + a] = where_equal(least, all_[to].from(order_, s, to)) & finite & ~entered;
          climbs_[s] |= arcs_[first + a];
        } else {
          arcs_[first + a] = where_equal(least, down_[to].from(order_, s, to)) & descends_[s];
        }
      }
    }
    return forced;
  }

  /// By switch: for which targets packets of CAs may come by. First those that climb, from the
  /// bottom, then those that descend, from the top.
  std::vector<std::uint64_t> passed_by_cas() const {
    std::vector<std::uint64_t> passed(graph_.switch_count(), 0);
    const auto hand_on = [&](SwitchIndex s, bool up) {
      const std::size_t first = graph_.arc_index(s, 0);
      for (std::size_t a = 0; a < graph_.arcs(s).size(); ++a)
        if (const SwitchIndex to = graph_.arcs(s)[a].to; order_.is_up(s, to) == up)
          passed[to] |= passed[s] & arcs_[first + a];
    };
    for (SwitchIndex s = 0; s < passed.size(); ++s)
      if (graph_.attached()[s] != 0) passed[s] = ~std::uint64_t{0};
    for (std::size_t b = 0; b < targets_.size(); ++b) passed[targets_[b]] |= std::uint64_t{1} << b;
    for (std::size_t i = graph_.switch_count(); i-- > 0;) hand_on(order_.from_top()[i], true);
    for (SwitchIndex s : order_.from_top()) hand_on(s, false);
    return passed;
  }

  /// Finds new ways for switches that do not count, as far as those of the others allow: into
  /// what descends anyway, else up.
  void settle(const std::vector<std::uint64_t>& counts) {
    const std::uint64_t everything = all_targets();
    for (std::size_t i = graph_.switch_count(); i-- > 0;) {
      const SwitchIndex s = order_.from_top()[i];
      const std::uint64_t open = everything & ~counts[s];
      clear(s, open);
      take_shortest(s, open, false);
    }
    for (SwitchIndex s : order_.from_top()) take_shortest(s, everything & ~counts[s], true);
  }

  void clear(SwitchIndex s, std::uint64_t bits) {
    climbs_[s] &= ~bits;
    for (std::size_t a = 0; a < graph_.arcs(s).size(); ++a) arcs_[graph_.arc_index(s, a)] &= ~bits;
    for (; bits != 0; bits &= bits - 1) {
      const auto b = static_cast<std::size_t>(std::countr_zero(bits));
      all_[s].hops[b] = all_[s].straight[b] = kFar;
    }
    all_[s].finish(order_.is_valley(s));
  }

  /// Of the targets in `bits` those that s has no way to get the shortest up, or down.
  void take_shortest(SwitchIndex s, std::uint64_t bits, bool up) {
    const auto arcs = graph_.arcs(s);
    for (; bits != 0; bits &= bits - 1) {
      const auto b = static_cast<std::size_t>(std::countr_zero(bits));
      const std::uint64_t bit = std::uint64_t{1} << b;
      if (all_[s].hops[b] != kFar) continue;
      const auto hops_over = [&](SwitchIndex to) {
        if (order_.is_up(s, to) != up || (!up && (climbs_[to] & bit) != 0)) return kFar;
        return all_[to].from(order_, s, to)[b];
      };
      std::uint8_t least = kFar;
      for (const auto& arc : arcs) least = std::min(least, hops_over(arc.to));
      if (least == kFar) continue;
      all_[s].hops[b] = least;
      for (std::size_t a = 0; a < arcs.size(); ++a) {
        if (hops_over(arcs[a].to) != least) continue;
        arcs_[graph_.arc_index(s, a)] |= bit;
        if (up) climbs_[s] |= bit;
        if (!up && !order_.was_up(s, arcs[a].to)) all_[s].straight[b] = least;
      }
    }
    all_[s].finish(order_.is_valley(s));
  }

  const fabric::CompactGraph& graph_;
  const UpDownOrder& order_;
  std::span<const SwitchIndex> targets_;
  std::vector<Seen> down_, all_;  // by steps down alone; by what is allowed
  std::vector<std::uint64_t> descends_, climbs_;
  std::vector<std::uint64_t> arcs_;
  std::uint64_t forced_{0};
};

}  // namespace

tables::LeastHops up_down_hops(const fabric::CompactGraph& graph, const UpDownOrder& order,
                               std::span<const SwitchIndex> targets) {
  assert(targets.size() <= tables::kTargetsPerBatch);
  if (graph.switch_count() == 0) return {};
  Ways ways(graph, order, targets);
  ways.find();
  return ways.take();
}

std::uint64_t up_down_hops(const fabric::CompactGraph& graph, const UpDownOrder& order,
                           std::span<const SwitchIndex> targets, std::span<UpDownHops> rows,
                           tables::LeastHops& candidates) {
  if (graph.switch_count() == 0) return 0;
  Ways ways(graph, order, targets);
  ways.find();
  ways.copy_to(rows);
  candidates = ways.take();
  return ways.forced();
}

std::vector<tables::LeastHops> up_down_candidates(const fabric::CompactGraph& graph,
                                                  const UpDownOrder& order,
                                                  const Targets& targets) {
  std::vector<tables::LeastHops> hops(targets.batch_count());
  parallel_for(std::size_t{0}, hops.size(), [&](std::size_t i) {
    std::vector<SwitchIndex> leaves;
    for (const Target& target : targets.batch(i)) leaves.push_back(target.leaf);
    hops[i] = up_down_hops(graph, order, leaves);
  });
  return hops;
}

namespace {

std::shared_ptr<const PlacedSwitches> placed(const fabric::CompactGraph& graph,
                                             const UpDownOrder& order) {
  auto places = std::make_shared<PlacedSwitches>();
  for (std::uint32_t i = 0; i < graph.switch_count(); ++i) {
    const SwitchIndex s = order.from_top()[i];
    places->push_back({graph.guid(s), i, order.former_position(s), order.is_valley(s)});
  }
  return places;
}

/// The order of these switches among all that have a place; nothing when one has none.
std::optional<UpDownOrder> order_among(const PlacedSwitches& places,
                                       const fabric::CompactGraph& graph) {
  std::unordered_map<Guid, const PlacedSwitch*> named;
  for (const PlacedSwitch& place : places) named.emplace(place.guid, &place);
  std::vector<const PlacedSwitch*> place;
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
    const auto at = named.find(graph.guid(s));
    if (at == named.end()) return std::nullopt;
    place.push_back(at->second);
  }
  std::vector<SwitchIndex> from_top(place.size());
  std::iota(from_top.begin(), from_top.end(), SwitchIndex{0});
  std::ranges::stable_sort(from_top, {}, [&](SwitchIndex s) { return place[s]->position; });
  UpDownOrder order(std::move(from_top));
  std::vector<bool> valley;
  std::vector<std::uint32_t> former;
  for (const PlacedSwitch* at : place) valley.push_back(at->valley), former.push_back(at->former);
  order.set_valleys(std::move(valley), std::move(former));
  return order;
}

CandidateRule rule_of(UpDownOrder order, bool detours,
                      std::shared_ptr<const PlacedSwitches> places) {
  CandidateRule rule;
  rule.up_order.assign(order.positions().begin(), order.positions().end());
  rule.follow = [order](const fabric::CompactGraph& graph, std::span<const SwitchIndex> targets) {
    return follow_up_down(graph, order, targets);
  };
  if (detours)
    rule.detours = [order](const fabric::CompactGraph& graph, const Targets& targets,
                           tables::LeastHops& hops) { add_detours(graph, order, targets, hops); };
  rule.of = [order = std::move(order)](const fabric::CompactGraph& graph,
                                       std::span<const SwitchIndex> targets) {
    return up_down_hops(graph, order, targets);
  };
  rule.by_order = [detours](
                      const fabric::CompactGraph& graph,
                      std::shared_ptr<const PlacedSwitches> by) -> std::optional<CandidateRule> {
    auto of_these = order_among(*by, graph);
    if (!of_these) return std::nullopt;
    return rule_of(*std::move(of_these), detours, std::move(by));
  };
  rule.among = [by_order = rule.by_order, places](const fabric::CompactGraph& graph) {
    return by_order(graph, places);
  };
  rule.order = std::move(places);
  return rule;
}

}  // namespace

CandidateRule candidates_by(const fabric::CompactGraph& graph, UpDownOrder order, bool detours) {
  auto places = placed(graph, order);
  return rule_of(std::move(order), detours, std::move(places));
}

}  // namespace ib::route
