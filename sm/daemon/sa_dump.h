// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// SaDump: the incumbent's dump of what clients have registered (opensm-sa.dump), kept up to date;
// and the way back, from such a dump into the store.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sm/daemon/backup_file.h"
#include "sm/sa/server.h"

namespace sm::daemon {

class SaDump {
 public:
  /// An empty path: nothing is ever written. `every`: between two dumps, at least.
  SaDump(std::string path, ib::Duration every, std::launch launch = std::launch::async)
      : path_(path), file_("SA dump", std::move(path), every, launch) {}

  // As those of BackupFile. An empty state never takes the place of a dump, unless it is one of
  // this run.
  std::optional<ib::LogEvent> look(ib::Instant now, const sa::Server& server);
  ib::Instant next_deadline(const sa::Server& server) const;
  std::optional<std::string> finish(const sa::Server& server);

 private:
  BackupFile::Text take(const sa::Server& server);

  std::string path_;
  BackupFile file_;
  bool had_something_{false};
};

/// What -S names: Usage where it is no file that can be read whole.
ib::Result<std::string> read_dump_file(const std::string& path);

/// What of the dump `text`, read from `path`, the store lacks is added to it and to `contents`. A
/// line for each thing that an operator should know.
ib::Result<std::vector<ib::LogEvent>> take_dump(const std::string& path, const std::string& text,
                                                std::int64_t unix_seconds, store::Store& store,
                                                store::Contents& contents);

}  // namespace sm::daemon
