// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/reroute/own_ways.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "libdiag/base/parallel.h"
#include "libdiag/route/shape/channels.h"

namespace ib::route {
namespace {

using fabric::SwitchIndex;

/// Arcs by the port they leave by.
class ArcsByPort {
 public:
  explicit ArcsByPort(const fabric::CompactGraph& graph)
      : graph_(graph),
        ports_(graph.max_ports() + std::size_t{1}),
        arc_(graph.switch_count() * ports_, nullptr) {
    for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
      for (const auto& arc : graph.arcs(s)) arc_[s * ports_ + arc.out_port] = &arc;
  }
  /// nullptr: no switch is there.
  const fabric::Arc* at(SwitchIndex s, std::uint8_t port) const {
    return port < ports_ ? arc_[s * ports_ + port] : nullptr;
  }
  std::size_t index(SwitchIndex s, const fabric::Arc& arc) const {
    return graph_.arc_index(s, static_cast<std::size_t>(&arc - graph_.arcs(s).data()));
  }

 private:
  const fabric::CompactGraph& graph_;
  std::size_t ports_;
  std::vector<const fabric::Arc*> arc_;
};

class Finder {
 public:
  Finder(const fabric::CompactGraph& graph, tables::LinearTables& lfts)
      : graph_(graph), lfts_(lfts), arcs_(graph), channels_(graph) {}

  std::vector<OwnWay> run(std::span<const MissingWay> missing) {
    const auto destinations = graph_.destinations();
    std::vector<SwitchIndex> waiting;
    for (std::size_t i = 0; i < missing.size();) {
      begin(*std::ranges::lower_bound(destinations, missing[i].lid, {}, &fabric::Destination::lid));
      waiting.clear();
      for (; i < missing.size() && missing[i].lid == to_.lid; ++i) waiting.push_back(missing[i].at);
      // A switch that gets a way is one that others may send to.
      while (std::erase_if(waiting, [this](SwitchIndex s) { return give(s); }) != 0) {
      }
    }
    return std::move(given_);
  }

 private:
  static constexpr std::uint32_t kFar = 0xFFFFFFFF;

  void begin(const fabric::Destination& to) {
    to_ = to;
    hops_.assign(graph_.switch_count(), kFar);
    hops_[to.leaf] = 0;
  }

  /// Of the way by the tables; kFar: there is none.
  std::uint32_t hops(SwitchIndex from) {
    passed_.clear();
    SwitchIndex at = from;
    while (hops_[at] == kFar) {
      const fabric::Arc* arc = arcs_.at(at, lfts_.at(at, to_.lid));
      if (arc == nullptr || passed_.size() > graph_.switch_count()) return kFar;
      passed_.push_back(at);
      at = arc->to;
    }
    std::uint32_t hops = hops_[at];
    for (std::size_t i = passed_.size(); i-- > 0;) hops_[passed_[i]] = ++hops;
    return hops;
  }

  /// An entry for s, if one can be proved. The nearest neighbour is asked first.
  bool give(SwitchIndex s) {
    std::vector<std::pair<std::uint32_t, const fabric::Arc*>> ways;
    for (const auto& arc : graph_.arcs(s))
      if (const std::uint32_t far = hops(arc.to); far != kFar) ways.emplace_back(far, &arc);
    std::ranges::sort(ways);
    for (const auto& [far, arc] : ways) {
      if (!closes_no_cycle(s, *arc)) continue;
      lfts_.set(s, to_.lid, arc->out_port);
      hops_[s] = far + 1;
      given_.push_back({s, to_.lid, arc->out_port});
      return true;
    }
    return false;
  }

  bool closes_no_cycle(SwitchIndex s, const fabric::Arc& arc) {
    const fabric::Arc* next = arcs_.at(arc.to, lfts_.at(arc.to, to_.lid));
    if (arc.to == to_.leaf || next == nullptr) return true;
    if (!dependencies_) prove_tables();
    return dependencies_->add(channel(s, arc), channel(arc.to, *next));
  }

  Channel channel(SwitchIndex s, const fabric::Arc& arc) const {
    return channels_.of_arc(arcs_.index(s, arc));
  }

  /// Begins with what there is: every switch may send to every LID it has an entry for.
  void prove_tables() {
    Dependencies all(channels_);
    const auto switches = static_cast<SwitchIndex>(graph_.switch_count());
    parallel_for(SwitchIndex{0}, switches, [&](SwitchIndex s) {
      const auto row = lfts_.row(s);
      for (const auto& to : graph_.destinations()) {
        const fabric::Arc* arc = to.leaf == s ? nullptr : arcs_.at(s, row[to.lid.value]);
        if (arc == nullptr || arc->to == to.leaf) continue;
        if (const auto* next = arcs_.at(arc->to, lfts_.at(arc->to, to.lid)))
          all.insert(channel(s, *arc), channel(arc->to, *next));
      }
    });
    dependencies_.emplace(all, all.order());
  }

  const fabric::CompactGraph& graph_;
  tables::LinearTables& lfts_;
  ArcsByPort arcs_;
  Channels channels_;
  std::optional<AcyclicDependencies> dependencies_;  // once they are asked for
  std::vector<OwnWay> given_;
  // Of the LID at hand.
  fabric::Destination to_;
  std::vector<std::uint32_t> hops_;  // by switch, once known
  std::vector<SwitchIndex> passed_;
};

}  // namespace

std::vector<MissingWay> missing_ways(const fabric::CompactGraph& graph,
                                     const tables::LinearTables& lfts,
                                     std::span<const SwitchIndex> at) {
  const auto ends = graph.end_ports();
  std::vector<std::vector<MissingWay>> lists(at.size());
  parallel_for(std::size_t{0}, at.size(), [&](std::size_t i) {
    if (ends[at[i]] != 0) return;
    const auto row = lfts.row(at[i]);
    for (const auto& to : graph.destinations())
      if (row[to.lid.value] == tables::kNoPort && ends[to.leaf] != 0)
        lists[i].push_back({to.lid, at[i]});
  });
  std::vector<MissingWay> missing;
  for (const auto& list : lists) missing.insert(missing.end(), list.begin(), list.end());
  std::ranges::sort(missing);
  return missing;
}

std::vector<OwnWay> add_own_ways(const fabric::CompactGraph& graph, tables::LinearTables& lfts,
                                 std::span<const MissingWay> missing) {
  if (missing.empty()) return {};
  return Finder(graph, lfts).run(missing);
}

std::vector<OwnWay> add_own_ways(const fabric::CompactGraph& graph, tables::LinearTables& lfts) {
  std::vector<SwitchIndex> all(graph.switch_count());
  std::iota(all.begin(), all.end(), SwitchIndex{0});
  return add_own_ways(graph, lfts, missing_ways(graph, lfts, all));
}

}  // namespace ib::route
