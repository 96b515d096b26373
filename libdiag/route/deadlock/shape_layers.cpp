// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/deadlock/shape_layers.h"

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>
#include <utility>

#include "libdiag/base/parallel.h"
#include "libdiag/route/deadlock/layer.h"
#include "libdiag/route/deadlock/multicast_tree.h"
#include "libdiag/route/deadlock/order_exits.h"

namespace ib::route {
namespace {

using fabric::SwitchIndex;

constexpr std::uint8_t kNoLayer = 255;
// More pairs than this and one in kFew that do not fit where they were: all are dealt again.
constexpr std::size_t kFewest = 16, kFew = 20;
// Work before it is given up: channels looked at, and so many for each pair tried in a layer.
constexpr std::uint64_t kStepsMax = 20'000'000, kStepsPerTry = 8;
constexpr std::size_t kMostToLead = 64;  // pairs of hosts: with more it is given up
// Pairs of hosts that no class holds, times channels: with more, placing them one by one runs out
// of work (of trees with up to 47 million all found layers, of those beyond 58 million none).
constexpr std::uint64_t kMostToPlace = 52'000'000;
constexpr std::size_t kTrees = 64;  // of multicast, from different roots

constexpr unsigned kRounds = 3;  // in which pairs that fit no layer get other ways

/// What a path is, a bit each: its shape by levels, and whether it descends and climbs again even
/// where single tops count.
constexpr unsigned bit(PathShape shape) { return 1U << static_cast<unsigned>(shape); }
constexpr unsigned kNotBySingleTops = bit(PathShape::Empty);
/// What a layer holds: pairs all of whose paths, both ways, are nothing else. The first two are
/// free of cycles whatever they hold.
constexpr std::array<unsigned, 3> kHolds = {
    static_cast<std::uint8_t>(~kNotBySingleTops),
    kNotBySingleTops | bit(PathShape::Down) | bit(PathShape::Up) | bit(PathShape::DownUp),
    static_cast<std::uint8_t>(~bit(PathShape::Other))};

using ClassLayers = std::array<std::uint8_t, kHolds.size()>;

/// Something for every ordered pair of switches; those to one target lie together.
class Matrix {
 public:
  Matrix(std::size_t switches, std::uint8_t value)
      : switches_(switches), cells_(switches * switches, value) {}
  std::uint8_t* to(SwitchIndex target) { return cells_.data() + target * switches_; }
  const std::uint8_t* to(SwitchIndex target) const { return cells_.data() + target * switches_; }
  void set_both(SwitchIndex a, SwitchIndex b, std::uint8_t value) { to(a)[b] = to(b)[a] = value; }

 private:
  std::size_t switches_;
  std::vector<std::uint8_t> cells_;
};

class ByShape {
 public:
  ByShape(const Request& request, const Targets& targets, Ways& ways, const TreeOrders& orders)
      : request_(request),
        graph_(*request.graph),
        targets_(targets),
        previous_(request.previous_sls),
        layers_max_(request.vls),
        orders_(orders),
        channels_(graph_),
        turns_(channels_),
        ways_(ways),
        walker_(graph_, targets, ways, turns_),
        shapes_(graph_.switch_count(), 0),
        layer_(graph_.switch_count(), kNoLayer) {}

  Layers run() {
    find_shapes();
    if (Layers result = too_many_pairs(); result.pairs_too_many != 0) return result;
    lead_switches();
    for (unsigned round = 0;; ++round) {
      std::optional<Layers> layers;
      if (previous_ != nullptr) layers = deal(true);
      if (!layers) layers = deal(false);
      layers->longer_ways = round != 0;
      if (homeless_.empty()) return *std::move(layers);
      if (round == kRounds || homeless_.size() > kMostToLead) {
        layers->needed = layers_max_ + 1;
        layers->crossing = homeless_.front().a;
        return *std::move(layers);
      }
      lead_by_single_tops(homeless_);
      find_shapes();
    }
  }

 private:
  /// A pair that is put into a layer by itself.
  struct Loose {
    SwitchIndex a{}, b{};
    bool hosts{};           // on both
    unsigned on_cycles{};   // turns of its paths, about
    std::uint8_t wished{};  // layer
  };

  /// Pairs of which at least one has hosts.
  template <class Function>
  void for_each_pair(Function function) const {
    const auto ends = graph_.end_ports();
    for (SwitchIndex a = 0; a < graph_.switch_count(); ++a)
      for (SwitchIndex b = 0; b < a; ++b)
        if (ends[a] != 0 || ends[b] != 0) function(a, b, ends[a] != 0 && ends[b] != 0);
  }

