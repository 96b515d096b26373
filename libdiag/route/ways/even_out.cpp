// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/ways/even_out.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "libdiag/base/parallel.h"
#include "libdiag/route/reroute/reroute.h"
#include "libdiag/route/spread/exits.h"
#include "libdiag/route/spread/quality.h"

namespace ib::route {
namespace {

using fabric::SwitchIndex;
/// Ways are looked at when one of their links is loaded by this part of what is between the mean
/// and the maximum. With less there is more to do and nothing to gain.
constexpr double kHot = 0.25;
constexpr std::uint32_t kNoArc = 0xFFFFFFFF;

/// The arcs of a graph by number, and what a route over each costs.
struct Arcs {
  explicit Arcs(const Request& request)
      : to(request.graph->arc_count()), port(to.size()), cost(to.size()) {
    const auto& graph = *request.graph;
    const Exits exits(request);
    for (std::size_t i = 0; i < to.size(); ++i) {
      const std::uint32_t arc = exits.arc[i];
      to[arc] = exits.all[i].to;
      port[arc] = exits.all[i].port;
      cost[arc] = static_cast<float>(exits.all[i].cost);
    }
    const float dearest = cost.empty() ? 1 : *std::max_element(cost.begin(), cost.end());
    for (auto& c : cost) c /= std::max(dearest, 1.0F);
    by_port.assign(graph.switch_count() * 256, kNoArc);
    for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
      for (std::size_t i = 0; i < graph.arcs(s).size(); ++i) {
        const std::size_t arc = graph.arc_index(s, i);
        by_port[s * 256 + port[arc]] = static_cast<std::uint32_t>(arc);
      }
  }
  std::vector<SwitchIndex> to;
  std::vector<std::uint8_t> port;
  std::vector<float> cost;  // 1 at most, 0: not counted
  std::vector<std::uint32_t> by_port;
};

/// One target with all that is chosen for it, by column and switch.
class Trees {
 public:
  Trees(const fabric::CompactGraph& graph, const Targets& targets, const Arcs& arcs)
      : graph_(graph), targets_(targets), arcs_(arcs) {}

  void load(const Target& target, std::size_t b, const tables::LeastHops& hops,
            const tables::LinearTables& tables) {
    target_ = &target;
    const std::size_t switches = graph_.switch_count();
    arc_.assign(target.columns() * switches, kNoArc);
    sources_.assign(target.columns() * switches, 0);
    const auto columns = targets_.columns(target);
    for (std::size_t level = hops.at.size(); level-- > 1;)
      for (SwitchIndex s = 0; s < switches; ++s) {
        if (((hops.at[level][s] >> b) & 1) == 0) continue;
        const auto row = tables.row(s);
        for (std::size_t c = 0; c < columns.size(); ++c) {
          const std::uint32_t arc = arcs_.by_port[s * 256 + row[columns[c].lid.value]];
          arc_[c * switches + s] = arc;
          if (arc == kNoArc || !columns[c].counts) continue;
          std::uint32_t& own = sources_[c * switches + s];
          own += targets_.sources(s);
          if (arcs_.to[arc] != target.leaf) sources_[c * switches + arcs_.to[arc]] += own;
        }
      }
  }

  std::uint32_t& arc(std::size_t c, SwitchIndex s) { return arc_[c * graph_.switch_count() + s]; }
  std::uint32_t arc(std::size_t c, SwitchIndex s) const {
    return arc_[c * graph_.switch_count() + s];
  }
  std::uint32_t sources(std::size_t c, SwitchIndex s) const {
    return sources_[c * graph_.switch_count() + s];
  }
  /// Calls `visit(arc)` for every arc from switch `s` over `first` to the target.
  template <typename Visit>
  void walk(std::size_t c, std::uint32_t first, Visit visit) const {
    for (std::uint32_t a = first;;) {
      visit(a);
      if (arcs_.to[a] == target_->leaf) return;
      a = arc(c, arcs_.to[a]);
    }
  }
  /// Adds to (or takes from) what passes the switches after s.
  void shift_sources(std::size_t c, SwitchIndex s, std::uint32_t plus) {
    for (SwitchIndex at = arcs_.to[arc(c, s)]; at != target_->leaf; at = arcs_.to[arc(c, at)])
      sources_[c * graph_.switch_count() + at] += plus;
  }

 private:
  const fabric::CompactGraph& graph_;
  const Targets& targets_;
  const Arcs& arcs_;
  const Target* target_{};
  std::vector<std::uint32_t> arc_;
  std::vector<std::uint32_t> sources_;  // that pass a switch
};

class Evener {
 public:
  Evener(const Request& request, const Targets& targets, std::span<const tables::LeastHops> hops,
         tables::LinearTables& tables, const EvenOutOptions& options)
      : graph_(*request.graph),
        targets_(targets),
        hops_(hops),
        tables_(tables),
        previous_(request.options.honour_previous ? request.previous : nullptr),
        options_(options),
        arcs_(request),
        trees_(graph_, targets, arcs_),
        load_(graph_.arc_count(), 0),
        crowd_(graph_.arc_count(), 0) {
    add_up();
  }

