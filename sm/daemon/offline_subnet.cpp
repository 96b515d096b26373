// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/offline_subnet.h"

#include <algorithm>
#include <span>

#include "libdiag/fabric/aggregation_node.h"
#include "libdiag/sim/model.h"
#include "sm/device/tables/kinds.h"
#include "sm/plan/plan.h"

namespace sm::daemon {
namespace {

using ib::discover::Observed;
using ib::fabric::Fabric;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;

/// Devices that nobody has configured yet.
struct Devices {
  std::shared_ptr<Observed> observed;       // as a sweep would see them if all of it answered
  std::shared_ptr<device::Inventory> held;  // their P_Key tables
};

void put_p_keys(std::span<const ib::PKey> keys, ib::Guid node, unsigned num_ports,
                std::uint8_t port, device::Inventory& to) {
  for (std::size_t first = 0; first < keys.size(); first += device::kPKeysInBlock) {
    ib::wire::PKeyTable table;
    const auto part =
        keys.subspan(first, std::min<std::size_t>(device::kPKeysInBlock, keys.size() - first));
    std::ranges::copy(part, table.p_keys.begin());
    device::Block block{};
    ib::wire::encode(table, block.data());
    const auto number = static_cast<std::uint16_t>(first / device::kPKeysInBlock);
    to.put(device::kPKeyTable, node, num_ports, {port, 0, number}, block);
  }
}

Devices devices_of(const Fabric& topology, PortRef local) {
  const ib::sim::Model model(topology);
  auto out = std::make_shared<Observed>();
  auto held = std::make_shared<device::Inventory>();
  out->fabric = topology;
  out->local_port = local;
  out->complete = true;
  for (NodeIndex n = 0; n < topology.nodes().size(); ++n) {
    const bool is_switch = topology.node(n).is_switch();
    ib::discover::ObservedNode node;
    node.info = model.node_info(n);
    if (is_switch) node.switch_info = model.switch_info(n);
    out->nodes.push_back(std::move(node));
    out->ports.resize(out->ports.size() + topology.node(n).num_ports + 1U);
  }
  for (NodeIndex n = 0; n < topology.nodes().size(); ++n)
    for (unsigned p = topology.node(n).is_switch() ? 0 : 1; p <= topology.node(n).num_ports; ++p) {
      const PortRef port{n, static_cast<std::uint8_t>(p)};
      const auto info = model.port_info(port);
      std::array<std::byte, 64> bytes{};
      ib::wire::encode(info, bytes.data());
      out->port(port).fdr10 = topology.port(port).speed == ib::wire::LinkSpeed::Fdr10;
      out->update_port(port, bytes.data(), info);
      put_p_keys(model.p_keys(port), topology.node(n).guid, topology.node(n).num_ports, port.port,
                 *held);
    }
  sort_nodes(*out);
  return {std::move(out), std::move(held)};
}

/// Where the subnet manager is taken to be.
ib::Result<PortRef> local_port(const Fabric& topology, const std::optional<ib::Guid>& named) {
  if (named)
    if (const auto port = topology.find_port_guid(*named)) return *port;
  for (NodeIndex n = 0; n < topology.nodes().size(); ++n)
    for (unsigned p = 1; !topology.node(n).is_switch() && p <= topology.node(n).num_ports; ++p)
      if (topology.port(n, p).peer && !ib::fabric::is_aggregation_node(topology.node(n)))
        return PortRef{n, static_cast<std::uint8_t>(p)};
  for (NodeIndex n = 0; n < topology.nodes().size(); ++n)
    if (topology.node(n).is_switch()) return PortRef{n, 0};
  return ib::fail(ib::ErrorKind::Unavailable,
                  "the topology has neither a host with a cable nor a switch");
}

/// LIDs that the file has are kept, as those in the store are.
std::shared_ptr<const ib::route::StoredLids> lids_of(const Fabric& topology) {
  auto out = std::make_shared<ib::route::StoredLids>();
  for (NodeIndex n = 0; n < topology.nodes().size(); ++n)
    for (const ib::fabric::Port& port : topology.ports(n))
      if (port.lid.is_unicast()) out->emplace(port.guid, ib::route::StoredLid{port.lid, port.lmc});
  return out;
}

/// As the devices would be when all of it was programmed.
SnapshotPtr snapshot_of(std::shared_ptr<Observed> observed, const plan::Desired& desired,
                        const plan::PlanOptions& options) {
  for (const ib::route::LidAssignment& a : desired.lids) {
    observed->fabric.port(a.port).lid = a.lid;
    observed->fabric.port(a.port).lmc = a.lmc;
  }
  observed->fabric.reindex();
  auto s = std::make_shared<Snapshot>();
  s->generation = 1;
  s->routing = desired.routing;
  s->sm_port = desired.sm_port;
  s->sm_lid = desired.sm_lid;
  s->sm_sl = options.sm_sl.value_or(ib::Sl{});
  s->sm_port_guid = observed->fabric.port(desired.sm_port).guid;
  s->partitions = desired.partitions;
  s->subnet_prefix = options.subnet_prefix;
  s->subnet_timeout = options.subnet_timeout;
  s->packet_life_time = options.packet_life_time;
  s->up = true;
  s->observed = std::move(observed);
  return s;
}

ib::Result<OfflineSubnet> answer(const Fabric& topology, const DaemonOptions& options,
                                 plan::PlanRequest request) {
  const auto local = local_port(topology, options.port_guid);
  if (!local) return tl::unexpected<ib::Error>(local.error());
  auto [observed, held] = devices_of(topology, *local);
  request.observed = observed;
  request.options = options.core.plan;
  request.stored = lids_of(topology);
  request.held = std::move(held);
  auto planned = plan::make_plan(std::move(request));
  if (!planned.desired) return tl::unexpected<ib::Error>(std::move(planned.desired.error()));
  OfflineSubnet subnet;
  subnet.desired = std::make_shared<const plan::Desired>(*std::move(planned.desired));
  subnet.snapshot = snapshot_of(std::move(observed), *subnet.desired, options.core.plan);
  subnet.reroute = std::move(planned.reroute);
  return subnet;
}

}  // namespace

ib::Result<OfflineSubnet> plan_offline(const Fabric& topology, const DaemonOptions& options,
                                       bool for_report) {
  plan::PlanRequest request;
  request.for_report = for_report;
  return answer(topology, options, std::move(request));
}

ib::Result<OfflineSubnet> plan_offline_after(OfflineSubnet before, const Fabric& topology,
                                             const DaemonOptions& options) {
  plan::PlanRequest request;
  request.for_report = true;
  if (!before.desired->routing->engine.empty()) request.previous = before.desired->routing;
  request.reroute = std::move(before.reroute);
  return answer(topology, options, std::move(request));
}

}  // namespace sm::daemon
