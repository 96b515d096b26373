// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/layers.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include "libdiag/route/turns.h"
#include "libdiag/routes/least_hops.h"

namespace ib::route {
namespace {

using fabric::SwitchIndex;

constexpr std::size_t kLayersKnown = 16;        // more are not counted when an assignment fails
constexpr std::size_t kPairsToCountOn = 50000;  // nor are layers of larger fabrics

/// One layer being filled: pairs come in as long as no cycle closes.
class Layer {
 public:
  explicit Layer(const Turns& turns)
      : turns_(&turns), graph_(turns.channels()), state_(turns.size(), State::Unknown) {}
  Layer(const Turns& turns, const Dependencies& start, std::span<const Channel> order)
      : turns_(&turns), graph_(start, order), state_(turns.size(), State::Unknown) {
    for (Channel a = 0; a < turns.channels().size(); ++a)
      start.for_next(a, [&](Channel b) { state_[turns.number(a, b)] = State::Taken; });
  }

  /// All turns or none. What closes a cycle once does so for good, since nothing is ever taken out:
  /// each turn is looked at in earnest only once.
  bool add(std::span<const Turn> turns) {
    added_.clear();
    for (const Turn t : turns) {
      if (state_[t] == State::Refused) return false;
      if (state_[t] == State::Unknown) added_.push_back(t);
    }
    for (std::size_t i = 0; i < added_.size(); ++i) {
      const auto [a, b] = turns_->dependency(added_[i]);
      if (graph_.add(a, b)) continue;
      for (std::size_t j = 0; j < i; ++j) {
        const auto [x, y] = turns_->dependency(added_[j]);
        graph_.remove(x, y);
      }
      // Without the turns before it, it may yet do.
      if (i == 0 || !graph_.add(a, b))
        state_[added_[i]] = State::Refused;
      else
        graph_.remove(a, b);
      return false;
    }
    for (const Turn t : added_) state_[t] = State::Taken;
    return true;
  }

  std::size_t pairs{0};

 private:
  enum class State : std::uint8_t { Unknown, Taken, Refused };
  const Turns* turns_;
  AcyclicDependencies graph_;
  std::vector<State> state_;
  std::vector<Turn> added_;
};

/// Which layers of a grid a pair fits, as bits. A ring of n switches has no cycle while nothing
/// passes straight through one of them. Minimal ways pass at most n/2 - 1, so they miss position 0
/// or position n/2: with both choices in every ring, 2^rings layers hold every pair that takes the
/// dimensions in order.
class GridLayers {
 public:
  GridLayers(const Grid& grid, const Turns& turns) : kind_(turns.size(), kFree) {
    std::vector<std::uint8_t> dimension(turns.channels().size());
    for (std::size_t i = 0; i < grid.dimension.size(); ++i)
      dimension[turns.channels().of_arc(i)] = grid.dimension[i];
    for (std::size_t d = 0; d < grid.dimensions.size(); ++d)
      if (grid.dimensions[d].ring && grid.dimensions[d].size > 3) rings_.push_back(d);
    for (Turn t = 0; t < turns.size(); ++t) {
      const auto [a, b] = turns.dependency(t);
      if (dimension[a] > dimension[b]) kind_[t] = kOutOfOrder;
      if (dimension[a] != dimension[b]) continue;
      const auto at = std::find(rings_.begin(), rings_.end(), dimension[a]);
      if (at == rings_.end()) continue;
      const auto ring = static_cast<unsigned>(at - rings_.begin());
      const unsigned place = grid.at(turns.channels().to(a))[*at];
      if (place == 0) kind_[t] = static_cast<std::uint8_t>(2 * ring);
      if (place == grid.dimensions[*at].size / 2)
        kind_[t] = static_cast<std::uint8_t>(2 * ring + 1);
    }
  }

  /// 0 when there are none, or too many for a bit each.
  unsigned count() const { return rings_.empty() || rings_.size() > 4 ? 0 : 1U << rings_.size(); }

  /// 0 when the pair does not keep to the order of dimensions.
  std::uint32_t fitting(std::span<const Turn> turns) const {
    std::uint32_t layers = (std::uint32_t{1} << count()) - 1;
    for (const Turn t : turns) {
      if (kind_[t] == kFree) continue;
      if (kind_[t] == kOutOfOrder) return 0;
      // Layer l cuts ring r at 0 where bit r of l is clear, at n/2 where it is set.
      for (unsigned l = 0; l < count(); ++l)
        if (((l >> (kind_[t] / 2)) & 1U) == (kind_[t] & 1U)) layers &= ~(std::uint32_t{1} << l);
    }
    return layers;
  }

