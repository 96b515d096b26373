// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Links that are narrower or slower than both their ends can do.
#pragma once

#include "libdiag/fabric/fabric.h"
#include "libdiag/wire/smp_attributes.h"

namespace ib::discover {

/// Whether both ends, `a` and `b`, support a width or a speed above that of `active`, which is
/// either of them. False where the width or the speed is not known.
bool is_degraded(const wire::PortInfo& a, const wire::PortInfo& b, const fabric::Port& active);

}  // namespace ib::discover