  // ---- trees, one target at a time ----

  /// One tree towards a target, and every switch that has a way there, the nearest first.
  struct Tree {
    std::span<const std::uint8_t> exits;
    std::span<const SwitchIndex> near_first;  // without the target
  };
  /// What a thread needs for that.
  struct Room {
    std::vector<std::uint32_t> hops, first;
    std::vector<SwitchIndex> trail, sorted;
  };

  /// Calls function(target, tree, room) for all trees. Those of one target on one thread.
  template <class Function, class OwnRoom>
  void for_each_tree(PerWorker<OwnRoom>& rooms, Function function) const {
    parallel_for(std::size_t{0}, graph_.switch_count(), [&](std::size_t i) {
      const auto to = static_cast<SwitchIndex>(i);
      const auto trees = walker_.trees(to);
      if (trees.empty()) return;
      OwnRoom& room = rooms.local();
      for (const std::size_t t : trees) {
        sort_by_hops(walker_.ways().tree(t), to, room);
        function(to, Tree{walker_.ways().tree(t), room.sorted}, room);
      }
    });
  }

  void sort_by_hops(std::span<const std::uint8_t> exits, SwitchIndex to, Room& room) const {
    constexpr std::uint32_t kFar = 0xFFFFFFFF, kUnknown = 0xFFFFFFFE;
    auto& hops = room.hops;
    hops.assign(graph_.switch_count(), kUnknown);
    hops[to] = 0;
    room.first.assign(2, 0);
    for (SwitchIndex s = 0; s < hops.size(); ++s) {
      SwitchIndex at = s;
      for (; hops[at] == kUnknown && exits[at] != kNoExit; at = next(at, exits))
        room.trail.push_back(at);
      std::uint32_t there = hops[at] == kUnknown ? kFar : hops[at];
      if (there == kFar) hops[at] = kFar;
      for (; !room.trail.empty(); room.trail.pop_back()) {
        hops[room.trail.back()] = there == kFar ? kFar : ++there;
        if (there == kFar) continue;
        if (room.first.size() < there + 2) room.first.resize(there + std::size_t{2}, 0);
        ++room.first[there + 1];
      }
    }
    for (std::size_t i = 1; i < room.first.size(); ++i) room.first[i] += room.first[i - 1];
    room.sorted.resize(room.first.back());
    for (SwitchIndex s = 0; s < hops.size(); ++s)
      if (hops[s] != 0 && hops[s] != kFar) room.sorted[room.first[hops[s]]++] = s;
  }

  SwitchIndex next(SwitchIndex s, std::span<const std::uint8_t> exits) const {
    return graph_.arcs(s)[exits[s]].to;
  }
  Channel channel(SwitchIndex s, std::span<const std::uint8_t> exits) const {
    return channels_.of_arc(graph_.arc_index(s, exits[s]));
  }

  // ---- shapes, and what layers are by them ----

  void find_shapes() {
    struct Shapes : Room {
      std::vector<PathShape> by_levels, by_single_tops;
    };
    shapes_ = Matrix(graph_.switch_count(), 0);
    PerWorker<Shapes> rooms([&] { return Shapes{}; });
    for_each_tree(rooms, [&](SwitchIndex to, const Tree& tree, Shapes& room) {
      room.by_levels.resize(graph_.switch_count());
      room.by_single_tops.resize(graph_.switch_count());
      room.by_levels[to] = room.by_single_tops[to] = PathShape::Empty;
      std::uint8_t* seen = shapes_.to(to);
      for (const SwitchIndex s : tree.near_first) {
        const SwitchIndex n = next(s, tree.exits);
        const auto is_up = [&](const UpDownOrder& order) { return order.is_up(s, n); };
        room.by_levels[s] = after_step(is_up(orders_.levels), room.by_levels[n]);
        room.by_single_tops[s] = after_step(is_up(orders_.single_tops), room.by_single_tops[n]);
        unsigned shape = bit(room.by_levels[s]);
        if (room.by_single_tops[s] > PathShape::UpDown) shape |= kNotBySingleTops;
        seen[s] |= static_cast<std::uint8_t>(shape);
      }
    });
  }

