// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/store/sqlite_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "sm/store/sqlite_schema.h"
#include "sm/store/sqlite_tables.h"
#include "sm/store/wal.h"

namespace sm::store {
namespace {

/// What is not the surroundings' fault is the file's: a changed byte makes SQLite say nearly
/// anything ("SQL logic error", "malformed database schema").
Health health_of(int code) {
  switch (code & 0xFF) {
    case SQLITE_OK:
    case SQLITE_DONE:
    case SQLITE_ROW:
      return Health::Fine;
    case SQLITE_PERM:
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_NOMEM:
    case SQLITE_READONLY:
    case SQLITE_INTERRUPT:
    case SQLITE_IOERR:
    case SQLITE_FULL:
    case SQLITE_CANTOPEN:
    case SQLITE_PROTOCOL:
    case SQLITE_NOLFS:
    case SQLITE_AUTH:
      return Health::Unusable;
    default:
      return Health::Damaged;
  }
}

/// SQLite takes twenty pages of cache at once for every database, as long as nobody says otherwise
/// before the first is opened (SQLITE_CONFIG_PAGECACHE). Ours are small.
void take_pages_one_by_one() {
  static const int done =
      sqlite3_config(SQLITE_CONFIG_PAGECACHE, static_cast<void*>(nullptr), 0, 0);
  (void)done;
}

/// One file being opened, step by step; each gives what is wrong.
class Opening {
 public:
  Opening(SqliteFile& file, std::string path) : file_(file), path_(std::move(path)) {}

  bool judge(int code) {
    if (health_of(code) == Health::Fine) return true;
    return refuse(health_of(code), sqlite3_errstr(code));
  }
  bool refuse(Health health, std::string reason) {
    file_.health = health;
    file_.reason = std::move(reason);
    return false;
  }

  bool open() {
    take_pages_one_by_one();
    sqlite3* raw = nullptr;
    const int code =
        sqlite3_open_v2(path_.c_str(), &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
    file_.db.reset(raw);
    return judge(code);
  }
  bool check_pages() {
    int code = SQLITE_OK;
    const std::string answer = ask(db(), "PRAGMA integrity_check(1)", code);
    if (!judge(code)) return false;
    return answer == "ok" || refuse(Health::Damaged, answer);
  }
  bool set(const char* pragma) {
    int code = SQLITE_OK;
    ask(db(), pragma, code);
    return judge(code);
  }
  bool settle_schema() {
    int code = SQLITE_OK;
    const SchemaVersion found = read_schema_version(db(), code);
    if (!judge(code)) return false;
    if (found.state == SchemaState::Newer)
      return refuse(Health::Newer,
                    fmt::format("it was written by a newer release (schema {}, ours is {})",
                                found.version, kSchemaVersion));
    if (found.state == SchemaState::Damaged)
      return refuse(Health::Damaged, fmt::format("schema version {}, where it should be {}",
                                                 found.version, kSchemaVersion));
    if (found.state != SchemaState::Ours && !judge(migrate(db(), found.version))) return false;
    const bool ours = has_our_tables(db(), code);
    if (!judge(code)) return false;
    return ours || refuse(Health::Damaged, "its tables are not those that ibsm makes");
  }
  /// A byte of the header can forbid to write.
  bool can_write() {
    if (sqlite3_db_readonly(db(), "main") == 0) return true;
    return refuse(::access(path_.c_str(), W_OK) == 0 ? Health::Damaged : Health::Unusable,
                  "it cannot be written");
  }
  bool read_rows() {
    std::vector<std::string> bad;
    if (!judge(load_rows(db(), file_.contents, &bad))) return false;
    return bad.empty() ||
           refuse(Health::Damaged,
                  fmt::format("{} of its records do not fit their checksums", bad.size()));
  }

 private:
  sqlite3* db() const { return file_.db.get(); }
  SqliteFile& file_;
  std::string path_;
};

}  // namespace

SqliteFile open_sqlite(const std::string& path, Sync sync) {
  SqliteFile file;
  Opening opening(file, path);
  // SQLite takes less than a page for no file at all.
  std::error_code none;
  if (const auto size = std::filesystem::file_size(path, none);
      !none && size > 0 && size < kPageBytes) {
    opening.refuse(Health::Damaged, "it is cut off");
    return file;
  }
  // SQLite would take the log up to the first frame that is not whole, and say nothing.
  if (const std::string damage = read_wal(path + "-wal").damage; !damage.empty()) {
    opening.refuse(Health::Damaged, damage);
    return file;
  }
  const bool fine =
      opening.open() && opening.check_pages() && opening.set("PRAGMA journal_mode=WAL") &&
      opening.set(sync == Sync::Full ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL") &&
      // What is removed must not come back when a damaged page is read record by record.
      opening.set("PRAGMA secure_delete=ON") && opening.settle_schema() && opening.can_write() &&
      opening.read_rows();
  if (fine) {
    file.health = Health::Fine;
  } else if (file.db) {
    sqlite3_db_config(file.db.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    file.db.reset();
    file.contents = {};
  }
  return file;
}

}  // namespace sm::store
