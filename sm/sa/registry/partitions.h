// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// From the partitions that the subnet manager programs to what paths and groups are judged by.
#pragma once

#include <string>
#include <vector>

#include "sm/sa/registry/change.h"
#include "sm/sa/registry/world.h"

namespace sm::sa {

/// The partitions of the snapshot, with its end ports as members. Without a partition file one of
/// which everybody is a full member.
std::vector<Partition> partitions_of(const Paths& paths);

/// The groups that partitions create and keep (their IPoIB groups, one a scope, and those of mgid
/// lines). A rule of `qos` (nullptr: none) that matches a group takes precedence over the
/// partition's SL.
std::vector<store::McGroup> groups_of(const policy::PartitionPolicy& partitions,
                                      const policy::QosPolicy* qos);

/// Where these have their SLs from, a line a group. Groups with SL 0 are left out where there
/// are no rules.
std::vector<std::string> sl_origins(const policy::PartitionPolicy& partitions,
                                    const policy::QosPolicy* qos);

/// What follows when the partitions or their groups have changed: configured groups are made, or
/// get the values that they have now; those that are configured no more stay as long as they have
/// members; and who is no member of a group's partition any more leaves it.
Change regroup(const World& world);

}  // namespace sm::sa
