// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/tables/verify.h"

#include <algorithm>

#include "libdiag/tables/growing_order.h"
#include "libdiag/tables/verify_findings.h"
#include "libdiag/tables/verify_loads.h"
#include "libdiag/tables/verify_multicast.h"
#include "libdiag/tables/verify_proof.h"

namespace ib::tables {
namespace {

using namespace check;

/// VLs by channel of what the walks carried.
std::vector<std::uint16_t> carried_vls(const SwitchGraph& switch_graph, const VlView& virtual_lanes,
                                       const Tally& tally) {
  if (virtual_lanes.kind() == VlView::Kind::Exact) return tally.carried;
  std::vector<std::uint16_t> vls(tally.carried.size(), 0);
  for (Channel c = 0; c < switch_graph.channels(); ++c)
    for (unsigned bit = 0; bit < 16; ++bit)
      if ((tally.carried[c] >> bit) & 1U)
        vls[c] |= static_cast<std::uint16_t>(1U << (virtual_lanes.vl(c, bit) & 15U));
  return vls;
}

/// Credit loops of what must hold, then what of the rest can be added.
class DependencyCheck {
 public:
  DependencyCheck(const fabric::Fabric& fabric, const SwitchGraph& switch_graph,
                  const VlView& virtual_lanes, const VerifyOptions& options, Verdict& verdict)
      : fabric_(fabric),
        switch_graph_(switch_graph),
        virtual_lanes_(virtual_lanes),
        options_(options),
        verdict_(verdict) {}

  /// What can be kept, when nothing that must flow closes a cycle.
  std::optional<Proof> run(Dependencies must, const Dependencies* multicast, Dependencies should) {
    must.subtract_from(should);
    if (multicast != nullptr) multicast->subtract_from(should);
    Dependencies all = must;
    all.merge(should);
    if (multicast != nullptr) all.merge(*multicast);
    Order order = order_of(switch_graph_, all);
    if (order.left.empty()) return Proof{std::move(all), std::move(order.position), {}, {}};
    const std::vector<Node> suspicious = std::move(order.left);

    order = order_of(switch_graph_, must);
    if (!order.left.empty()) return loop(must, order.left, options_.credit_loops_are_must);
    if (multicast != nullptr) {
      must.merge(*multicast);
      order = order_of(switch_graph_, must);
      if (!order.left.empty()) {
        verdict_.multicast = MulticastVerdict::Failed;
        return loop(must, order.left, true);
      }
    }
    std::vector<Turn> refused;
    const std::vector<Turn> suspects = turns_on_cycles(switch_graph_, all, suspicious);
    for (const Turn& turn : suspects) all.remove(turn);
    for (const Turn& turn : suspects)
      if (must.has(turn)) all.add(turn);
    order = order_of(switch_graph_, all);
    GrowingOrder growing(switch_graph_, all, std::move(order.position),
                         GrowingOrder::kStepsForOptional);
    for (const Turn& turn : suspects)
      if (!must.has(turn) && !growing.add(turn)) refused.push_back(turn);
    return Proof{std::move(all), growing.take_position(), std::move(refused), {}};
  }

 private:
  std::nullopt_t loop(const Dependencies& turns, const std::vector<Node>& left, bool must) {
    verdict_.credit_loop_channels = left.size();
    if (must) verdict_.must_failures += left.size();
    if (options_.findings_max > verdict_.findings.size())
      verdict_.findings.push_back(
          credit_loop(fabric_, switch_graph_, virtual_lanes_, turns, left, must));
    return std::nullopt;
  }

