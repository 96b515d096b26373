// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/plan/partitions.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "sm/device/end_port_facts.h"

namespace sm::plan {

using ib::discover::Observed;
using ib::fabric::PortRef;

namespace {

/// Of an external port of a switch that enforces nothing.
bool is_idle_table(const Observed& observed, const WantedBlock& want) {
  using ib::wire::PortInfo;
  const PortRef port{want.node, want.slot.port};
  if (port.port == 0 || !observed.fabric.node(port.node).is_switch()) return false;
  const auto* seen = observed.known_port(port);
  return seen == nullptr || (!seen->get<&PortInfo::partition_enforcement_inbound>() &&
                             !seen->get<&PortInfo::partition_enforcement_outbound>());
}

/// Takes tables with a block that `held` does not know out of the plan: a key that is there already
/// would move. Gives the blocks to read, those that the device seems not to have among them.
std::vector<WantedBlock> take_unread(PKeyPlan& plan, const Observed& observed,
                                     const device::Inventory& held) {
  std::vector<WantedBlock> unread;
  std::vector<PortRef> ports;  // ascending, as the blocks are
  const auto port_of = [](const WantedBlock& want) { return PortRef{want.node, want.slot.port}; };
  for (const WantedBlock& want : plan.blocks) {
    if (held.held(*want.kind, observed.fabric.node(want.node).guid, want.slot) != nullptr) continue;
    unread.push_back({want.node, want.kind, want.slot, {}});
    if (ports.empty() || ports.back() != port_of(want)) ports.push_back(port_of(want));
  }
  const auto is_unread = [&](PortRef port) { return std::ranges::binary_search(ports, port); };
  std::erase_if(plan.blocks, [&](const WantedBlock& want) { return is_unread(port_of(want)); });
  std::erase_if(plan.enforcement,
                [&](const PortEnforcement& check) { return is_unread(check.port); });
  std::ranges::copy_if(plan.behind, std::back_inserter(unread), [&](const WantedBlock& want) {
    return held.held(*want.kind, observed.fabric.node(want.node).guid, want.slot) == nullptr;
  });
  std::ranges::stable_sort(unread, {}, &WantedBlock::node);
  return unread;
}

struct EndPorts {
  std::vector<EndPortKeys> keys;
  std::vector<policy::EndPortFacts> facts;
};
/// Those that have a LID; their keys are to come.
EndPorts end_ports(const Observed& observed, std::span<const ib::route::LidAssignment> lids,
                   PortRef sm_port) {
  EndPorts out;
  for (const ib::route::LidAssignment& a : lids) {
    if (a.lid == ib::kNoLid) continue;
    out.keys.push_back({a.port, {}});
    out.facts.push_back(end_port_facts(observed.fabric, a.port, a.port == sm_port));
    out.facts.back().guid = a.guid;
  }
  return out;
}

void give_keys(EndPorts& ports, const policy::PartitionPolicy& policy) {
  auto keys = policy.keys_of(ports.facts);
  for (std::size_t i = 0; i < ports.keys.size(); ++i) ports.keys[i].keys = std::move(keys[i]);
}

/// To the ports that they are behind.
void add_virtual_ports(EndPorts& ports, const Observed& observed, const VirtualPorts* all,
                       const policy::PartitionPolicy& policy) {
  std::vector<policy::EndPortFacts> facts;
  std::vector<PortRef> places;
  for_each_virtual_port(all, observed.fabric, [&](PortRef at, const VirtualPort& vport) {
    facts.push_back(virtual_port_facts(vport, observed.fabric, at));
    places.push_back(at);
  });
  if (facts.empty()) return;
  const auto keys = policy.keys_of(facts);
  std::map<PortRef, EndPortKeys*> by_place;
  for (EndPortKeys& end : ports.keys) by_place.emplace(end.port, &end);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto at = by_place.find(places[i]);
    if (at == by_place.end()) continue;
    auto& behind = at->second->of_virtual_ports;
    behind.insert(behind.end(), keys[i].begin(), keys[i].end());
  }
}

EndPorts ports_with_keys(const Desired& desired, const Observed& observed,
                         const policy::PartitionPolicy& policy, const VirtualPorts* virtual_ports) {
  EndPorts ports = end_ports(observed, desired.lids, desired.sm_port);
  give_keys(ports, policy);
  add_virtual_ports(ports, observed, virtual_ports, policy);
  return ports;
}

/// Ports of switches in front of ports whose virtual ports are not known yet are read, and stay as
/// they are.
void leave_waiting(PKeyPlan& plan, const EndPorts& ports, const Observed& observed,
                   const VirtualPorts* all) {
  const auto& fabric = observed.fabric;
  std::set<PortRef> waiting;
  for (const EndPortKeys& end : ports.keys)
    if (!fabric.node(end.port.node).is_switch() && has_virtual_ports(observed.port(end.port)) &&
        (all == nullptr || !all->contains(fabric.port(end.port).guid)))
      waiting.insert(fabric.port(end.port).peer);
  if (waiting.empty()) return;
  std::erase_if(plan.blocks, [&](const WantedBlock& want) {
    return waiting.contains(PortRef{want.node, want.slot.port});
  });
  std::erase_if(plan.enforcement,
                [&](const PortEnforcement& check) { return waiting.contains(check.port); });
}

}  // namespace

