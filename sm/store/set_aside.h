// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A file that is no longer used and may still be wanted, under another name.
#pragma once

#include <string>

#include "libdiag/base/result.h"

namespace sm::store {

/// Renames `path` to the first free "PATH.WORD-N", which it gives: nothing is ever overwritten.
ib::Result<std::string> set_aside(const std::string& path, const std::string& word);

}  // namespace sm::store
