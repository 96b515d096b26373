// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// InDoubt: ports whose registrations are in doubt (doubts.h), as the store has them, so that they
// are in doubt again where the process dies before that has ended.
#pragma once

#include <set>

#include "sm/store/store.h"

namespace sm::sa {

class InDoubt {
 public:
  void apply(const store::Batch& batch) {
    for (const ib::Guid port : batch.clients_sure) ports_.erase(port);
    ports_.insert(batch.clients_in_doubt.begin(), batch.clients_in_doubt.end());
  }
  void add_to(store::Contents& contents) const {
    contents.clients_in_doubt.assign(ports_.begin(), ports_.end());
  }

  /// The ports that batches change.
  class BatchKeys {
   public:
    void add(const store::Batch& batch) {
      ports_.insert(batch.clients_sure.begin(), batch.clients_sure.end());
      ports_.insert(batch.clients_in_doubt.begin(), batch.clients_in_doubt.end());
    }
    void bring(const InDoubt& present, store::Batch& batch) const {
      for (const ib::Guid port : ports_)
        (present.ports_.contains(port) ? batch.clients_in_doubt : batch.clients_sure)
            .push_back(port);
    }

   private:
    std::set<ib::Guid> ports_;
  };

 private:
  std::set<ib::Guid> ports_;
};

}  // namespace sm::sa
