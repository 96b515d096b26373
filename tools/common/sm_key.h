// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The key of subnet administration as a command line gives it (--smkey, --smkey-file).
#pragma once

#include <cstdint>
#include <string>

#include "libdiag/base/result.h"

namespace ib::tools {

/// The number that `file` holds; `key` where no file is named. A key on the command line can be
/// seen by everybody on the host, in a file it need not. Error: Usage, with the file's name.
Result<std::uint64_t> sm_key(std::uint64_t key, const std::string& file);

}  // namespace ib::tools
