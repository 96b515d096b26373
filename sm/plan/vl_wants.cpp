// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/plan/vl_wants.h"

#include <algorithm>
#include <string>

#include "sm/plan/vl_tables.h"
#include "sm/plan/vl_weights.h"

namespace sm::plan {
namespace {

using ib::discover::Observed;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using ib::wire::PortInfo;
using ib::wire::PortState;

/// One packet of the high priority table, then one of the low one (IBA 7.6.9).
constexpr std::uint8_t kVlHighLimit = 0;

const policy::VlSettings& settings_of(const policy::VlSettingsByKind& settings,
                                      const ib::fabric::Fabric& fabric, PortRef p) {
  return settings[static_cast<std::size_t>(qos_kind(fabric, p))];
}

template <class Do>
void for_each_port(const Observed& observed, Do&& run) {
  for (NodeIndex n = 0; n < observed.nodes.size(); ++n)
    for (unsigned p = 0; p <= observed.fabric.node(n).num_ports; ++p)
      run(PortRef{n, static_cast<std::uint8_t>(p)});
}

void want_high_limit(const Observed& observed, const policy::VlSettingsByKind* settings, PortRef p,
                     Desired& out) {
  PortWant& want = out.ports[observed.port_index(p)];
  // Port 0 of a switch has no link; what it can, it operates.
  const bool port0 = observed.fabric.node(p.node).is_switch() && p.port == 0;
  if (!want.activate || (!port0 && want.operational_vls <= 1) ||
      observed.port(p).get<&PortInfo::vl_cap>() <= 1)
    return;
  want.vl_high_limit =
      settings != nullptr ? settings_of(*settings, observed.fabric, p).high_limit : kVlHighLimit;
}

/// What routing alone needs, which is what devices have when they are new.
void put_vls_back(const PlanRequest& request, bool keeps_vls, Desired& out) {
  if (!request.vls_programmed && !request.vls_put_back) return;
  const Observed& observed = *request.observed;
  const PutBack which = request.vls_programmed ? PutBack::All : PutBack::ComingUp;
  out.vl_tables = plan_default_vl_tables(observed, out.ports, *out.routing, which);
  out.vls_needed = keeps_vls;  // links that keep VLs are not as they were before
  for_each_port(observed, [&](PortRef p) {
    if (which == PutBack::All || comes_up(observed, p)) want_high_limit(observed, nullptr, p, out);
  });
}

}  // namespace

bool cap_vls(const PlanRequest& request, const policy::VlSettingsByKind* settings, PortRef p,
             PortRef q, PortWant& want) {
  if (settings == nullptr && !request.vls_programmed) return false;
  const Observed& observed = *request.observed;
  std::uint8_t capped = want.operational_vls;
  if (settings != nullptr) {
    const unsigned most = std::min(settings_of(*settings, observed.fabric, p).vls,
                                   settings_of(*settings, observed.fabric, q).vls);
    while (capped > 1 && ib::wire::data_vls(capped) > most) --capped;
  }
  const auto in_use = [&](PortRef end) {
    return observed.port(end).state() > PortState::Initialize;
  };
  const auto held = observed.port(p).get<&PortInfo::operational_vls>();
  const bool stays = in_use(p) && in_use(q) &&
                     held == observed.port(q).get<&PortInfo::operational_vls>() && held != 0 &&
                     (held >= capped || request.vls_programmed) && held <= want.operational_vls;
  want.operational_vls = stays ? held : capped;
  return want.operational_vls < capped;
}

/// Without arbitration entries for its VLs a link would serve none but one of them.
void want_vls(const PlanRequest& request, const policy::VlSettingsByKind* settings,
              const PlannedRoutes& routes, bool keeps_vls, Desired& out) {
  if (!out.program_lfts) return;
  if (!request.options.qos && out.routing->virtual_lanes.trivial())
    return put_vls_back(request, keeps_vls, out);
  const Observed& observed = *request.observed;
  const VlClasses of_classes{routes.classes,
                             routes.class_mapping ? &*routes.class_mapping : nullptr};
  out.vl_tables = plan_vl_tables(observed, out.ports, *out.routing, settings,
                                 routes.class_mapping ? &of_classes : nullptr);
  if (settings != nullptr && !routes.class_mapping)
    for (const std::string& line :
         vls_without_weight(observed, out.ports, *out.vl_tables, used_sls(request.options)))
      say_of_qos(out, line);
  out.vls_needed = true;
  for_each_port(observed, [&](PortRef p) { want_high_limit(observed, settings, p, out); });
}

}  // namespace sm::plan
