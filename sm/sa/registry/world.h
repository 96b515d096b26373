// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What queries and writes are judged by: one snapshot of the subnet, what clients have registered,
// and the operator's policy.
#pragma once

#include <memory>

#include "sm/device/device_state.h"
#include "sm/sa/registry/quotas.h"
#include "sm/sa/registry/state.h"
#include "sm/sa/subnet/policy.h"

namespace sm::sa {

/// rtr_aguid_enable: the alias GUIDs that routers need (router_aliases.h).
enum class RouterAliases : std::uint8_t { Leave, Make, TakeBack };

struct World {
  std::shared_ptr<const Paths> paths;  // kept by queries that outlive the call
  const State& state;                  // both live as long as any query
  const Policy& policy;
  Quotas quotas{};
  DeviceStatePtr device_state{std::make_shared<const DeviceState>()};  // never null
  std::uint8_t sm_assigned_guid{};  // of alias GUIDs that are made here
  bool key_is_secret{false};        // the SA key is not the one that everybody knows
  RouterAliases router_aliases{RouterAliases::Leave};

  const Snapshot& snapshot() const { return paths->snapshot(); }
  /// A prefix of GIDs of this subnet: its own or the default one (IBA 4.1.3).
  bool is_own_prefix(std::uint64_t prefix) const {
    return prefix == ib::kDefaultSubnetPrefix || prefix == snapshot().subnet_prefix;
  }
  /// The port that has this GUID, be it an alias, or the virtual port; nullptr: none has.
  const EndPort* holder(ib::Guid guid) const {
    if (const auto* port = paths->find(guid)) return port;
    const ib::Guid owner = state.aliases.port_of(guid);
    return owner == ib::Guid{} ? paths->find_virtual(guid) : paths->find(owner);
  }
};

}  // namespace sm::sa