 private:
  static constexpr std::uint8_t kFree = 255, kOutOfOrder = 254;

  std::vector<std::size_t> rings_;
  std::vector<std::uint8_t> kind_;  // by turn: 2 * ring, + 1 at n/2; or the constants above
};

class Assigner {
 public:
  Assigner(const Request& request, const Targets& targets, const Ways& ways,
           const LayerRules& rules)
      : graph_(*request.graph),
        targets_(targets),
        rules_(rules),
        channels_(graph_),
        turns_(channels_),
        walker_(graph_, targets, ways, turns_) {}

  Layers run() {
    Layers result;
    result.sls = routes::PathSls(graph_.switch_count(), Sl{0});
    const auto all = all_dependencies(walker_, Ends::Hosts);
    const auto order = all.order();
    if (order.size() == channels_.size()) {
      layers_.emplace_back(turns_, all, order);
    } else {
      place_pairs();
      result.needed = static_cast<unsigned>(layers_.size());
      if (layers_.size() > rules_.layers_max) {
        result.crossing = channels_.to(all.cycle().front());
        return result;
      }
      if (layers_.size() > 1) level_out();
      for (std::size_t i = 0; i < layer_of_.size(); ++i) {
        const auto pair = pairs_->pair(i);
        result.sls.set(pair.a, pair.b, Sl{layer_of_[i]});
      }
    }
    result.needed = result.used = static_cast<unsigned>(layers_.size());
    claim_tree(result.multicast);
    place_other_switches(result);
    if (rules_.use_all) deal_over_all(result);
    return result;
  }

 private:
  // Pairs of switches with CAs.

  void place_pairs() {
    pairs_.emplace(walker_);
    std::vector<Layer> best;
    std::vector<std::uint8_t> best_layer_of;
    const auto keep = [&] {
      if (best.empty() || layers_.size() < best.size()) {
        best.swap(layers_);
        best_layer_of.swap(layer_of_);
      }
      return best.size() <= rules_.layers_max;
    };
    std::vector<std::uint32_t> order(pairs_->size());
    std::iota(order.begin(), order.end(), 0U);
    const auto turns_of = [&](std::uint32_t i) { return pairs_->pair(i).turns.size(); };
    const auto longest_first = [&](auto x, auto y) { return turns_of(x) > turns_of(y); };
    const auto try_all = [&] {
      if (rules_.grid != nullptr && fill_grid() && keep()) return;
      auto sorted = order;
      std::stable_sort(sorted.begin(), sorted.end(), longest_first);
      fill(sorted);
      if (keep()) return;
      fill(order);
      if (keep()) return;
      std::stable_sort(sorted.begin(), sorted.end(),
                       [&](auto x, auto y) { return longest_first(y, x); });
      fill(sorted);
      keep();
    };
    try_all();
    layers_.swap(best);
    layer_of_.swap(best_layer_of);
  }

  /// Each pair into the first layer that takes it.
  void fill(std::span<const std::uint32_t> order) {
    layers_.clear();
    layer_of_.assign(pairs_->size(), 0);
    for (const std::uint32_t i : order)
      if (!place(i)) return;
  }

  bool place(std::uint32_t i) {
    const auto turns = pairs_->pair(i).turns;
    for (std::size_t l = 0;; ++l) {
      if (l == layers_.size()) {
        layers_.emplace_back(turns_);
        if (l > kLayersKnown || (l >= rules_.layers_max && pairs_->size() > kPairsToCountOn))
          return false;
      }
      if (!layers_[l].add(turns)) continue;
      layer_of_[i] = static_cast<std::uint8_t>(l);
      ++layers_[l].pairs;
      return true;
    }
  }

