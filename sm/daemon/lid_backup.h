// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// LidBackup: which port has which LID as text (guid2lid), kept up to date with what goes to the
// store.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sm/daemon/backup_file.h"
#include "sm/store/store.h"

namespace sm::daemon {

class LidBackup {
 public:
  /// `lids`: what the store holds, by port GUID.
  LidBackup(std::string path, std::vector<store::LidClaim> lids,
            std::launch launch = std::launch::async);

  /// LIDs that change.
  void take(const store::Batch& batch);

  // As those of BackupFile. Nothing is written while there are no LIDs.
  std::optional<ib::LogEvent> look(ib::Instant now);
  ib::Instant next_deadline() const { return file_.next_deadline(revision_); }
  std::optional<std::string> finish();

 private:
  BackupFile::Text text() const;

  BackupFile file_;
  std::vector<store::LidClaim> lids_;  // by port GUID
  std::uint64_t revision_{0};
};

}  // namespace sm::daemon
