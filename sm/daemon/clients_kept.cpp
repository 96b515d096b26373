// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/clients_kept.h"

#include <algorithm>
#include <iterator>

namespace sm::daemon {

store::Batch ClientsKept::add(const core::ClientsToAsk& more) {
  core::ClientsToAsk due = due_;
  due.all = due.all || more.all;
  due.ports.insert(more.ports.begin(), more.ports.end());
  return set(due);
}

store::Batch ClientsKept::set(const core::ClientsToAsk& due) {
  store::Batch batch;
  if (due_.all && !due.all) batch.clients_asked.push_back(store::kAllClients);
  if (due.all && !due_.all) batch.clients_to_ask.push_back(store::kAllClients);
  std::ranges::set_difference(due_.ports, due.ports, std::back_inserter(batch.clients_asked));
  std::ranges::set_difference(due.ports, due_.ports, std::back_inserter(batch.clients_to_ask));
  due_ = due;
  return batch;
}

}  // namespace sm::daemon
