// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The files of a store in its directory: ibsm.db, the new one that takes its place, the mark that
// says that there was one.
#pragma once

#include <memory>
#include <string>

#include "sm/store/directory_lock.h"
#include "sm/store/sqlite_file.h"
#include "sm/store/store.h"

namespace sm::store {

std::string database_path(const std::string& directory);

/// Whether `path` is there and has anything in it.
bool has_bytes(const std::string& path);

/// ServiceKeys are secrets, so the file is its owner's alone; SQLite gives its log the same mode.
/// Creates it.
ib::Result<void> make_private(const std::string& path);

/// Writes a new file beside `path` with `contents`, complete and closed.
ib::Result<void> write_fresh(const std::string& path, Contents contents);
/// Puts it in the place of `path`.
ib::Result<void> take_fresh(const std::string& path);
/// Does that after a death between "the old one is set aside" and "the new one is in its place".
void finish_replacement(const std::string& path);

/// The file and its log as "ibsm.db.WORD-N"; gives the new path.
ib::Result<std::string> set_database_aside(const std::string& path, const std::string& word);

/// Whether a store was kept here: one that is gone is a loss then, and no first start.
bool has_mark(const std::string& directory);
void leave_mark(const std::string& directory);

/// Why a file that is not fine is of no use: Unavailable where it is another release's, else Io.
tl::unexpected<ib::Error> cannot_use(const std::string& path, const SqliteFile& file);

/// "3 LIDs, 1 groups with 2 members, ..."
std::string counted(const Contents& contents);

}  // namespace sm::store
