// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A whole file as a string. The byte order mark of UTF-8, which some editors write, is left out.
#pragma once

#include <string>

#include "libdiag/base/result.h"

namespace ib::fabric {

/// What no text that is read here comes near: a topology of 48000 ports has some 10 MB.
inline constexpr std::size_t kTextBytesMax = std::size_t{1} << 30;

/// A regular file or a pipe of `bytes_max` at most: a device may never end. An error is of kind
/// Usage and names the file and what the system said.
Result<std::string> read_file_or_pipe(const std::string& path,
                                      std::size_t bytes_max = kTextBytesMax);
/// Likewise, and refuses at once, with what to do, what is no regular file (a pipe would be waited
/// for, a device never ends) or has more than `bytes_max`.
Result<std::string> read_regular_file(const std::string& path, std::size_t bytes_max);

}  // namespace ib::fabric
