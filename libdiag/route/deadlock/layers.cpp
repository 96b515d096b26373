// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/deadlock/layers.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "libdiag/route/deadlock/former_layers.h"
#include "libdiag/route/deadlock/grid_layers.h"
#include "libdiag/route/deadlock/layer.h"
#include "libdiag/route/deadlock/multicast_tree.h"
#include "libdiag/route/deadlock/pair_mender.h"
#include "libdiag/route/deadlock/part_layers.h"

namespace ib::route {
namespace {

using fabric::SwitchIndex;

// Orders that leave more pairs over than this and one in kFew are given up.
constexpr std::size_t kFewest = 16, kFew = 20;
// Beyond one in so many, and this many, pairs left over are not led by other ways; outside grids,
// where ways have more to choose from and trees are many, beyond fewer.
constexpr std::size_t kFewToMend = 100, kMostToMend = 500, kMostToMendElsewhere = 32;
// Work before it is given up: channels looked at, and so many for each pair tried in a layer.
constexpr std::uint64_t kStepsMax = 60'000'000, kStepsPerTry = 8;
constexpr std::uint64_t kHastySteps = 50;  // for each pair, where other ways are tried next
constexpr std::uint8_t kNoLayer = PairMender::kNoLayer;
constexpr std::size_t kRounds = 3;  // how often each layer is emptied to make room
// So few left over are worth all rounds, even where some of them are in vain.
constexpr std::size_t kWorthAllRounds = 8;
constexpr std::size_t kFewForTree = 100;  // one in so many pairs may move for it
constexpr std::size_t kFewToMove = 100;   // and for ways that were kept
constexpr std::size_t kTrees = 64;        // of multicast, from different roots

class Assigner {
 public:
  Assigner(const Request& request, const Targets& targets, Ways& ways, const LayerRules& rules)
      : request_(request),
        graph_(*request.graph),
        targets_(targets),
        rules_(rules),
        former_(request.previous_sls, rules),
        channels_(graph_),
        turns_(channels_),
        ways_(ways),
        walker_(graph_, targets, ways, turns_) {}

  Layers run() {
    Layers result;
    result.sls = tables::PathSls(graph_.switch_count(), Sl{0});
    bool others_fit = true;  // switches without CAs, beside those with
    bool kept = false;       // pairs have the layers of before
    auto all = all_dependencies(walker_, Ends::All);
    auto order = all.order();
    if (order.size() < channels_.size()) {
      others_fit = false;
      all = all_dependencies(walker_, Ends::Hosts);
      order = all.order();
    }
    if (order.size() == channels_.size()) {
      layers_.emplace_back(turns_, all, order);
      kept = former_.any() && keep_sls(result);
    } else if (former_.any() && keep_layers(result)) {
      kept = true;
    } else if (rules_.as_before && former_.any()) {
      result.needed = rules_.layers_max + 1;
      return result;
    } else {
      // One layer holds all pairs or does not do; how many it would take is counted where that is
      // cheap.
      const bool hopeless = rules_.layers_max == 1 && graph_.arc_count() > kArcsToCount;
      result.needed = hopeless ? 2 : place_pairs();
      if (result.needed > rules_.layers_max) {
        result.crossing = channels_.to(all.cycle().front());
        return result;
      }
      if (layers_.size() > 1) level_out();
    }
    result.pairs_led_round = led_round_;
    result.longer_ways = relieves();
    if (!kept || !pairs_) result.multicast_fits = claim_tree(result.multicast);
    if (pairs_)
      result.ways_parted =
          part_ways_in_layers(request_, targets_, ways_,
                              {walker_, *pairs_, layers_, layer_of_, rules_.layers_max, kept});
    result.needed = static_cast<unsigned>(layers_.size());
    result.used = std::max(result.used, result.needed);
    write_layers(result);
    if (!others_fit) place_other_switches(result, kept);
    if (rules_.use_all && !kept) deal_over_all(result);
    return result;
  }

 private:
  static constexpr std::size_t kArcsToCount = 1000;

  void write_layers(Layers& result) const {
    for (std::size_t i = 0; i < layer_of_.size(); ++i) {
      const auto pair = pairs_->pair(i);
      result.sls.set(pair.a, pair.b, Sl{layer_of_[i]});
    }
  }

