// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// DirectoryLock: one ibsm for each state directory, also where nothing can be written there. The
// kernel drops it however the process dies.
#pragma once

#include <memory>
#include <string>

#include "libdiag/base/result.h"

namespace sm::store {

class DirectoryLock {
 public:
  /// Locks the directory itself and its file ibsm.lock, or the one of them that can be locked.
  /// Unavailable: another ibsm has one of them; the message names it. Io: neither can be.
  static ib::Result<DirectoryLock> take(const std::string& directory);

  DirectoryLock(DirectoryLock&& other) noexcept;
  DirectoryLock& operator=(DirectoryLock&&) = delete;
  ~DirectoryLock();

 private:
  DirectoryLock() = default;
  int directory_{-1}, file_{-1};
};

/// That of a directory which is made where there is none. Unavailable and Io as above.
ib::Result<std::shared_ptr<const DirectoryLock>> lock_directory(const std::string& directory);

/// What helps against an error of the state directory: "; run as root or give --state-dir DIR"
/// where there is no right to it, else nothing.
std::string advice_on_directory(int error);

}  // namespace sm::store
