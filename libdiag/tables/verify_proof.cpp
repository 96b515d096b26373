// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/tables/verify_proof.h"

#include "libdiag/tables/growing_order.h"
#include "libdiag/tables/verify_sweep.h"
#include "libdiag/tables/verify_traffic.h"

namespace ib::tables::check {

bool vls_hold_everywhere(const fabric::Fabric& fabric, const SwitchGraph& switch_graph,
                         const VlView& view, const VirtualLanes& virtual_lanes) {
  if (virtual_lanes.sls.uniform() && virtual_lanes.sls.at(0, 0).value < 16 &&
      virtual_lanes.sl_to_vl.uniform()) {
    // Every port of the fabric in a row is quicker than both ends of every link.
    const unsigned vl = view.vl(0, 0);
    for (fabric::NodeIndex n = 0; n < fabric.nodes().size(); ++n)
      for (const auto& port : fabric.ports(n))
        if (port.peer && port.vl_cap != 0 && wire::data_vls(port.vl_cap) <= vl) return false;
    return vl < kVlDrop;
  }
  std::vector<std::uint16_t> carried(switch_graph.channels(), 0);
  for (Channel c = 0; c < carried.size(); ++c)
    carried[c] = static_cast<std::uint16_t>(1U << (view.vl(c, 0) & 15U));
  Verdict faults;
  VerifyOptions silent;
  silent.findings_max = 0;
  check_vls(fabric, switch_graph, virtual_lanes, view, carried, silent, faults);
  return faults.vl_faults + faults.asymmetric_pairs == 0;
}

std::optional<Proof> prove_quickly(const fabric::Fabric& fabric, const SwitchGraph& switch_graph,
                                   const VlView& view, const LinearTables& tables,
                                   const VirtualLanes& virtual_lanes,
                                   const std::optional<Dependencies>& of_trees,
                                   const VerifyOptions& options) {
  if (!vls_hold_everywhere(fabric, switch_graph, view, virtual_lanes)) return std::nullopt;
  Sweep ends = sweep(switch_graph, tables);
  if (!ends.all_arrive) return std::nullopt;
  Proof proof{std::move(ends.turns),
              {},
              {},
              walk_lids(switch_graph, view, tables, options.sm_lid,
                        {false, options.switch_lids_as_cas}, Lids::Switches)};
  Dependencies must = proof.switches.must.graph;
  if (of_trees) must.merge(*of_trees);
  proof.turns.merge(must);
  proof.turns.merge(proof.switches.should.graph);
  Order order = order_of(switch_graph, proof.turns);
  if (!order.left.empty()) {
    // Turns on cycles that only switches themselves take are put in last, as far as they fit.
    const std::vector<Turn> suspects = turns_on_cycles(switch_graph, proof.turns, order.left);
    const auto taken = taken_turns(switch_graph, tables, options.sm_lid, suspects);
    std::vector<Turn> optional;
    for (std::size_t i = 0; i < suspects.size(); ++i) {
      if (taken[i] != 0 || must.has(suspects[i])) continue;
      optional.push_back(suspects[i]);
      proof.turns.remove(suspects[i]);
    }
    order = order_of(switch_graph, proof.turns);
    if (!order.left.empty()) return std::nullopt;
    GrowingOrder growing(switch_graph, proof.turns, std::move(order.position),
                         GrowingOrder::kStepsForOptional);
    for (const Turn& turn : optional)
      if (!growing.add(turn)) proof.refused.push_back(turn);
    order.position = growing.take_position();
  }
  proof.position = std::move(order.position);
  return proof;
}

}  // namespace ib::tables::check
