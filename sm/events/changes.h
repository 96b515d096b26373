// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Events from what is published anyway: the difference of two states of the subnet, of its devices'
// tables, of partitions, and what a batch for the store says of multicast groups. Nothing inside
// the subnet manager or the SA tells of events.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "libdiag/report/shapes.h"
#include "sm/device/device_state.h"
#include "sm/device/restarts.h"
#include "sm/device/snapshot.h"
#include "sm/events/event.h"
#include "sm/store/store.h"

namespace sm::events {

using Events = std::vector<Event>;

/// Nodes that came and went, cables, links that are slower than both ends can do, LIDs, devices
/// that do not take a table. `before` null: the first state, of which degraded links and such
/// devices alone are told.
Events topology_changes(const Snapshot* before, const Snapshot& after);

/// Ports with virtualization enabled, and what their virtual ports came to. Null: none is known.
Events virtual_port_changes(const VirtualPorts* before, const VirtualPorts* after);

/// Nodes that rebooted, and other links that went down and came up, of `subnet`.
Events restart_events(const Restarts& restarts, const Snapshot& subnet);

/// What stood wrong after a sweep.
struct Troubles {
  struct Conflict {
    ib::Lid lid;
    ib::report::PortShape keeper, other;
  };
  struct NoRoom {
    ib::report::PortShape port;
    std::uint64_t room{};
    std::string p_keys;
  };
  std::vector<Conflict> conflicts;
  std::vector<NoRoom> no_room;
  std::set<std::string> alarms;
};
Events trouble_changes(const Troubles& before, const Troubles& after);

/// Routes that are not those of before, engines that failed. `before` null: they are the first, and
/// change what `at_start` says, or else all entries.
struct Loads {
  std::uint64_t before{}, after{};  // of the most loaded link; 0: not counted
};
Events routing_changes(const Routing* before, const Routing& after,
                       const std::optional<Changed>& at_start = {}, Loads loads = {});

/// Partitions that are defined or not any more. `before` null: only the default partition was.
Events partition_changes(const policy::PartitionPolicy* before,
                         const policy::PartitionPolicy& after);
/// All but the default partition end with ibsm.
Events partitions_at_the_end(const policy::PartitionPolicy& partitions);

/// Other subnet managers that came, went, or said something else of themselves.
Events manager_changes(std::span<const ib::wire::SmInfo> before,
                       std::span<const ib::wire::SmInfo> after);

/// P_Keys that end ports have and had not, or had and have not, multicast trees that changed.
/// `before` null: the first state. P_Keys are compared with `tables_before`, the last that had been
/// read to the end, while none are to come; null: all but that of the default partition are told.
Events device_changes(const DeviceState* before, const DeviceState& after, const Snapshot& subnet,
                      const device::Inventory* tables_before);

/// "master", "standby"
std::string_view state_name(ib::wire::SmState state);

/// Groups and members that batches add and take away.
class RegistryChanges {
 public:
  /// What there is already, which is no event.
  void know(const std::vector<store::McGroup>& groups, const std::vector<store::McMember>& members);
  Events take(const store::Batch& batch);

 private:
  struct Group {
    ib::Lid mlid{};
    std::set<ib::Gid> members;
  };
  std::map<ib::Gid, Group> groups_;
};

}  // namespace sm::events
