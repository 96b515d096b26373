// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The tables of the store's file: their schema from release to release, and Contents and Batch as
// rows. Transactions, and what to do with a damaged file, are the store's.
#pragma once

#include "sm/store/sqlite_statement.h"
#include "sm/store/store.h"

namespace sm::store {

/// Of the tables below; kept as the file's user_version.
inline constexpr int kSchemaVersion = 3;

/// Brings a file from schema `version` (0: empty) to ours, all or nothing. A SQLite code.
int migrate(sqlite3* db, int version);

/// Every statement is prepared once, for the life of the connection.
class Tables {
 public:
  explicit Tables(sqlite3* db);

  /// SQLITE_DONE, or what went wrong.
  static int load(sqlite3* db, Contents& contents);
  /// Inside a transaction. SQLITE_OK, or what went wrong.
  int write(const Batch& batch);

 private:
  int write_lids(const Batch& batch);
  int write_groups(const Batch& batch);
  int write_members(const Batch& batch);
  int write_services(const Batch& batch);
  int write_subscriptions(const Batch& batch);
  int write_aliases(const Batch& batch);

  Statement forget_lids_, remove_lid_, put_lid_;
  Statement remove_group_, remove_members_, put_group_;
  Statement remove_member_, put_member_;
  Statement remove_service_, put_service_;
  Statement remove_subscription_, put_subscription_;
  Statement remove_alias_, put_alias_;
};

}  // namespace sm::store
