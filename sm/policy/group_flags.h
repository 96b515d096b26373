// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The flags of multicast groups in partition files (rate=, mtu=, sl=, ...): one row each. Inside
// sm/policy only.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "sm/policy/partition_file.h"

namespace sm::policy {

std::span<const std::string_view> group_flag_names();
bool is_group_flag(std::string_view word);

/// How set_group_flag() begins to complain about a flag that is there already.
inline constexpr std::string_view kDuplicate = "duplicate ";

/// Precondition: is_group_flag(flag). Empty: `flags` has it now; else what is wrong with it.
std::string set_group_flag(std::string_view flag, std::string_view value, GroupFlags& flags);

}  // namespace sm::policy
