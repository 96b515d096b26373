// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/plan/partitions.h"

#include <algorithm>

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
/// would move. Gives the blocks to read.
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
  return unread;
}

}  // namespace

std::vector<EndPortKeys> end_port_keys(const Observed& observed,
                                       std::span<const ib::route::LidAssignment> lids,
                                       PortRef sm_port, const policy::PartitionPolicy& policy) {
  std::vector<EndPortKeys> out;
  std::vector<policy::EndPortFacts> facts;
  for (const ib::route::LidAssignment& a : lids) {
    if (a.lid == ib::kNoLid) continue;
    out.push_back({a.port, {}});
    facts.push_back(end_port_facts(observed.fabric, a.port, a.port == sm_port));
    facts.back().guid = a.guid;
  }
  auto keys = policy.keys_of(facts);
  for (std::size_t i = 0; i < out.size(); ++i) out[i].keys = std::move(keys[i]);
  return out;
}

std::vector<std::string> want_p_keys(Desired& desired, const Observed& observed,
                                     std::shared_ptr<const policy::PartitionPolicy> policy,
                                     const PKeyOptions& options, const device::Inventory& held) {
  const auto keys = end_port_keys(observed, desired.lids, desired.sm_port, *policy);
  PKeyPlan plan = plan_p_keys(observed, keys, held, options);
  desired.unread_p_keys = take_unread(plan, observed, held);
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
  if (!desired.partitions->from_file) plan.alarms.clear();
  return std::move(plan.alarms);
}

void gather_blocks(Desired& desired, std::vector<WantedBlock> guids) {
  for (const auto* more : {&desired.p_key_blocks, &desired.rate_blocks})
    guids.insert(guids.end(), more->begin(), more->end());
  std::ranges::stable_sort(guids, {}, &WantedBlock::node);
  desired.blocks = std::move(guids);
}

}  // namespace sm::plan
