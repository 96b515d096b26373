// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/services.h"

namespace sm::sa {

void Services::apply(const store::Batch& batch) {
  for (const auto& key : batch.services_removed) services_.erase(key);
  for (const auto& service : batch.services) services_[service.key()] = service;
}

}  // namespace sm::sa
