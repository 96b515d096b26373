// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What a trap about a wrong key says, in words: who tried it, on whom, and where it ended.
#pragma once

#include <string>

#include "libdiag/discover/observed.h"
#include "libdiag/wire/smp_attributes.h"

namespace sm::core {

/// ": ..." for traps 256 to 259 (IBA 14.2.5.1), empty for others. End ports are named by `seen`.
std::string trap_words(const ib::wire::Notice& notice, const ib::discover::Observed& seen);

}  // namespace sm::core
