// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/spread.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <bit>
#include <numeric>

namespace ib::route {
namespace {

using fabric::SwitchIndex;

/// An arc as the choice sees it; those of one switch are in order of preference.
struct Exit {
  SwitchIndex to;
  std::uint8_t port;
};

/// A number that depends on nothing but its arguments (splitmix64), for Options::scatter_seed.
std::uint64_t mix(std::uint64_t seed, std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = seed * 0x9E3779B97F4A7C15ULL ^ a * 0xBF58476D1CE4E5B9ULL ^ b;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

class Spreader {
 public:
  Spreader(const Request& request, const Targets& targets)
      : graph_(*request.graph),
        fabric_(*request.fabric),
        targets_(targets),
        previous_(request.options.honour_previous ? request.previous : nullptr),
        tables_(graph_.switch_count(), graph_.max_lid()),
        load_(graph_.arc_count(), 0) {
    order_exits(request.options.scatter_seed);
  }

  void run_batch(std::span<const Target> batch, const routes::LeastHops& hops) {
    batch_ = batch;
    first_column_ = batch.front().first_column;
    width_ = batch.back().last_column - first_column_;
    weight_.resize(graph_.switch_count() * width_);
    masks_.resize(graph_.switch_count() * routes::kTargetsPerBatch * mask_words_);
    choice_.resize(weight_.size());
    over_switches([&](SwitchIndex s) { prepare(s, hops); });
    for (std::size_t level = hops.at.size() - 1; width_ != 0 && level > 0; --level) {
      over_switches([&](SwitchIndex s) { for_bits(hops.at[level][s], s); });
      // What arrives at the targets themselves is of no interest.
      if (level == 1) break;
      tbb::parallel_for(std::size_t{0}, batch_.size(),
                        [&](std::size_t b) { hand_on(batch_[b], b, hops.at[level]); });
    }
  }

  routes::LinearTables take() { return std::move(tables_); }

 private:
  using Mask = std::span<const std::uint64_t>;

  template <class Function>
  void over_switches(Function function) {
    tbb::parallel_for(
        tbb::blocked_range<SwitchIndex>(0, static_cast<SwitchIndex>(graph_.switch_count()), 8),
        [&](const auto& range) {
          for (SwitchIndex s = range.begin(); s != range.end(); ++s) function(s);
        });
  }

  void order_exits(std::uint32_t seed) {
    exits_.resize(graph_.arc_count());
    position_.resize(graph_.arc_count());
    for (SwitchIndex s = 0; s < graph_.switch_count(); ++s) {
      const auto arcs = graph_.arcs(s);
      mask_words_ = std::max(mask_words_, (arcs.size() + 63) / 64);
      std::vector<std::size_t> order(arcs.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      auto key = [&](std::size_t i) {
        const Guid guid = graph_.guid(arcs[i].to);
        const std::uint64_t scatter =
            seed == 0 ? 0 : mix(seed, graph_.guid(s).value, arcs[i].out_port);
        return std::tuple(scatter, guid, arcs[i].out_port);
      };
      std::sort(order.begin(), order.end(),
                [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
      const std::size_t first = graph_.arc_index(s, 0);
      for (std::size_t rank = 0; rank < order.size(); ++rank) {
        const auto& arc = arcs[order[rank]];
        exits_[first + rank] = {arc.to, arc.out_port};
        position_[first + rank] = static_cast<std::uint32_t>(first + order[rank]);
      }
    }
  }

  Mask mask(SwitchIndex s, std::size_t b) const {
    return {masks_.data() + (s * routes::kTargetsPerBatch + b) * mask_words_, mask_words_};
  }
  /// Where the columns of a target begin in weight_ and choice_: targets one after the other, so
  /// that hand_on() stays within the cache, and in a target switches one after the other.
  std::size_t cell(SwitchIndex s, const Target& target) const {
    return (target.first_column - first_column_) * graph_.switch_count() +
           s * (target.last_column - target.first_column);
  }
  std::span<const Targets::Column> columns(const Target& target) const {
    return targets_.columns().subspan(target.first_column,
                                      target.last_column - target.first_column);
  }

  /// Candidate masks of s for every target of the batch, its sources as first weights, its own
  /// LIDs, and the LIDs of the target switches, which carry no load.
  void prepare(SwitchIndex s, const routes::LeastHops& hops) {
    const std::size_t first = graph_.arc_index(s, 0);
    const std::size_t count = graph_.arcs(s).size();
    for (std::size_t word = 0; word < mask_words_; ++word) {
      std::array<std::uint64_t, 64> bits{};
      for (std::size_t i = 0; i < 64 && word * 64 + i < count; ++i)
        bits[i] = hops.arcs[position_[first + word * 64 + i]];
      routes::transpose64(bits);
      for (std::size_t b = 0; b < batch_.size(); ++b)
        masks_[(s * routes::kTargetsPerBatch + b) * mask_words_ + word] = bits[b];
    }
    for (std::size_t b = 0; b < batch_.size(); ++b) {
      const Target& target = batch_[b];
      std::fill_n(weight_.data() + cell(s, target), target.last_column - target.first_column,
                  static_cast<std::uint16_t>(targets_.sources(s)));
      if (target.leaf == s) {
        for (const auto& column : columns(target)) tables_.set(s, column.lid, column.port);
        for (Lid lid : targets_.switch_lids(s)) tables_.set(s, lid, 0);
        continue;
      }
      const auto lids = targets_.switch_lids(target.leaf);
      if (lids.empty()) continue;
      for (std::size_t i = 0; i < lids.size(); ++i) {
        std::optional<std::size_t> choice;
        if (previous_ != nullptr) {
          std::array<std::uint8_t, 256> list;
          choice = previous_choice(s, lids[i], list, candidates(mask(s, b), list));
        }
        if (!choice) choice = nth_candidate(mask(s, b), target.leaf + i);
        if (choice) tables_.set(s, lids[i], exits_[first + *choice].port);
      }
    }
  }

  /// Candidate number `n` modulo their count.
  static std::optional<std::size_t> nth_candidate(Mask mask, std::size_t n) {
    std::size_t count = 0;
    for (const std::uint64_t bits : mask) count += static_cast<unsigned>(std::popcount(bits));
    if (count == 0) return std::nullopt;
    n %= count;
    for (std::size_t word = 0;; ++word) {
      std::uint64_t bits = mask[word];
      for (; bits != 0 && n > 0; --n) bits &= bits - 1;
      if (bits != 0) return word * 64 + static_cast<unsigned>(std::countr_zero(bits));
    }
  }

  static std::size_t candidates(Mask mask, std::array<std::uint8_t, 256>& list) {
    std::size_t n = 0;
    for (std::size_t word = 0; word < mask.size(); ++word)
      for (std::uint64_t bits = mask[word]; bits != 0; bits &= bits - 1)
        list[n++] =
            static_cast<std::uint8_t>(word * 64 + static_cast<unsigned>(std::countr_zero(bits)));
    return n;
  }

  /// The candidate that the previous tables use for this LID, if there is one.
  std::optional<std::size_t> previous_choice(SwitchIndex s, Lid lid,
                                             const std::array<std::uint8_t, 256>& list,
                                             std::size_t n) const {
    if (previous_ == nullptr || s >= previous_->switch_count()) return std::nullopt;
    const std::uint8_t port = previous_->at(s, lid);
    if (port == routes::kNoPort) return std::nullopt;
    const std::size_t first = graph_.arc_index(s, 0);
    for (std::size_t i = 0; i < n; ++i)
      if (exits_[first + list[i]].port == port) return list[i];
    return std::nullopt;
  }

  void for_bits(std::uint64_t bits, SwitchIndex s) {
    for (; bits != 0; bits &= bits - 1) choose(s, static_cast<std::size_t>(std::countr_zero(bits)));
  }

  /// One switch and one target: what choosing reads and writes. Plain pointers kept in a local
  /// value, since the compiler must assume that writing a table byte changes any member.
  struct Spot {
    std::span<const Targets::Column> columns;
    const std::uint16_t* weight;  // by column
    std::uint8_t* choice;         // by column
    std::uint8_t* row;            // of the table, by LID
    const Exit* exits;
    std::uint32_t* load;  // by exit

    void assign(std::size_t c, std::size_t exit) const {
      row[columns[c].lid.value] = exits[exit].port;
      choice[c] = static_cast<std::uint8_t>(exit);
      load[exit] += weight[c];
    }
  };

  /// Chooses the exit of switch s for every LID behind target b.
  void choose(SwitchIndex s, std::size_t b) {
    const Target& target = batch_[b];
    if (target.first_column == target.last_column) return;
    const std::size_t first = graph_.arc_index(s, 0);
    const Spot spot{columns(target),
                    weight_.data() + cell(s, target),
                    choice_.data() + cell(s, target),
                    tables_.row(s).data(),
                    exits_.data() + first,
                    load_.data() + first};
    std::array<std::uint8_t, 256> list;
    const std::size_t n = candidates(mask(s, b), list);
    if (n == 1) {
      for (std::size_t c = 0; c < spot.columns.size(); ++c) spot.assign(c, list[0]);
      return;
    }
    const auto busy = static_cast<std::size_t>(std::count_if(
        spot.weight, spot.weight + spot.columns.size(), [](auto w) { return w != 0; }));
    if (busy <= 2 || target.has_siblings || previous_ != nullptr)
      choose_one_by_one(s, spot, target.has_siblings, list, n);
    else
      choose_in_turn(spot, list, n);
  }

  /// The candidates in a queue sorted by (load, preference): the first is taken, and goes back to
  /// where its new load belongs, which on a balanced switch is the end.
  static void choose_in_turn(const Spot& at_spot, const std::array<std::uint8_t, 256>& list,
                             std::size_t n) {
    const Spot spot = at_spot;
    std::array<std::uint64_t, 256> queue;
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint64_t key = std::uint64_t{spot.load[list[i]]} << 8 | list[i];
      std::size_t at = i;
      for (; at > 0 && queue[at - 1] > key; --at) queue[at] = queue[at - 1];
      queue[at] = key;
    }
    std::uint8_t head = 0;  // indices wrap at 256, the size of the queue
    for (std::size_t c = 0; c < spot.columns.size(); ++c) {
      if (spot.weight[c] == 0) {
        spot.assign(c, list[c % n]);
        continue;
      }
      const std::uint64_t taken = queue[head++];
      spot.assign(c, taken & 0xFF);
      const std::uint64_t key = taken + (std::uint64_t{spot.weight[c]} << 8);
      auto at = static_cast<std::uint8_t>(head + n - 1);
      for (; at != head && queue[static_cast<std::uint8_t>(at - 1)] > key; --at)
        queue[at] = queue[static_cast<std::uint8_t>(at - 1)];
      queue[at] = key;
    }
  }

  /// One LID after the other, with all the rules: what stands is kept if asked for; the further
  /// LIDs of one end port prefer a system, then a switch that its earlier ones do not use.
  void choose_one_by_one(SwitchIndex s, const Spot& spot, bool siblings,
                         const std::array<std::uint8_t, 256>& list, std::size_t n) const {
    std::vector<SwitchIndex> used;
    for (std::size_t c = 0, turn = 0; c < spot.columns.size(); ++c) {
      if (spot.columns[c].offset == 0) used.clear();
      std::size_t choice = list[turn];
      turn = turn + 1 == n ? 0 : turn + 1;
      if (const auto kept = previous_choice(s, spot.columns[c].lid, list, n)) {
        choice = *kept;
      } else if (siblings) {
        std::tuple<int, std::uint32_t, std::size_t> best{3, 0, 0};
        for (std::size_t i = 0; i < n; ++i)
          best = std::min(best, {overlap(spot.exits[list[i]].to, used), spot.load[list[i]],
                                 std::size_t{list[i]}});
        choice = std::get<2>(best);
      } else if (spot.weight[c] != 0) {
        choice = *std::min_element(list.begin(), list.begin() + n, [&](auto x, auto y) {
          return spot.load[x] < spot.load[y];  // the first of equals, which is the preferred one
        });
      }
      if (siblings) used.push_back(spot.exits[choice].to);
      spot.assign(c, choice);
    }
  }

  /// 0: neither switch nor its system is used; 1: the system is; 2: the switch is.
  int overlap(SwitchIndex to, const std::vector<SwitchIndex>& used) const {
    if (std::find(used.begin(), used.end(), to) != used.end()) return 2;
    const Guid system = fabric_.node(graph_.node_of(to)).system_image_guid;
    const bool shared = system.value != 0 && std::any_of(used.begin(), used.end(), [&](auto u) {
                          return fabric_.node(graph_.node_of(u)).system_image_guid == system;
                        });
    return shared ? 1 : 0;
  }

  /// Adds the sources of every switch of one level to the switches they were sent to. Sums never
  /// exceed the number of end ports, which LIDs limit to 49,151.
  void hand_on(const Target& target, std::size_t b, const std::vector<std::uint64_t>& level) {
    const std::size_t columns = target.last_column - target.first_column;
    const std::size_t base = cell(0, target);
    for (SwitchIndex s = 0; s < graph_.switch_count(); ++s) {
      if (((level[s] >> b) & 1) == 0) continue;
      const Exit* exits = exits_.data() + graph_.arc_index(s, 0);
      const std::size_t own = base + s * columns;
      for (std::size_t c = 0; c < columns; ++c)
        if (const std::uint16_t sources = weight_[own + c]; sources != 0) {
          std::uint16_t& next = weight_[base + exits[choice_[own + c]].to * columns + c];
          next = static_cast<std::uint16_t>(next + sources);
        }
    }
  }

  const fabric::CompactGraph& graph_;
  const fabric::Fabric& fabric_;
  const Targets& targets_;
  const routes::LinearTables* previous_;
  routes::LinearTables tables_;
  std::vector<Exit> exits_;              // by arc_index(s, rank)
  std::vector<std::uint32_t> position_;  // arc_index of exits_[i]
  std::vector<std::uint32_t> load_;      // of exits_[i]
  std::size_t mask_words_{1};

  // The batch at hand.
  std::span<const Target> batch_;
  std::size_t first_column_{}, width_{};
  std::vector<std::uint16_t> weight_;  // sources that pass a switch for a column
  std::vector<std::uint8_t> choice_;   // the exit it takes there
  std::vector<std::uint64_t> masks_;   // candidate exits by switch and target
};

}  // namespace

Targets::Targets(const fabric::CompactGraph& graph) {
  const std::size_t switches = graph.switch_count();
  std::vector<const fabric::Destination*> by_leaf;
  std::vector<std::vector<Lid>> own(switches);
  for (const auto& destination : graph.destinations()) {
    if (destination.leaf >= switches) continue;
    if (destination.is_switch())
      own[destination.leaf].push_back(destination.lid);
    else
      by_leaf.push_back(&destination);
  }
  auto rank = [&](SwitchIndex s) { return std::tuple(graph.guid(s), s); };
  std::sort(by_leaf.begin(), by_leaf.end(), [&](const auto* a, const auto* b) {
    return std::tuple(rank(a->leaf), a->port, a->lid) < std::tuple(rank(b->leaf), b->port, b->lid);
  });

  sources_.assign(switches, 0);
  for (std::size_t i = 0; i < by_leaf.size(); ++i) {
    const auto& destination = *by_leaf[i];
    if (i == 0 || destination.leaf != targets_.back().leaf)
      targets_.push_back({destination.leaf, i, i, false});
    Target& target = targets_.back();
    const bool sibling = target.last_column > target.first_column &&
                         columns_.back().port == destination.port &&
                         by_leaf[i - 1]->end_port == destination.end_port;
    const auto offset = static_cast<std::uint8_t>(sibling ? columns_.back().offset + 1 : 0);
    columns_.push_back({destination.lid, destination.port, offset});
    target.last_column = i + 1;
    if (sibling)
      target.has_siblings = true;
    else
      ++sources_[destination.leaf];
  }

  std::vector<SwitchIndex> others;
  for (SwitchIndex s = 0; s < switches; ++s) {
    if (sources_[s] == 0) others.push_back(s);
    first_switch_lid_.push_back(switch_lids_.size());
    switch_lids_.insert(switch_lids_.end(), own[s].begin(), own[s].end());
  }
  first_switch_lid_.push_back(switch_lids_.size());
  std::sort(others.begin(), others.end(), [&](auto a, auto b) { return rank(a) < rank(b); });
  for (SwitchIndex s : others) targets_.push_back({s, columns_.size(), columns_.size(), false});
}

routes::LinearTables spread(const Request& request, const Targets& targets,
                            std::span<const routes::LeastHops> hops) {
  Spreader spreader(request, targets);
  for (std::size_t i = 0; i < targets.batch_count(); ++i)
    spreader.run_batch(targets.batch(i), hops[i]);
  return spreader.take();
}

}  // namespace ib::route
