// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The socket that programs find a server by, and its file.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>

#include "libdiag/base/result.h"

namespace ibfabric {

class ListeningSocket {
 public:
  ListeningSocket();
  /// The file goes, too, unless somebody has put another there.
  ~ListeningSocket();
  ListeningSocket(const ListeningSocket&) = delete;
  ListeningSocket& operator=(const ListeningSocket&) = delete;

  /// A socket left behind by a server that is gone is replaced, and nothing else is.
  ib::Result<void> listen(const std::string& path);
  int fd() const { return fd_; }
  /// The next who has come; below 0: nobody has. Who finds no descriptor left fails, and does not
  /// wait for ever.
  int accept();

 private:
  using File = std::optional<std::pair<dev_t, ino_t>>;  // device and inode
  static File file_at(const std::string& path);
  bool turn_away_one();

  std::string path_;
  int fd_{-1};
  File file_;      // what bind() made at `path_`
  int spare_{-1};  // a descriptor for when there are no more
};

}  // namespace ibfabric