  const fabric::Fabric& fabric_;
  const SwitchGraph& switch_graph_;
  const VlView& virtual_lanes_;
  const VerifyOptions& options_;
  Verdict& verdict_;
};

/// One finding for each place where a LID fails.
void explain_lids(const fabric::Fabric& fabric, const SwitchGraph& switch_graph,
                  const LinearTables& tables, const std::vector<Lid>& lids,
                  const VerifyOptions& options, bool must, Verdict& verdict) {
  for (Lid lid : lids) {
    if (verdict.findings.size() >= options.findings_max) return;
    const auto& d = *switch_graph.find(lid);
    if ((!d.is_switch() || lid == options.sm_lid) != must) continue;
    std::vector<SwitchIndex> places;
    for (SwitchIndex source : switch_graph.sources) {
      auto finding = explain(fabric, switch_graph, tables, d, source, must);
      if (!finding) continue;
      if (switch_graph.apart(source, d.leaf) && finding->kind != Finding::Kind::Loop) continue;
      const SwitchIndex place = finding->hops.back().first;
      if (std::find(places.begin(), places.end(), place) != places.end()) continue;
      places.push_back(place);
      verdict.findings.push_back(std::move(*finding));
      if (verdict.findings.size() >= options.findings_max) return;
    }
  }
}

}  // namespace

namespace check {

Verdict verify_keeping(const fabric::Fabric& fabric, const SwitchGraph& switch_graph,
                       const LinearTables& tables, const VirtualLanes& virtual_lanes,
                       const MulticastCheck& multicast, const VerifyOptions& options,
                       std::optional<Proof>& proof) {
  const bool has_multicast = multicast.trees != nullptr && !multicast.trees->empty();
  const bool claimed = has_multicast && multicast.claimed;
  const VlView view(fabric, switch_graph, virtual_lanes, options, multicast.claimed_sls());
  std::optional<Dependencies> of_trees;
  std::vector<std::uint16_t> carried_by_trees(switch_graph.channels(), 0);
  if (claimed) {
    of_trees.emplace(switch_graph, view.vls());
    add_multicast_turns(switch_graph, view, multicast, *of_trees, carried_by_trees);
  }

  Verdict verdict;
  verdict.pairs = switch_graph.pairs();
  verdict.pairs_apart = switch_graph.pairs_apart();
  verdict.vls = view.vls();
  proof.reset();
  if (view.kind() == VlView::Kind::One)
    proof = prove_quickly(fabric, switch_graph, view, tables, virtual_lanes, of_trees, options);
  const bool proved = proof.has_value();
  Tally tally = proved ? std::move(proof->switches)
                       : walk_lids(switch_graph, view, tables, options.sm_lid,
                                   {options.loads, options.switch_lids_as_cas}, Lids::All);
  verdict.unreachable = tally.unreachable;
  verdict.loops = tally.loops;
  verdict.must_failures = tally.must_failures;
  verdict.switch_sources_unreachable = tally.bystanders_unreachable;
  if (options.loads) {
    const Loads loads = summed(proved ? loads_by_channel(switch_graph, tables) : tally.load);
    verdict.load_max = loads.max;
    verdict.load_mean = loads.mean;
  }

  // Findings: what must hold before what should.
  if (has_multicast) {
    verdict.multicast = claimed ? MulticastVerdict::Proved : MulticastVerdict::NotProved;
    if (!check_trees(fabric, switch_graph, multicast, options, verdict))
      verdict.multicast = MulticastVerdict::Failed;
  }
  if (!proved) {
    std::vector<std::uint16_t> carried = carried_vls(switch_graph, view, tally);
    for (Channel c = 0; c < switch_graph.channels(); ++c) carried[c] |= carried_by_trees[c];
    check_vls(fabric, switch_graph, virtual_lanes, view, carried, options, verdict);
  }
  verdict.must_failures += verdict.multicast_faults + verdict.asymmetric_pairs + verdict.vl_faults;
  explain_lids(fabric, switch_graph, tables, tally.bad_lids, options, true, verdict);
  if (!proved)
    proof = DependencyCheck(fabric, switch_graph, view, options, verdict)
                .run(std::move(tally.must.graph), of_trees ? &*of_trees : nullptr,
                     std::move(tally.should.graph));
  if (proof && !proof->refused.empty()) {
    verdict.switch_turns_refused = proof->refused.size();
    if (verdict.findings.size() < options.findings_max)
      verdict.findings.push_back(
          refused_turns(fabric, switch_graph, view, proof->turns, tables, proof->refused));
  }
  if (view.kind() != VlView::Kind::One) proof.reset();
  explain_lids(fabric, switch_graph, tables, tally.bad_lids, options, false, verdict);
  return verdict;
}

}  // namespace check

Verdict verify(const fabric::Fabric& fabric, const fabric::CompactGraph& graph,
               const LinearTables& tables, const VirtualLanes& virtual_lanes,
               const MulticastCheck& multicast, const VerifyOptions& options) {
  std::optional<Proof> unused;
  return verify_keeping(fabric, SwitchGraph(graph, options.sm_lid), tables, virtual_lanes,
                        multicast, options, unused);
}

Verdict verify_trees(const fabric::Fabric& fabric, const fabric::CompactGraph& graph,
                     const MulticastCheck& multicast, const VerifyOptions& options) {
  Verdict verdict;
  const bool good =
      check_trees(fabric, SwitchGraph(graph, options.sm_lid), multicast, options, verdict);
  verdict.multicast = good ? MulticastVerdict::NotProved : MulticastVerdict::Failed;
  verdict.must_failures = verdict.multicast_faults;
  return verdict;
}

Verdict verify(const fabric::Fabric& fabric, const fabric::CompactGraph& graph,
               const LinearTables& tables, const VerifyOptions& options) {
  return verify(fabric, graph, tables, VirtualLanes{}, {}, options);
}

}  // namespace ib::tables
