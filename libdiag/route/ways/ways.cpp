// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/ways/ways.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "libdiag/base/parallel.h"
#include "libdiag/route/shape/grid_order.h"
#include "libdiag/route/spread/exits.h"
#include "libdiag/route/ways/grid_fan.h"
#include "libdiag/tables/least_hops.h"

namespace ib::route {
namespace {

using fabric::SwitchIndex;

class WayFinder {
 public:
  WayFinder(const Request& request, const Targets& targets, const WayOptions& options)
      : graph_(*request.graph),
        fabric_(*request.fabric),
        targets_(targets),
        options_(options),
        previous_(request.options.honour_previous ? request.previous : nullptr),
        exits_(request) {
    price_.resize(graph_.arc_count());
    for (std::size_t i = 0; i < price_.size(); ++i) {
      price_[exits_.arc[i]] = exits_.all[i].cost;
      if (exits_.all[i].cost != 0) unit_ = std::min<std::uint64_t>(unit_, exits_.all[i].cost);
    }
    load_.assign(graph_.arc_count(), 0);
    cost_.resize(graph_.switch_count());
    hops_.resize(graph_.switch_count());
    through_.resize(graph_.switch_count());
    if (options_.free_dimensions != 0) {
      order_.emplace(*options_.grid, options_.free_dimensions);
      orders_ = std::min(options_.grid->dimensions.size(), targets.lids_of_a_port());
    }
    if (options_.round_damage) grid_fans_.emplace(graph_, *options_.grid, exits_);
  }

  Ways run() {
    Ways ways = plant();
    round(ways, true);
    if (previous_ != nullptr) relieve(ways);
    // A full tree is as even as it can be after the first round; large fabrics pay for each more.
    for (unsigned more = 0;
         more < options_.rounds_more && previous_ == nullptr && uneven() && affordable(ways);
         ++more) {
      const double before = greatest_load();
      Ways last = ways;
      round(ways, false);
      const double after = greatest_load();
      if (after > before) return last;
      if (after > before * 0.99) break;
    }
    return ways;
  }

 private:
  static constexpr std::size_t kFansAtOnce = 16;
  static constexpr std::size_t kNoDimension = ~std::size_t{0};
  // Above any cost: loads are below 49,151 squared times the cost of a route on the slowest link,
  // 64 at most in a row.
  static constexpr std::uint64_t kMove = std::uint64_t{1} << 61;
  // Of the mean load, for two steps of overlap(): with more, LIDs of one end port crowd together
  // where a damaged tree has one other system left; with nothing, they share exits without need.
  static constexpr double kOverlap = 0.03;
  static constexpr double kEven = 1.05;     // greatest load to mean
  static constexpr double kCrowded = 0.95;  // of the greatest load
  static constexpr unsigned kReliefsMax = 16;
  static constexpr std::uint64_t kArcsMax = 3e8;  // arcs times trees that one more round may take

  /// Trees without ways yet: one for each LID or each offset of every target.
  Ways plant() const {
    std::size_t trees = 0;
    std::vector<std::size_t> first;
    std::vector<std::uint32_t> of_column(targets_.columns().size());
    for (const Target& target : targets_.all()) {
      first.push_back(trees);
      std::size_t own = 1;
      for (std::size_t c = target.first_column; c < target.last_column; ++c) {
        const std::size_t i =
            options_.grain == Grain::Lid ? c - target.first_column : targets_.columns()[c].offset;
        of_column[c] = static_cast<std::uint32_t>(trees + i);
        own = std::max(own, i + 1);
      }
      trees += own;
    }
    first.push_back(trees);
    Ways ways(graph_.switch_count(), trees);
    ways.first = std::move(first);
    ways.of_column = std::move(of_column);
    ways.orders = orders_;
    return ways;
  }

  void round(Ways& ways, bool is_first) {
    for (std::size_t batch = 0; batch < targets_.batch_count(); ++batch)
      run_batch(batch, is_first, ways);
  }

  /// What was kept may be out of balance: trees leave the links that carry most, as long as that
  /// helps. Switches whose way does not cross those keep it.
  void relieve(Ways& ways) {
    for (unsigned i = 0; i < kReliefsMax && uneven() && affordable(ways); ++i) {
      const double before = greatest_load();
      const Ways last = ways;
      crowded_above_ = before * kCrowded;
      round(ways, false);
      if (greatest_load() >= before) {
        ways = last;
        return;
      }
    }
  }

