// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What `ctl` may ask of the kernels of the hosts, which are the server's.
#pragma once

#include <sys/types.h>

#include <vector>

#include "libdiag/sim/kernel.h"

namespace ibfabric {

/// A port that a program has open.
struct OpenFile {
  ib::sim::PortRef port;
  pid_t pid{};  // who opened it; a child of fork may have it now
  ib::sim::ReceiveQueue queue;
};

class Hosts {
 public:
  virtual ~Hosts() = default;
  /// In the order of ports, and of opening.
  virtual std::vector<OpenFile> open_files() const = 0;
  /// Sets the counts of MADs dropped above a threshold to 0.
  virtual void reset_dropped() = 0;
};

}  // namespace ibfabric
