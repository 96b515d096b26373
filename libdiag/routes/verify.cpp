// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/routes/verify.h"

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include <algorithm>

#include "libdiag/routes/verify_findings.h"
#include "libdiag/routes/verify_multicast.h"
#include "libdiag/routes/verify_sweep.h"
#include "libdiag/routes/verify_walk.h"

namespace ib::routes {
namespace {

using namespace check;
constexpr std::size_t kLidsPerBlock = 64;

/// Walks to the LIDs that are wanted. Tables are rows of switches and a walk wants columns: blocks
/// of LIDs are turned round once, which fits the cache, and go to the processors.
template <class Wanted>
Tally walk(const Terrain& terrain, const LaneView& lanes, const LinearTables& tables, Lid sm_lid,
           WalkOptions options, Wanted wanted) {
  struct Worker {
    LidWalker walker;
    std::vector<std::uint8_t> columns;
  };
  const std::size_t switches = terrain.graph.switch_count();
  tbb::enumerable_thread_specific<Worker> workers([&] {
    return Worker{LidWalker(terrain, lanes, sm_lid, options),
                  std::vector<std::uint8_t>(switches * kLidsPerBlock)};
  });
  // Runs of destinations in one block of LIDs.
  std::vector<std::pair<std::size_t, std::size_t>> runs;
  const auto& destinations = terrain.destinations;
  for (std::size_t i = 0; i < destinations.size(); ++i) {
    if (!wanted(destinations[i])) continue;
    const auto block = [&](std::size_t j) { return destinations[j].lid.value / kLidsPerBlock; };
    if (runs.empty() || block(runs.back().first) != block(i)) runs.emplace_back(i, i);
    runs.back().second = i + 1;
  }
  tbb::parallel_for(std::size_t{0}, runs.size(), [&](std::size_t run) {
    const auto [begin, end] = runs[run];
    const std::uint16_t first_lid = destinations[begin].lid.value;
    const std::size_t lids = destinations[end - 1].lid.value - first_lid + std::size_t{1};
    Worker& worker = workers.local();
    for (SwitchIndex s = 0; s < switches; ++s)
      for (std::size_t i = 0; i < lids; ++i)
        worker.columns[i * switches + s] =
            tables.at(s, Lid{static_cast<std::uint16_t>(first_lid + i)});
    for (std::size_t i = begin; i < end; ++i)
      if (const auto& d = destinations[i]; wanted(d))
        worker.walker.walk(d, &worker.columns[(d.lid.value - first_lid) * switches]);
  });
  std::optional<Tally> total;
  for (Worker& worker : workers) {
    if (total)
      total->add(worker.walker.tally);
    else
      total = std::move(worker.walker.tally);
  }
  if (!total) total.emplace(terrain, lanes, options);
  total->must.expand(terrain, lanes);
  total->should.expand(terrain, lanes);
  std::sort(total->bad_lids.begin(), total->bad_lids.end());
  return std::move(*total);
}

void count_loads(const Tally& tally, Verdict& verdict) {
  std::uint64_t used = 0, sum = 0;
  for (std::uint64_t load : tally.load) {
    verdict.load_max = std::max(verdict.load_max, load);
    sum += load;
    used += load != 0;
  }
  if (used != 0) verdict.load_mean = static_cast<double>(sum) / static_cast<double>(used);
}

/// VLs by channel of what the walks carried.
std::vector<std::uint16_t> carried_vls(const Terrain& terrain, const LaneView& lanes,
                                       const Tally& tally) {
  if (lanes.kind() == LaneView::Kind::Exact) return tally.carried;
  std::vector<std::uint16_t> vls(tally.carried.size(), 0);
  for (Channel c = 0; c < terrain.channels(); ++c)
    for (unsigned bit = 0; bit < 16; ++bit)
      if ((tally.carried[c] >> bit) & 1U)
        vls[c] |= static_cast<std::uint16_t>(1U << (lanes.vl(c, bit) & 15U));
  return vls;
}

/// Credit loops of what must hold, then what of the rest can be added.
class DependencyCheck {
 public:
  DependencyCheck(const fabric::Fabric& fabric, const Terrain& terrain, const LaneView& lanes,
                  const LinearTables& tables, const VerifyOptions& options, Verdict& verdict)
      : fabric_(fabric),
        terrain_(terrain),
        lanes_(lanes),
        tables_(tables),
        options_(options),
        verdict_(verdict) {}