  bool is_crowded(std::size_t arc) const {
    return static_cast<double>(load_[arc]) > crowded_above_;
  }

  /// By switch, whether its way crosses a crowded link.
  std::vector<bool> crossing(const Fan& fan, std::span<const std::uint8_t> tree) const {
    std::vector<bool> crosses(graph_.switch_count(), false);
    for (const SwitchIndex s : fan.order) {
      const std::size_t arc = graph_.arc_index(s, tree[s]);
      crosses[s] = is_crowded(arc) || crosses[graph_.arcs(s)[tree[s]].to];
    }
    return crosses;
  }

  bool is_crowded(std::span<const std::uint8_t> tree) const {
    for (SwitchIndex s = 0; s < tree.size(); ++s)
      if (tree[s] != kNoExit && is_crowded(graph_.arc_index(s, tree[s]))) return true;
    return false;
  }

  double greatest_load() const {
    return static_cast<double>(*std::max_element(load_.begin(), load_.end()));
  }
  bool uneven() const {
    std::uint64_t sum = 0, used = 0;
    for (const std::uint64_t load : load_) sum += load, used += load != 0;
    return used != 0 &&
           greatest_load() * static_cast<double>(used) > kEven * static_cast<double>(sum);
  }
  bool affordable(const Ways& ways) const {
    return std::uint64_t{graph_.arc_count()} * ways.tree_count() <= kArcsMax;
  }

  void run_batch(std::size_t batch, bool is_first, Ways& ways) {
    const auto targets = targets_.batch(batch);
    std::vector<SwitchIndex> leaves;
    for (const Target& target : targets) leaves.push_back(target.leaf);
    const auto hops = grid_fans_ ? tables::LeastHops() : tables::least_hops(graph_, leaves);
    std::vector<Fan> fans(std::min(kFansAtOnce, targets.size()) * orders_);
    for (std::size_t start = 0; start < targets.size(); start += kFansAtOnce) {
      const std::size_t count = std::min(kFansAtOnce, targets.size() - start);
      parallel_for(std::size_t{0}, count * orders_, [&](std::size_t j) {
        const std::size_t i = start + j / orders_;
        if (grid_fans_)
          grid_fans_->make(targets[i].leaf, fans[j]);
        else
          make_fan(targets[i].leaf, hops, i, j % orders_, fans[j]);
      });
      for (std::size_t i = 0; i < count; ++i)
        route(batch * tables::kTargetsPerBatch + start + i,
              std::span(fans).subspan(i * orders_, orders_), is_first, ways);
    }
  }

  void make_fan(SwitchIndex leaf, const tables::LeastHops& hops, std::size_t bit,
                std::size_t sibling, Fan& fan) const {
    fan.order.clear();
    fan.first.clear();
    fan.candidates.clear();
    const std::uint64_t mask = std::uint64_t{1} << bit;
    for (std::size_t level = 1; level < hops.at.size(); ++level)
      for (SwitchIndex s = 0; s < graph_.switch_count(); ++s)
        if ((hops.at[level][s] & mask) != 0) add_switch(s, leaf, hops, mask, sibling, fan);
    fan.first.push_back(static_cast<std::uint32_t>(fan.candidates.size()));
  }

  void add_switch(SwitchIndex s, SwitchIndex leaf, const tables::LeastHops& hops,
                  std::uint64_t mask, std::size_t sibling, Fan& fan) const {
    fan.order.push_back(s);
    fan.first.push_back(static_cast<std::uint32_t>(fan.candidates.size()));
    const std::size_t count = graph_.arcs(s).size();
    const std::size_t first = graph_.arc_index(s, 0);
    // The dimension whose turn it is before all others, then those that come first.
    const std::size_t turn = order_ ? order_->next(s, leaf, sibling) : kNoDimension;
    const auto place = [&](std::size_t d) { return d == turn ? 0 : d + 1; };
    std::size_t best = kNoDimension;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t arc = exits_.arc[first + i];
      if ((hops.arcs[arc] & mask) == 0) continue;
      if (options_.grid != nullptr) {
        const std::size_t d = options_.grid->dimension[arc];
        if (best != kNoDimension && place(d) > place(best)) continue;
        if (d != best) fan.candidates.resize(fan.first.back());
        best = d;
      }
      fan.candidates.push_back({static_cast<std::uint32_t>(arc), exits_.all[first + i].to});
    }
    if (options_.grid != nullptr) break_tie(s, leaf, best, fan);
  }

