// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/backup_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sm/store/text_backup.h"

namespace sm::daemon {
namespace {

// After failures in a row the rest between two tries doubles up to this.
constexpr auto kRetryMax = std::chrono::minutes(10);
// How often a writing under way is looked after.
constexpr auto kLookEvery = std::chrono::milliseconds(200);

}  // namespace

std::optional<ib::LogEvent> BackupFile::judge(ib::Instant now, const ib::Result<void>& done) {
  if (done) {
    if (std::exchange(failures_, 0) == 0) return std::nullopt;
    return ib::LogEvent{ib::LogLevel::Info, "store",
                        fmt::format("the {} is written again: {}", name_, path_)};
  }
  written_.reset();
  ib::Duration rest = every_;
  for (unsigned i = 0; i < failures_ && rest < kRetryMax; ++i)
    rest = std::min<ib::Duration>(2 * rest, kRetryMax);
  ++failures_;
  not_before_ = now + rest;
  return ib::LogEvent{ib::LogLevel::Error, "store",
                      fmt::format("the {} is not written: {}; it is tried again in {} s", name_,
                                  done.error().message,
                                  std::chrono::duration_cast<std::chrono::seconds>(rest).count())};
}

std::optional<ib::LogEvent> BackupFile::look(ib::Instant now, std::uint64_t revision,
                                             const Take& take) {
  if (under_way_.valid()) {
    if (under_way_.wait_for(std::chrono::seconds(0)) == std::future_status::timeout) {
      look_again_ = now + kLookEvery;
      return std::nullopt;
    }
    return judge(now, under_way_.get());
  }
  if (next_deadline(revision) > now) return std::nullopt;
  written_ = revision;
  if (Text text = take()) {
    not_before_ = now + every_;
    look_again_ = now;
    under_way_ = std::async(launch_, [path = path_, text = std::move(text)] {
      return store::write_backup(path, text());
    });
  }
  return std::nullopt;
}

ib::Instant BackupFile::next_deadline(std::uint64_t revision) const {
  if (under_way_.valid()) return look_again_;
  return path_.empty() || revision == written_ ? ib::kNever : not_before_;
}

std::optional<std::string> BackupFile::finish(std::uint64_t revision, const Take& take) {
  if (under_way_.valid() && !under_way_.get()) written_.reset();
  if (path_.empty() || revision == written_) return std::nullopt;
  const Text text = take();
  if (!text) return std::nullopt;
  const auto done = store::write_backup(path_, text());
  if (done) return std::nullopt;
  return fmt::format("the {} is not written: {}", name_, done.error().message);
}

}  // namespace sm::daemon
