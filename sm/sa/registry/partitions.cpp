// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/registry/partitions.h"

#include <fmt/format.h>

#include <algorithm>

#include "sm/device/end_port_facts.h"
#include "sm/sa/registry/membership.h"
#include "sm/sa/registry/notices.h"

namespace sm::sa {
namespace {

using ib::Gid;
using store::McGroup;
namespace trap = ib::wire::trap;

constexpr std::uint16_t kFullBit = 0x8000;

}  // namespace

std::vector<Partition> partitions_of(const Paths& paths) {
  const policy::PartitionPolicy& policy = *paths.snapshot().partitions;
  if (!policy.from_file) return Policy{}.partitions;
  std::vector<Partition> out;
  std::unordered_map<std::uint16_t, std::size_t> by_key;
  for (const policy::Partition& partition : policy.partitions.all) {
    by_key.emplace(partition.p_key, out.size());
    out.push_back({partition.p_key, Membership::None, {}, partition.sl});
  }
  std::vector<policy::EndPortFacts> facts;
  for (const EndPort& port : paths.end_ports()) {
    const bool is_sm = port.guid == paths.snapshot().sm_port_guid;
    facts.push_back(end_port_facts(paths.snapshot().fabric(), port.port, is_sm));
  }
  for_each_virtual_port(paths.snapshot().virtual_ports.get(), paths.snapshot().fabric(),
                        [&](ib::fabric::PortRef at, const VirtualPort& vport) {
                          facts.push_back(virtual_port_facts(vport, paths.snapshot().fabric(), at));
                        });
  const auto keys = policy.keys_of(facts);
  for (std::size_t i = 0; i < facts.size(); ++i)
    for (const policy::PortPartition& key : keys[i]) {
      Membership& membership = out[by_key.at(key.p_key.base())].members[facts[i].guid];
      // With both memberships a port may do all that the full one allows.
      if (membership != Membership::Full)
        membership = (key.p_key.value & kFullBit) != 0 ? Membership::Full : Membership::Limited;
    }
  return out;
}

std::vector<McGroup> groups_of(const policy::PartitionPolicy& partitions,
                               const policy::QosPolicy* qos) {
  std::vector<McGroup> out;
  for (const policy::Partition& partition : partitions.partitions.all) {
    const auto* rule = qos == nullptr ? nullptr : qos->for_groups(partition.p_key);
    for (const policy::PartitionGroup& group : partition.groups) {
      McGroup g = ipoib_group(ib::PKey{static_cast<std::uint16_t>(partition.p_key | kFullBit)});
      g.mgid = group.mgid;
      g.q_key = group.q_key;
      g.mtu = group.mtu;
      g.rate = group.rate;
      g.sl = rule != nullptr && rule->sl ? *rule->sl : ib::Sl{group.sl};
      g.scope = group.scope;
      g.traffic_class = group.traffic_class;
      g.flow_label = group.flow_label;
      out.push_back(g);
    }
  }
  return out;
}

std::vector<std::string> sl_origins(const policy::PartitionPolicy& partitions,
                                    const policy::QosPolicy* qos) {
  std::vector<std::string> lines;
  for (const policy::Partition& partition : partitions.partitions.all) {
    const auto* rule = qos == nullptr ? nullptr : qos->for_groups(partition.p_key);
    const bool by_rule = rule != nullptr && rule->sl;
    for (const policy::PartitionGroup& group : partition.groups) {
      if (!by_rule && group.sl == 0 && qos == nullptr) continue;
      lines.push_back(fmt::format("multicast group {} has SL {}: {}", to_string(group.mgid),
                                  by_rule ? rule->sl->value : group.sl,
                                  by_rule         ? rule->rule
                                  : partition.sl  ? "sl= of its partition"
                                  : group.sl != 0 ? "sl= of its line in the partition file"
                                                  : "no rule and no partition says another"));
    }
  }
  return lines;
}

Change regroup(const World& world) {
  const auto& groups = world.state.multicast.groups();
  const auto& configured = world.policy.multicast.configured;
  std::vector<MemberOf> leave;
  for (const auto& [mgid, group] : groups)
    for (const auto& member : group.members) {
      const EndPort* port = world.holder(member.port_gid.guid());
      if (port != nullptr && !world.policy.holds(*port, group.values.p_key))
        leave.push_back({mgid, member.port_gid});
    }
  Change change = drop_memberships(world, leave);
  for (const auto& [mgid, group] : groups) {
    const bool stays = std::ranges::find(configured, mgid, &McGroup::mgid) != configured.end();
    if (stays || !group.values.well_known) continue;
    const auto leaving = std::ranges::count(leave, mgid, &MemberOf::mgid);
    if (static_cast<std::size_t>(leaving) < group.members.size()) {
      change.batch.groups.push_back(group.values);
      change.batch.groups.back().well_known = false;
    } else {
      change.batch.groups_removed.push_back(mgid);
      change.events.push_back(group_event(trap::kMcGroupDeleted, group.values));
    }
  }
  for (const McGroup& group : configured_groups(world.state, world.policy.multicast).groups) {
    if (world.state.multicast.find(group.mgid) == nullptr)
      change.events.push_back(group_event(trap::kMcGroupCreated, group));
    change.batch.groups.push_back(group);
  }
  change.routes_change = !change.batch.empty();
  return change;
}

}  // namespace sm::sa
