// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What is on a disk, or on etcd: it outlives the subnet managers that write it, may be full, and of
// several that share one only the one that took it last may write.
#pragma once

#include "sm/store/store.h"

namespace soak {

class Manager;

struct Disk {
  sm::store::Contents contents;
  bool is_shared{false};
  bool is_full{false};
  const Manager* holder{nullptr};  // of a shared one
  bool lacks{false};               // what one that does not write it any more answered clients
};

}  // namespace soak
