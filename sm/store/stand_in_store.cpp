// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/store/stand_in_store.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "sm/store/directory_lock.h"
#include "sm/store/sqlite_store.h"
#include "sm/store/store_files.h"

namespace sm::store {
namespace {

constexpr ib::Duration kTryEvery = std::chrono::seconds(10);

class StandInStore final : public Store {
 public:
  StandInStore(std::string directory, Sync sync, std::shared_ptr<const DirectoryLock> lock,
               Contents contents)
      : directory_(std::move(directory)),
        path_(database_path(directory_)),
        sync_(sync),
        lock_(std::move(lock)),
        known_(contents),
        contents_(std::move(contents)) {}

  ib::Result<Contents> load() override { return file_ ? file_->load() : contents_; }

  ib::Result<void> commit(const Batch& batch) override {
    if (file_) return file_->commit(batch);
    apply(batch, contents_);
    return {};
  }

  std::optional<ib::Duration> rest() const override {
    return file_ ? std::nullopt : std::optional(kTryEvery);
  }

  std::vector<ib::LogEvent> on_time() override {
    std::vector<ib::LogEvent> lines;
    if (auto done = hand_over(lines); !done) {
      // Once for each reason: the alarm stands since the start.
      if (done.error().message != std::exchange(last_failure_, done.error().message))
        lines.push_back({ib::LogLevel::Error, "store",
                         fmt::format("{}; what is registered is still kept in memory only",
                                     done.error().message)});
      return lines;
    }
    // The end of an alarm: as loud, so that nobody waits for it.
    lines.push_back({ib::LogLevel::Warning, "store",
                     fmt::format("{} can be written now, and what was kept in memory is there: {}",
                                 path_, counted(contents_))});
    known_ = {};
    contents_ = {};
    return lines;
  }

 private:
  ib::Result<void> hand_over(std::vector<ib::LogEvent>& lines) {
    std::error_code error;
    std::filesystem::create_directories(directory_, error);
    if (error)
      return ib::fail(ib::ErrorKind::Io,
                      fmt::format("cannot create state directory {}: {}{}", directory_,
                                  error.message(), advice_on_directory(error.value())));
    if (!lock_) {
      auto lock = DirectoryLock::take(directory_);
      if (!lock) return tl::unexpected<ib::Error>(std::move(lock.error()));
      lock_ = std::make_shared<const DirectoryLock>(*std::move(lock));
    }
    finish_replacement(path_);
    std::string word;  // for a file that is not to be written over
    if (has_bytes(path_)) {
      const SqliteFile there = open_sqlite(path_, sync_);
      if (there.health == Health::Newer || there.health == Health::Unusable)
        return cannot_use(path_, there);
      if (there.health == Health::Damaged) word = "damaged";
      if (there.health == Health::Fine && there.contents != known_) word = "kept";
    }
    if (auto written = write_fresh(path_, contents_); !written) return written;
    if (!word.empty()) {
      auto aside = set_database_aside(path_, word);
      if (!aside) return tl::unexpected<ib::Error>(std::move(aside.error()));
      lines.push_back({ib::LogLevel::Warning, "store",
                       fmt::format("{} held other things than was known of it, and is kept as {}",
                                   path_, *aside)});
    }
    if (auto taken = take_fresh(path_); !taken) return taken;
    SqliteFile file = open_sqlite(path_, sync_);
    if (file.health != Health::Fine) return cannot_use(path_, file);
    leave_mark(directory_);
    file_ = make_sqlite_store(std::move(file.db), path_, lock_);
    return {};
  }

  std::string directory_, path_;
  Sync sync_;
  std::shared_ptr<const DirectoryLock> lock_;
  Contents known_;     // of the directory's file, at the start
  Contents contents_;  // while there is no file_
  std::unique_ptr<Store> file_;
  std::string last_failure_;
};

}  // namespace

std::unique_ptr<Store> make_stand_in_store(std::string directory, Sync sync,
                                           std::shared_ptr<const DirectoryLock> lock,
                                           Contents contents) {
  return std::make_unique<StandInStore>(std::move(directory), sync, std::move(lock),
                                        std::move(contents));
}

}  // namespace sm::store