  /// The pairs that keep to the order of dimensions into the layers made for them, the emptiest
  /// first; then the others where they fit.
  bool fill_grid() {
    const GridLayers grid(*rules_.grid, turns_);
    if (grid.count() == 0 || grid.count() > rules_.layers_max) return false;
    layers_.clear();
    layers_.resize(grid.count(), Layer(turns_));
    layer_of_.assign(pairs_->size(), 0);
    std::vector<std::uint32_t> left;
    for (std::uint32_t i = 0; i < pairs_->size(); ++i) {
      const auto turns = pairs_->pair(i).turns;
      std::size_t emptiest = layers_.size();
      for (std::uint32_t bits = grid.fitting(turns); bits != 0; bits &= bits - 1) {
        const auto l = static_cast<std::size_t>(std::countr_zero(bits));
        if (emptiest == layers_.size() || layers_[l].pairs < layers_[emptiest].pairs) emptiest = l;
      }
      if (emptiest < layers_.size() && layers_[emptiest].add(turns)) {
        layer_of_[i] = static_cast<std::uint8_t>(emptiest);
        ++layers_[emptiest].pairs;
      } else {
        left.push_back(i);
      }
    }
    std::stable_sort(left.begin(), left.end(), [&](auto x, auto y) {
      return pairs_->pair(x).turns.size() > pairs_->pair(y).turns.size();
    });
    for (const std::uint32_t i : left)
      if (!place(i)) break;
    return true;
  }

  /// Moves pairs out of layers with more than their share into those that have less. The turns they
  /// leave behind stay, which is stricter than need be and never wrong.
  void level_out() {
    const std::size_t share = (pairs_->size() + layers_.size() - 1) / layers_.size();
    for (std::size_t i = layer_of_.size(); i-- > 0;) {
      Layer& from = layers_[layer_of_[i]];
      if (from.pairs <= share) continue;
      std::size_t emptiest = 0;
      for (std::size_t l = 1; l < layers_.size(); ++l)
        if (layers_[l].pairs < layers_[emptiest].pairs) emptiest = l;
      if (!layers_[emptiest].add(pairs_->pair(i).turns)) continue;
      --from.pairs;
      ++layers_[emptiest].pairs;
      layer_of_[i] = static_cast<std::uint8_t>(emptiest);
    }
  }

  // Pairs with a switch that has no CA.

  void place_other_switches(Layers& result) {
    if (layers_.size() == 1) {
      const auto all = all_dependencies(walker_, Ends::All);
      if (all.order().size() == channels_.size()) return;
    }
    std::vector<Turn> turns;
    const auto add = [&](Turn t) { turns.push_back(t); };
    for (SwitchIndex a = 0; a < graph_.switch_count(); ++a) {
      if (targets_.sources(a) != 0) continue;
      for (SwitchIndex b = 0; b < graph_.switch_count(); ++b) {
        if (targets_.sources(b) == 0) continue;
        turns.clear();
        walker_.walk(a, b, add);
        walker_.walk(b, a, add);
        std::size_t l = 0;
        while (l < layers_.size() && !layers_[l].add(turns)) ++l;
        if (l == layers_.size())
          ++result.switch_pairs_left_out;
        else
          result.sls.set(a, b, Sl{static_cast<std::uint8_t>(l)});
      }
    }
  }

  /// Gives layers more than one SL until there are no more, those with most pairs for each first.
  /// Part of a layer is as free of cycles as the whole.
  void deal_over_all(Layers& result) const {
    std::vector<std::size_t> width(layers_.size(), 1);
    std::size_t total = width.size();
    for (; total < rules_.layers_max; ++total) {
      std::size_t widest = 0;
      for (std::size_t l = 1; l < width.size(); ++l)
        if (layers_[l].pairs * width[widest] > layers_[widest].pairs * width[l]) widest = l;
      ++width[widest];
    }
    std::vector<std::size_t> base(width.size(), 0);
    std::partial_sum(width.begin(), width.end() - 1, base.begin() + 1);
    for (SwitchIndex a = 0; a < graph_.switch_count(); ++a)
      for (SwitchIndex b = 0; b <= a; ++b) {
        const std::size_t l = result.sls.at(a, b).value;
        result.sls.set(a, b, Sl{static_cast<std::uint8_t>(base[l] + (a + b) % width[l])});
      }
    result.multicast.sl = Sl{static_cast<std::uint8_t>(base[result.multicast.sl.value])};
    result.used = static_cast<unsigned>(total);
  }

  // Multicast.

