// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/registry/services.h"

#include <fmt/format.h>

namespace sm::sa {
namespace {

// So many leases that ended are named in the log, the others counted.
constexpr std::size_t kNamedMax = 10;

}  // namespace

using store::Service;
using store::ServiceKey;

void Services::forget(const ServiceKey& key) {
  const auto at = services_.find(key);
  if (at == services_.end()) return;
  leases_.erase({at->second.expires, key});
  if (const auto count = by_owner_.find(at->second.owner); --count->second == 0)
    by_owner_.erase(count);
  services_.erase(at);
}

void Services::apply(const store::Batch& batch) {
  for (const auto& key : batch.services_removed) forget(key);
  for (const auto& service : batch.services) {
    const auto key = service.key();
    forget(key);
    ++by_owner_[service.owner];
    if (service.expires != Service::kNeverExpires) leases_.insert({service.expires, key});
    services_.emplace(key, service);
  }
}

const Service* Services::find(const ServiceKey& key) const {
  const auto at = services_.find(key);
  return at == services_.end() ? nullptr : &at->second;
}

std::size_t Services::count_of(ib::Guid owner) const {
  const auto at = by_owner_.find(owner);
  return at == by_owner_.end() ? 0 : at->second;
}

std::int64_t Services::next_expiry() const {
  return leases_.empty() ? Service::kNeverExpires : leases_.begin()->first;
}

void Services::expire(std::int64_t unix_seconds, std::size_t max, store::Batch& batch,
                      std::vector<std::string>& log) const {
  std::size_t ended = 0;
  for (auto at = leases_.begin(); at != leases_.end() && at->first <= unix_seconds; ++at) {
    if (ended == max) break;
    const auto& key = at->second;
    batch.services_removed.push_back(key);
    if (++ended <= kNamedMax)
      log.push_back(fmt::format("lease of service 0x{:x} at {} ended", key.service_id,
                                to_string(key.service_gid)));
  }
  if (ended > kNamedMax)
    log.push_back(fmt::format("leases of {} more services ended", ended - kNamedMax));
}

void Services::add_to(store::Contents& contents) const {
  for (const auto& [key, service] : services_) contents.services.push_back(service);
}

void Services::BatchKeys::add(const store::Batch& batch) {
  services_.insert(batch.services_removed.begin(), batch.services_removed.end());
  for (const auto& service : batch.services) services_.insert(service.key());
}

void Services::BatchKeys::bring(const Services& present, store::Batch& batch) const {
  for (const auto& key : services_) {
    const auto at = present.all().find(key);
    if (at != present.all().end()) {
      batch.services.push_back(at->second);
    } else {
      batch.services_removed.push_back(key);
    }
  }
}

}  // namespace sm::sa
