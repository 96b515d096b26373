// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The tables of the store's file, one for each kind (kinds.h), one for what is programmed, and
// one for how routes were made. A row's last column is its sum (row_sum.h).
#pragma once

#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "sm/store/kinds.h"
#include "sm/store/sqlite_statement.h"
#include "sm/store/store.h"

namespace sm::store {

/// What there is to know of a kind's table (kinds.h) without its types.
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
  template <class Kind>
  struct Statements {
    explicit Statements(sqlite3* db);
    int write(const Batch& batch);
    Statement remove, put;
  };
  template <class... Kinds>
  static std::tuple<Statements<Kinds>...> statements_of(const std::tuple<Kinds...>*);
  int write_programmed(const Batch& batch);
  int write_routes(const Batch& batch);

  Statement forget_lids_, remove_members_;
  decltype(statements_of(static_cast<const Kinds*>(nullptr))) of_kinds_;
  Statement remove_programmed_, put_programmed_;
  Statement remove_routes_, put_routes_;
};

}  // namespace sm::store
