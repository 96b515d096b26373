// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The tables of the store's file: how each row of them is read and written. A row's last column is
// its sum (row_sum.h).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sm/store/sqlite_statement.h"
#include "sm/store/store.h"

namespace sm::store {

struct Table {
  const char* name;
  const char* columns;  // in the order of the file: first the keys, last the sum
  std::size_t column_count;
  std::size_t keys;
  void (*take)(const Row& row, Contents& contents);  // adds it
};
std::span<const Table> tables();

/// "lid port_guid=0002c90300000001": which row it is, for a line of the log.
std::string describe(const Table& table, const Row& row);

/// All rows; those that do not fit their sums are described in `bad` and left out. Without `bad`
/// sums are not looked at. SQLITE_DONE, or what went wrong.
int load_rows(sqlite3* db, Contents& contents, std::vector<std::string>* bad);

/// What writes batches. Every statement is prepared once, for the life of the connection.
class Tables {
 public:
  explicit Tables(sqlite3* db);

  /// Inside a transaction. SQLITE_OK, or what went wrong.
  int write(const Batch& batch);

 private:
  int write_lids(const Batch& batch);
  int write_groups(const Batch& batch);
  int write_members(const Batch& batch);
  int write_services(const Batch& batch);
  int write_subscriptions(const Batch& batch);
  int write_aliases(const Batch& batch);
  int write_partition_members(const Batch& batch);
  int write_generated_p_keys(const Batch& batch);
  int write_programmed(const Batch& batch);

  Statement forget_lids_, remove_lid_, put_lid_;
  Statement remove_group_, remove_members_, put_group_;
  Statement remove_member_, put_member_;
  Statement remove_service_, put_service_;
  Statement remove_subscription_, put_subscription_;
  Statement remove_alias_, put_alias_;
  Statement remove_partition_member_, put_partition_member_;
  Statement put_generated_p_key_;
  Statement remove_programmed_, put_programmed_;
};

}  // namespace sm::store