std::vector<std::string> want_p_keys(Desired& desired, const Observed& observed,
                                     std::shared_ptr<const policy::PartitionPolicy> policy,
                                     const PKeyOptions& options, const device::Inventory& held,
                                     const VirtualPorts* virtual_ports) {
  const EndPorts ports = ports_with_keys(desired, observed, *policy, virtual_ports);
  PKeyPlan plan = plan_p_keys(observed, ports.keys, held, options);
  desired.unread_p_keys = take_unread(plan, observed, held);
  if (options.awaits_virtual_ports) leave_waiting(plan, ports, observed, virtual_ports);
  if (!policy->from_file) {
    desired.unread_p_keys.clear();
    std::erase_if(plan.blocks,
                  [&](const WantedBlock& want) { return is_idle_table(observed, want); });
  }
  desired.p_key_blocks = std::move(plan.blocks);
  // One partition has nothing to keep apart: what is in force at a switch port lets it pass.
  if (!policy->from_file && options.enforcement != Enforcement::Off) plan.enforcement.clear();
  for (const PortEnforcement& check : plan.enforcement) {
    PortWant& want = desired.ports[observed.port_index(check.port)];
    want.enforce_inbound = check.inbound;
    want.enforce_outbound = check.outbound;
  }
  desired.partitions = std::move(policy);
  // One key fits every table.
  if (!desired.partitions->from_file) {
    plan.alarms.clear();
    plan.left_out.clear();
  }
  desired.left_out_keys = std::move(plan.left_out);
  std::ranges::move(policy::ambiguous_names(*desired.partitions, ports.facts),
                    std::back_inserter(plan.alarms));
  return std::move(plan.alarms);
}

GivenKeys given_keys(const Desired& desired, const Observed& observed,
                     const policy::PartitionPolicy& policy, const VirtualPorts* virtual_ports) {
  GivenKeys given;
  for (const EndPortKeys& end : ports_with_keys(desired, observed, policy, virtual_ports).keys)
    for (const auto* keys : {&end.keys, &end.of_virtual_ports})
      for (const policy::PortPartition& key : *keys) given.emplace(end.port, key.p_key);
  return given;
}

void gather_blocks(Desired& desired, std::vector<WantedBlock> guids) {
  for (const auto* more : {&desired.p_key_blocks, &desired.rate_blocks, &desired.speed_blocks})
    guids.insert(guids.end(), more->begin(), more->end());
  std::ranges::stable_sort(guids, {}, &WantedBlock::node);
  desired.blocks = std::move(guids);
}

}  // namespace sm::plan
