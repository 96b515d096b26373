// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// `clients-to-ask` in the state directory: whose clients are to be asked to register again. What a
// port registered is dropped when it leaves; if it comes back while no process runs, or all was
// lost and the process that found out dies, the next one knows by this file whom to ask.
#pragma once

#include <string>

#include "sm/core/clients_to_ask.h"

namespace sm::daemon {

class ClientsFile {
 public:
  /// Reads what is there. A file that makes no sense asks all.
  explicit ClientsFile(const std::string& state_dir);
  const core::ClientsToAsk& due() const { return due_; }
  /// Before something is done that makes it so: these as well.
  void add(const core::ClientsToAsk& more);
  /// All others were asked.
  void set(core::ClientsToAsk due);

 private:
  /// Where the directory cannot be written the store cannot, either, and has said so: what is
  /// dropped is dropped in memory alone.
  void write() const;

  std::string path_;
  core::ClientsToAsk due_;
};

}  // namespace sm::daemon
