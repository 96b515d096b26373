// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Shrinking: a case that breaks an invariant made as small as it gets, while it breaks the same.
#pragma once

#include <functional>

#include "tests/sim/system/case.h"

namespace soak {

/// `still_fails` runs a case. `items` is how many the whole script has.
Case shrink(Case c, unsigned items, const std::function<bool(const Case&)>& still_fails);

}  // namespace soak
