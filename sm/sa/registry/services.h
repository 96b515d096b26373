// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Registered services (IBA 15.2.5.14), as they are now, and the leases that run out. Who may
// register and remove is service_rules.h's to say; nothing is changed but by batches that are
// handed to apply().
#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sm/store/store.h"

namespace sm::sa {

namespace service_bit {
inline constexpr unsigned kServiceId = 0, kServiceGid = 1, kPKey = 2, kLease = 4, kKey = 5;
}
inline constexpr std::uint32_t kLeaseForEver = 0xFFFFFFFF;

class Services {
 public:
  void apply(const store::Batch& batch);
  void add_to(store::Contents& contents) const;

  /// The keys of them that batches change.
  class BatchKeys {
   public:
    void add(const store::Batch& batch);
    /// What makes any services that differ from `present` in the keys only equal to it.
    void bring(const Services& present, store::Batch& batch) const;

   private:
    std::set<store::ServiceKey> services_;
  };

  const std::map<store::ServiceKey, store::Service>& all() const { return services_; }
  const store::Service* find(const store::ServiceKey& key) const;
  /// Services that this port registered.
  std::size_t count_of(ib::Guid owner) const;

  /// When the next lease ends, in seconds since 1970; kNeverExpires when none does.
  std::int64_t next_expiry() const;
  /// Takes those whose leases have ended out by `batch`, at most `max` of them, and says so.
  void expire(std::int64_t unix_seconds, std::size_t max, store::Batch& batch,
              std::vector<std::string>& log) const;

 private:
  void forget(const store::ServiceKey& key);

  std::map<store::ServiceKey, store::Service> services_;
  std::set<std::pair<std::int64_t, store::ServiceKey>> leases_;  // those that end
  std::unordered_map<ib::Guid, std::size_t> by_owner_;
};

}  // namespace sm::sa
