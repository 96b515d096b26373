// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// DeviceState: what the devices of the subnet hold beside what a snapshot says: multicast tables as
// programmed, tables that were read from the devices, other subnet managers. Immutable and shared,
// and published apart from snapshots, since it changes with every membership and after a sweep.
// What was not programmed and not read is absent, never guessed.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "libdiag/tables/tables.h"
#include "libdiag/wire/smp_attributes.h"
#include "sm/device/inventory.h"

namespace sm {

struct DeviceState {
  /// Multicast forwarding as programmed. Switch indexes are those of `graph`, whose node indexes
  /// are those of the snapshot that is published with this. Both null before the first routing.
  std::shared_ptr<const ib::fabric::CompactGraph> graph;
  std::shared_ptr<const ib::tables::MulticastTables> multicast;

  std::shared_ptr<const device::Inventory> tables{
      std::make_shared<device::Inventory>()};  // never null
  /// True: the first reading of tables has not come to its end, so what is absent may be there.
  bool tables_to_come{false};

  std::uint64_t aliases_revision{0};  // of the alias GUIDs that ports were programmed by

  ib::wire::SmInfo own_sm;                  // this subnet manager; its key is not told
  std::vector<ib::wire::SmInfo> other_sms;  // as they answered, by port GUID; keys not told
};
using DeviceStatePtr = std::shared_ptr<const DeviceState>;

}  // namespace sm
