// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/store/store_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "libdiag/base/text.h"
#include "sm/store/kinds.h"
#include "sm/store/set_aside.h"
#include "sm/store/sqlite_store.h"
#include "sm/store/text_backup.h"

namespace sm::store {
namespace {

namespace fs = std::filesystem;
using ib::ErrorKind;
using ib::fail;

constexpr const char* kLogs[] = {"-wal", "-shm"};  // of SQLite, beside the file

std::string fresh_path(const std::string& path) { return path + ".new"; }
std::string mark_path(const std::string& directory) { return directory + "/ibsm.mark"; }

void remove_fresh(const std::string& fresh) {
  std::error_code ignored;
  fs::remove(fresh, ignored);
  for (const char* log : kLogs) fs::remove(fresh + log, ignored);
}

ib::Result<void> fill(const std::string& fresh, Contents contents) {
  if (auto ours = make_private(fresh); !ours) return ours;
  SqliteFile file = open_sqlite(fresh, Sync::Full);
  if (file.health != Health::Fine) return cannot_use(fresh, file);
  auto store = make_sqlite_store(std::move(file.db), fresh, nullptr);
  if (auto kept = store->commit(batch_of(std::move(contents))); !kept) return kept;
  store.reset();
  if (has_bytes(fresh + kLogs[0]))
    return fail(ErrorKind::Io, fmt::format("cannot complete {} from its log", fresh));
  return {};
}

}  // namespace

std::string database_path(const std::string& directory) { return directory + "/ibsm.db"; }

bool has_bytes(const std::string& path) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  return !error && size != 0;
}

ib::Result<void> make_private(const std::string& path) {
  for (const char* log : kLogs) ::chmod((path + log).c_str(), 0600);
  if (::chmod(path.c_str(), 0600) == 0 || errno != ENOENT) return {};
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0)
    return fail(ErrorKind::Io, fmt::format("cannot create {}: {}", path, std::strerror(errno)));
  ::close(fd);
  return {};
}

ib::Result<void> write_fresh(const std::string& path, Contents contents) {
  const std::string fresh = fresh_path(path);
  remove_fresh(fresh);
  auto written = fill(fresh, std::move(contents));
  if (!written) remove_fresh(fresh);
  return written;
}

ib::Result<void> take_fresh(const std::string& path) {
  std::error_code error;
  fs::rename(fresh_path(path), path, error);
  if (error)
    return fail(ErrorKind::Io,
                fmt::format("cannot rename {} to {}: {}", fresh_path(path), path, error.message()));
  return keep_name(path);
}

void finish_replacement(const std::string& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored) && fs::exists(fresh_path(path), ignored)) (void)take_fresh(path);
}

ib::Result<std::string> set_database_aside(const std::string& path, const std::string& word) {
  auto aside = set_aside(path, word);
  if (!aside) return aside;
  // The log belongs to that file; left in place it would be played into the new one.
  for (const char* log : kLogs) {
    std::error_code ignored;
    fs::rename(path + log, *aside + log, ignored);
  }
  return aside;
}

bool has_mark(const std::string& directory) {
  std::error_code ignored;
  return fs::exists(mark_path(directory), ignored);
}

void leave_mark(const std::string& directory) {
  if (has_mark(directory)) return;
  // Where there is no room for it the next start makes it.
  std::ofstream(mark_path(directory)) << "A store of ibsm is kept here. Without this file a "
                                         "missing ibsm.db is taken for a first start.\n";
}

tl::unexpected<ib::Error> cannot_use(const std::string& path, const SqliteFile& file) {
  return fail(file.health == Health::Newer ? ErrorKind::Unavailable : ErrorKind::Io,
              fmt::format("cannot use {}: {}", path, ib::printable(file.reason)));
}

std::string counted(const Contents& contents) {
  std::string text;
  for_each_kind([&](auto kind) {
    using Kind = decltype(kind);
    text +=
        fmt::format("{}{} {}", text.empty() ? "" : ", ", (contents.*Kind::kept).size(), Kind::word);
  });
  return text;
}

}  // namespace sm::store
