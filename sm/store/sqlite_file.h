// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Opens the store's file with SQLite, looks at all that is in it, and says what became of it.
#pragma once

#include <string>

#include "sm/store/sqlite_statement.h"
#include "sm/store/store.h"

namespace sm::store {

/// Pages of the store's file; SQLite's default ever since there was a store.
inline constexpr std::size_t kPageBytes = 4096;

enum class Health {
  Fine,
  Damaged,   // the file says other things than were written
  Newer,     // it is of a newer release
  Unusable,  // no damage: no room, no permission, no such device
};

struct SqliteFile {
  Database db;
  Health health{Health::Unusable};
  std::string reason;
  Contents contents;  // where it is fine
};

/// Opens, creates or migrates `path`. A damaged file is left as it is, its log included.
SqliteFile open_sqlite(const std::string& path, Sync sync);

}  // namespace sm::store