  /// Of kHolds; kNoLayer: none holds the pair.
  std::uint8_t shape_class(SwitchIndex a, SwitchIndex b) const {
    const unsigned all = shapes_.to(a)[b] | shapes_.to(b)[a];
    for (std::uint8_t i = 0; i < kHolds.size(); ++i)
      if ((all & ~kHolds[i]) == 0) return i;
    return kNoLayer;
  }

  /// Without any where those can be placed that no class holds. What has a layer of its own from
  /// before counts for nothing.
  Layers too_many_pairs() const {
    Layers result;
    for_each_pair([&](SwitchIndex a, SwitchIndex b, bool hosts) {
      if (!hosts || shape_class(a, b) != kNoLayer) return;
      const std::uint8_t former = previous_ != nullptr ? former_layer(a, b) : kNoLayer;
      if (former != kNoLayer && former != 0) return;
      ++result.pairs_too_many;
      result.crossing = a;
    });
    result.needed = layers_max_ + 1;
    if (result.pairs_too_many * std::uint64_t{channels_.size()} <= kMostToPlace)
      result.pairs_too_many = 0;
    return result;
  }

  /// Pairs that no class holds and of which one has no host by ways of the first layer: there least
  /// hops do not matter. What that changes for other such pairs is seen to next. If it does not
  /// help, nothing changes.
  void lead_switches() {
    auto pairs = switches_of_no_class();
    if (pairs.empty()) return;
    const std::size_t before = pairs.size();
    const Ways former = ways_;
    for (unsigned round = 0; round < kRounds && !pairs.empty(); ++round) {
      lead_by_single_tops(pairs);
      find_shapes();
      pairs = switches_of_no_class();
    }
    if (pairs.size() < before) return;
    ways_ = former;
    find_shapes();
  }

  /// Pairs that no class holds and of which one has no host.
  std::vector<Loose> switches_of_no_class() const {
    const auto hosts = graph_.attached();
    std::vector<Loose> pairs;
    for (SwitchIndex a = 0; a < graph_.switch_count(); ++a)
      for (SwitchIndex b = 0; b < a; ++b)
        if ((hosts[a] == 0 || hosts[b] == 0) && shape_class(a, b) == kNoLayer)
          pairs.push_back({a, b, false, 0, kNoLayer});
    return pairs;
  }

  /// The first layers are those of the classes that have pairs.
  ClassLayers layers_of_classes() const {
    std::array<bool, kHolds.size()> has{};
    has[0] = true;
    for_each_pair([&](SwitchIndex a, SwitchIndex b, bool) {
      if (const std::uint8_t of = shape_class(a, b); of != kNoLayer) has[of] = true;
    });
    ClassLayers layers{};
    std::uint8_t count = 0;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      layers[i] = has[i] && count < layers_max_ ? count : kNoLayer;
      count = static_cast<std::uint8_t>(count + (has[i] ? 1 : 0));
    }
    return layers;
  }

  std::uint8_t former_layer(SwitchIndex a, SwitchIndex b) const {
    const Sl sl = previous_->at(a, b);
    return sl.value < layers_max_ ? sl.value : kNoLayer;
  }

  // ---- layers ----

  /// Nothing: by the layers that pairs had some fit nowhere, or too many have to leave theirs.
  std::optional<Layers> deal(bool as_before) {
    const auto of_class = layers_of_classes();
    std::vector<Loose> loose;
    std::size_t pairs = 0, count = 1;
    bool tree_fits = true;  // any by single tops beside the first layer
    for_each_pair([&](SwitchIndex a, SwitchIndex b, bool hosts) {
      const std::uint8_t of = shape_class(a, b);
      std::uint8_t layer = as_before ? former_layer(a, b) : kNoLayer;
      if (layer == kNoLayer && of != kNoLayer) layer = of_class[of];
      layer_.set_both(a, b, layer);
      if (layer == kNoLayer) loose.push_back({a, b, hosts, ~0U, kNoLayer});
      if (layer != kNoLayer) count = std::max(count, layer + std::size_t{1});
      tree_fits = tree_fits && (layer != 0 || of == 0);
      ++pairs;
    });
    auto filled = dependencies(count);
    std::size_t out = 0;
    // First those that the layer is not for: without them there may be no cycle.
    for (const bool all : {false, true}) {
      const std::size_t now = take_out_cyclic(filled, of_class, all, loose);
      if (now != 0) filled = dependencies(count);
      out += now;
    }
    if (as_before && out > kFewest + pairs / kFew) return std::nullopt;
    layers_.clear();
    for (const Dependencies& layer : filled) layers_.emplace_back(turns_, layer, layer.order());
    Layers result;
    claim_trees(result, tree_fits);
    place_all(loose, result);
    if (as_before && !homeless_.empty()) return std::nullopt;
    result.needed = result.used = static_cast<unsigned>(layers_.size());
    result.sls = tables::PathSls(graph_.switch_count(), Sl{0});
    for_each_pair([&](SwitchIndex a, SwitchIndex b, bool) {
      if (const std::uint8_t layer = layer_.to(a)[b]; layer != kNoLayer)
        result.sls.set(a, b, Sl{layer});
    });
    return result;
  }

