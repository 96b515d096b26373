// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A SQLite connection and its prepared statements, with our ids as parameters and columns.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

#include "libdiag/base/ids.h"

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
  Statement(sqlite3* db, const char* sql) {
    sqlite3_stmt* raw = nullptr;
    prepared_ = code_ = sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &raw, nullptr);
    statement_.reset(raw);
  }
  Statement& bind(std::uint64_t v) {
    if (code_ == SQLITE_OK)
      code_ = sqlite3_bind_int64(statement_.get(), ++bound_, static_cast<sqlite3_int64>(v));
    return *this;
  }
  Statement& bind(const ib::Gid& gid) { return blob(gid.bytes.data(), gid.bytes.size()); }
  /// Big-endian, so that the file's order is the numbers' order.
  Statement& bind_ordered(std::uint64_t v) {
    std::uint8_t bytes[8];
    for (int i = 0; i < 8; ++i) bytes[i] = static_cast<std::uint8_t>(v >> (56 - 8 * i));
    return blob(bytes, sizeof bytes);
  }
  Statement& bind(ib::Guid guid) { return bind_ordered(guid.value); }
  Statement& bind(std::span<const std::byte> bytes) { return blob(bytes.data(), bytes.size()); }
  Statement& bind_null() {
    if (code_ == SQLITE_OK) code_ = sqlite3_bind_null(statement_.get(), ++bound_);
    return *this;
  }

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
    return code;
  }

  std::uint64_t integer(int column) const {
    return static_cast<std::uint64_t>(sqlite3_column_int64(statement_.get(), column));
  }
  template <class T>
  T integer_as(int column) const {
    return static_cast<T>(integer(column));
  }
  /// Empty for NULL.
  std::span<const std::byte> bytes(int column) const {
    const auto* at = static_cast<const std::byte*>(sqlite3_column_blob(statement_.get(), column));
    return {at, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
  }
  // Columns are checked by the schema to have the right length; another length reads as zero.
  ib::Gid gid(int column) const {
    ib::Gid g;
    if (const auto b = bytes(column); b.size() == g.bytes.size())
      std::memcpy(g.bytes.data(), b.data(), b.size());
    return g;
  }
  std::uint64_t ordered(int column) const {
    std::uint64_t v = 0;
    if (const auto b = bytes(column); b.size() == 8)
      for (const std::byte byte : b) v = (v << 8) | static_cast<std::uint8_t>(byte);
    return v;
  }
  ib::Guid guid(int column) const { return ib::Guid{ordered(column)}; }

 private:
  Statement& blob(const void* bytes, std::size_t size) {
    if (code_ == SQLITE_OK)
      code_ = sqlite3_bind_blob(statement_.get(), ++bound_, bytes, static_cast<int>(size),
                                SQLITE_TRANSIENT);
    return *this;
  }
  std::unique_ptr<sqlite3_stmt, FinalizeStatement> statement_;
  int bound_{0};
  int code_{SQLITE_OK};
  int prepared_{SQLITE_OK};
};

}  // namespace sm::store