  // Pairs of switches with CAs.
  struct Filling {
    std::vector<Layer> layers;
    std::vector<std::uint8_t> layer_of;  // by pair; kNoLayer: left over
    std::vector<std::uint32_t> left;     // pairs that fit no layer
    bool given_up{false};                // too many did not; not all were tried
    std::size_t moved{0};                // pairs whose former layer is another
    std::vector<Turn> tree{};            // of multicast, in the first layer before all pairs
  };

  /// Fills layers in one order after another until none is left over. How many layers it takes.
  unsigned place_pairs() {
    pairs_.emplace(walker_);
    if (rules_.hasty) steps_max_ = std::min(kStepsMax, kHastySteps * pairs_->size());
    std::vector<std::uint32_t> order(pairs_->size());
    std::iota(order.begin(), order.end(), 0U);
    const auto longest_first = [&](auto x, auto y) { return turns_of(x) > turns_of(y); };
    auto sorted = order;
    std::stable_sort(sorted.begin(), sorted.end(), longest_first);
    Filling best;
    best.given_up = true;
    const auto attempt = [&](Filling filling) {
      if (!rules_.hasty) squeeze_if_it_helps(filling);
      if (best.given_up || (!filling.given_up && filling.left.size() < best.left.size()))
        best = std::move(filling);
      return !best.given_up && best.left.empty();
    };
    const auto try_all = [&] {
      if (rules_.grid != nullptr) {
        const GridLayers grid(*rules_.grid, turns_, rules_.free_dimensions);
        if (grid.count() != 0 && grid.count() <= rules_.layers_max) {
          Filling filling = fill_grid(grid, sorted);
          mend(filling);
          if (attempt(std::move(filling)) || rules_.hasty) return;
        }
      }
      if (attempt(fill(sorted)) || steps_ > steps_max_) return;
      if (attempt(fill(order)) || steps_ > steps_max_) return;
      std::reverse(sorted.begin(), sorted.end());
      attempt(fill(sorted));
    };
    try_all();
    if (!tried_to_mend_) mend(best);
    if (!best.given_up && !best.left.empty()) open_more(best);
    if (relieves() && !best.given_up && best.layers.size() <= rules_.layers_max) {
      PairMender(walker_, ways_, *pairs_, best.layers, best.layer_of).relieve(false);
    }
    layers_ = std::move(best.layers);
    layer_of_ = std::move(best.layer_of);
    return best.given_up ? rules_.layers_max + 1 : static_cast<unsigned>(layers_.size());
  }

  std::size_t turns_of(std::uint32_t pair) const { return pairs_->pair(pair).turns.size(); }

  /// Puts a pair into the first layer that takes it.
  bool place(std::uint32_t i, Filling& filling) {
    const auto turns = pairs_->pair(i).turns;
    for (std::size_t l = 0;; ++l) {
      if (l == filling.layers.size()) {
        if (l == rules_.layers_max) break;
        filling.layers.emplace_back(turns_);
      }
      Layer& layer = filling.layers[l];
      const std::uint64_t before = layer.work();
      const bool fits = layer.add(turns);
      steps_ += kStepsPerTry + layer.work() - before;
      if (!fits) continue;
      filling.layer_of[i] = static_cast<std::uint8_t>(l);
      ++layer.pairs;
      return true;
    }
    filling.layer_of[i] = kNoLayer;
    filling.left.push_back(i);
    return false;
  }

  Filling fill(std::span<const std::uint32_t> order) {
    Filling filling;
    filling.layer_of.assign(pairs_->size(), 0);
    place_all(order, filling);
    return filling;
  }

  void place_all(std::span<const std::uint32_t> order, Filling& filling) {
    for (const std::uint32_t i : order) {
      const bool placed = place(i, filling);
      const bool many = filling.left.size() > kFewest + pairs_->size() / kFew;
      if (steps_ <= steps_max_ && (placed || !many)) continue;
      filling.given_up = true;
      return;
    }
  }

  /// The pairs that keep to the order of dimensions into the first of the layers made for them;
  /// then the others where they fit, which is easiest in the last layers, where hardly any are yet.
  Filling fill_grid(const GridLayers& grid, std::span<const std::uint32_t> order) {
    Filling filling;
    filling.layers.resize(grid.count(), Layer(turns_));
    filling.layer_of.assign(pairs_->size(), 0);
    std::vector<std::uint32_t> irregular;
    for (const std::uint32_t i : order) {
      const auto turns = pairs_->pair(i).turns;
      const std::uint32_t fitting = grid.fitting(turns);
      const auto l = static_cast<std::size_t>(std::countr_zero(fitting));
      if (fitting != 0 && filling.layers[l].add(turns)) {
        filling.layer_of[i] = static_cast<std::uint8_t>(l);
        ++filling.layers[l].pairs;
      } else {
        irregular.push_back(i);
      }
    }
    place_all(irregular, filling);
    return filling;
  }

