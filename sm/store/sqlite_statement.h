// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A SQLite connection and its prepared statements, with our ids as parameters and columns.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "libdiag/base/ids.h"
#include "sm/store/row.h"
#include "sm/store/row_sum.h"

namespace sm::store {

struct CloseDatabase {
  void operator()(sqlite3* db) const { sqlite3_close(db); }
};
struct FinalizeStatement {
  void operator()(sqlite3_stmt* s) const { sqlite3_finalize(s); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;

/// A prepared statement with its parameters bound in order. Errors are kept and told by step().
class Statement {
 public:
  /// `table`: whose rows it writes, for bind_sum().
  Statement(sqlite3* db, const char* sql, std::string_view table = {}) : empty_sum_(table) {
    sqlite3_stmt* raw = nullptr;
    prepared_ = code_ = sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &raw, nullptr);
    statement_.reset(raw);
  }
  Statement& bind(std::uint64_t v) {
    const auto integer = static_cast<std::int64_t>(v);
    sum_.add(integer);
    if (code_ == SQLITE_OK) code_ = sqlite3_bind_int64(statement_.get(), ++bound_, integer);
    return *this;
  }
  Statement& bind(const ib::Gid& gid) { return bind(std::as_bytes(std::span(gid.bytes))); }
  /// Big-endian, so that the file's order is the numbers' order.
  Statement& bind_ordered(std::uint64_t v) {
    std::uint8_t bytes[8];
    for (int i = 0; i < 8; ++i) bytes[i] = static_cast<std::uint8_t>(v >> (56 - 8 * i));
    return bind(std::as_bytes(std::span(bytes)));
  }
  Statement& bind(ib::Guid guid) { return bind_ordered(guid.value); }
  Statement& bind(std::span<const std::byte> bytes) {
    sum_.add(bytes);
    if (code_ == SQLITE_OK)
      code_ = sqlite3_bind_blob(statement_.get(), ++bound_, bytes.data(),
                                static_cast<int>(bytes.size()), SQLITE_TRANSIENT);
    return *this;
  }
  Statement& bind_null() {
    sum_.add_null();
    if (code_ == SQLITE_OK) code_ = sqlite3_bind_null(statement_.get(), ++bound_);
    return *this;
  }
  /// The sum of what was bound since the last run().
  Statement& bind_sum() { return bind(static_cast<std::uint64_t>(sum_.value())); }

  /// SQLITE_ROW, SQLITE_DONE or an error code.
  int step() {
    if (code_ == SQLITE_OK || code_ == SQLITE_ROW) code_ = sqlite3_step(statement_.get());
    return code_;
  }
  /// Runs a statement without rows and makes it ready for the next binding.
  int run() {
    const int code = step();
    sqlite3_reset(statement_.get());
    bound_ = 0;
    code_ = prepared_;
    sum_ = empty_sum_;
    return code;
  }

  /// Where step() came to.
  Row row() const {
    Row row;
    const int columns = sqlite3_column_count(statement_.get());
    for (int i = 0; i < columns; ++i) row.add(value(i));
    return row;
  }

 private:
  Value value(int column) const {
    sqlite3_stmt* s = statement_.get();
    switch (sqlite3_column_type(s, column)) {
      case SQLITE_NULL:
        return {};
      case SQLITE_INTEGER:
        return {Value::Kind::Integer, sqlite3_column_int64(s, column), {}};
      case SQLITE_BLOB: {
        const auto* at = static_cast<const std::byte*>(sqlite3_column_blob(s, column));
        return {
            Value::Kind::Blob, 0, {at, static_cast<std::size_t>(sqlite3_column_bytes(s, column))}};
      }
      default:
        return {Value::Kind::Other, 0, {}};
    }
  }
  std::unique_ptr<sqlite3_stmt, FinalizeStatement> statement_;
  int bound_{0};
  int code_{SQLITE_OK};
  int prepared_{SQLITE_OK};
  RowSum empty_sum_, sum_{empty_sum_};
};

}  // namespace sm::store
