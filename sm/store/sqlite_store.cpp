// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The store as one SQLite file in WAL mode. A commit is one transaction; with synchronous=NORMAL it
// survives the death of the process at any moment (the log is in the kernel's hands), and a power
// cut can lose the last commits but never half of one.
#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "libdiag/base/text.h"
#include "sm/store/store.h"

namespace sm::store {
namespace {

using ib::ErrorKind;
using ib::fail;

constexpr int kSchemaVersion = 1;
constexpr const char* kSchema = R"sql(
CREATE TABLE IF NOT EXISTS lid (
  port_guid BLOB PRIMARY KEY CHECK(length(port_guid) = 8),
  lid INTEGER NOT NULL CHECK(lid BETWEEN 1 AND 49151),
  lmc INTEGER NOT NULL CHECK(lmc BETWEEN 0 AND 7)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS mc_group (
  mgid BLOB PRIMARY KEY CHECK(length(mgid) = 16),
  mlid INTEGER NOT NULL, q_key INTEGER NOT NULL, p_key INTEGER NOT NULL, mtu INTEGER NOT NULL,
  rate INTEGER NOT NULL, packet_life INTEGER NOT NULL, traffic_class INTEGER NOT NULL,
  sl INTEGER NOT NULL, flow_label INTEGER NOT NULL, hop_limit INTEGER NOT NULL,
  scope INTEGER NOT NULL, well_known INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS mc_member (
  mgid BLOB NOT NULL CHECK(length(mgid) = 16),
  port_gid BLOB NOT NULL CHECK(length(port_gid) = 16),
  join_state INTEGER NOT NULL, proxy_join INTEGER NOT NULL,
  PRIMARY KEY (mgid, port_gid)) WITHOUT ROWID;
)sql";

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

struct CloseDatabase {
  void operator()(sqlite3* db) const { sqlite3_close(db); }
};
struct FinalizeStatement {
  void operator()(sqlite3_stmt* s) const { sqlite3_finalize(s); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;

/// A prepared statement with its parameters bound in order.
class Statement {
 public:
  Statement(sqlite3* db, const char* sql) {
    sqlite3_stmt* raw = nullptr;
    code_ = sqlite3_prepare_v2(db, sql, -1, &raw, nullptr);
    statement_.reset(raw);
  }
  Statement& bind(std::uint64_t v) {
    if (code_ == SQLITE_OK)
      code_ = sqlite3_bind_int64(statement_.get(), ++bound_, static_cast<sqlite3_int64>(v));
    return *this;
  }
  Statement& bind(const ib::Gid& gid) { return blob(gid.bytes.data(), gid.bytes.size()); }
  Statement& bind(ib::Guid guid) {
    // Big-endian, so that the file's order is the GUIDs' order.
    std::uint8_t bytes[8];
    for (int i = 0; i < 8; ++i) bytes[i] = static_cast<std::uint8_t>(guid.value >> (56 - 8 * i));
    return blob(bytes, sizeof bytes);
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
    code_ = SQLITE_OK;
    return code;
  }
  std::uint64_t integer(int column) const {
    return static_cast<std::uint64_t>(sqlite3_column_int64(statement_.get(), column));
  }
  template <class T>
  T integer_as(int column) const {
    return static_cast<T>(integer(column));
  }
  /// Columns are checked by the schema to have the right length; another length reads as zero.
  ib::Gid gid(int column) const {
    ib::Gid g;
    if (sqlite3_column_bytes(statement_.get(), column) == 16)
      std::memcpy(g.bytes.data(), sqlite3_column_blob(statement_.get(), column), 16);
    return g;
  }
  ib::Guid guid(int column) const {
    std::uint64_t v = 0;
    if (sqlite3_column_bytes(statement_.get(), column) == 8) {
      const auto* b =
          static_cast<const std::uint8_t*>(sqlite3_column_blob(statement_.get(), column));
      for (int i = 0; i < 8; ++i) v = (v << 8) | b[i];
    }
    return ib::Guid{v};
  }

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
};

/// Statements are prepared once per batch: batches are rare, be they large or small.
class SqliteStore final : public Store {
 public:
  SqliteStore(DirectoryLock lock, Database db, std::string path)
      : lock_(std::move(lock)), db_(std::move(db)), path_(std::move(path)) {}

  ib::Result<Contents> load() override {
    Contents contents;
    int code = load_lids(contents);
    if (code == SQLITE_DONE) code = load_groups(contents);
    if (code == SQLITE_DONE) code = load_members(contents);
    if (code != SQLITE_DONE) return error("read", code);
    return contents;
  }

  ib::Result<void> commit(const Batch& batch) override {
    if (batch.empty()) return {};
    int code = execute("BEGIN IMMEDIATE");
    if (code == SQLITE_OK) code = write(batch);
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

  int load_lids(Contents& contents) {
    Statement s(db_.get(), "SELECT port_guid, lid, lmc FROM lid ORDER BY port_guid");
    int code;
    while ((code = s.step()) == SQLITE_ROW)
      contents.lids.push_back(
          {s.guid(0), ib::Lid{s.integer_as<std::uint16_t>(1)}, s.integer_as<std::uint8_t>(2)});
    return code;
  }
  int load_groups(Contents& contents) {
    Statement s(db_.get(),
                "SELECT mgid, mlid, q_key, p_key, mtu, rate, packet_life, traffic_class, sl, "
                "flow_label, hop_limit, scope, well_known FROM mc_group ORDER BY mgid");
    int code;
    while ((code = s.step()) == SQLITE_ROW) {
      McGroup g;
      g.mgid = s.gid(0);
      g.mlid = ib::Lid{s.integer_as<std::uint16_t>(1)};
      g.q_key = s.integer_as<std::uint32_t>(2);
      g.p_key = ib::PKey{s.integer_as<std::uint16_t>(3)};
      g.mtu = s.integer_as<std::uint8_t>(4);
      g.rate = s.integer_as<std::uint8_t>(5);
      g.packet_life = s.integer_as<std::uint8_t>(6);
      g.traffic_class = s.integer_as<std::uint8_t>(7);
      g.sl = ib::Sl{s.integer_as<std::uint8_t>(8)};
      g.flow_label = s.integer_as<std::uint32_t>(9);
      g.hop_limit = s.integer_as<std::uint8_t>(10);
      g.scope = s.integer_as<std::uint8_t>(11);
      g.well_known = s.integer(12) != 0;
      contents.groups.push_back(g);
    }
    return code;
  }
  int load_members(Contents& contents) {
    Statement s(db_.get(),
                "SELECT mgid, port_gid, join_state, proxy_join FROM mc_member "
                "ORDER BY mgid, port_gid");
    int code;
    while ((code = s.step()) == SQLITE_ROW)
      contents.members.push_back(
          {s.gid(0), s.gid(1), s.integer_as<std::uint8_t>(2), s.integer(3) != 0});
    return code;
  }

  int write(const Batch& batch) {
    if (batch.forget_lids) {
      if (const int code = execute("DELETE FROM lid"); code != SQLITE_OK) return code;
    }
    if (const int code = write_lids(batch); code != SQLITE_OK) return code;
    if (const int code = write_groups(batch); code != SQLITE_OK) return code;
    return write_members(batch);
  }
  int write_lids(const Batch& batch) {
    Statement remove(db_.get(), "DELETE FROM lid WHERE port_guid = ?");
    for (const auto guid : batch.lids_removed)
      if (const int code = remove.bind(guid).run(); code != SQLITE_DONE) return code;
    Statement put(db_.get(), "INSERT OR REPLACE INTO lid VALUES (?, ?, ?)");
    for (const auto& claim : batch.lids) {
      put.bind(claim.port_guid).bind(claim.lid.value).bind(claim.lmc);
      if (const int code = put.run(); code != SQLITE_DONE) return code;
    }
    return SQLITE_OK;
  }
  int write_groups(const Batch& batch) {
    Statement remove(db_.get(), "DELETE FROM mc_group WHERE mgid = ?");
    Statement remove_members(db_.get(), "DELETE FROM mc_member WHERE mgid = ?");
    for (const auto& mgid : batch.groups_removed) {
      if (const int code = remove.bind(mgid).run(); code != SQLITE_DONE) return code;
      if (const int code = remove_members.bind(mgid).run(); code != SQLITE_DONE) return code;
    }
    Statement put(db_.get(), "INSERT OR REPLACE INTO mc_group VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)");
    for (const auto& g : batch.groups) {
      put.bind(g.mgid).bind(g.mlid.value).bind(g.q_key).bind(g.p_key.value).bind(g.mtu);
      put.bind(g.rate).bind(g.packet_life).bind(g.traffic_class).bind(g.sl.value);
      put.bind(g.flow_label).bind(g.hop_limit).bind(g.scope).bind(g.well_known ? 1U : 0U);
      if (const int code = put.run(); code != SQLITE_DONE) return code;
    }
    return SQLITE_OK;
  }
  int write_members(const Batch& batch) {
    Statement remove(db_.get(), "DELETE FROM mc_member WHERE mgid = ? AND port_gid = ?");
    Statement put(db_.get(), "INSERT OR REPLACE INTO mc_member VALUES (?, ?, ?, ?)");
    for (const auto& m : batch.members) {
      const int code = m.join_state == 0 ? remove.bind(m.mgid).bind(m.port_gid).run()
                                         : put.bind(m.mgid)
                                               .bind(m.port_gid)
                                               .bind(m.join_state)
                                               .bind(m.proxy_join ? 1U : 0U)
                                               .run();
      if (code != SQLITE_DONE) return code;
    }
    return SQLITE_OK;
  }

  DirectoryLock lock_;
  Database db_;
  std::string path_;
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

OpenAttempt try_open(const std::string& path) {
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
  if (std::atoi(answer.c_str()) > kSchemaVersion) {
    attempt.health = Health::Unusable;
    attempt.reason = fmt::format("it was written by a newer release (schema {}, ours is {})",
                                 answer, kSchemaVersion);
    return attempt;
  }
  pragma(raw, "PRAGMA journal_mode=WAL", code);
  if (!judge(code)) return attempt;
  pragma(raw, "PRAGMA synchronous=NORMAL", code);
  if (!judge(code)) return attempt;
  if (!judge(sqlite3_exec(raw, kSchema, nullptr, nullptr, nullptr))) return attempt;
  judge(sqlite3_exec(raw, fmt::format("PRAGMA user_version={}", kSchemaVersion).c_str(), nullptr,
                     nullptr, nullptr));
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

}  // namespace

ib::Result<Opened> open_directory(const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error)
    return fail(ErrorKind::Unavailable,
                fmt::format("cannot create state directory {}: {}", directory, error.message()));
  auto lock = DirectoryLock::take(directory);
  if (!lock) return tl::unexpected(lock.error());

  const std::string path = directory + "/ibsm.db";
  Opened opened;
  auto attempt = try_open(path);
  if (attempt.health == Health::Damaged) {
    attempt.db.reset();
    auto aside = put_aside(path);
    if (!aside) return tl::unexpected(aside.error());
    opened.warnings.push_back(fmt::format(
        "{} is damaged ({}): put aside as {}, starting with an empty one; LIDs are taken from the "
        "ports that still hold one",
        path, ib::printable(attempt.reason), *aside));
    attempt = try_open(path);
  }
  if (attempt.health != Health::Fine)
    return fail(ErrorKind::Unavailable, fmt::format("cannot use {}: {}", path, attempt.reason));
  opened.store = std::make_unique<SqliteStore>(std::move(*lock), std::move(attempt.db), path);
  return opened;
}

}  // namespace sm::store