  /// Half way round a ring both directions are equally long. Which is taken depends on what is the
  /// same for the way back, so that both ways use the same half of the ring and less of it is bound
  /// to one VL; and it changes from place to place, so that the halves are loaded alike.
  void break_tie(SwitchIndex s, SwitchIndex leaf, std::size_t d, Fan& fan) const {
    const Grid& grid = *options_.grid;
    const auto& ring = grid.dimensions[d];
    const auto here = grid.at(s), there = grid.at(leaf);
    if (!ring.ring ||
        (here[d] + ring.size / 2 != there[d] && there[d] + ring.size / 2 != here[d]) ||
        ring.size % 2 != 0)
      return;
    unsigned sum = std::min(here[d], there[d]);
    for (std::size_t later = d + 1; later < grid.dimensions.size(); ++later)
      sum += here[later] + there[later];
    // By way of the positions between the two.
    const bool low = order_ ? GridOrder::by_low_half(here[d], there[d]) : sum % 2 == 0;
    const unsigned step = low == (here[d] < there[d]) ? 1 : ring.size - 1;
    const unsigned next = (here[d] + step) % ring.size;
    const auto first = fan.candidates.begin() + fan.first.back();
    const auto split = std::stable_partition(
        first, fan.candidates.end(), [&](const auto& c) { return grid.at(c.to)[d] == next; });
    if (split != first) fan.candidates.erase(split, fan.candidates.end());
  }

  /// `fans` by the number of an LID among those of its end port, and again from the first.
  void route(std::size_t index, std::span<const Fan> fans, bool is_first, Ways& ways) {
    const Target& target = targets_.all()[index];
    // LIDs by tree, and how many trees of the same end port come before it.
    const std::size_t first = ways.first[index];
    std::vector<std::uint64_t> lids(ways.first[index + 1] - first, 0);
    std::vector<std::size_t> siblings(lids.size(), 0);
    for (std::size_t c = target.first_column; c < target.last_column; ++c) {
      lids[ways.of_column[c] - first] += targets_.columns()[c].counts;
      siblings[ways.of_column[c] - first] = targets_.columns()[c].offset;
    }
    for (std::size_t i = 0; i < lids.size(); ++i) {
      const auto tree = ways.tree(first + i);
      const Fan& fan = fans[siblings[i] % fans.size()];
      if (!is_first && previous_ != nullptr) {
        if (lids[i] != 0 && is_crowded(tree))
          choose_beside_crowds(target.leaf, fan, lids[i], ways, first + i, siblings[i]);
        continue;
      }
      if (!is_first) lift(target.leaf, fan, lids[i], tree);
      if (siblings[i] == 0 && previous_ == nullptr) {
        choose(target.leaf, fan, lids[i], tree, [](auto, const auto&) { return std::uint64_t{0}; });
        continue;
      }
      const Lid lid = lid_of_tree(target, i);
      choose(target.leaf, fan, lids[i], tree, [&](SwitchIndex s, const Fan::Candidate& candidate) {
        return (is_kept(s, candidate.arc, lid) ? 0 : kMove) +
               overlap(s, candidate, ways, first + i, siblings[i]) *
                   price_of_overlap(s, candidate.arc, lids[i]) / 2;
      });
    }
  }

  void choose_beside_crowds(SwitchIndex leaf, const Fan& fan, std::uint64_t weight, Ways& ways,
                            std::size_t index, std::size_t siblings) {
    const auto tree = ways.tree(index);
    const std::vector<std::uint8_t> former(tree.begin(), tree.end());
    const std::vector<bool> crosses = crossing(fan, tree);
    lift(leaf, fan, weight, tree);
    choose(leaf, fan, weight, tree, [&](SwitchIndex s, const Fan::Candidate& candidate) {
      const bool stands = candidate.arc == graph_.arc_index(s, former[s]);
      return (stands || crosses[s] ? 0 : kMove) +
             (siblings == 0 ? 0
                            : overlap(s, candidate, ways, index, siblings) *
                                  price_of_overlap(s, candidate.arc, weight) / 2);
    });
  }

  /// One of those that follow tree i of a target.
  Lid lid_of_tree(const Target& target, std::size_t i) const {
    const auto columns = targets_.columns(target);
    if (columns.empty()) {
      const auto own = targets_.switch_lids(target.leaf);
      return own.empty() ? kNoLid : own.front().lid;
    }
    if (options_.grain == Grain::Lid) return columns[i].lid;
    const auto at = std::ranges::find(columns, i, &Targets::Column::offset);
    return at == columns.end() ? kNoLid : at->lid;
  }