  void run(Dependencies must, const Dependencies* multicast, Dependencies should) {
    must.subtract_from(should);
    if (multicast != nullptr) multicast->subtract_from(should);
    Dependencies all = must;
    all.merge(should);
    if (multicast != nullptr) all.merge(*multicast);
    if (order_of(terrain_, all).left.empty()) return;  // the usual case, at the price of one order

    Order order = order_of(terrain_, must);
    if (!order.left.empty()) return loop(must, order.left, options_.credit_loops_are_must);
    if (multicast != nullptr) {
      must.merge(*multicast);
      order = order_of(terrain_, must);
      if (!order.left.empty()) {
        verdict_.multicast = MulticastVerdict::Failed;
        return loop(must, order.left, true);
      }
    }
    add_one_by_one(must, should, std::move(order), order_of(terrain_, all).left);
  }

 private:
  void loop(const Dependencies& turns, const std::vector<Node>& left, bool must) {
    verdict_.credit_loop_channels = left.size();
    if (must) verdict_.must_failures += left.size();
    if (options_.findings_max > verdict_.findings.size())
      verdict_.findings.push_back(credit_loop(fabric_, terrain_, lanes_, turns, left, must));
  }

  /// Only turns between nodes that the order of everything left over can close a cycle.
  void add_one_by_one(Dependencies& must, const Dependencies& should, Order order,
                      const std::vector<Node>& left) {
    std::vector<bool> suspicious(must.nodes(), false);
    for (const Node n : left) suspicious[n] = true;
    GrowingOrder growing(terrain_, must, std::move(order.position));
    std::vector<Turn> refused;
    for (const Node n : left) {
      std::vector<Node> next;
      should.for_next(terrain_, n, [&](Node m) {
        if (suspicious[m]) next.push_back(m);
      });
      for (const Node m : next)
        if (!growing.add({n, m})) refused.push_back({n, m});
    }
    verdict_.switch_turns_refused = refused.size();
    if (!refused.empty() && verdict_.findings.size() < options_.findings_max)
      verdict_.findings.push_back(refused_turns(fabric_, terrain_, lanes_, must, tables_, refused));
  }

