// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Registered services (IBA 15.2.5.14): who may register and remove, and the leases that run out.
// Nothing is changed until the change was made durable and handed to apply().
#pragma once

#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "sm/sa/change.h"

namespace sm::sa {

struct World;

namespace service_bit {
inline constexpr unsigned kServiceId = 0, kServiceGid = 1, kPKey = 2, kLease = 4, kKey = 5;
}
inline constexpr std::uint32_t kLeaseForEver = 0xFFFFFFFF;

class Services {
 public:
  /// Registers, or renews and changes what was registered.
  Outcome set(const World& world, const WriteRequest& request) const;
  Outcome remove(const World& world, const WriteRequest& request) const;

  void apply(const store::Batch& batch);
  const std::map<store::ServiceKey, store::Service>& all() const { return services_; }
  const store::Service* find(const store::ServiceKey& key) const;
  /// Services that this port registered.
  std::size_t count_of(ib::Guid owner) const;

  /// When the next lease ends, in seconds since 1970; kNeverExpires when none does.
  std::int64_t next_expiry() const;
  /// Those whose leases have ended, at most `max` of them.
  std::vector<store::ServiceKey> expired(std::int64_t unix_seconds, std::size_t max) const;

 private:
  void forget(const store::ServiceKey& key);

  std::map<store::ServiceKey, store::Service> services_;
  std::set<std::pair<std::int64_t, store::ServiceKey>> leases_;  // those that end
  std::unordered_map<ib::Guid, std::size_t> by_owner_;
};

}  // namespace sm::sa
