// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//
// What others may know of the subnet: the snapshot of a plan, what devices hold, and after a
// take-over what clients are answered by before there is a plan that counts.
#include <algorithm>
#include <optional>

#include "sm/core/impl.h"
#include "sm/device/tables/kinds.h"
#include "sm/plan/kept_rows.h"
#include "sm/plan/routes.h"

namespace sm::core {

void SubnetManager::Impl::before_activation(Instant) {
  if (!applying || published_before_active || applying->phase() < apply::Phase::Activate) return;
  if (applying->is_outdated()) return;  // it ended before anything was programmed
  published_before_active = true;
  publish(false);
}

std::shared_ptr<Snapshot> SubnetManager::Impl::make_snapshot() {
  auto s = std::make_shared<Snapshot>();
  s->generation = ++generation;
  s->routing = desired->program_lfts || !snapshot ? desired->routing : snapshot->routing;
  s->sm_port = desired->sm_port;
  s->sm_lid = desired->sm_lid;
  s->sm_sl = options.plan.sm_sl.value_or(ib::Sl{});
  s->sm_port_guid = seen->fabric.port(desired->sm_port).guid;
  s->partitions = desired->partitions;
  s->subnet_prefix = options.plan.subnet_prefix;
  s->subnet_timeout = options.plan.subnet_timeout;
  s->packet_life_time = options.plan.packet_life_time;
  s->refused_tables = known.named;
  s->virtual_ports = vports.known();
  s->virtual_ports_to_come = vports.to_come();
  s->dropped_by_hosts =
      plan::sls_dropped_by_hosts(*seen, known.refused.nodes(device::kSlToVl), known.inventory);
  return s;
}

void SubnetManager::Impl::publish(bool up) {
  auto s = make_snapshot();
  seen->fabric.reindex();  // answers to Sets changed LIDs
  s->observed = applying ? std::make_shared<Observed>(*seen) : seen;
  s->up = up;
  if (snapshot && snapshot->routing == s->routing) s->changed_at_start = snapshot->changed_at_start;
  if (const auto found_before = std::exchange(found_at_start, nullptr))
    s->changed_at_start = changed_from(*found_before, s->routing->graph, s->routing->lfts);
  // Nobody looked before there was a plan; but what was read since was as it should be.
  else if (!snapshot && !sets_routes)
    s->changed_at_start = Changed{};
  snapshot = std::move(s);
  mastership.acknowledge();
  publish_device_state();
}

void SubnetManager::Impl::publish_device_state() {
  auto h = std::make_shared<DeviceState>();
  h->tables = tables.tables();
  h->tables_to_come = tables.to_come();
  // Trees that failed a must were not programmed: what switches hold is not known.
  if (desired->program_mfts) {
    h->graph = {desired->routing, &desired->routing->graph};
    h->multicast = {desired, &desired->mfts};
  }
  h->aliases_revision = desired_aliases_revision;
  mastership.set_sends(transactor.counters().sends);
  h->own_sm = mastership.own_info();
  h->other_sms = mastership.others().known();
  device_state = std::move(h);
}

bool SubnetManager::Impl::can_bridge(const Observed& swept) const {
  return inputs.routes_made() && inputs.routes_made()->vls_used == 1 && !inputs.sa_state_lost &&
         !options.plan.qos && std::ranges::any_of(swept.nodes, [](const auto& node) {
           return node.switch_info && node.switch_info->linear_fdb_top != 0;
         });
}

bool SubnetManager::Impl::may_answer_by_stopgap() const {
  if (desired->routing->engine.empty()) return false;
  const bool lids_stay = std::ranges::all_of(desired->lids, [&](const ib::route::LidAssignment& a) {
    const auto& port = seen->port(a.port);
    return !plan::is_in_use(port) ||
           (port.get<&ib::wire::PortInfo::lid>() == a.lid &&
            port.get<&ib::wire::PortInfo::lmc>() == a.lmc && inputs.is_stored(a));
  });
  if (!lids_stay) return false;
  std::optional<std::uint8_t> mtu;
  const auto& graph = desired->routing->graph;
  for (ib::fabric::SwitchIndex s = 0; s < graph.switch_count(); ++s) {
    const NodeIndex n = graph.node_of(s);
    for (unsigned p = 1; p <= seen->fabric.node(n).num_ports; ++p) {
      const auto far = seen->fabric.port(n, p).peer;
      const auto* port = seen->known_port({n, static_cast<std::uint8_t>(p)});
      if (!far || !seen->fabric.node(far.node).is_switch() || port == nullptr) continue;
      const auto here = port->get<&ib::wire::PortInfo::neighbor_mtu>();
      if (mtu.value_or(here) != here) return false;
      mtu = here;
    }
  }
  return true;
}

void SubnetManager::Impl::publish_stopgap() {
  auto bridge = make_snapshot();
  auto observed = std::make_shared<Observed>(*seen);
  // Ports that come up only now are those whose registrations are kept.
  for (const ib::route::LidAssignment& a : desired->lids) {
    auto& port = observed->fabric.port(a.port);
    port.lid = inputs.is_stored(a) ? a.lid : ib::kNoLid;
    port.lmc = a.lmc;
  }
  observed->fabric.reindex();
  bridge->observed = std::move(observed);
  effects.stopgap = std::move(bridge);
  effects.stopgap_registers = !tells_first;
  publish_device_state();
}

}  // namespace sm::core
