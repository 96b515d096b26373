// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A whole file as a string.
#pragma once

#include <string>

#include "libdiag/base/result.h"

namespace ib::fabric {

/// An error is of kind Usage and names the file and what the system said.
Result<std::string> read_text_file(const std::string& path);

}  // namespace ib::fabric
