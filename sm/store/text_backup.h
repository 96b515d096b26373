// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Text files beside the store from which it can be learned again when it is lost: opensm-sa.dump
// and guid2lid. Each is whole or not there, and the one before it is kept.
#pragma once

#include <string>

#include "libdiag/base/result.h"

namespace sm::store {

/// The backup before `path`.
std::string previous_backup(const std::string& path);

/// Writes the directory of `path` through. Until then a file that was renamed to it may be the old
/// one again after a loss of power.
ib::Result<void> keep_name(const std::string& path);

/// Writes `text` as `path`, whole or not at all.
ib::Result<void> replace_file(const std::string& path, const std::string& text);

/// The same; what was there becomes
/// previous_backup(path), unless it is the same.
ib::Result<void> write_backup(const std::string& path, const std::string& text);

}  // namespace sm::store
