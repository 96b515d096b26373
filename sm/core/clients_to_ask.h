// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Whose clients are to be asked to register again (PortInfo:ClientReregister), and were not yet or
// are not there. The host of the subnet manager keeps it in the store.
#pragma once

#include <set>

#include "sm/store/store.h"

namespace sm::core {

struct ClientsToAsk {
  bool all{false};           // of every port
  std::set<ib::Guid> ports;  // port GUIDs
  bool empty() const { return !all && ports.empty(); }
  friend bool operator==(const ClientsToAsk&, const ClientsToAsk&) = default;
};

/// As it is stored.
inline ClientsToAsk clients_to_ask(const store::Contents& contents) {
  ClientsToAsk due;
  due.ports.insert(contents.clients_to_ask.begin(), contents.clients_to_ask.end());
  due.all = due.ports.erase(store::kAllClients) != 0;
  return due;
}

}  // namespace sm::core
