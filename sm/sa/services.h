// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Registered services (IBA 15.2.5.14): who may register and remove, and the leases that run out.
// Nothing is changed until the change was made durable and handed to apply().
#pragma once

#include <map>

#include "sm/sa/change.h"

namespace sm::sa {

class Services {
 public:
  void apply(const store::Batch& batch);
  const std::map<store::ServiceKey, store::Service>& all() const { return services_; }

 private:
  std::map<store::ServiceKey, store::Service> services_;
};

}  // namespace sm::sa
