// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/policy.h"

#include "sm/sa/mask.h"
#include "sm/sa/path_records.h"

namespace sm::sa {
namespace {

bool joined(Standing a, Standing b) {
  return a != Standing::None && b != Standing::None && (a == Standing::Full || b == Standing::Full);
}

bool fits(const QosRule& rule, const ib::wire::PathRecord& wanted, std::uint64_t mask,
          const EndPort& from, const EndPort& to) {
  const auto says = [&](unsigned n) { return has_bit(mask, n); };
  if (rule.sources && rule.sources->count(from.guid) == 0) return false;
  if (rule.destinations && rule.destinations->count(to.guid) == 0) return false;
  if (!rule.qos_classes.empty() &&
      !(says(path_bit::kQosClass) && any_has(rule.qos_classes, wanted.qos_class)))
    return false;
  if (!rule.service_ids.empty() &&
      !(says(path_bit::kServiceIdHigh) && any_has(rule.service_ids, wanted.service_id)))
    return false;
  return rule.p_keys.empty() ||
         (says(path_bit::kPKey) && any_has(rule.p_keys, wanted.p_key.base()));
}

}  // namespace

bool Partition::joins(const EndPort& a, const EndPort& b) const { return joined(of(a), of(b)); }

bool Policy::holds(const EndPort& port, ib::PKey p_key) const {
  for (const auto& partition : partitions)
    if (partition.base == p_key.base()) return partition.of(port) != Standing::None;
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
                                      const QosLevel* level) const {
  for (const auto& partition : partitions)
    if ((level == nullptr || level->p_keys.empty() || any_has(level->p_keys, partition.base)) &&
        partition.joins(a, b))
      return &partition;
  return nullptr;
}

const QosLevel* Policy::level(const ib::wire::PathRecord& wanted, std::uint64_t mask,
                              const EndPort& from, const EndPort& to) const {
  for (const auto& rule : qos.rules)
    if (fits(rule, wanted, mask, from, to)) return &qos.levels[rule.level];
  return qos.default_level ? &qos.levels[*qos.default_level] : nullptr;
}

}  // namespace sm::sa