  /// Where few pairs are left over: empties one layer after another, lets in first what is left
  /// over and then what was there, each into the first layer that takes it.
  void squeeze(Filling& filling) {
    std::size_t most = 0;
    for (std::size_t round = 0;
         round < kRounds * rules_.layers_max && !filling.left.empty() && !filling.given_up;
         ++round) {
      auto& layers = filling.layers;
      // Once all have been emptied in vain, it will hardly do.
      if (round % layers.size() == 0) {
        const bool in_vain = round != 0 && filling.left.size() >= most;
        if (in_vain && filling.left.size() > kWorthAllRounds) return;
        most = filling.left.size();
      }
      std::vector<std::size_t> order(layers.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return layers[a].pairs < layers[b].pairs;
      });
      const std::size_t emptied = order[round % layers.size()];
      std::vector<std::uint32_t> homeless;
      for (std::uint32_t i = 0; i < filling.layer_of.size(); ++i)
        if (filling.layer_of[i] == emptied) homeless.push_back(i);
      const auto first = std::exchange(filling.left, {});
      std::stable_sort(homeless.begin(), homeless.end(),
                       [&](auto x, auto y) { return turns_of(x) > turns_of(y); });
      layers[emptied] = Layer(turns_);
      if (emptied == 0) layers[0].add(filling.tree);
      place_all(first, filling);
      place_all(homeless, filling);
    }
  }

  /// Leads pairs that fit no layer by other ways, where they are few.
  void mend(Filling& filling) {
    if (filling.given_up || filling.left.empty() ||
        filling.left.size() * kFewToMend > pairs_->size() ||
        filling.left.size() > (rules_.grid != nullptr ? kMostToMend : kMostToMendElsewhere))
      return;
    tried_to_mend_ = true;
    PairMender mender(walker_, ways_, *pairs_, filling.layers, filling.layer_of);
    const auto drop_led = [&] {
      const std::size_t before = filling.left.size();
      std::erase_if(filling.left, [&](std::uint32_t i) { return filling.layer_of[i] != kNoLayer; });
      led_round_ += before - filling.left.size();
    };
    for (const std::uint32_t i : filling.left)
      if (filling.layer_of[i] == kNoLayer) mender.mend(i);
    drop_led();
    if (filling.left.empty() || filling.left.size() > kFewest) return;
    refill(filling);
    for (const std::uint32_t i : filling.left)
      if (filling.layer_of[i] == kNoLayer && !mender.mend(i)) mender.mend_both_ways(i);
    drop_led();
  }

  /// Where ways are the shortest they stay so.
  bool relieves() const { return rules_.longer_ways || led_round_ != 0; }

  /// Rebuilds layers from the pairs that are in them: turns that pairs left behind are dropped.
  void refill(Filling& filling) const {
    std::vector<std::size_t> pairs;
    for (Layer& layer : filling.layers) {
      pairs.push_back(layer.pairs);
      layer = Layer(turns_);
    }
    filling.layers.front().add(filling.tree);
    for (std::uint32_t i = 0; i < pairs_->size(); ++i)
      if (filling.layer_of[i] != kNoLayer)
        filling.layers[filling.layer_of[i]].add(pairs_->pair(i).turns);
    for (std::size_t l = 0; l < pairs.size(); ++l) filling.layers[l].pairs = pairs[l];
  }

  /// Emptying layers may also leave more pairs over than there were.
  void squeeze_if_it_helps(Filling& filling) {
    if (filling.given_up || filling.left.empty()) return;
    Filling squeezed = filling;
    squeeze(squeezed);
    if (!squeezed.given_up && squeezed.left.size() < filling.left.size())
      filling = std::move(squeezed);
  }

  /// Counts how many layers it would take, as far as that is cheap.
  void open_more(Filling& filling) {
    for (const std::uint32_t i : std::exchange(filling.left, {})) {
      const auto turns = pairs_->pair(i).turns;
      std::size_t l = rules_.layers_max;
      while (l < filling.layers.size() && !filling.layers[l].add(turns)) ++l;
      if (l < filling.layers.size()) continue;
      filling.layers.emplace_back(turns_);
      filling.layers.back().add(turns);
    }
  }

