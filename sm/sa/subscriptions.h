// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Subscriptions to notices (IBA 13.4.8.3, 13.4.11): who may subscribe to what, and whom a notice
// goes to.
#pragma once

#include <set>

#include "sm/sa/change.h"

namespace sm::sa {

class Subscriptions {
 public:
  struct ByKey {
    bool operator()(const store::Subscription& a, const store::Subscription& b) const {
      return store::compare_keys(a, b) < 0;
    }
  };
  using Set = std::set<store::Subscription, ByKey>;

  void apply(const store::Batch& batch);
  const Set& all() const { return subscriptions_; }

 private:
  Set subscriptions_;
};

}  // namespace sm::sa