  /// By layer, of all pairs that have one.
  std::vector<Dependencies> dependencies(std::size_t layers) const {
    struct Worker : Room {
      std::vector<Dependencies> of;
      std::vector<std::uint16_t> carried;  // by switch: layers of what comes by, a bit each
    };
    PerWorker<Worker> workers([&] {
      Worker worker;
      worker.of.assign(layers, Dependencies(channels_));
      worker.carried.assign(graph_.switch_count(), 0);
      return worker;
    });
    for_each_tree(workers, [&](SwitchIndex to, const Tree& tree, Worker& worker) {
      const std::uint8_t* layer = layer_.to(to);
      for (std::size_t i = tree.near_first.size(); i-- > 0;) {
        const SwitchIndex s = tree.near_first[i], n = next(s, tree.exits);
        unsigned all = std::exchange(worker.carried[s], std::uint16_t{0});
        if (layer[s] != kNoLayer) all |= 1U << layer[s];
        if (all == 0 || n == to) continue;
        worker.carried[n] |= static_cast<std::uint16_t>(all);
        const Channel held = channel(s, tree.exits), wanted = channel(n, tree.exits);
        for (; all != 0; all &= all - 1)
          worker.of[static_cast<std::size_t>(std::countr_zero(all))].insert(held, wanted);
      }
    });
    std::vector<Dependencies> result(layers, Dependencies(channels_));
    workers.each([&](const Worker& worker) {
      for (std::size_t i = 0; i < layers; ++i) result[i].merge(worker.of[i]);
    });
    return result;
  }

  /// Pairs with a turn on a cycle of their layer lose it, all or those of another class. How many.
  std::size_t take_out_cyclic(const std::vector<Dependencies>& filled, const ClassLayers& of_class,
                              bool all, std::vector<Loose>& loose) {
    const std::size_t before = loose.size();
    struct Counts : Room {
      std::vector<std::uint8_t> on_cycles;  // by switch: turns from there on
    };
    for (std::uint8_t l = 0; l < filled.size(); ++l) {
      if (filled[l].order().size() == channels_.size()) continue;
      const auto knot = filled[l].knots();
      Matrix on_cycles(graph_.switch_count(), 0);
      PerWorker<Counts> rooms([] { return Counts{}; });
      for_each_tree(rooms, [&](SwitchIndex to, const Tree& tree, Counts& room) {
        room.on_cycles.assign(graph_.switch_count(), 0);
        const std::uint8_t* layer = layer_.to(to);
        for (const SwitchIndex s : tree.near_first) {
          const SwitchIndex n = next(s, tree.exits);
          if (n == to) continue;
          const Channel held = knot[channel(s, tree.exits)];
          const bool one = held != kNoChannel && held == knot[channel(n, tree.exits)];
          room.on_cycles[s] = static_cast<std::uint8_t>(room.on_cycles[n] + (one ? 1 : 0));
          std::uint8_t& most = on_cycles.to(to)[s];
          if (layer[s] == l) most = std::max(most, room.on_cycles[s]);
        }
      });
      for_each_pair([&](SwitchIndex a, SwitchIndex b, bool hosts) {
        const unsigned turns = unsigned{on_cycles.to(a)[b]} + on_cycles.to(b)[a];
        if (turns == 0) return;
        const std::uint8_t of = shape_class(a, b);
        if (!all && of != kNoLayer && of_class[of] == l) return;
        layer_.set_both(a, b, kNoLayer);
        loose.push_back({a, b, hosts, turns, l});
      });
    }
    return loose.size() - before;
  }

