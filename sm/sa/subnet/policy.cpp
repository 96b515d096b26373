// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/subnet/policy.h"

namespace sm::sa {
namespace {

bool joined(Membership a, Membership b) {
  return a != Membership::None && b != Membership::None &&
         (a == Membership::Full || b == Membership::Full);
}

}  // namespace

bool Partition::joins(const EndPort& a, const EndPort& b) const { return joined(of(a), of(b)); }

bool Policy::holds(const EndPort& port, ib::PKey p_key) const {
  for (const auto& partition : partitions)
    if (partition.base == p_key.base()) return partition.of(port) != Membership::None;
  return false;
}

bool Policy::share(const EndPort& a, const EndPort& b) const {
  // A port always sees itself.
  return is_open() || a.port == b.port || first_shared(a, b, nullptr) != nullptr;
}

const Partition* Policy::shared(const EndPort& a, const EndPort& b, ib::PKey p_key) const {
  for (const auto& partition : partitions)
    if (partition.base == p_key.base()) return partition.joins(a, b) ? &partition : nullptr;
  return nullptr;
}

const Partition* Policy::first_shared(const EndPort& a, const EndPort& b,
                                      const policy::QosGrant* level) const {
  for (const auto& partition : partitions)
    if ((level == nullptr || level->p_keys.empty() ||
         policy::contains(level->p_keys, partition.base)) &&
        partition.joins(a, b))
      return &partition;
  return nullptr;
}

}  // namespace sm::sa
