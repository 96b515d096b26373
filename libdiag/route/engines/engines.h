// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The engines, each in the file of its name beside this one; engine.cpp lists them.
#pragma once

#include "libdiag/route/engine.h"

namespace ib::route {

/// Every LID by a path of fewest hops, loads even. No promise about deadlocks.
Result<Routes> minhop(const Request& request);

/// Fewest hops, dimension order by the order of ports, parallel links balanced. No promise about
/// deadlocks.
Result<Routes> dor(const Request& request);

}  // namespace ib::route
