// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The last thing a program does with standard output.
#pragma once

#include "libdiag/base/result.h"

namespace ib {

/// Pushes out what std::cout and stdout still hold. Io when any of it could not be written: a full
/// disk, a closed pipe.
Result<void> finish_output();

}  // namespace ib
