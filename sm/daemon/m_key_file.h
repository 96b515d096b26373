// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// MKeyFile: guid2mkey in the state directory: which M_Key each port had last, so that ports with
// another key than the option's are reached after a restart.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sm/core/m_keys.h"
#include "sm/daemon/backup_file.h"

namespace sm::daemon {

class MKeyFile {
 public:
  explicit MKeyFile(const std::string& state_dir, std::launch launch = std::launch::async);

  struct Read {
    std::map<ib::Guid, std::uint64_t> keys;
    std::vector<ib::LogEvent> lines;
  };
  /// Without a file nothing. One that cannot be read whole is set aside, and the one before is
  /// read.
  Read read() const;

  // As those of BackupFile. Nothing is written before a port had a key.
  std::optional<ib::LogEvent> look(ib::Instant now, const core::MKeys& keys);
  ib::Instant next_deadline(const core::MKeys& keys) const;
  std::optional<std::string> finish(const core::MKeys& keys);

 private:
  std::string path_;
  BackupFile file_;
};

}  // namespace sm::daemon