  const fabric::Fabric& fabric_;
  const Terrain& terrain_;
  const LaneView& lanes_;
  const LinearTables& tables_;
  const VerifyOptions& options_;
  Verdict& verdict_;
};

/// As if every switch sent to every CA LID, and every link were used: where that is free of faults
/// and cycles there is no need to know what really flows. The tally has what became of LIDs of
/// switches. Precondition: one SL.
std::optional<Tally> prove_quickly(const fabric::Fabric& fabric, const Terrain& terrain,
                                   const LaneView& view, const LinearTables& tables,
                                   const Lanes& lanes, const std::optional<Dependencies>& of_trees,
                                   const VerifyOptions& options) {
  std::vector<std::uint16_t> carried(terrain.channels(), 0);
  for (Channel c = 0; c < carried.size(); ++c)
    carried[c] = static_cast<std::uint16_t>(1U << (view.vl(c, 0) & 15U));
  Verdict faults;
  VerifyOptions silent = options;
  silent.findings_max = 0;
  check_lanes(fabric, terrain, lanes, view, carried, silent, faults);
  if (faults.lane_faults + faults.asymmetric_pairs != 0) return std::nullopt;
  Sweep ends = sweep(terrain, tables);
  if (!ends.all_arrive) return std::nullopt;
  Tally switches =
      walk(terrain, view, tables, options.sm_lid, {false, true, options.switch_lids_as_cas},
           [](const fabric::Destination& d) { return d.is_switch(); });
  ends.turns.merge(switches.must.graph);
  ends.turns.merge(switches.should.graph);
  if (of_trees) ends.turns.merge(*of_trees);
  if (!order_of(terrain, ends.turns).left.empty()) return std::nullopt;
  return switches;
}

/// One finding for each place where a LID fails.
void explain_lids(const fabric::Fabric& fabric, const Terrain& terrain, const LinearTables& tables,
                  const std::vector<Lid>& lids, const VerifyOptions& options, bool must,
                  Verdict& verdict) {
  for (Lid lid : lids) {
    if (verdict.findings.size() >= options.findings_max) return;
    const auto& d = *terrain.find(lid);
    if ((!d.is_switch() || lid == options.sm_lid) != must) continue;
    std::vector<SwitchIndex> places;
    for (SwitchIndex source : terrain.sources) {
      auto finding = explain(fabric, terrain, tables, d, source, must);
      if (!finding) continue;
      const SwitchIndex place = finding->hops.back().first;
      if (std::find(places.begin(), places.end(), place) != places.end()) continue;
      places.push_back(place);
      verdict.findings.push_back(std::move(*finding));
      if (verdict.findings.size() >= options.findings_max) return;
    }
  }
}

}  // namespace

Verdict verify(const fabric::Fabric& fabric, const fabric::CompactGraph& graph,
               const LinearTables& tables, const Lanes& lanes, const MulticastCheck& multicast,
               const VerifyOptions& options) {
  const Terrain terrain(graph, options.sm_lid);
  const bool has_multicast = multicast.trees != nullptr && !multicast.trees->empty();
  const bool claimed = has_multicast && multicast.claimed;
  const LaneView view(
      fabric, terrain, lanes, options.master_sm_sl,
      claimed ? static_cast<std::uint16_t>(1U << (multicast.sl.value & 15U)) : std::uint16_t{0});
  std::optional<Dependencies> of_trees;
  std::vector<std::uint16_t> carried_by_trees(terrain.channels(), 0);
  if (claimed) {
    of_trees.emplace(terrain, view.vls());
    add_multicast_turns(terrain, view, multicast, *of_trees, carried_by_trees);
  }

  Verdict verdict;
  verdict.pairs = std::uint64_t{terrain.destinations.size()} * terrain.sources.size();
  verdict.vls = view.vls();
  std::optional<Tally> quick;
  if (view.kind() == LaneView::Kind::One)
    quick = prove_quickly(fabric, terrain, view, tables, lanes, of_trees, options);
  const bool proved = quick.has_value();
  if (proved && options.loads)
    quick->load = walk(terrain, view, tables, options.sm_lid, {true, false, false},
                       [](const fabric::Destination& d) { return !d.is_switch(); })
                      .load;
  Tally tally = proved ? std::move(*quick)
                       : walk(terrain, view, tables, options.sm_lid,
                              {options.loads, true, options.switch_lids_as_cas},
                              [](const fabric::Destination&) { return true; });
  verdict.unreachable = tally.unreachable;
  verdict.loops = tally.loops;
  verdict.must_failures = tally.must_failures;
  verdict.switch_sources_unreachable = tally.bystanders_unreachable;
  count_loads(tally, verdict);

  // Findings: what must hold before what should.
  if (has_multicast) {
    verdict.multicast = claimed ? MulticastVerdict::Proved : MulticastVerdict::NotProved;
    if (!check_trees(fabric, terrain, multicast, options, verdict))
      verdict.multicast = MulticastVerdict::Failed;
  }
  if (!proved) {
    std::vector<std::uint16_t> carried = carried_vls(terrain, view, tally);
    for (Channel c = 0; c < terrain.channels(); ++c) carried[c] |= carried_by_trees[c];
    check_lanes(fabric, terrain, lanes, view, carried, options, verdict);
  }
  verdict.must_failures +=
      verdict.multicast_faults + verdict.asymmetric_pairs + verdict.lane_faults;
  explain_lids(fabric, terrain, tables, tally.bad_lids, options, true, verdict);
  if (!proved)
    DependencyCheck(fabric, terrain, view, tables, options, verdict)
        .run(std::move(tally.must.graph), of_trees ? &*of_trees : nullptr,
             std::move(tally.should.graph));
  explain_lids(fabric, terrain, tables, tally.bad_lids, options, false, verdict);
  return verdict;
}

Verdict verify(const fabric::Fabric& fabric, const fabric::CompactGraph& graph,
               const LinearTables& tables, const VerifyOptions& options) {
  return verify(fabric, graph, tables, Lanes{}, {}, options);
}

}  // namespace ib::routes
