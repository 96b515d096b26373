// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What ibtracer and its agent have agreed on beside SourceRoute (doc/ibtracer.md, "The protocol").
#pragma once

#include "libdiag/wire/gmp_attributes.h"

namespace ib::wire {

/// ClassPortInfo:CapabilityMask bit of class 0x30: this agent answers a request that has a GRH with
/// a GRH.
inline constexpr std::uint16_t kTracerMirrorsGrh = 1U << 9;

}  // namespace ib::wire
