// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/events/changes.h"

#include <fmt/format.h>

#include <algorithm>

#include "libdiag/base/text.h"
#include "libdiag/discover/degraded.h"
#include "libdiag/fabric/same_port.h"
#include "libdiag/route/reroute/reroute.h"
#include "libdiag/wire/rates.h"
#include "sm/device/tables/kinds.h"
#include "sm/events/recognised.h"

namespace sm::events {
namespace {

using ib::fabric::Fabric;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using ib::fabric::same_port;
using ib::report::node_shape;
using ib::report::port_shape;
using ib::wire::PortInfo;

std::string key_text(std::uint16_t p_key) { return fmt::format("0x{:04x}", p_key); }
std::string lid_text(ib::Lid lid) { return fmt::format("0x{:04x}", lid.value); }

class Topology {
 public:
  Topology(const Snapshot* before, const Snapshot& after) : before_(before), after_(after) {}

  Events run() {
    const Fabric& now = after_.fabric();
    if (before_ != nullptr) nodes();
    each_cable(now, [&](PortRef a, PortRef b) { cable_now(a, b); });
    if (before_ != nullptr)
      each_cable(before_->fabric(), [&](PortRef a, PortRef b) { cable_before(a, b); });
    refusals();
    return std::move(out_);
  }

 private:
  template <class Do>
  static void each_cable(const Fabric& fabric, Do&& run) {
    for (NodeIndex n = 0; n < fabric.nodes().size(); ++n)
      for (unsigned p = 0; p <= fabric.node(n).num_ports; ++p) {
        const PortRef self{n, static_cast<std::uint8_t>(p)};
        const PortRef peer = fabric.port(self).peer;
        if (peer && std::pair(self.node, self.port) < std::pair(peer.node, peer.port))
          run(self, peer);
      }
  }

  void say(Kind kind, std::vector<Value> values) { out_.push_back(make(kind, std::move(values))); }

  void refusals() {
    for (const auto& table : after_.refused_tables) {
      const auto& [guid, attribute] = table;
      const auto n = after_.fabric().find_node(guid);
      if (!n || (before_ != nullptr && before_->refused_tables.contains(table))) continue;
      say(Kind::DeviceRefuses,
          {node_shape(after_.fabric().node(*n)), std::string(device::table_name(attribute))});
    }
  }

  void nodes() {
    const Fabric& was = before_->fabric();
    const Fabric& now = after_.fabric();
    for (const auto& node : now.nodes()) {
      const auto old = was.find_node(node.guid);
      if (!old) {
        say(Kind::NodeJoined, {node_shape(node)});
      } else if (was.node(*old).description != node.description) {
        say(Kind::NodeRenamed,
            {to_string(node.guid), was.node(*old).description, node.description});
      }
    }
    for (const auto& node : was.nodes())
      if (!now.find_node(node.guid)) say(Kind::NodeLeft, {node_shape(node)});
    for (Event& event : recognised(was, now)) out_.push_back(std::move(event));
    lids();
    disabled_ports();
  }

  static bool is_disabled(const Snapshot& subnet, PortRef at) {
    const auto* port = subnet.observed->known_port(at);
    return port != nullptr &&
           port->get<&PortInfo::port_physical_state>() == ib::wire::PhysState::Disabled;
  }
  void disabled_ports() {
    const Fabric& now = after_.fabric();
    for (NodeIndex n = 0; n < now.nodes().size(); ++n)
      for (unsigned p = 1; p <= now.node(n).num_ports; ++p) {
        const PortRef self{n, static_cast<std::uint8_t>(p)};
        const PortRef old = same_port(now, self, before_->fabric());
        if (!old) continue;
        const bool is = is_disabled(after_, self);
        if (is != is_disabled(*before_, old))
          say(is ? Kind::PortDisabled : Kind::PortEnabled, {port_shape(now, self)});
      }
  }