  /// The least that any way from a switch to the target costs, from near to far, and its length.
  void estimate(SwitchIndex leaf, const Fan& fan) {
    cost_[leaf] = 0;
    hops_[leaf] = 0;
    const std::uint64_t* load = load_.data();
    std::uint64_t* cost = cost_.data();
    for (std::size_t i = 0; i < fan.order.size(); ++i) {
      const auto* at = fan.candidates.data() + fan.first[i];
      const auto* end = fan.candidates.data() + fan.first[i + 1];
      std::uint64_t best = cost[at->to] + load[at->arc];
      hops_[fan.order[i]] = hops_[at->to] + 1;
      for (++at; at != end; ++at) best = std::min(best, cost[at->to] + load[at->arc]);
      cost[fan.order[i]] = best;
    }
  }

  /// Gives every switch, from far to near, the arc by which its routes cost least. Routes of this
  /// tree that already run through the next switch will be on every link behind it: without them
  /// all switches would crowd onto the way that was the cheapest before the first of them.
  /// `handicap` comes before all costs.
  template <class Handicap>
  void choose(SwitchIndex leaf, const Fan& fan, std::uint64_t weight, std::span<std::uint8_t> tree,
              Handicap handicap) {
    estimate(leaf, fan);
    for (const SwitchIndex s : fan.order) through_[s] = 0;
    through_[leaf] = 0;
    const std::uint64_t* load = load_.data();
    const std::uint64_t* cost = cost_.data();
    for (std::size_t i = fan.order.size(); i-- > 0;) {
      const SwitchIndex s = fan.order[i];
      const auto* at = fan.candidates.data() + fan.first[i];
      const auto* end = fan.candidates.data() + fan.first[i + 1];
      const std::uint64_t behind = unit_ * (hops_[s] - 1);
      const auto* taken = at;
      for (std::uint64_t best = ~std::uint64_t{0}; at != end; ++at) {
        const std::uint64_t c =
            cost[at->to] + load[at->arc] + through_[at->to] * behind + handicap(s, *at);
        taken = c < best ? at : taken;
        best = std::min(best, c);
      }
      tree[s] = static_cast<std::uint8_t>(taken->arc - graph_.arc_index(s, 0));
      const std::uint64_t routes = through_[s] + targets_.sources(s) * weight;
      load_[taken->arc] += routes * price_[taken->arc];
      total_ += routes * price_[taken->arc];
      through_[taken->to] += routes;
    }
  }

  /// True when there is nothing to keep, or `arc` is what the previous tables use; where LIDs that
  /// share a tree are spread over parallel links, any of those.
  bool is_kept(SwitchIndex s, std::uint32_t arc, Lid lid) const {
    if (previous_ == nullptr || lid == kNoLid || s >= previous_->switch_count()) return true;
    const auto arcs = graph_.arcs(s);
    const auto& a = arcs[arc - graph_.arc_index(s, 0)];
    const std::uint8_t port = previous_->at(s, lid);
    if (port == a.out_port || options_.grain == Grain::Lid) return port == a.out_port;
    const auto used = std::ranges::find(arcs, port, &fabric::Arc::out_port);
    return used != arcs.end() && used->to == a.to;
  }

  /// What two steps of overlap() cost: as much as the switch itself sends, for ways are alike that
  /// differ by one tree of the same weight, and a part of the mean load.
  std::uint64_t price_of_overlap(SwitchIndex s, std::uint32_t arc, std::uint64_t weight) const {
    const double mean = static_cast<double>(total_) / static_cast<double>(load_.size());
    return 1 + targets_.sources(s) * weight * price_[arc] +
           static_cast<std::uint64_t>(kOverlap * mean);
  }

  /// What the trees of the same end port just before `tree` already use at s. 0: neither the switch
  /// behind a candidate nor its system; 2: the system; 3: the switch; 4: the link.
  std::uint64_t overlap(SwitchIndex s, const Fan::Candidate& candidate, const Ways& ways,
                        std::size_t tree, std::size_t siblings) const {
    std::uint64_t worst = 0;
    for (std::size_t i = 1; i <= siblings; ++i) {
      const std::uint8_t exit = ways.tree(tree - i)[s];
      if (exit == kNoExit) continue;
      const SwitchIndex used = graph_.arcs(s)[exit].to;
      if (graph_.arc_index(s, exit) == candidate.arc) return 4;
      if (used == candidate.to) {
        worst = 3;
        continue;
      }
      const Guid system = fabric_.node(graph_.node_of(used)).system_image_guid;
      if (system.value != 0 &&
          system == fabric_.node(graph_.node_of(candidate.to)).system_image_guid)
        worst = std::max<std::uint64_t>(worst, 2);
    }
    return worst;
  }

