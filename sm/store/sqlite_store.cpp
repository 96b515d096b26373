// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The store as one SQLite file in WAL mode. A commit is one transaction. With synchronous=NORMAL it
// survives the death of the process at any moment (the log is in the kernel's hands), and a power
// cut can lose the last commits but never half of one; with FULL it survives the power cut too.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "libdiag/base/text.h"
#include "sm/store/sqlite_tables.h"
#include "sm/store/store.h"

namespace sm::store {
namespace {

using ib::ErrorKind;
using ib::fail;

/// An open file descriptor that holds the directory's flock; the kernel drops it however we die.
class DirectoryLock {
 public:
  static ib::Result<DirectoryLock> take(const std::string& directory) {
    const std::string path = directory + "/ibsm.lock";
    DirectoryLock lock;
    lock.fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock.fd_ < 0)
      return fail(ErrorKind::Unavailable,
                  fmt::format("cannot open {}: {}", path, std::strerror(errno)));
    if (::flock(lock.fd_, LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK)
        return fail(ErrorKind::Unavailable,
                    fmt::format("cannot lock {}: {}", path, std::strerror(errno)));
      return fail(ErrorKind::Unavailable,
                  fmt::format("state directory {} is in use by another ibsm{}; end that one, or "
                              "give this one its own --state-dir",
                              directory, lock.owner()));
    }
    lock.write_owner();
    return lock;
  }
  DirectoryLock(DirectoryLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  DirectoryLock& operator=(DirectoryLock&&) = delete;
  ~DirectoryLock() {
    if (fd_ >= 0) ::close(fd_);
  }

 private:
  DirectoryLock() = default;

  /// " (process 123)" if the holder left its number, for the message only.
  std::string owner() const {
    char text[16]{};
    const auto n = ::pread(fd_, text, sizeof text - 1, 0);
    const long pid = n > 0 ? std::strtol(text, nullptr, 10) : 0;
    return pid > 0 ? fmt::format(" (process {})", pid) : std::string();
  }
  void write_owner() const {
    const auto text = fmt::format("{}\n", ::getpid());
    // The number only serves the message above, so that a full disk is no reason to stop here.
    if (::ftruncate(fd_, 0) == 0) (void)!::pwrite(fd_, text.data(), text.size(), 0);
  }

  int fd_{-1};
};

class SqliteStore final : public Store {
 public:
  SqliteStore(DirectoryLock lock, Database db, std::string path)
      : lock_(std::move(lock)), db_(std::move(db)), path_(std::move(path)), tables_(db_.get()) {}

  ib::Result<Contents> load() override {
    Contents contents;
    if (const int code = Tables::load(db_.get(), contents); code != SQLITE_DONE)
      return error("read", code);
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
    return fail(ErrorKind::Io, fmt::format("cannot {} {}: {}", verb, path_, sqlite3_errstr(code)));
  }

