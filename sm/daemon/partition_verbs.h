// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// `ibsm ctl partition`: members that are added to partitions and taken away while ibsm runs. Kept
// in the store; a reading of the partition file leaves them.
#pragma once

#include <vector>

#include "sm/control/protocol.h"
#include "sm/device/device_state.h"
#include "sm/device/snapshot.h"
#include "sm/policy/added_members.h"
#include "sm/store/store.h"

namespace sm::daemon {

/// What a request would do.
struct MembersChange {
  control::Answer answer;
  std::string note;                          // for the log: "added 1 member of P_Key 0x0001"
  std::vector<policy::AddedMember> members;  // as they are then, by P_Key and port GUID
  store::Batch batch;                        // empty: nothing changes
};

/// What is known of the subnet when a request comes. Both null before the first routing.
struct SubnetView {
  SnapshotPtr snapshot;
  DeviceStatePtr device_state;
  bool allow_both{false};  // allow_both_pkeys
  std::string version{};   // of the program, for documents
};

std::vector<policy::AddedMember> added_members(const std::vector<store::PartitionMember>& stored);

/// `partition add P_KEY PORT...`, `partition remove P_KEY PORT...` (a GUID or NODE[:PORT]) and
/// `partition list`, with the options limited, both, owner and json.
MembersChange partition_verb(const control::Request& request,
                             const std::vector<policy::AddedMember>& members,
                             const SubnetView& subnet);

}  // namespace sm::daemon