  /// Of ports that are in use.
  void lids() {
    const Fabric& now = after_.fabric();
    for (NodeIndex n = 0; n < now.nodes().size(); ++n)
      for (unsigned p = 0; p <= now.node(n).num_ports; ++p) {
        const PortRef self{n, static_cast<std::uint8_t>(p)};
        const auto& port = now.port(self);
        if (!port.lid.is_unicast() || (now.node(n).is_switch() && p != 0)) continue;
        const PortRef old = same_port(now, self, before_->fabric());
        const ib::Lid lid = old ? before_->fabric().port(old).lid : ib::kNoLid;
        if (!lid.is_unicast())
          say(Kind::LidAssigned, {port_shape(now, self), std::uint64_t{port.lid.value}});
        else if (lid != port.lid)
          say(Kind::LidChanged,
              {port_shape(now, self), std::uint64_t{lid.value}, std::uint64_t{port.lid.value}});
      }
  }

  std::vector<Value> link(PortRef a, PortRef b) const {
    const Fabric& now = after_.fabric();
    const auto& port = now.port(a);
    return {port_shape(now, a), port_shape(now, b), std::string(ib::wire::width_name(port.width)),
            std::string(ib::wire::speed_name(port.speed))};
  }

  void cable_now(PortRef a, PortRef b) {
    const Fabric& now = after_.fabric();
    const bool degraded = ib::discover::is_degraded(*after_.observed, a);
    PortRef old{}, old_peer{};
    if (before_ != nullptr) {
      old = same_port(now, a, before_->fabric());
      if (old) old_peer = before_->fabric().port(old).peer;
    }
    const bool was_there = old_peer && same_port(before_->fabric(), old_peer, now) == b;
    if (before_ != nullptr && !was_there) {
      say(Kind::LinkUp, link(a, b));
      moved(a, b);
      moved(b, a);
    }
    const bool was_degraded = was_there && ib::discover::is_degraded(*before_->observed, old);
    if (degraded && !was_degraded) say(Kind::LinkDegraded, link(a, b));
    if (!degraded && was_degraded) say(Kind::LinkAsFastAsItCan, link(a, b));
  }

  /// A CA's or router's port that was cabled to another port before.
  void moved(PortRef end, PortRef peer) {
    const Fabric& now = after_.fabric();
    if (now.node(end.node).is_switch()) return;
    const PortRef old = same_port(now, end, before_->fabric());
    const PortRef old_peer = old ? before_->fabric().port(old).peer : PortRef{};
    if (old_peer)
      say(Kind::CableMoved,
          {port_shape(now, end), port_shape(before_->fabric(), old_peer), port_shape(now, peer)});
  }

  void cable_before(PortRef a, PortRef b) {
    const Fabric& was = before_->fabric();
    const Fabric& now = after_.fabric();
    const PortRef self = same_port(was, a, now);
    const PortRef peer = self ? now.port(self).peer : PortRef{};
    if (peer && peer == same_port(was, b, now)) return;
    say(Kind::LinkDown, {port_shape(was, a), port_shape(was, b)});
  }