  DirectoryLock lock_;
  Database db_;
  std::string path_;
  Tables tables_;  // after db_: statements go before their connection
};

/// SQLite's verdict on a file: fine, damaged, or something that is no damage (permission, disk).
enum class Health { Fine, Damaged, Unusable };

struct OpenAttempt {
  Database db;
  Health health{Health::Unusable};
  std::string reason;
};

Health health_of(int code) {
  switch (code & 0xFF) {
    case SQLITE_OK:
    case SQLITE_DONE:
    case SQLITE_ROW:
      return Health::Fine;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return Health::Damaged;
    default:
      return Health::Unusable;
  }
}

/// The answer of a one-row pragma as text; empty when it gave none.
std::string pragma(sqlite3* db, const char* sql, int& code) {
  std::string text;
  code = sqlite3_exec(
      db, sql,
      [](void* to, int columns, char** values, char**) {
        if (columns > 0 && values[0] != nullptr) static_cast<std::string*>(to)->assign(values[0]);
        return 0;
      },
      &text, nullptr);
  return text;
}

/// SQLite takes twenty pages of cache at once for every database, as long as nobody says otherwise
/// before the first is opened (SQLITE_CONFIG_PAGECACHE). Ours are small.
void take_pages_one_by_one() {
  static const int done =
      sqlite3_config(SQLITE_CONFIG_PAGECACHE, static_cast<void*>(nullptr), 0, 0);
  (void)done;
}

OpenAttempt try_open(const std::string& path, Sync sync) {
  take_pages_one_by_one();
  OpenAttempt attempt;
  sqlite3* raw = nullptr;
  int code =
      sqlite3_open_v2(path.c_str(), &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  attempt.db.reset(raw);
  const auto judge = [&](int c) {
    attempt.health = health_of(c);
    attempt.reason = sqlite3_errstr(c);
    return attempt.health == Health::Fine;
  };
  if (!judge(code)) return attempt;

  std::string answer = pragma(raw, "PRAGMA integrity_check(1)", code);
  if (!judge(code)) return attempt;
  if (answer != "ok") {
    attempt.health = Health::Damaged;
    attempt.reason = answer;
    return attempt;
  }
  answer = pragma(raw, "PRAGMA user_version", code);
  if (!judge(code)) return attempt;
  const int version = std::atoi(answer.c_str());
  if (version > kSchemaVersion) {
    attempt.health = Health::Unusable;
    attempt.reason = fmt::format("it was written by a newer release (schema {}, ours is {})",
                                 version, kSchemaVersion);
    return attempt;
  }
  pragma(raw, "PRAGMA journal_mode=WAL", code);
  if (!judge(code)) return attempt;
  pragma(raw, sync == Sync::Full ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL", code);
  if (!judge(code)) return attempt;
  if (version < kSchemaVersion) judge(migrate(raw, version));
  return attempt;
}

/// Renames the damaged file and its log to the first free "ibsm.db.damaged-N"; returns the new
/// path.
ib::Result<std::string> put_aside(const std::string& path) {
  namespace fs = std::filesystem;
  std::string aside;
  for (unsigned n = 1;; ++n) {
    aside = fmt::format("{}.damaged-{}", path, n);
    std::error_code ignored;
    if (!fs::exists(aside, ignored)) break;
  }
  std::error_code error;
  fs::rename(path, aside, error);
  if (error)
    return fail(ErrorKind::Unavailable,
                fmt::format("cannot put damaged {} aside: {}", path, error.message()));
  // The log belongs to the damaged file; left in place it would be played into the new one.
  for (const char* suffix : {"-wal", "-shm"}) {
    std::error_code ignored;
    fs::rename(path + suffix, aside + suffix, ignored);
  }
  return aside;
}

/// ServiceKeys are secrets, so the file is its owner's alone; SQLite gives its log the same mode.
ib::Result<void> make_private(const std::string& path) {
  for (const char* suffix : {"", "-wal", "-shm"}) {
    const std::string file = path + suffix;
    if (::chmod(file.c_str(), 0600) == 0 || errno != ENOENT) continue;
    if (*suffix != '\0') continue;
    const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
      return fail(ErrorKind::Unavailable,
                  fmt::format("cannot create {}: {}", file, std::strerror(errno)));
    ::close(fd);
  }
  return {};
}

}  // namespace

ib::Result<Opened> open_directory(const std::string& directory, Sync sync) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error)
    return fail(ErrorKind::Unavailable,
                fmt::format("cannot create state directory {}: {}", directory, error.message()));
  auto lock = DirectoryLock::take(directory);
  if (!lock) return tl::unexpected(lock.error());

  const std::string path = directory + "/ibsm.db";
  if (auto ours = make_private(path); !ours) return tl::unexpected(ours.error());
  Opened opened;
  auto attempt = try_open(path, sync);
  if (attempt.health == Health::Damaged) {
    attempt.db.reset();
    auto aside = put_aside(path);
    if (!aside) return tl::unexpected(aside.error());
    opened.warnings.push_back(fmt::format(
        "{} is damaged ({}): put aside as {}, starting with an empty one; LIDs are taken from the "
        "ports that still hold one",
        path, ib::printable(attempt.reason), *aside));
    attempt = try_open(path, sync);
  }
  if (attempt.health != Health::Fine)
    return fail(ErrorKind::Unavailable, fmt::format("cannot use {}: {}", path, attempt.reason));
  opened.store = std::make_unique<SqliteStore>(std::move(*lock), std::move(attempt.db), path);
  return opened;
}

}  // namespace sm::store
