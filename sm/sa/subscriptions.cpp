// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/subscriptions.h"

namespace sm::sa {

void Subscriptions::apply(const store::Batch& batch) {
  for (const auto& gone : batch.subscriptions_removed) subscriptions_.erase(gone);
  for (const auto& subscription : batch.subscriptions) {
    subscriptions_.erase(subscription);
    subscriptions_.insert(subscription);
  }
}

}  // namespace sm::sa
