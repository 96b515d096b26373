// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The first and the last thing a program does with its standard files.
#pragma once

#include "libdiag/base/result.h"

namespace ib {

/// Descriptors 0 to 2 that came closed are taken, so that no device, socket or store gets one of
/// these numbers and then what is printed. To read or write them fails as if they were closed,
/// which they are again for programs that this one starts.
void hold_standard_files();

/// Pushes out what std::cout and stdout still hold. Io when any of it could not be written: a full
/// disk, a closed pipe.
Result<void> finish_output();

}  // namespace ib