  /// Takes the routes of a tree off the links.
  void lift(SwitchIndex leaf, const Fan& fan, std::uint64_t weight,
            std::span<const std::uint8_t> tree) {
    for (const SwitchIndex s : fan.order) through_[s] = 0;
    through_[leaf] = 0;
    for (auto at = fan.order.rbegin(); at != fan.order.rend(); ++at) {
      const std::uint64_t routes = through_[*at] + targets_.sources(*at) * weight;
      const std::size_t arc = graph_.arc_index(*at, tree[*at]);
      load_[arc] -= routes * price_[arc];
      total_ -= routes * price_[arc];
      through_[graph_.arcs(*at)[tree[*at]].to] += routes;
    }
  }

  const fabric::CompactGraph& graph_;
  const fabric::Fabric& fabric_;
  const Targets& targets_;
  const WayOptions options_;
  const tables::LinearTables* previous_;
  const Exits exits_;
  std::optional<GridFans> grid_fans_;
  std::optional<GridOrder> order_;
  std::size_t orders_{1};                             // fans of a target
  std::uint64_t unit_{~std::uint64_t{0}};             // what a route costs at least
  std::vector<std::uint64_t> price_, load_;           // by arc
  std::uint64_t total_{0};                            // of load_
  std::vector<std::uint64_t> cost_, hops_, through_;  // by switch, of the tree at hand
  double crowded_above_{0};
};

}  // namespace

Ways find_ways(const Request& request, const Targets& targets, const WayOptions& options) {
  return WayFinder(request, targets, options).run();
}

namespace {

/// Routes from all sources that run through each switch on its way to the target of a tree.
void count_through(const fabric::CompactGraph& graph, const Targets& targets, SwitchIndex leaf,
                   std::span<const std::uint8_t> tree, std::span<std::uint32_t> through) {
  std::fill(through.begin(), through.end(), 0);
  for (SwitchIndex source = 0; source < graph.switch_count(); ++source)
    for (SwitchIndex s = source; targets.sources(source) != 0 && s != leaf && tree[s] != kNoExit;
         s = graph.arcs(s)[tree[s]].to)
      through[s] += targets.sources(source);
}

/// How many earlier LIDs of an end port leave a switch by a port, twice those that go the same way
/// elsewhere, too.
unsigned siblings_over(const tables::LinearTables& tables, const Ways& ways, SwitchIndex s,
                       const Targets::Column& column, std::uint8_t out_port) {
  unsigned count = 0;
  for (unsigned i = 1; i <= column.offset; ++i) {
    const auto lid = static_cast<std::uint16_t>(column.lid.value - i);
    if (tables.at(s, Lid{lid}) == out_port) count += i % ways.orders == 0 ? 2 : 1;
  }
  return count;
}

/// Spreads the LIDs that share a tree over the links that run beside those it names. Those that
/// `previous` spread over the same ones stay.
void spread_over_parallel(const fabric::CompactGraph& graph, const Targets& targets,
                          const Ways& ways, const tables::LinearTables* previous,
                          tables::LinearTables& tables) {
  std::vector<std::uint64_t> load(graph.arc_count(), 0);
  std::vector<std::uint32_t> through(graph.switch_count());
  for (std::size_t i = 0; i < targets.all().size(); ++i) {
    const Target& target = targets.all()[i];
    if (target.last_column - target.first_column < 2) continue;
    for (std::size_t t = ways.first[i]; t < ways.first[i + 1]; ++t) {
      const auto tree = ways.tree(t);
      count_through(graph, targets, target.leaf, tree, through);
      for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
        if (s == target.leaf || tree[s] == kNoExit) continue;
        const auto arcs = graph.arcs(s);
        const SwitchIndex to = arcs[tree[s]].to;
        for (std::size_t c = target.first_column; c < target.last_column; ++c) {
          if (ways.of_column[c] != t) continue;
          std::size_t best = tree[s];
          const Lid lid = targets.columns()[c].lid;
          const auto stands = [&](const fabric::Arc& arc) {
            return previous != nullptr && s < previous->switch_count() && arc.to == to &&
                   arc.out_port == previous->at(s, lid);
          };
          const auto kept = std::ranges::find_if(arcs, stands);
          if (kept != arcs.end()) best = static_cast<std::size_t>(kept - arcs.begin());
          // Links first that earlier LIDs of the same end port leave alone.
          const auto price = [&](std::size_t a) {
            return std::pair(siblings_over(tables, ways, s, targets.columns()[c], arcs[a].out_port),
                             load[graph.arc_index(s, a)]);
          };
          for (std::size_t a = 0; kept == arcs.end() && a < arcs.size(); ++a)
            if (arcs[a].to == to && price(a) < price(best)) best = a;
          // A switch nobody sends through counts as one, so that its LIDs take turns too.
          load[graph.arc_index(s, best)] += std::max(through[s], 1U);
          tables.set(s, lid, arcs[best].out_port);
        }
      }
    }
  }
}

}  // namespace

