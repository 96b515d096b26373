// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What can be asked for: one row for each attribute. A new record is a row here and a file in
// records/ or paths/.
#pragma once

#include "sm/sa/records/record_source.h"

namespace sm::sa {

/// The state and the policy of `world` are to outlive what comes of it.
Opened open_query(const World& world, const Query& query);

/// Whether a record of this attribute exists here at all.
bool is_known_record(std::uint16_t attribute);

}  // namespace sm::sa
