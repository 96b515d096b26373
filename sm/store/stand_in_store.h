// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The store in memory that stands in while its directory cannot be written: the subnet is managed
// all the same. As soon as the directory can be written, a file there has all that it holds.
#pragma once

#include <memory>
#include <string>

#include "sm/store/directory_lock.h"
#include "sm/store/store.h"

namespace sm::store {

/// Begins with `contents`, which is what could be read of the directory's file; a file that holds
/// anything else when it can be written is kept under another name. `lock`: null where none could
/// be had.
std::unique_ptr<Store> make_stand_in_store(std::string directory, Sync sync,
                                           std::shared_ptr<const DirectoryLock> lock,
                                           Contents contents);

}  // namespace sm::store
