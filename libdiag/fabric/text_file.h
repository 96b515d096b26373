// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A whole file as a string.
#pragma once

#include <string>

#include "libdiag/base/result.h"

namespace ib::fabric {

/// An error is of kind Usage and names the file and what the system said.
Result<std::string> read_text_file(const std::string& path);
/// Likewise, of a regular file or a pipe of `bytes_max` at most: a device may never end.
Result<std::string> read_file_or_pipe(const std::string& path, std::size_t bytes_max);
/// Likewise, and refuses at once, with what to do, what is no regular file (a pipe would be waited
/// for, a device never ends) or has more than `bytes_max`.
Result<std::string> read_regular_file(const std::string& path, std::size_t bytes_max);

}  // namespace ib::fabric
