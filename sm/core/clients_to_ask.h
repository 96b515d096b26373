// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Whose clients are to be asked to register again (PortInfo:ClientReregister), and were not yet or
// are not there. Whoever carries the subnet manager keeps it where a restart finds it.
#pragma once

#include <set>

#include "libdiag/base/ids.h"

namespace sm::core {

struct ClientsToAsk {
  bool all{false};           // of every port
  std::set<ib::Guid> ports;  // port GUIDs
  bool empty() const { return !all && ports.empty(); }
  friend bool operator==(const ClientsToAsk&, const ClientsToAsk&) = default;
};

}  // namespace sm::core