Ways ways_along(const fabric::CompactGraph& graph, const Targets& targets,
                const tables::LinearTables& tables) {
  constexpr std::size_t kPorts = 256;
  std::vector<std::uint8_t> exit_by_port(graph.switch_count() * kPorts, kNoExit);
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
    for (std::size_t i = 0; i < graph.arcs(s).size(); ++i)
      exit_by_port[s * kPorts + graph.arcs(s)[i].out_port] = static_cast<std::uint8_t>(i);
  std::vector<Lid> lid_of_tree;
  std::vector<std::size_t> first;
  for (const Target& target : targets.all()) {
    first.push_back(lid_of_tree.size());
    for (const auto& column : targets.columns(target)) lid_of_tree.push_back(column.lid);
    if (target.columns() != 0) continue;
    const auto own = targets.switch_lids(target.leaf);
    lid_of_tree.push_back(own.empty() ? kNoLid : own.front().lid);
  }
  first.push_back(lid_of_tree.size());
  Ways ways(graph.switch_count(), lid_of_tree.size());
  for (std::size_t i = 0; i < targets.all().size(); ++i) {
    const Target& target = targets.all()[i];
    for (std::size_t c = 0; c < target.columns(); ++c)
      ways.of_column.push_back(static_cast<std::uint32_t>(first[i] + c));
  }
  parallel_for(std::size_t{0}, targets.all().size(), [&](std::size_t i) {
    for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
      const std::uint8_t* exits = exit_by_port.data() + s * kPorts;
      if (s == targets.all()[i].leaf) continue;
      for (std::size_t t = first[i]; t < first[i + 1]; ++t)
        ways.tree(t)[s] = exits[tables.at(s, lid_of_tree[t])];
    }
  });
  ways.first = std::move(first);
  return ways;
}

tables::LinearTables tables_from(const Request& request, const Targets& targets, const Ways& ways) {
  const auto& graph = *request.graph;
  tables::LinearTables tables(graph.switch_count(), graph.max_lid());
  constexpr std::size_t kPart = 16;  // switches, so that a target is looked up once for all
  const std::size_t switches = graph.switch_count();
  parallel_for(std::size_t{0}, (switches + kPart - 1) / kPart, [&](std::size_t part) {
    const auto first = static_cast<SwitchIndex>(part * kPart);
    const auto end = static_cast<SwitchIndex>(std::min(switches, (part + 1) * kPart));
    for (std::size_t i = 0; i < targets.all().size(); ++i) {
      const Target& target = targets.all()[i];
      for (SwitchIndex s = first; s != end; ++s) {
        const auto arcs = graph.arcs(s);
        const auto follow = [&](Lid lid, std::size_t tree, std::uint8_t own) {
          const std::uint8_t exit = ways.tree(tree)[s];
          if (s == target.leaf)
            tables.set(s, lid, own);
          else if (exit != kNoExit)
            tables.set(s, lid, arcs[exit].out_port);
        };
        for (std::size_t c = target.first_column; c < target.last_column; ++c)
          follow(targets.columns()[c].lid, ways.of_column[c], targets.columns()[c].port);
        for (const auto& [lid, port] : targets.switch_lids(target.leaf))
          follow(lid, ways.first[i], port);
      }
    }
  });
  if (ways.tree_count() < targets.columns().size())
    spread_over_parallel(graph, targets, ways,
                         request.options.honour_previous ? request.previous : nullptr, tables);
  return tables;
}

}  // namespace ib::route
