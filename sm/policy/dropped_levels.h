// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// SLs that the mapping of SLs to VLs drops (VL 15), and who gives them all the same: rules of the
// QoS policy and partitions, whose requests for a path then get none.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sm/policy/partitions.h"
#include "sm/policy/qos_policy.h"
#include "sm/policy/qos_sets.h"

namespace sm::policy {

/// By QosKind: SLs, a bit each, that do not leave such a port.
using DroppedSls = std::array<std::uint16_t, kQosPrefixes.size()>;
DroppedSls dropped_sls(const VlSettingsByKind& settings);

struct DroppedLevel {
  std::string rule;  // "qos-policy.conf:12 (level 'Storage')", "partition 'red'"
  ib::Sl sl;
  std::string where;  // "all ports", "CAs, ports between switches"
  friend bool operator==(const DroppedLevel&, const DroppedLevel&) = default;
};
/// Where packets of an SL are dropped, in words; empty: nowhere.
using DroppedWhere = std::function<std::string(ib::Sl)>;
/// One for each rule and partition that gives a dropped SL. `rules` may be null.
std::vector<DroppedLevel> dropped_levels(const QosPolicy* rules, const Partitions& partitions,
                                         const DroppedWhere& where);
/// Those that the operator's mapping drops.
std::vector<DroppedLevel> dropped_levels(const QosPolicy* rules, const Partitions& partitions,
                                         const VlSettingsByKind& settings);
/// A sentence for an operator.
std::string to_string(const DroppedLevel& level);

}  // namespace sm::policy
