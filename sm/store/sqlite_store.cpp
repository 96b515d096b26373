// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/store/sqlite_store.h"

#include <fmt/format.h>

#include <utility>

#include "sm/store/sqlite_tables.h"

namespace sm::store {
namespace {

class SqliteStore final : public Store {
 public:
  SqliteStore(Database db, std::string path, std::shared_ptr<const DirectoryLock> lock)
      : lock_(std::move(lock)), db_(std::move(db)), path_(std::move(path)), tables_(db_.get()) {}

  ib::Result<Contents> load() override {
    Contents contents;
    std::vector<std::string> bad;
    if (const int code = load_rows(db_.get(), contents, &bad); code != SQLITE_DONE)
      return error("read", code);
    if (!bad.empty())
      return ib::fail(ib::ErrorKind::Io,
                      fmt::format("{} does not fit its checksum in {}", bad.front(), path_));
    return contents;
  }

  ib::Result<void> commit(const Batch& batch) override {
    if (batch.empty()) return {};
    int code = execute("BEGIN IMMEDIATE");
    if (code == SQLITE_OK) code = tables_.write(batch);
    if (code == SQLITE_OK) code = execute("COMMIT");
    if (code == SQLITE_OK) return {};
    auto failed = error("write", code);
    execute("ROLLBACK");
    return failed;
  }

 private:
  int execute(const char* sql) { return sqlite3_exec(db_.get(), sql, nullptr, nullptr, nullptr); }
  tl::unexpected<ib::Error> error(const char* verb, int code) const {
    return ib::fail(ib::ErrorKind::Io,
                    fmt::format("cannot {} {}: {}", verb, path_, sqlite3_errstr(code)));
  }

  std::shared_ptr<const DirectoryLock> lock_;
  Database db_;
  std::string path_;
  Tables tables_;  // after db_: statements go before their connection
};

}  // namespace

std::unique_ptr<Store> make_sqlite_store(Database db, std::string path,
                                         std::shared_ptr<const DirectoryLock> lock) {
  return std::make_unique<SqliteStore>(std::move(db), std::move(path), std::move(lock));
}

}  // namespace sm::store
