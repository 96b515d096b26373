// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/lid_backup.h"

#include <algorithm>
#include <utility>

#include "sm/store/guid2lid.h"

namespace sm::daemon {
namespace {

constexpr auto kEvery = std::chrono::seconds(10);

}  // namespace

LidBackup::LidBackup(std::string path, std::vector<store::LidClaim> lids, std::launch launch)
    : file_("list of LIDs", std::move(path), kEvery, launch), lids_(std::move(lids)) {}

void LidBackup::take(const store::Batch& batch) {
  if (batch.forget_lids) lids_.clear();
  // The later of two claims of one GUID counts: the newest come first, and the order is kept.
  lids_.insert(lids_.begin(), batch.lids.rbegin(), batch.lids.rend());
  const auto guid = [](const store::LidClaim& claim) { return claim.port_guid; };
  std::ranges::stable_sort(lids_, {}, guid);
  const auto repeated = std::ranges::unique(lids_, {}, guid);
  lids_.erase(repeated.begin(), repeated.end());
  ++revision_;
}

BackupFile::Text LidBackup::text() const {
  if (lids_.empty()) return {};
  return [lids = lids_] { return store::write_guid2lid(lids); };
}

std::optional<ib::LogEvent> LidBackup::look(ib::Instant now) {
  return file_.look(now, revision_, [this] { return text(); });
}

std::optional<std::string> LidBackup::finish() {
  return file_.finish(revision_, [this] { return text(); });
}

}  // namespace sm::daemon
