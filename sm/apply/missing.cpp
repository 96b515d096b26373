// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sm/apply/apply.h"

namespace sm::apply {

using ib::discover::Observed;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using ib::wire::PortInfo;
using ib::wire::PortState;
using plan::Desired;
using plan::PortWant;

std::vector<Missing> missing_ports(const Desired& desired, const Observed& observed,
                                   const std::vector<Failure>& failures) {
  std::vector<Missing> out;
  const auto why = [&](PortRef p, std::string fallback) {
    for (const Failure& f : failures)
      if (f.node == p.node && (f.timed_out || f.port == p.port)) return f.message;
    return fallback;
  };
  std::set<PortRef> without_lid;
  for (const ib::route::LidAssignment& a : desired.lids)
    if (a.lid == ib::kNoLid) without_lid.insert(a.port);
  for (NodeIndex n = 0; n < observed.nodes.size(); ++n) {
    for (unsigned i = 0; i <= observed.fabric.node(n).num_ports; ++i) {
      const PortRef p{n, static_cast<std::uint8_t>(i)};
      const PortWant& want = desired.ports[observed.port_index(p)];
      if (!want.managed) continue;
      const auto& port = observed.port(p);
      if (want.end_port && port.get<&PortInfo::lid>() != want.lid) {
        out.push_back(
            {p, port.state(), why(p, fmt::format("LID {} was not taken", want.lid.value))});
      } else if (want.activate && port.state() != PortState::Active) {
        const bool alone = without_lid.contains(observed.fabric.port(p).peer);
        out.push_back({p, port.state(),
                       why(p, alone ? "no LID is left for the port at the other end"
                                    : "did not become ACTIVE")});
      }
    }
  }
  for (const PortRef p : without_lid)
    out.push_back({p, observed.port(p).state(), "no LID is left for it"});
  for (const Failure& f : failures) {
    const auto node = [&](const Missing& m) { return m.port.node == f.node; };
    if (std::ranges::none_of(out, node))
      out.push_back({{f.node, f.port}, observed.port({f.node, f.port}).state(), f.message});
  }
  return out;
}

}  // namespace sm::apply
