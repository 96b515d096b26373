// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/plan.h"

#include <algorithm>
#include <tuple>

namespace ib::route {

std::size_t give_lids(fabric::Fabric& fabric) {
  std::vector<bool> taken(std::size_t{kLidUnicastMax.value} + 1, false);
  std::vector<std::tuple<Guid, Guid, fabric::PortRef>> wanting;
  const auto nodes = fabric.nodes();
  for (fabric::NodeIndex n = 0; n < nodes.size(); ++n) {
    const auto ports = fabric.ports(n);
    const bool is_switch = nodes[n].is_switch();
    for (std::size_t p = is_switch ? 0 : 1; p < (is_switch ? 1 : ports.size()); ++p) {
      const auto& port = ports[p];
      for (std::size_t i = 0; port.lid.is_unicast() && i < (std::size_t{1} << port.lmc); ++i)
        if (port.lid.value + i < taken.size()) taken[port.lid.value + i] = true;
      if (port.lid.is_unicast() || (!is_switch && !port.peer)) continue;
      const Guid guid = port.guid.value != 0 ? port.guid : nodes[n].guid;
      wanting.emplace_back(guid, nodes[n].guid, fabric::PortRef{n, static_cast<std::uint8_t>(p)});
    }
  }
  std::sort(wanting.begin(), wanting.end());
  std::size_t lid = 1, given = 0;
  for (const auto& [guid, node_guid, ref] : wanting) {
    while (lid < taken.size() && taken[lid]) ++lid;
    if (lid == taken.size()) break;
    fabric.port(ref).lid = Lid{static_cast<std::uint16_t>(lid++)};
    ++given;
  }
  fabric.reindex();
  return given;
}

Result<Plan> plan_routes(fabric::Fabric fabric, const PlanOptions& options) {
  std::vector<const EngineEntry*> entries;
  for (const std::string& name : options.engines) {
    entries.push_back(find_engine(name));
    if (entries.back() != nullptr) continue;
    std::string known;
    for (const EngineEntry& e : engines()) known.append(known.empty() ? "" : ", ").append(e.name);
    return fail(ErrorKind::Usage,
                "no routing engine is called '" + name + "'; there are: " + known);
  }
  const std::size_t given = give_lids(fabric);
  fabric::CompactGraph graph(fabric);
  Plan plan{std::move(fabric), std::move(graph), {}, {}, given, {}};
  for (const EngineEntry* entry : entries) {
    auto routes = entry->compute({&plan.fabric, &plan.graph, options.engine, nullptr,
                                  routes::data_vls(plan.fabric, plan.graph, options.vls_max)});
    if (!routes) {
      plan.notes.push_back(std::string(entry->name) + " does not fit: " + routes.error().message);
      continue;
    }
    plan.routes = std::move(*routes);
    routes::VerifyOptions verify = options.verify;
    verify.credit_loops_are_must |= plan.routes.promises_deadlock_freedom;
    plan.verdict =
        routes::verify(plan.fabric, plan.graph, plan.routes.lfts, plan.routes.lanes, {}, verify);
    return plan;
  }
  std::string why;
  for (const std::string& note : plan.notes) why += (why.empty() ? "" : "; ") + note;
  return fail(ErrorKind::NotFound, why.empty() ? "no routing engine was named" : why);
}

}  // namespace ib::route
