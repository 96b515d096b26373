// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What saquery has letters for beside its records: names, LIDs and GUIDs of nodes, multicast groups
// and their members, ports with a subnet manager.
#pragma once

#include "tools/ibpath/command_context.h"

namespace ibpath {

ib::Result<Job> plan_list(const Options& options, Words words);     // saquery --list
ib::Result<Job> plan_lid_of(const Options& options, Words words);   // -L
ib::Result<Job> plan_guid_of(const Options& options, Words words);  // -G
ib::Result<Job> plan_name_of(const Options& options, Words words);  // -O, -U
ib::Result<Job> plan_sms(const Options& options, Words words);      // -s
ib::Result<Job> plan_groups(const Options& options, Words words);   // -g
ib::Result<Job> plan_members(const Options& options, Words words);  // -m

}  // namespace ibpath
