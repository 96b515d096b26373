// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// BackupFile: keeps a text file up to date with something that changes: after a change, but not
// again and again, by a thread of its own, and never half a file. The one before it is kept.
#pragma once

#include <functional>
#include <future>
#include <optional>
#include <string>

#include "libdiag/base/instant.h"
#include "libdiag/base/log.h"
#include "libdiag/base/result.h"

namespace sm::daemon {

class BackupFile {
 public:
  /// Makes the text, on whichever thread. Empty: there is nothing that is worth a file.
  using Text = std::function<std::string()>;
  /// Takes what is to be written as it is now.
  using Take = std::function<Text()>;

  /// `name` is for messages. `every`: between two files, at least.
  BackupFile(std::string name, std::string path, ib::Duration every, std::launch launch)
      : name_(std::move(name)), path_(std::move(path)), every_(every), launch_(launch) {}

  /// Begins to write if `revision` is another one than that of the file and it is time; a writing
  /// that failed is tried again, after ever longer rests. What there is to say of the last one.
  std::optional<ib::LogEvent> look(ib::Instant now, std::uint64_t revision, const Take& take);
  /// When look() is worth a call.
  ib::Instant next_deadline(std::uint64_t revision) const;
  /// The last state, at the end: why it is not written.
  std::optional<std::string> finish(std::uint64_t revision, const Take& take);

 private:
  std::optional<ib::LogEvent> judge(ib::Instant now, const ib::Result<void>& done);

  std::string name_, path_;
  ib::Duration every_;
  std::launch launch_;
  ib::Instant not_before_{}, look_again_{};
  unsigned failures_{0};                  // in a row
  std::optional<std::uint64_t> written_;  // revision
  std::future<ib::Result<void>> under_way_;
};

}  // namespace sm::daemon