  const Snapshot* before_;
  const Snapshot& after_;
  Events out_;
};

/// P_Keys of the blocks of one port that are known, with their places.
struct Place {
  std::uint16_t block{}, index{};
};
using Keys = std::vector<std::pair<ib::PKey, Place>>;
Keys keys_of(const device::Inventory& tables, ib::Guid node, std::uint8_t port) {
  Keys keys;
  for (std::uint16_t block = 0;; ++block) {
    const auto* held = tables.held(device::kPKeyTable, node, {port, 0, block});
    if (held == nullptr) return keys;
    const auto table = ib::wire::decode<ib::wire::PKeyTable>(held->data());
    for (std::uint16_t i = 0; i < device::kPKeysInBlock; ++i)
      if (table.p_keys[i].base() != 0) keys.push_back({table.p_keys[i], {block, i}});
  }
}

void p_key_changes(const device::Inventory* before, const device::Inventory& after,
                   const Snapshot& subnet, Events& out) {
  const Fabric& fabric = subnet.fabric();
  for (NodeIndex n = 0; n < fabric.nodes().size(); ++n) {
    const auto& node = fabric.node(n);
    // Tables are shared as long as nothing of the node changes.
    if (before != nullptr && before->find(node.guid) == after.find(node.guid)) continue;
    const unsigned first = node.is_switch() ? 0 : 1, last = node.is_switch() ? 0 : node.num_ports;
    for (unsigned p = first; p <= last; ++p) {
      const auto port = static_cast<std::uint8_t>(p);
      const auto old = before != nullptr ? keys_of(*before, node.guid, port) : Keys{};
      const auto now = keys_of(after, node.guid, port);
      const auto has = [](const Keys& keys, ib::PKey key) {
        return std::ranges::find(keys, key, &Keys::value_type::first) != keys.end();
      };
      const ib::Guid guid = fabric.port(n, p).guid;
      for (const auto& [key, place] : old)
        if (!now.empty() && !has(now, key))
          out.push_back(make(Kind::PartitionMemberGone, {to_string(guid), key_text(key.value)}));
      for (const auto& [key, place] : now) {
        if (has(old, key)) continue;
        // Everybody has it: a table that is read for the first time is no news of it.
        if (old.empty() && key.base() == ib::kDefaultPKey.base()) continue;
        out.push_back(
            make(Kind::PartitionMember, {to_string(guid), key_text(key.value),
                                         std::uint64_t{place.block}, std::uint64_t{place.index}}));
      }
    }
  }
}

void tree_changes(const DeviceState& before, const DeviceState& after, Events& out) {
  if (!after.multicast || before.multicast == after.multicast) return;
  for (const auto& [mlid, tree] : *after.multicast) {
    if (before.multicast) {
      const auto old = before.multicast->find(mlid);
      if (old != before.multicast->end() && old->second == tree) continue;
    }
    out.push_back(make(Kind::TreeComputed, {lid_text(mlid)}));
  }
}

bool is_same(const ib::report::PortShape& a, const ib::report::PortShape& b) {
  return a.node_guid == b.node_guid && a.port == b.port;
}

Event partition_deleted(std::uint16_t p_key, std::uint64_t reason) {
  return make(Kind::PartitionDeleted, {key_text(p_key), reason});
}
bool is_default(const policy::Partition& partition) {
  return partition.p_key == ib::kDefaultPKey.base();
}

Changed changed(const Routing* before, const Routing& after) {
  const auto moved = ib::route::difference(
      before == nullptr ? ib::tables::LinearTables()
                        : ib::tables::carried_over(before->lfts, before->graph, after.graph),
      after.lfts);
  Changed out{moved.entries.size(), 0};
  for (std::size_t i = 0; i < moved.entries.size(); ++i)
    if (i == 0 || moved.entries[i].at != moved.entries[i - 1].at) ++out.switches;
  return out;
}

Event vport_state(ib::Guid port, const VirtualPort& vport, ib::wire::PortState state) {
  return make(Kind::VirtualPortState,
              {to_string(port), to_string(vport.guid), std::uint64_t{vport.index},
               to_string(vport.node_guid), static_cast<std::uint64_t>(state)});
}

/// Of one port; nullptr: it had none, or has none any more.
void virtual_changes(ib::Guid port, const PortVirtualization* before,
                     const PortVirtualization* after, Events& out) {
  using ib::wire::PortState;
  static const PortVirtualization kNone;
  const PortVirtualization& old = before != nullptr ? *before : kNone;
  const PortVirtualization& now = after != nullptr ? *after : kNone;
  if (now.enabled && (!old.enabled || old.top_index != now.top_index))
    out.push_back(make(Kind::PortVirtualization, {to_string(port), std::uint64_t{now.top_index}}));
  const auto find = [](const PortVirtualization& all, std::uint16_t index) {
    const auto at = std::ranges::find(all.ports, index, &VirtualPort::index);
    return at == all.ports.end() ? nullptr : &*at;
  };
  for (const VirtualPort& vport : old.ports)
    if (vport.state != PortState::Down && find(now, vport.index) == nullptr)
      out.push_back(vport_state(port, vport, PortState::Down));
  for (const VirtualPort& vport : now.ports) {
    const VirtualPort* was = find(old, vport.index);
    const PortState state = was != nullptr ? was->state : PortState::Down;
    // With another GUID it is another one.
    const bool is_new = was != nullptr && was->guid != vport.guid;
    if (is_new && state != PortState::Down) out.push_back(vport_state(port, *was, PortState::Down));
    if (vport.state != (is_new ? PortState::Down : state))
      out.push_back(vport_state(port, vport, vport.state));
  }
}

}  // namespace

Events virtual_port_changes(const VirtualPorts* before, const VirtualPorts* after) {
  Events out;
  if (before == after) return out;
  static const VirtualPorts kNone;
  const VirtualPorts& old = before != nullptr ? *before : kNone;
  const VirtualPorts& now = after != nullptr ? *after : kNone;
  const auto find = [](const VirtualPorts& all, ib::Guid port) {
    const auto at = all.find(port);
    return at == all.end() ? nullptr : &at->second;
  };
  for (const auto& [port, of_port] : old)
    if (!now.contains(port)) virtual_changes(port, &of_port, nullptr, out);
  for (const auto& [port, of_port] : now) virtual_changes(port, find(old, port), &of_port, out);
  return out;
}

std::string_view state_name(ib::wire::SmState state) {
  using ib::wire::SmState;
  switch (state) {
    case SmState::NotActive:
      return "not active";
    case SmState::Discovering:
      return "discovering";
    case SmState::Standby:
      return "standby";
    case SmState::Master:
      return "master";
  }
  return "unknown";
}

Events topology_changes(const Snapshot* before, const Snapshot& after) {
  return Topology(before, after).run();
}

Events restart_events(const Restarts& restarts, const Snapshot& subnet) {
  Events out;
  const Fabric& fabric = subnet.fabric();
  for (const ib::Guid guid : restarts.nodes)
    if (const auto n = fabric.find_node(guid)) {
      out.push_back(make(Kind::NodeRebooted, {node_shape(fabric.node(*n))}));
    }
  for (const auto& [one, other] : restarts.links) {
    if (restarts.nodes.contains(one.first) || restarts.nodes.contains(other.first)) continue;
    const auto n = fabric.find_node(one.first);
    if (!n || one.second > fabric.node(*n).num_ports) continue;
    const PortRef self{*n, one.second}, peer = fabric.port(self).peer;
    // What became of it meanwhile is told otherwise.
    if (!peer || fabric.node(peer.node).guid != other.first || peer.port != other.second) continue;
    const auto a = port_shape(fabric, self), b = port_shape(fabric, peer);
    const auto& port = fabric.port(self);
    out.push_back(make(Kind::LinkDown, {a, b}));
    out.push_back(make(Kind::LinkUp, {a, b, std::string(ib::wire::width_name(port.width)),
                                      std::string(ib::wire::speed_name(port.speed))}));
  }
  return out;
}

Events trouble_changes(const Troubles& before, const Troubles& after) {
  Events out;
  for (const auto& [lid, keeper, other] : after.conflicts)
    if (std::ranges::none_of(before.conflicts, [&](const auto& c) {
          return c.lid == lid && is_same(c.keeper, keeper) && is_same(c.other, other);
        }))
      out.push_back(make(Kind::LidConflict, {std::uint64_t{lid.value}, keeper, other}));
  for (const auto& [port, room, p_keys] : after.no_room)
    if (std::ranges::none_of(before.no_room, [&](const auto& n) {
          return is_same(n.port, port) && n.room == room && n.p_keys == p_keys;
        }))
      out.push_back(make(Kind::PartitionNoRoom, {port, room, p_keys}));
  for (const std::string& what : before.alarms)
    if (!after.alarms.contains(what)) out.push_back(make(Kind::AlarmCleared, {what}));
  for (const std::string& what : after.alarms)
    if (!before.alarms.contains(what)) out.push_back(make(Kind::AlarmRaised, {what}));
  return out;
}

Events routing_changes(const Routing* before, const Routing& after,
                       const std::optional<Changed>& at_start, Loads loads) {
  Events out;
  for (const std::string& engine : after.failed) out.push_back(make(Kind::EngineFailed, {engine}));
  if (!after.merged_levels.empty() &&
      (before == nullptr || before->merged_levels != after.merged_levels))
    out.push_back(make(Kind::LevelsMerged, {after.merged_levels}));
  if (!after.left_for_one_vl.empty() &&
      (before == nullptr || before->left_for_one_vl != after.left_for_one_vl))
    out.push_back(make(Kind::LeftForOneVl, {after.left_for_one_vl}));
  if (after.engine.empty()) return out;
  const auto [entries, switches] =
      before == nullptr && at_start ? *at_start : changed(before, after);
  if (entries == 0 && (before != nullptr ? before->engine == after.engine : at_start.has_value()))
    return out;
  if (before != nullptr)
    out.push_back(make(after.followed ? Kind::RoutesFollowed : Kind::RoutesRecomputed, {}));
  out.push_back(
      make(Kind::RoutesMade, {after.engine, entries, switches, loads.before, loads.after}));
  return out;
}

Events partition_changes(const policy::PartitionPolicy* before,
                         const policy::PartitionPolicy& after) {
  Events out;
  const auto has = [](const policy::PartitionPolicy& policy, std::uint16_t p_key) {
    const auto& all = policy.partitions.all;
    return std::ranges::find(all, p_key, &policy::Partition::p_key) != all.end();
  };
  for (const auto& partition : after.partitions.all)
    if (before == nullptr ? !is_default(partition) : !has(*before, partition.p_key))
      out.push_back(make(Kind::PartitionCreated, {key_text(partition.p_key), partition.name}));
  if (before != nullptr)
    for (const auto& partition : before->partitions.all)
      if (!has(after, partition.p_key)) out.push_back(partition_deleted(partition.p_key, 0));
  return out;
}

Events partitions_at_the_end(const policy::PartitionPolicy& partitions) {
  constexpr std::uint64_t kShutdown = 2;
  Events out;
  for (const auto& partition : partitions.partitions.all)
    if (!is_default(partition)) out.push_back(partition_deleted(partition.p_key, kShutdown));
  return out;
}

Events manager_changes(std::span<const ib::wire::SmInfo> before,
                       std::span<const ib::wire::SmInfo> after) {
  Events out;
  for (const auto& sm : after) {
    const auto was = std::ranges::find(before, sm.guid, &ib::wire::SmInfo::guid);
    if (was != before.end() && was->sm_state == sm.sm_state && was->priority == sm.priority)
      continue;
    out.push_back(make(Kind::OtherSmSeen, {to_string(sm.guid), std::uint64_t{sm.priority},
                                           std::string(state_name(sm.sm_state))}));
  }
  for (const auto& sm : before)
    if (std::ranges::find(after, sm.guid, &ib::wire::SmInfo::guid) == after.end())
      out.push_back(make(Kind::OtherSmGone, {to_string(sm.guid)}));
  return out;
}

Events device_changes(const DeviceState* before, const DeviceState& after, const Snapshot& subnet,
                      const device::Inventory* tables_before) {
  Events out;
  if (!after.tables_to_come) p_key_changes(tables_before, *after.tables, subnet, out);
  if (before != nullptr) tree_changes(*before, after, out);
  return out;
}

void RegistryChanges::know(const std::vector<store::McGroup>& groups,
                           const std::vector<store::McMember>& members) {
  store::Batch batch;
  batch.groups = groups;
  batch.members = members;
  take(batch);
}

Events RegistryChanges::take(const store::Batch& batch) {
  constexpr std::int64_t kJoins = 1, kLeaves = -1;
  constexpr std::uint64_t kCreated = 0, kDeleted = 1;
  Events out;
  const auto group_event = [&](const ib::Gid& mgid, ib::Lid mlid, std::uint64_t change) {
    out.push_back(make(Kind::GroupChange, {lid_text(mlid), to_string(mgid), change}));
  };
  const auto member_event = [&](const ib::Gid& mgid, ib::Lid mlid, const ib::Gid& port,
                                std::int64_t join) {
    out.push_back(make(Kind::MemberJoinsGroup,
                       {lid_text(mlid), to_string(mgid), to_string(port.guid()), join}));
  };
  for (const ib::Gid& mgid : batch.groups_removed) {
    const auto at = groups_.find(mgid);
    if (at == groups_.end()) continue;
    for (const ib::Gid& port : at->second.members)
      member_event(mgid, at->second.mlid, port, kLeaves);
    group_event(mgid, at->second.mlid, kDeleted);
    groups_.erase(at);
  }
  for (const store::McGroup& group : batch.groups) {
    const auto [at, is_new] = groups_.try_emplace(group.mgid);
    at->second.mlid = group.mlid;
    if (is_new) group_event(group.mgid, group.mlid, kCreated);
  }
  for (const store::McMember& member : batch.members) {
    const auto at = groups_.find(member.mgid);
    if (at == groups_.end()) continue;
    auto& members = at->second.members;
    const bool was = members.contains(member.port_gid);
    if (was == (member.join_state != 0)) continue;
    was ? static_cast<void>(members.erase(member.port_gid))
        : static_cast<void>(members.insert(member.port_gid));
    member_event(member.mgid, at->second.mlid, member.port_gid, was ? kLeaves : kJoins);
  }
  return out;
}

}  // namespace sm::events