  /// Each into the layer it wishes, or the first that takes it; hosts first, and of those the ones
  /// with the fewest turns that are disputed. Of pairs without hosts on both some may be left out.
  void place_all(std::vector<Loose>& loose, Layers& result) {
    std::ranges::stable_sort(
        loose, {}, [](const Loose& pair) { return std::tuple(!pair.hosts, pair.on_cycles); });
    homeless_.clear();
    std::vector<Turn> turns;
    const auto add = [&](Turn t) { turns.push_back(t); };
    std::uint64_t steps = 0;
    for (const Loose& pair : loose) {
      turns.clear();
      walker_.walk(pair.a, pair.b, add);
      walker_.walk(pair.b, pair.a, add);
      std::ranges::sort(turns);
      turns.erase(std::ranges::unique(turns).begin(), turns.end());
      const std::uint8_t layer = steps <= kStepsMax ? place(turns, pair.wished, steps) : kNoLayer;
      layer_.set_both(pair.a, pair.b, layer);
      if (layer == kNoLayer && pair.hosts) homeless_.push_back(pair);
      if (homeless_.size() > kMostToLead) return;
      if (layer == kNoLayer && !pair.hosts) ++result.switch_pairs_left_out;
    }
  }

  /// The first layer is left to what it is for: hardly anything else fits, and finding out is what
  /// takes longest.
  std::uint8_t place(std::span<const Turn> turns, std::uint8_t wished, std::uint64_t& steps) {
    const auto takes = [&](std::size_t l) {
      const std::uint64_t before = layers_[l].work();
      const bool fits = layers_[l].add(turns);
      steps += kStepsPerTry + layers_[l].work() - before;
      return fits;
    };
    if (wished != kNoLayer && takes(wished)) return wished;
    for (std::size_t l = 1; l < layers_max_; ++l) {
      if (l == layers_.size()) layers_.emplace_back(turns_);
      if (l != wished && takes(l)) return static_cast<std::uint8_t>(l);
    }
    return kNoLayer;
  }

  /// Multicast trees that climb and descend by single tops mix with pairs that do. Where others
  /// are in the first layer as well, a spanning tree that fits beside them.
  void claim_trees(Layers& result, bool any_by_single_tops) {
    if (any_by_single_tops) {
      const auto positions = orders_.single_tops.positions();
      result.multicast.up_order.assign(positions.begin(), positions.end());
      result.multicast_fits = true;
      return;
    }
    const auto roots = tree_roots(graph_, targets_);
    for (std::size_t i = 0; i < std::min(kTrees, roots.size()) && !result.multicast_fits; ++i)
      result.multicast_fits =
          layers_.front().add(multicast_tree(graph_, turns_, roots, i, result.multicast));
  }

  /// Between these pairs by ways that the first layer holds, as far as those are their own.
  void lead_by_single_tops(std::span<const Loose> pairs) {
    if (pairs.empty()) return;
    std::vector<bool> concerned(graph_.switch_count(), false);
    Matrix led(graph_.switch_count(), 0);
    const auto hosts = graph_.attached();
    for (const Loose& pair : pairs) {
      led.set_both(pair.a, pair.b, 1);
      for (const SwitchIndex to : {pair.a, pair.b}) {
        // Nobody's load depends on how a switch without hosts is reached.
        if (hosts[to] == 0 && !concerned[to])
          std::fill_n(led.to(to), graph_.switch_count(), std::uint8_t{1});
        concerned[to] = true;
      }
    }
    std::vector<std::size_t> which;
    for (std::size_t i = 0; i < targets_.all().size(); ++i)
      if (concerned[targets_.all()[i].leaf]) which.push_back(i);
    take_exits_by_order(
        request_, targets_, orders_.single_tops, which,
        [&](SwitchIndex from, SwitchIndex to) { return led.to(to)[from] == 0; }, ways_);
  }

  const Request& request_;
  const fabric::CompactGraph& graph_;
  const Targets& targets_;
  const tables::PathSls* previous_;
  const unsigned layers_max_;
  const TreeOrders& orders_;
  const Channels channels_;
  const Turns turns_;
  Ways& ways_;
  const Walker walker_;
  Matrix shapes_;  // what the ways from a switch to a target are
  Matrix layer_;
  std::vector<Layer> layers_;
  std::vector<Loose> homeless_;  // pairs of hosts that fit no layer
};

}  // namespace

Layers layers_by_shape(const Request& request, const Targets& targets, Ways& ways,
                       const TreeOrders& orders) {
  return ByShape(request, targets, ways, orders).run();
}

}  // namespace ib::route