  /// A spanning tree of few levels. Packets of a group go up and down in it; where all its turns
  /// fit into a layer beside the unicast routes, multicast on that SL is proved.
  void claim_tree(MulticastRule& rule) {
    std::vector<SwitchIndex> parent(graph_.switch_count(), fabric::kNoSwitch);
    std::vector<std::uint32_t> number(graph_.switch_count(), 0);
    std::vector<bool> met(graph_.switch_count(), false);
    std::vector<SwitchIndex> order;
    for (const SwitchIndex root : roots()) {
      if (met[root]) continue;
      std::size_t next = order.size();
      met[root] = true;
      order.push_back(root);
      for (; next < order.size(); ++next)
        for (const auto& arc : graph_.arcs(order[next]))
          if (!met[arc.to]) {
            met[arc.to] = true;
            parent[arc.to] = order[next];
            order.push_back(arc.to);
          }
    }
    for (std::uint32_t i = 0; i < order.size(); ++i) number[order[i]] = i;
    prune(order, parent);

    std::vector<std::vector<SwitchIndex>> neighbours(graph_.switch_count());
    for (SwitchIndex s = 0; s < graph_.switch_count(); ++s)
      if (parent[s] != fabric::kNoSwitch) {
        neighbours[s].push_back(parent[s]);
        neighbours[parent[s]].push_back(s);
      }
    std::vector<Turn> turns;
    for (SwitchIndex s = 0; s < graph_.switch_count(); ++s)
      for (const SwitchIndex from : neighbours[s])
        for (const SwitchIndex to : neighbours[s])
          if (from != to) turns.push_back(turns_.number(channel(from, s), channel(s, to)));
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      if (!layers_[l].add(turns)) continue;
      rule.up_order = std::move(number);
      rule.parent = std::move(parent);
      rule.sl = Sl{static_cast<std::uint8_t>(l)};
      return;
    }
  }

  /// Takes away branches on which there is no CA: they would only bind turns.
  void prune(const std::vector<SwitchIndex>& order, std::vector<SwitchIndex>& parent) const {
    std::vector<bool> needed(graph_.switch_count(), false);
    for (auto at = order.rbegin(); at != order.rend(); ++at) {
      if (targets_.sources(*at) != 0) needed[*at] = true;
      if (parent[*at] == fabric::kNoSwitch) continue;
      if (needed[*at])
        needed[parent[*at]] = true;
      else
        parent[*at] = fabric::kNoSwitch;
    }
  }

  /// All switches, those with the shortest way to the farthest switch with CAs first.
  std::vector<SwitchIndex> roots() const {
    std::vector<std::size_t> farthest(graph_.switch_count(), 0);
    std::vector<SwitchIndex> batch;
    const auto targets = targets_.all();
    for (std::size_t first = 0; first < targets.size(); first += routes::kTargetsPerBatch) {
      batch.clear();
      for (const Target& target :
           targets.subspan(first, std::min(routes::kTargetsPerBatch, targets.size() - first)))
        if (target.columns() != 0) batch.push_back(target.leaf);
      if (batch.empty()) continue;
      const auto hops = routes::least_hops(graph_, batch);
      for (std::size_t level = 0; level < hops.at.size(); ++level)
        for (SwitchIndex s = 0; s < graph_.switch_count(); ++s)
          if (hops.at[level][s] != 0) farthest[s] = std::max(farthest[s], level);
    }
    std::vector<SwitchIndex> order(graph_.switch_count());
    std::iota(order.begin(), order.end(), 0U);
    std::sort(order.begin(), order.end(), [&](SwitchIndex a, SwitchIndex b) {
      return std::tuple(farthest[a], targets_.sources(a), graph_.guid(a)) <
             std::tuple(farthest[b], targets_.sources(b), graph_.guid(b));
    });
    return order;
  }

  Channel channel(SwitchIndex from, SwitchIndex to) const {
    for (Channel c = channels_.first(from); c < channels_.first(from + 1); ++c)
      if (channels_.to(c) == to) return c;
    return kNoChannel;
  }

  const fabric::CompactGraph& graph_;
  const Targets& targets_;
  const LayerRules& rules_;
  const Channels channels_;
  const Turns turns_;
  const Walker walker_;
  std::optional<PairTurns> pairs_;  // made when one layer does not do
  std::vector<Layer> layers_;
  std::vector<std::uint8_t> layer_of_;  // by pair
};

}  // namespace

Layers assign_layers(const Request& request, const Targets& targets, const Ways& ways,
                     const LayerRules& rules) {
  return Assigner(request, targets, ways, rules).run();
}

}  // namespace ib::route
