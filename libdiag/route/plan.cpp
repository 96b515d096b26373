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
  if (auto known = check_engine_names(options.choice.engines); !known)
    return tl::unexpected<Error>(std::move(known.error()));
  const std::size_t given = give_lids(fabric);
  fabric::CompactGraph graph(fabric);
  Choice choice = choose_routes(fabric, graph, options.choice, options.verify);
  std::vector<std::string> notes = choice.alarms();
  for (std::string& note : choice.notes()) notes.push_back(std::move(note));
  if (choice.routes.engine.empty()) {
    std::string why;
    for (const std::string& note : notes) why += (why.empty() ? "" : "; ") + note;
    return fail(ErrorKind::NotFound, why);
  }
  return Plan{std::move(fabric),
              std::move(graph),
              std::move(choice.routes),
              std::move(choice.verdict),
              choice.passed,
              std::move(choice.tried),
              given,
              std::move(notes)};
}

}  // namespace ib::route
