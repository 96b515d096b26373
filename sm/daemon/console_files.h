// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Files that commands of the console write. Anybody who reaches the console's port names them, so
// they have a folder of their own, in which nothing of ibsm's is.
#pragma once

#include <string>

#include "libdiag/base/result.h"

namespace sm::daemon {

inline constexpr const char* kConsoleFolder = "console";
inline constexpr std::size_t kConsoleFilesMax = 64;

/// Writes DUMP_FOLDER/console/NAME, whole or not at all; one that is there is replaced, a symbolic
/// link itself and not what it leads to. Refused: a name with a folder or of a special form, a
/// folder that is a link or another user's, more than kConsoleFilesMax files.
ib::Result<void> write_console_file(const std::string& dump_folder, const std::string& name,
                                    const std::string& text);

/// For a client that is trusted to name any path: what lies in `state_dir` is refused.
ib::Result<void> write_file_anywhere(const std::string& state_dir, const std::string& path,
                                     const std::string& text);

}  // namespace sm::daemon
