// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/recovery.h"

#include <fmt/format.h>

#include <filesystem>
#include <functional>
#include <utility>

#include "sm/daemon/sa_dump.h"
#include "sm/sa/registry/dump_file.h"
#include "sm/store/guid2lid.h"
#include "sm/store/set_aside.h"
#include "sm/store/text_backup.h"

namespace sm::daemon {
namespace {

using ib::LogLevel;

bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

class Recovery {
 public:
  Recovery(const std::string& state_dir, std::int64_t unix_seconds, store::Store& store,
           store::Contents& contents)
      : dump_(state_dir + "/" + kDumpName),
        lids_(state_dir + "/" + kLidsName),
        unix_seconds_(unix_seconds),
        store_(store),
        contents_(contents) {}

  /// Only ibsm begins a dump like that.
  bool is_dump_ours() const {
    const auto text = read_dump_file(dump_);
    return text && text->starts_with(sa::kDumpBegins);
  }

  /// At a first start: LIDs stay what they were under the subnet manager before.
  void take_what_is_not_ours() {
    if (exists(dump_)) keep(dump_, "kept", LogLevel::Info, "it was there before ibsm");
    if (!exists(lids_)) return;
    const auto text = read_dump_file(lids_);
    auto lids = text ? store::import_guid2lid(*text)
                     : ib::Result<std::vector<store::LidClaim>>(tl::unexpected(text.error()));
    if (lids)
      add_lids(lids_, *lids);
    else
      keep(lids_, "unread", LogLevel::Error,
           fmt::format("none of its LIDs is used: {}{}", text ? lids_ + ':' : std::string(),
                       lids.error().message));
  }

  void take_backups() {
    take_first_of(lids_, [this](auto&... a) { return take_lids(a...); });
    take_first_of(dump_, [this](auto&... a) { return take_registered(a...); });
  }

  void say(LogLevel level, std::string line) {
    lines_.push_back({level, "store", std::move(line)});
  }
  std::vector<ib::LogEvent> lines() && { return std::move(lines_); }

 private:
  /// Whether the text can be read.
  using Taker = std::function<bool(const std::string& path, const std::string& text)>;

  /// The last backup, or the one before where the last cannot be read.
  void take_first_of(const std::string& path, const Taker& take) {
    for (const std::string& candidate : {path, store::previous_backup(path)}) {
      if (!exists(candidate)) continue;
      const auto text = read_dump_file(candidate);
      if (text && take(candidate, *text)) return;
      keep(candidate, "unread", LogLevel::Error,
           text ? "nothing in it can be read" : text.error().message);
    }
    say(LogLevel::Warning, path + ": there is no backup of what was lost");
  }

  void keep(const std::string& path, const char* word, LogLevel level, const std::string& why) {
    const auto kept = store::set_aside(path, word);
    say(kept ? level : LogLevel::Error,
        kept ? fmt::format("{} is kept as {}: {}", path, *kept, why) : kept.error().message);
  }

  bool take_lids(const std::string& path, const std::string& text) {
    const auto read = store::salvage_guid2lid(text);
    if (read.lids.empty()) return false;
    if (read.lines_not_read != 0)
      say(LogLevel::Warning,
          fmt::format("{}: {} lines could not be read and are skipped", path, read.lines_not_read));
    add_lids(path, read.lids);
    return true;
  }

  void add_lids(const std::string& path, const std::vector<store::LidClaim>& lids) {
    store::Batch batch;
    batch.lids = store::lids_missing_from(contents_.lids, lids);
    store::apply(batch, contents_);
    say(LogLevel::Info, fmt::format("{}: took the LIDs of {} ports", path, batch.lids.size()));
    if (auto kept = store_.commit(batch); !kept) say(LogLevel::Error, kept.error().message);
  }

  bool take_registered(const std::string& path, const std::string& text) {
    if (!sa::is_dump(text)) return false;
    auto taken = take_dump(path, text, unix_seconds_, store_, contents_);
    if (!taken) say(LogLevel::Error, taken.error().message);
    if (taken)
      for (ib::LogEvent& line : *taken) lines_.push_back(std::move(line));
    return true;
  }

  std::string dump_, lids_;
  std::int64_t unix_seconds_;
  store::Store& store_;
  store::Contents& contents_;
  std::vector<ib::LogEvent> lines_;
};

}  // namespace

std::vector<ib::LogEvent> recover(const std::string& state_dir, std::int64_t unix_seconds,
                                  store::Found& found, store::Store& store,
                                  store::Contents& contents, const std::string& nothing) {
  Recovery recovery(state_dir, unix_seconds, store, contents);
  if (found == store::Found::Nothing && recovery.is_dump_ours()) {
    found = store::Found::Part;
    recovery.say(LogLevel::Error,
                 fmt::format("{}, although an SA dump of ibsm is in {}: a new store is begun from "
                             "that and from the LIDs that ports hold",
                             nothing, state_dir));
  }
  if (found == store::Found::Nothing) recovery.take_what_is_not_ours();
  if (found == store::Found::Part) recovery.take_backups();
  return std::move(recovery).lines();
}

}  // namespace sm::daemon
