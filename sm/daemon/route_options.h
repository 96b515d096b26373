// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The files by which an operator steers routing, with last good copies of the lists among them.
// There are none of forwarding tables and hop counts (-U, -M): programs write those, of any size.
#pragma once

#include "libdiag/route/files.h"
#include "sm/daemon/last_good.h"

namespace sm::daemon {

/// All of `named` on top of `given`. The error has the mistakes of all files.
ib::Result<ib::route::ReadOptions> read_route_options(const ib::route::OptionFiles& named,
                                                      const ib::route::Options& given,
                                                      PolicyFiles& files);

}  // namespace sm::daemon