  void run() {
    for (unsigned i = 0; i < options_.sweeps && ways_ < options_.ways_max; ++i) {
      fourth_power_ = i > 0;
      unit_ = *std::max_element(load_.begin(), load_.end());
      if (unit_ == 0) return;
      const double used = static_cast<double>(
          std::count_if(load_.begin(), load_.end(), [](double l) { return l > 0; }));
      const double mean = std::accumulate(load_.begin(), load_.end(), 0.0) / used;
      hot_ = mean + kHot * (unit_ - mean);
      moves_ = 0;
      each_target([&](const Target& target, std::size_t b, const tables::LeastHops& hops) {
        if (ways_ < options_.ways_max) visit_target(target, b, hops);
      });
      if (moves_ == 0) return;
    }
  }

 private:
  template <typename Visit>
  void each_target(Visit visit) const {
    for (std::size_t i = 0; i < targets_.batch_count(); ++i) {
      const auto batch = targets_.batch(i);
      for (std::size_t b = 0; b < batch.size(); ++b)
        if (batch[b].columns() != 0) visit(batch[b], b, hops_[i]);
    }
  }

  void add_up() {
    std::vector<std::vector<float>> parts(targets_.batch_count());
    parallel_for(std::size_t{0}, parts.size(), [&](std::size_t i) {
      const auto batch = targets_.batch(i);
      auto& part = parts[i];
      part.assign(graph_.arc_count(), 0);
      Trees trees(graph_, targets_, arcs_);
      for (std::size_t b = 0; b < batch.size(); ++b) {
        if (batch[b].columns() == 0) continue;
        trees.load(batch[b], b, hops_[i], tables_);
        for (std::size_t c = 0; c < batch[b].columns(); ++c)
          for (SwitchIndex s = 0; s < graph_.switch_count(); ++s)
            if (const std::uint32_t arc = trees.arc(c, s); arc != kNoArc)
              part[arc] += static_cast<float>(trees.sources(c, s)) * arcs_.cost[arc];
      }
    });
    for (const auto& part : parts)
      for (std::size_t a = 0; a < part.size(); ++a) load_[a] += part[a];
  }

  void visit_target(const Target& target, std::size_t b, const tables::LeastHops& hops) {
    trees_.load(target, b, hops, tables_);
    for (SwitchIndex s = 0; s < graph_.switch_count(); ++s)
      if (s != target.leaf) visit_switch(s, target, b, hops);
  }

  void visit_switch(SwitchIndex s, const Target& target, std::size_t b,
                    const tables::LeastHops& hops) {
    const std::size_t columns = target.columns();
    bool busy = false;
    for (std::size_t c = 0; c < columns && !busy; ++c) busy = trees_.sources(c, s) != 0;
    if (!busy) return;
    std::array<std::uint32_t, 256> candidates;
    std::size_t n = 0;
    const std::size_t first = graph_.arc_index(s, 0);
    for (std::size_t i = 0; i < graph_.arcs(s).size(); ++i)
      if ((hops.arcs[first + i] >> b) & 1) candidates[n++] = static_cast<std::uint32_t>(first + i);
    if (n < 2) return;

    const auto add_crowd = [&](std::size_t c, int more) {
      trees_.walk(c, trees_.arc(c, s), [&](std::uint32_t a) { crowd_[a] += more; });
    };
    for (std::size_t c = 0; c < columns; ++c) add_crowd(c, 1);
    for (std::size_t c = 0; c < columns; ++c) {
      if (trees_.sources(c, s) == 0 || !is_worth_it(s, c) ||
          stays(s, targets_.columns(target)[c].lid))
        continue;
      add_crowd(c, -1);
      choose(s, c, targets_.columns(target)[c].lid, {candidates.data(), n});
      add_crowd(c, 1);
    }
    for (std::size_t c = 0; c < columns; ++c)
      trees_.walk(c, trees_.arc(c, s), [&](std::uint32_t a) { crowd_[a] = 0; });
  }

  /// False for ways that are neither hot nor crowded.
  bool is_worth_it(SwitchIndex s, std::size_t c) const {
    bool worth = false;
    trees_.walk(c, trees_.arc(c, s),
                [&](std::uint32_t a) { worth |= load_[a] > hot_ || crowd_[a] > 1; });
    return worth;
  }

  bool stays(SwitchIndex s, Lid lid) const {
    return previous_ != nullptr && s < previous_->switch_count() &&
           previous_->at(s, lid) != tables::kNoPort && previous_->at(s, lid) == tables_.at(s, lid);
  }

