// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The store as one SQLite file in WAL mode. A commit is one transaction. With synchronous=NORMAL it
// survives the death of the process at any moment (the log is in the kernel's hands), and a power
// cut can lose the last commits but never half of one; with FULL it survives the power cut too.
#pragma once

#include <memory>
#include <string>

#include "sm/store/directory_lock.h"
#include "sm/store/sqlite_statement.h"
#include "sm/store/store.h"

namespace sm::store {

/// On the open file `db`, called `path` in messages; `lock` (null: none) goes with it.
std::unique_ptr<Store> make_sqlite_store(Database db, std::string path,
                                         std::shared_ptr<const DirectoryLock> lock);

}  // namespace sm::store
