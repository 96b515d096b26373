// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// P_Key tables: which key each port is to hold at which index, and where switches check keys (IBA
// 10.9, 14.2.5.7). Pure.
//
// A key keeps its index as long as the port is to have it, since applications name keys by index.
// An external port of a switch with a host behind it holds the keys of that host's port; one with a
// switch behind it checks nothing.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sm/device/inventory.h"
#include "sm/plan/wanted_block.h"
#include "sm/policy/partitions.h"

namespace sm::plan {

/// Where switches drop packets of other partitions (`part_enforce`).
enum class Enforcement : std::uint8_t { Both, In, Out, Off };

struct PKeyOptions {
  Enforcement enforcement{Enforcement::Both};
  bool keep_indexes{true};  // false: keys are placed again, in the order of the file
  /// Ports of switches stay as they are until the virtual ports behind them are known.
  bool awaits_virtual_ports{false};
};

/// The keys of one table. Those that have an index in `held` keep it; of the others `index0` goes
/// to index 0 and the rest to the lowest free one, in their order. The default partition's goes to
/// index 0 where that is not in use. Keys beyond the room that `held` has are left out, from the
/// end of `wanted`.
struct PlacedKeys {
  std::vector<ib::PKey> table;  // as long as `held`; 0 where there is no key
  std::vector<policy::PortPartition> left_out;
};
PlacedKeys place_keys(std::span<const policy::PortPartition> wanted, std::span<const ib::PKey> held,
                      bool keep_indexes);

/// An end port with the keys that it is to have.
struct EndPortKeys {
  ib::fabric::PortRef port;
  std::vector<policy::PortPartition> keys;
  std::vector<policy::PortPartition> of_virtual_ports{};  // behind it, which its switch lets pass
};

/// Whether an external port of a switch is to check the keys of what comes in from its link, and of
/// what goes out there.
struct PortEnforcement {
  ib::fabric::PortRef port;
  bool inbound{false}, outbound{false};
};

/// P_Keys of an end port that its table has no room for.
struct LeftOutKeys {
  ib::fabric::PortRef port;
  std::size_t room{};
  std::vector<ib::PKey> keys;
};

struct PKeyPlan {
  std::vector<WantedBlock> blocks;  // by node and slot
  /// Empty blocks behind those, which a device says by its capabilities that it has, and does not
  /// have where it is asked for one of them.
  std::vector<WantedBlock> behind;
  std::vector<PortEnforcement> enforcement;
  std::vector<LeftOutKeys> left_out;
  std::vector<std::string> alarms;  // what did not fit, a line for each port
};

/// `end_ports` of managed nodes, each once. Blocks that `held` does not know count as empty. A
/// table ends before the first block that the device says it has not; its first block each has.
PKeyPlan plan_p_keys(const ib::discover::Observed& observed, std::span<const EndPortKeys> end_ports,
                     const device::Inventory& held, const PKeyOptions& options);

}  // namespace sm::plan
