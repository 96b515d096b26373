// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The part of the plan that is about partitions: P_Key tables, and where switches check keys. Pure.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sm/device/virtual_ports.h"
#include "sm/plan/desired.h"
#include "sm/policy/partition_policy.h"

namespace sm::plan {

/// Puts P_Key blocks and enforcement into `desired`, which has its LIDs and ports; gives what an
/// operator should know, a line each. Keys keep the indexes that they have in `held`. Of a table
/// that it does not know whole nothing is wanted, nor that its port checks keys: with a partition
/// file it is to be read first (`unread_p_keys`), without one it is read later. Without a file
/// enforcement stays as it is. Ports of switches let pass what `virtual_ports` behind them are to
/// hold, too.
std::vector<std::string> want_p_keys(Desired& desired, const ib::discover::Observed& observed,
                                     std::shared_ptr<const policy::PartitionPolicy> policy,
                                     const PKeyOptions& options, const device::Inventory& held,
                                     const VirtualPorts* virtual_ports = nullptr);

/// P_Keys that end ports are to have, or that the switch in front of one is to let pass for virtual
/// ports behind it.
using GivenKeys = std::set<std::pair<ib::fabric::PortRef, ib::PKey>>;
/// By `policy` to those that have a LID by `desired`, whether they have room for them or not.
GivenKeys given_keys(const Desired& desired, const ib::discover::Observed& observed,
                     const policy::PartitionPolicy& policy,
                     const VirtualPorts* virtual_ports = nullptr);

/// `desired.blocks`: `guids`, and the blocks of P_KeyTable and of rate limits that it has, by node.
void gather_blocks(Desired& desired, std::vector<WantedBlock> guids);

}  // namespace sm::plan