  /// Moves pairs out of layers with more than their share into those that have less. The turns they
  /// leave behind stay, which is stricter than need be and never wrong.
  void level_out() {
    const std::size_t share = (pairs_->size() + layers_.size() - 1) / layers_.size();
    std::vector<std::size_t> order(layers_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t i = layer_of_.size(); i-- > 0;) {
      Layer& from = layers_[layer_of_[i]];
      if (from.pairs <= share) continue;
      std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return std::tuple(layers_[a].pairs, a) < std::tuple(layers_[b].pairs, b);
      });
      for (const std::size_t l : order) {
        if (layers_[l].pairs >= share) break;
        if (!layers_[l].add(pairs_->pair(i).turns)) continue;
        --from.pairs;
        ++layers_[l].pairs;
        layer_of_[i] = static_cast<std::uint8_t>(l);
        break;
      }
    }
  }

  // Layers that pairs had before.

  /// Where one layer holds all, so does any number of them. False: nobody had one.
  bool keep_sls(Layers& result) const {
    bool any = false;
    for (SwitchIndex a = 0; a < graph_.switch_count(); ++a)
      for (SwitchIndex b = 0; b <= a; ++b)
        if (const std::uint8_t layer = former_.of(a, b); layer != kNoLayer) {
          result.sls.set(a, b, Sl{layer});
          result.used = std::max(result.used, layer + 1U);
          any = true;
        }
    return any;
  }

  /// Every pair into the layer it was in as long as that has no cycle, the others where they fit.
  /// False: some fit nowhere, so all have to be dealt again. Multicast flows on the first layer:
  /// where its tree has no room beside the pairs, it goes before them if they find other layers.
  bool keep_layers(Layers& result) {
    pairs_.emplace(walker_);
    Filling kept = fill_as_before({});
    if (rules_.as_before && (!kept.left.empty() || kept.moved * kFewToMove > pairs_->size()))
      return false;
    mend(kept);
    squeeze_if_it_helps(kept);
    if (kept.given_up || !kept.left.empty()) return false;
    result.multicast_fits = add_tree(kept.layers.front(), result.multicast);
    if (!result.multicast_fits) {
      Filling beside = fill_as_before(tree_turns(result.multicast));
      squeeze_if_it_helps(beside);
      result.multicast_fits = !beside.given_up && beside.left.empty() &&
                              beside.moved <= kept.moved + pairs_->size() / kFewForTree;
      if (result.multicast_fits) kept = std::move(beside);
    }
    if (relieves()) PairMender(walker_, ways_, *pairs_, kept.layers, kept.layer_of).relieve(true);
    layers_ = std::move(kept.layers);
    layer_of_ = std::move(kept.layer_of);
    return true;
  }

  /// `tree` comes first in the first layer. Of two orders of the pairs that of which fewer move.
  Filling fill_as_before(std::span<const Turn> tree) {
    std::vector<std::uint32_t> longest(pairs_->size());
    std::iota(longest.begin(), longest.end(), 0U);
    std::ranges::stable_sort(longest, std::greater{}, [&](std::uint32_t i) { return turns_of(i); });
    Filling best;
    for (const auto& order : {former_.undisputed_first(*pairs_, turns_), longest}) {
      Filling filling = fill_as_before(tree, order);
      if (best.layer_of.empty() ||
          std::tuple(filling.given_up, filling.left.size(), filling.moved) <
              std::tuple(best.given_up, best.left.size(), best.moved))
        best = std::move(filling);
      if (best.moved == 0) break;
    }
    return best;
  }

  Filling fill_as_before(std::span<const Turn> tree, std::span<const std::uint32_t> order) {
    Filling filling;
    filling.layer_of.assign(pairs_->size(), kNoLayer);
    filling.layers.assign(former_.count(*pairs_), Layer(turns_));
    filling.tree.assign(tree.begin(), tree.end());
    filling.layers.front().add(tree);
    std::vector<std::uint32_t> homeless;
    for (const std::uint32_t i : order) {
      const std::uint8_t l = former_.of(pairs_->pair(i));
      if (l == kNoLayer || !filling.layers[l].add(pairs_->pair(i).turns)) {
        homeless.push_back(i);
        continue;
      }
      filling.layer_of[i] = l;
      ++filling.layers[l].pairs;
    }
    place_all(homeless, filling);
    for (std::uint32_t i = 0; i < pairs_->size(); ++i)
      filling.moved += filling.layer_of[i] != former_.of(pairs_->pair(i));
    return filling;
  }

  // Pairs with a switch that has no CA.

  /// Each into the layer it had, the first that takes it, or one of its own.
  void place_other_switches(Layers& result, bool kept) {
    if (kept && !pairs_) layers_ = layers_by_sl(result);
    std::vector<Turn> turns;
    const auto add = [&](Turn t) { turns.push_back(t); };
    for_each_other_pair([&](SwitchIndex a, SwitchIndex b) {
      turns.clear();
      walker_.walk(a, b, add);
      walker_.walk(b, a, add);
      const std::uint8_t former = kept ? former_.of(a, b) : kNoLayer;
      std::size_t l = former;
      if (former >= layers_.size() || !layers_[former].add(turns)) {
        l = 0;
        while (l < layers_.size() && !layers_[l].add(turns)) ++l;
      }
      if (l == layers_.size() && l < rules_.layers_max) {
        layers_.emplace_back(turns_);
        if (!layers_.back().add(turns)) layers_.pop_back();
      }
      if (l == layers_.size())
        ++result.switch_pairs_left_out;
      else
        result.sls.set(a, b, Sl{static_cast<std::uint8_t>(l)});
    });
    result.used = std::max(result.used, static_cast<unsigned>(layers_.size()));
  }

  template <class Do>
  void for_each_other_pair(Do&& run) const {
    for (SwitchIndex a = 0; a < graph_.switch_count(); ++a)
      for (SwitchIndex b = 0; b < graph_.switch_count() && graph_.end_ports()[a] == 0; ++b)
        if (graph_.end_ports()[b] != 0) run(a, b);
  }

  /// What each SL carries between switches with CAs: where one layer holds all, pairs keep SLs that
  /// are many.
  std::vector<Layer> layers_by_sl(const Layers& result) const {
    std::vector<Layer> layers(result.used, Layer(turns_));
    std::vector<Turn> turns;
    for (SwitchIndex a = 0; a < graph_.switch_count(); ++a)
      for (SwitchIndex b = 0; b < a; ++b) {
        if (graph_.end_ports()[a] == 0 || graph_.end_ports()[b] == 0) continue;
        turns.clear();
        const auto add = [&](Turn t) { turns.push_back(t); };
        walker_.walk(a, b, add);
        walker_.walk(b, a, add);
        layers[result.sls.at(a, b).value].add(turns);
      }
    // Multicast flows on the first.
    if (result.multicast_fits) {
      MulticastRule rule;
      layers.front().add(tree_turns(rule));
    }
    return layers;
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

  /// The first of a few trees that has room in a layer. False: none has.
  bool add_tree(Layer& layer, MulticastRule& rule) const {
    const auto roots = tree_roots(graph_, targets_);
    for (std::size_t i = 0; i < std::min(kTrees, roots.size()); ++i)
      if (layer.add(multicast_tree(graph_, turns_, roots, i, rule))) return true;
    return false;
  }

  /// Where all turns of the tree fit into a layer beside the unicast routes, multicast on that SL
  /// is proved.
  bool claim_tree(MulticastRule& rule) {
    const auto turns = tree_turns(rule);
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      if (!layers_[l].add(turns)) continue;
      // That of the first SL: groups whose SL nobody chose have it, the default IPoIB group first.
      if (l == 0) return true;
      std::swap(layers_[0], layers_[l]);
      for (std::uint8_t& layer : layer_of_)
        layer = layer == 0 ? static_cast<std::uint8_t>(l) : layer == l ? std::uint8_t{0} : layer;
      return true;
    }
    return false;
  }

  std::vector<Turn> tree_turns(MulticastRule& rule) const {
    return multicast_tree(graph_, turns_, tree_roots(graph_, targets_), 0, rule);
  }

  const Request& request_;
  const fabric::CompactGraph& graph_;
  const Targets& targets_;
  const LayerRules& rules_;
  const FormerLayers former_;
  const Channels channels_;
  const Turns turns_;
  Ways& ways_;
  const Walker walker_;
  std::optional<PairTurns> pairs_;  // made when one layer does not do
  std::size_t led_round_{0};
  bool tried_to_mend_{false};
  std::uint64_t steps_{0}, steps_max_{kStepsMax};
  std::vector<Layer> layers_;
  std::vector<std::uint8_t> layer_of_;  // by pair
};

}  // namespace

Layers assign_layers(const Request& request, const Targets& targets, Ways& ways,
                     const LayerRules& rules) {
  return Assigner(request, targets, ways, rules).run();
}

}  // namespace ib::route
