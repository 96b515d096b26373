// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// ToAsk: ports that are to be asked to register again (untold_clients.h), on their way to the
// store, where the subnet manager takes out those that it has asked.
#pragma once

#include <set>

#include "sm/store/store.h"

namespace sm::sa {

class ToAsk {
 public:
  void apply(const store::Batch&) {}
  void add_to(store::Contents&) const {}

  /// The ports that batches add.
  class BatchKeys {
   public:
    void add(const store::Batch& batch) {
      ports_.insert(batch.clients_to_ask.begin(), batch.clients_to_ask.end());
    }
    void bring(const ToAsk&, store::Batch& batch) const {
      batch.clients_to_ask.assign(ports_.begin(), ports_.end());
    }

   private:
    std::set<ib::Guid> ports_;
  };
};

}  // namespace sm::sa
