// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Entries of member lists as text.
#pragma once

#include <string>
#include <string_view>

#include "sm/policy/partition_file.h"

namespace sm::policy {

/// As a member list has it: 0x0002c90300a1b2c3, "name"/P2, ALL_CAS.
std::string to_string(const Selector& who);
/// "full", "limited" or "both".
std::string_view word(Membership membership);

}  // namespace sm::policy
