// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// DumpFiles: what the field's scripts read of a subnet manager: opensm-subnet.lst and, with the
// ROUTING flag, tables and hop counts. Written after full sweeps by a thread of its own, each file
// whole; where sweeps come faster than files are written, only the last one is.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "libdiag/base/log.h"
#include "libdiag/base/result.h"
#include "sm/daemon/dump_options.h"
#include "sm/device/device_state.h"
#include "sm/device/snapshot.h"

namespace sm::daemon {

/// Writes the files of one state of the subnet. An error is of kind Io and names the file.
ib::Result<void> write_dumps(const DumpOptions& options, const Snapshot& snapshot,
                             const DeviceState& device_state);

class DumpFiles {
 public:
  /// `say`: that files cannot be written, and that they can be again; from the thread.
  DumpFiles(DumpOptions options, ib::LogSink say);
  /// What is being written is written to the end.
  ~DumpFiles();
  DumpFiles(const DumpFiles&) = delete;
  DumpFiles& operator=(const DumpFiles&) = delete;

  /// After a full sweep, and when multicast tables were programmed. Does not wait.
  void write(SnapshotPtr snapshot, DeviceStatePtr device_state);

 private:
  struct State {
    SnapshotPtr snapshot;
    DeviceStatePtr device_state;
  };
  void run();
  void tell(const ib::Result<void>& done);

  const DumpOptions options_;
  const ib::LogSink say_;
  std::string trouble_;  // that was said
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<State> next_;
  bool ending_{false};
  std::thread thread_;  // last: it uses the others
};

}  // namespace sm::daemon
