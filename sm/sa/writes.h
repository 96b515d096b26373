// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Sets and Deletes by attribute: which rules judge which request.
#pragma once

#include "sm/sa/world.h"

namespace sm::sa {

/// The change that a request asks for, or the refusal.
Outcome evaluate(const World& world, const WriteRequest& request);

/// Whether records of this attribute can be written at all.
bool is_writable(std::uint16_t attribute);

}  // namespace sm::sa
