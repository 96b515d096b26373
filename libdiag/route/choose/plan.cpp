// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/choose/plan.h"

#include <algorithm>
#include <tuple>

#include "libdiag/fabric/node_order.h"
#include "libdiag/route/lids.h"
#include "libdiag/tables/names.h"

namespace ib::route {

namespace {

/// Ports that have, or should have, a LID: switches, and hosts with a cable. By port GUID, which is
/// the order of the LIDs that are given.
std::vector<LidRequest> lid_requests(const fabric::Fabric& fabric,
                                     std::optional<std::uint8_t> lmc) {
  std::vector<LidRequest> requests;
  const auto nodes = fabric.nodes();
  for (fabric::NodeIndex n = 0; n < nodes.size(); ++n) {
    const auto ports = fabric.ports(n);
    const bool is_switch = nodes[n].is_switch();
    for (std::size_t p = is_switch ? 0 : 1; p < (is_switch ? 1 : ports.size()); ++p) {
      const auto& port = ports[p];
      const bool has_lid = port.lid.is_unicast();
      if (!has_lid && !is_switch && !port.peer) continue;
      LidRequest& r = requests.emplace_back();
      r.port = {n, static_cast<std::uint8_t>(p)};
      r.guid = port.guid.value != 0 ? port.guid : nodes[n].guid;
      r.held = port.lid;
      r.armed_or_active = has_lid;  // a saved LID is one in use
      r.lmc = has_lid ? port.lmc : std::uint8_t{0};
      if (!is_switch) r.lmc = lmc.value_or(r.lmc);
    }
  }
  std::ranges::sort(requests, [&](const LidRequest& a, const LidRequest& b) {
    return std::tuple(a.guid, nodes[a.port.node].guid, a.port) <
           std::tuple(b.guid, nodes[b.port.node].guid, b.port);
  });
  return requests;
}

/// How many LIDs lead to a switch or over a cable.
std::size_t count_lids(const fabric::Fabric& fabric) {
  std::size_t lids = 0;
  for (const LidRequest& r : lid_requests(fabric, {}))
    if (fabric.port(r.port).peer || fabric.node(r.port.node).is_switch())
      lids += std::size_t{1} << r.lmc;
  return lids;
}

}  // namespace

Result<GivenLids> give_lids(fabric::Fabric& fabric, std::optional<std::uint8_t> lmc) {
  const std::vector<LidRequest> requests = lid_requests(fabric, lmc);
  const LidPlan plan = assign_lids(requests, {}, kLidUnicastMax, LidMemory::Devices);
  if (plan.unassigned > 0)
    return fail(ErrorKind::Usage, "cannot give " + std::to_string(requests.size()) +
                                      " ports LIDs with LMC " + std::to_string(lmc.value_or(0)) +
                                      ": of " + std::to_string(kLidUnicastMax.value) +
                                      " LIDs none is left for " + std::to_string(plan.unassigned) +
                                      " of them");
  GivenLids given;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    auto& port = fabric.port(requests[i].port);
    given.count += plan.assigned[i].lid != requests[i].held ? 1 : 0;
    port.lid = plan.assigned[i].lid;
    port.lmc = plan.assigned[i].lmc;
  }
  for (const auto& [lid, keeper, other] : plan.conflicts)
    given.notes.push_back("LID " + std::to_string(lid.value) + " of " +
                          tables::node_name(fabric, requests[other].port.node) + " is that of " +
                          tables::node_name(fabric, requests[keeper].port.node) +
                          " as well, which keeps it; the former gets another");
  fabric.reindex();
  return given;
}

Result<Plan> plan_routes(fabric::Fabric fabric, const PlanOptions& options) {
  if (auto known = check_engine_names(options.choice.engines); !known)
    return tl::unexpected<Error>(std::move(known.error()));
  fabric = fabric::sorted_by_guid(fabric);
  auto given = give_lids(fabric, options.lmc);
  if (!given) return tl::unexpected<Error>(std::move(given.error()));
  auto taken = take_away(fabric, options.what_if);
  if (!taken) return tl::unexpected<Error>(std::move(taken.error()));
  const auto without_vls = take_links_without_vls(fabric);
  fabric::CompactGraph graph(fabric, options.choice.engine.no_hosts.guids());
  Choice choice = choose_routes(fabric, graph, options.choice, options.verify);
  std::vector<tables::Piece> pieces = tables::find_pieces(fabric, graph);
  std::vector<std::string> notes = std::move(given->notes);
  for (const auto& lines : {taken->notes, without_vls, tables::piece_lines(fabric, pieces),
                            choice.alarms(), choice.notes()})
    notes.insert(notes.end(), lines.begin(), lines.end());
  const std::size_t lids = count_lids(fabric);
  return Plan{std::move(fabric),
              std::move(graph),
              std::move(choice.routes),
              std::move(choice.verdict),
              choice.passed,
              std::move(choice.tried),
              lids,
              given->count,
              *std::move(taken),
              std::move(pieces),
              std::move(notes)};
}

std::optional<Followed> routes_after(const Plan& whole, const Plan& now,
                                     const PlanOptions& options) {
  const EngineEntry* engine = whole.passed ? find_engine(whole.routes.engine) : nullptr;
  if (engine == nullptr) return std::nullopt;
  ChoiceOptions in_use = options.choice;
  in_use.engines = {whole.routes.engine};
  in_use.no_fallback = false;
  Rerouter rerouter(*engine, in_use.engine,
                    tables::data_vls(now.fabric, now.graph, in_use.vls_max));
  rerouter.adopt(whole.fabric, whole.graph, whole.routes);
  const auto sls = tables::carried_over(whole.routes.virtual_lanes.sls, whole.graph, now.graph);
  Choice choice =
      choose_routes(now.fabric, now.graph, in_use, options.verify, Before{&rerouter, {}, &sls});
  if (!choice.passed) return std::nullopt;
  auto moves = tables::sl_moves(now.fabric, now.graph, choice.routes.lfts,
                                choice.routes.virtual_lanes, sls, options.verify);
  return Followed{std::move(choice.routes), std::move(moves)};
}

}  // namespace ib::route
