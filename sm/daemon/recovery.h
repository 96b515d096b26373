// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Recovery: what the backups in the state directory (opensm-sa.dump, guid2lid) know and its store
// has lost. A backup that cannot be read is kept under another name, so that nothing overwrites it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "libdiag/base/log.h"
#include "sm/store/store.h"

namespace sm::daemon {

inline constexpr const char* kDumpName = "opensm-sa.dump";
inline constexpr const char* kLidsName = "guid2lid";

/// Adds to `store` and `contents` what `state_dir`'s backups have beyond them, where part of a
/// store was lost; at a first start imports the guid2lid that is there, whole or not at all, and
/// keeps a dump that another program left. `found` becomes Part
/// where only a backup tells that there was a store, of which `nothing` says that it is not there.
/// A line for each thing that an operator should know.
std::vector<ib::LogEvent> recover(const std::string& state_dir, std::int64_t unix_seconds,
                                  store::Found& found, store::Store& store,
                                  store::Contents& contents, const std::string& nothing);

}  // namespace sm::daemon
