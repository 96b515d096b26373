// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What a program can read of the device that it sits at, as the kernel's sysfs has it.
#pragma once

#include "libdiag/sim/model.h"
#include "tools/ibfabric/protocol.h"

namespace ibfabric {

/// `at` as in Request. One that is not there has a result of -ENODEV.
Description describe(const ib::sim::Model& model, const char* at);

}  // namespace ibfabric
