// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Subscriptions to notices (IBA 13.4.8.3), as they are now. Who may subscribe to what is
// subscription_rules.h's to say, and whom a notice goes to reports/audience.h's; nothing is changed
// but by batches that are handed to apply().
#pragma once

#include <compare>
#include <set>
#include <unordered_map>
#include <vector>

#include "sm/store/store.h"

namespace sm::sa {

class Subscriptions {
 public:
  struct ByKey {
    bool operator()(const store::Subscription& a, const store::Subscription& b) const {
      return std::is_lt(store::compare_keys(a, b));
    }
  };
  using Set = std::set<store::Subscription, ByKey>;

  void apply(const store::Batch& batch);
  void add_to(store::Contents& contents) const;

  /// The keys of them that batches change.
  class BatchKeys {
   public:
    void add(const store::Batch& batch);
    /// What makes any subscriptions that differ from `present` in the keys only equal to it.
    void bring(const Subscriptions& present, store::Batch& batch) const;

   private:
    Set subscriptions_;
  };

  const Set& all() const { return subscriptions_; }
  /// It is there, and that subscriber's still: its LID may be another port's by now, which
  /// subscribed to the same.
  bool has(const store::Subscription& subscription) const;
  std::size_t count_of(ib::Guid subscriber) const;
  /// Those whose reports go to this address, the GRH aside; in order.
  std::vector<store::Subscription> at(const ib::mad::Address& address) const;

 private:
  void forget(const store::Subscription& subscription);

  Set subscriptions_;
  std::unordered_map<ib::Guid, std::size_t> by_subscriber_;
};

/// The address of the reports for a client that sends from there.
ib::mad::Address reports_to(ib::mad::Address subscriber);
/// 256 to 259, generic: told to the trusted only.
bool is_security_trap(std::uint16_t number);
/// What InformInfo says of traps, types and LIDs to mean any.
inline constexpr std::uint16_t kAnyNotice = 0xFFFF;
/// The last LID of the range that a subscription names; an end of 0 means the first alone.
ib::Lid range_end(const ib::wire::InformInfo& info);

}  // namespace sm::sa