  void choose(SwitchIndex s, std::size_t c, Lid lid, std::span<const std::uint32_t> candidates) {
    const std::uint32_t sources = trees_.sources(c, s), current = trees_.arc(c, s);
    const auto add_load = [&](std::uint32_t first, float weight) {
      trees_.walk(c, first, [&](std::uint32_t a) { load_[a] += weight * arcs_.cost[a]; });
    };
    const auto weight = static_cast<float>(sources);
    add_load(current, -weight);
    std::uint32_t best = current;
    double least = price_of_way(c, current, weight);
    for (const std::uint32_t candidate : candidates) {
      if (candidate == current) continue;
      const double price = price_of_way(c, candidate, weight);
      if (price < least * (1 - 1e-6)) least = price, best = candidate;
    }
    ways_ += candidates.size();
    if (best != current) {
      ++moves_;
      trees_.shift_sources(c, s, 0U - sources);
      trees_.arc(c, s) = best;
      tables_.set(s, lid, arcs_.port[best]);
      trees_.shift_sources(c, s, sources);
    }
    add_load(best, weight);
  }

  double price_of_way(std::size_t c, std::uint32_t first, float weight) const {
    double sum = 0;
    trees_.walk(c, first, [&](std::uint32_t a) { sum += price(a, weight); });
    return sum;
  }

  /// How much the sum of squares, or of fourth powers, of relative loads grows.
  double price(std::uint32_t a, float weight) const {
    const double more = double{weight} * arcs_.cost[a] / unit_;
    const double before = load_[a] / unit_, after = before + more;
    double growth = after * after - before * before;
    if (fourth_power_) growth *= after * after + before * before;
    return growth + options_.crowd * crowd_[a] * more;
  }

  const fabric::CompactGraph& graph_;
  const Targets& targets_;
  std::span<const tables::LeastHops> hops_;
  tables::LinearTables& tables_;
  const tables::LinearTables* previous_;
  const EvenOutOptions& options_;
  const Arcs arcs_;
  Trees trees_;
  std::vector<double> load_;
  std::vector<int> crowd_;  // other LIDs of the target that the switch at hand sends this way
  double unit_{1};          // the highest load when the sweep began
  double hot_{0};
  bool fourth_power_{false};
  std::uint64_t ways_{0}, moves_{0};
};

}  // namespace

void even_out(const Request& request, const Targets& targets,
              std::span<const tables::LeastHops> hops, tables::LinearTables& tables,
              const EvenOutOptions& options) {
  if (targets.columns().empty() || request.graph->arc_count() == 0) return;  // nothing to move
  Evener(request, targets, hops, tables, options).run();
}

namespace {

/// True when switches that are equally far from hosts have as many links as each other, as in a
/// tree or a torus with nothing missing: there spread() is as good as can be.
bool is_whole(const fabric::CompactGraph& graph) {
  constexpr std::uint32_t kNoRank = 0xFFFFFFFF;
  std::vector<std::uint32_t> rank(graph.switch_count(), kNoRank);
  std::vector<SwitchIndex> queue;
  queue.reserve(rank.size());
  for (SwitchIndex s = 0; s < rank.size(); ++s)
    if (graph.attached()[s] != 0) rank[s] = 0, queue.push_back(s);
  std::vector<std::size_t> links;  // by rank
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const SwitchIndex s = queue[i];
    if (rank[s] == links.size()) links.push_back(graph.arcs(s).size());
    if (links[rank[s]] != graph.arcs(s).size()) return false;
    for (const auto& arc : graph.arcs(s))
      if (rank[arc.to] == kNoRank) rank[arc.to] = rank[s] + 1, queue.push_back(arc.to);
  }
  return true;
}

}  // namespace

tables::LinearTables spread_evenly(const Request& request, const Targets& targets,
                                   std::span<const tables::LeastHops> hops,
                                   const CandidateRule& rule) {
  constexpr std::size_t kEntriesMax = 1'000'000, kWaysMax = 4'000'000;
  auto tables = spread(request, targets, hops);
  // With several LIDs a port there is that much more to move, and each has less to go to.
  const std::size_t lids = targets.lids_of_a_port();
  if (targets.columns().size() * request.graph->switch_count() > lids * kEntriesMax) {
    if (!rule.follow || is_whole(*request.graph)) return tables;
    Routes routes;
    routes.lfts = std::move(tables);
    return Rerouter::relieved(request, rule, std::move(routes)).lfts;
  }
  if (!request.options.ignored.empty()) return tables;
  EvenOutOptions options;
  options.ways_max = (lids > 1 ? 2 * lids : 1) * kWaysMax;
  auto evened = tables;
  even_out(request, targets, hops, evened, options);
  // Where spread() is as good as can be, as on whole trees, it stays.
  return greatest_load(request, evened) < greatest_load(request, tables) ? evened : tables;
}

}  // namespace ib::route
