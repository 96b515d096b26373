// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// SaDump: keeps the incumbent's dump of what clients have registered (opensm-sa.dump) up to date:
// after a change, but not again and again, by a thread of its own, and never half a file.
#pragma once

#include <future>
#include <optional>
#include <string>

#include "libdiag/base/instant.h"
#include "libdiag/base/log.h"
#include "libdiag/base/result.h"
#include "sm/sa/server.h"

namespace sm::daemon {

class SaDump {
 public:
  /// An empty path: nothing is ever written. `every`: between two dumps, at least.
  SaDump(std::string path, ib::Duration every, std::launch launch = std::launch::async)
      : path_(std::move(path)), every_(every), launch_(launch) {}

  /// Begins to write if something changed and it is time; a writing that failed is tried again,
  /// after ever longer rests. What there is to say of the last one.
  std::optional<ib::LogEvent> look(ib::Instant now, const sa::Server& server);
  /// When look() is worth a call.
  ib::Instant next_deadline(const sa::Server& server) const;
  /// The last state, at the end: why it is not written.
  std::optional<std::string> finish(const sa::Server& server);

 private:
  std::optional<ib::LogEvent> judge(ib::Instant now, const ib::Result<void>& done);

  std::string path_;
  ib::Duration every_;
  std::launch launch_;
  ib::Instant not_before_{}, look_again_{};
  unsigned failures_{0};                  // in a row
  std::optional<std::uint64_t> written_;  // revision
  std::future<ib::Result<void>> under_way_;
};

/// What -S names: Usage where it is no file that can be read whole.
ib::Result<std::string> read_dump_file(const std::string& path);

/// What of the dump `text`, read from `path`, the store lacks is added to it and to `contents`. A
/// line for each thing that an operator should know.
ib::Result<std::vector<ib::LogEvent>> take_dump(const std::string& path, const std::string& text,
                                                std::int64_t unix_seconds, store::Store& store,
                                                store::Contents& contents);

}  // namespace sm::daemon
