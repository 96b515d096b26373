// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The lines of qos-ulps: which service IDs, P_Keys and ports each stands for. Inside sm/policy
// only.
#pragma once

#include <optional>
#include <span>

#include "sm/policy/qos_file.h"
#include "sm/policy/text_line.h"

namespace sm::policy {

struct UlpLine {
  UlpRule rule;
  bool is_default{false};  // of which the SL alone counts
};

/// Nothing: `problems` says what is wrong with the line.
std::optional<UlpLine> read_ulp_rule(Problems& problems, const Piece& line);

/// Warns of rules that name ports alone before rules that they may hide: any application's request
/// may be for such a port.
void warn_of_hidden_rules(std::span<const UlpRule> rules, Problems& problems);

}  // namespace sm::policy
