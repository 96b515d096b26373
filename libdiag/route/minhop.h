// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Engine `minhop`: every LID by a path of fewest hops, loads even. No promise about deadlocks.
#pragma once

#include "libdiag/route/engine.h"

namespace ib::route {

Result<Routes> minhop(const Request& request);

}  // namespace ib::route
