// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A state directory's store as it is found: whole, new, lost, damaged, out of reach; and what
// follows.
#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "libdiag/base/text.h"
#include "sm/store/salvage.h"
#include "sm/store/sqlite_store.h"
#include "sm/store/stand_in_store.h"
#include "sm/store/store_files.h"

namespace sm::store {
namespace {

using ib::ErrorKind;
using ib::fail;
using Lock = std::shared_ptr<const DirectoryLock>;

constexpr std::size_t kLostNamedMax = 20;

void say(Opened& opened, std::string line) {
  opened.lines.push_back({ib::LogLevel::Error, "store", std::move(line)});
}

/// Whether there is a store, and the line for one that is gone.
Found find_store(const std::string& directory, Opened& opened) {
  const std::string path = database_path(directory);
  if (has_bytes(path)) return Found::All;
  if (!has_mark(directory)) return Found::Nothing;
  std::error_code ignored;
  say(opened, fmt::format("{} is {}, although a store was kept here: a new one is begun, LIDs are "
                          "taken from the ports that hold one, and what clients had registered "
                          "from backups where there are any",
                          path, std::filesystem::exists(path, ignored) ? "empty" : "gone"));
  return Found::Part;
}

/// Makes a new file of what the damaged one still tells, and keeps the damaged one.
ib::Result<void> replace(const std::string& path, const std::string& reason, Opened& opened) {
  Salvaged saved = salvage(path);
  const std::string used = counted(saved.contents);
  const bool empty = saved.contents == Contents{};
  if (auto written = write_fresh(path, std::move(saved.contents)); !written) return written;
  auto aside = set_database_aside(path, "damaged");
  if (!aside) return tl::unexpected(std::move(aside.error()));
  if (auto taken = take_fresh(path); !taken) return taken;

  say(opened,
      fmt::format("{} is damaged ({}): it is kept as {}; {}", path, ib::printable(reason), *aside,
                  empty ? "nothing in it can be read, LIDs are taken from the ports that hold one"
                        : "what can be read is used: " + used));
  for (std::size_t i = 0; i < saved.lost.size() && i < kLostNamedMax; ++i)
    say(opened,
        fmt::format("{}: {} does not fit its checksum and is left out", *aside, saved.lost[i]));
  if (saved.lost.size() > kLostNamedMax)
    say(opened, fmt::format("{}: and so are {} more", *aside, saved.lost.size() - kLostNamedMax));
  opened.found = saved.whole && !empty ? Found::All : Found::Part;
  return {};
}

ib::Result<Opened> open_files(const std::string& directory, Sync sync, const Lock& lock) {
  const std::string path = database_path(directory);
  finish_replacement(path);
  Opened opened;
  opened.found = find_store(directory, opened);
  if (auto ours = make_private(path); !ours) return tl::unexpected(std::move(ours.error()));
  SqliteFile file;
  if (opened.found != Found::All && has_bytes(path + "-wal")) {
    file.health = Health::Damaged;
    file.reason = "its log is there, and it is empty";
  } else {
    file = open_sqlite(path, sync);
  }
  if (file.health == Health::Damaged) {
    if (auto done = replace(path, file.reason, opened); !done)
      return tl::unexpected(std::move(done.error()));
    file = open_sqlite(path, sync);
  }
  if (file.health != Health::Fine) return cannot_use(path, file);
  leave_mark(directory);
  opened.contents = std::move(file.contents);
  opened.store = make_sqlite_store(std::move(file.db), path, lock);
  return opened;
}

}  // namespace

ib::Result<Opened> open_directory(const std::string& directory, Sync sync) {
  auto lock = lock_directory(directory);
  if (!lock) return tl::unexpected(std::move(lock.error()));
  return open_files(directory, sync, *lock);
}

ib::Result<Opened> open_or_stand_in(const std::string& directory, Sync sync) {
  auto lock = lock_directory(directory);
  auto opened = lock ? open_files(directory, sync, *lock)
                     : ib::Result<Opened>(tl::unexpected(std::move(lock.error())));
  if (opened || opened.error().kind != ErrorKind::Io) return opened;

  const std::string path = database_path(directory);
  Salvaged saved = salvage(path);
  Opened in_memory;
  in_memory.found = find_store(directory, in_memory);
  if (in_memory.found == Found::All && (!saved.whole || saved.contents == Contents{}))
    in_memory.found = Found::Part;
  say(in_memory, fmt::format("{}: the subnet is managed from memory, and what clients register is "
                             "lost when ibsm ends; writing is tried again every 10 s",
                             opened.error().message));
  if (in_memory.found != Found::Nothing)
    say(in_memory,
        fmt::format("of {} is used what can be read: {}", path, counted(saved.contents)));
  in_memory.contents = saved.contents;
  in_memory.store =
      make_stand_in_store(directory, sync, lock ? *lock : nullptr, std::move(saved.contents));
  return in_memory;
}

}  // namespace sm::store
