// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// SaDump: keeps the incumbent's dump of what clients have registered (opensm-sa.dump) up to date:
// after a change, but not again and again, by a thread of its own, and never half a file.
#pragma once

#include <future>
#include <optional>
#include <string>

#include "libdiag/base/instant.h"
#include "libdiag/base/result.h"
#include "sm/sa/server.h"

namespace sm::daemon {

class SaDump {
 public:
  /// An empty path: nothing is ever written. `every`: between two dumps, at least.
  SaDump(std::string path, ib::Duration every) : path_(std::move(path)), every_(every) {}

  /// Begins to write if something changed and it is time. What became of the last one: its failure.
  std::optional<std::string> look(ib::Instant now, const sa::Server& server);
  /// When look() is worth a call.
  ib::Instant next_deadline(const sa::Server& server) const;
  /// The last state, at the end.
  std::optional<std::string> finish(const sa::Server& server);

 private:
  std::optional<std::string> result();

  std::string path_;
  ib::Duration every_;
  ib::Instant not_before_{};
  std::optional<std::uint64_t> written_;  // revision
  std::future<ib::Result<void>> under_way_;
};

/// What of the dump in `path` the store lacks is added to it and to `contents`. A line for each
/// thing that an operator should know.
ib::Result<std::vector<std::string>> take_dump(const std::string& path, std::int64_t unix_seconds,
                                               store::Store& store, store::Contents& contents);

}  // namespace sm::daemon
