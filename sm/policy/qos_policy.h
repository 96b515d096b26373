// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// QosPolicy: which level of service a request for a path gets, by the rules of a QoS policy file
// (qos_file.h): match rules first, then the lines of qos-ulps, in the order of the file; the first
// whose every criterion fits. Immutable; a match costs the same however many ranges the rules have.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "libdiag/base/diagnostic.h"
#include "libdiag/base/ids.h"
#include "sm/policy/partitions.h"
#include "sm/policy/qos_file.h"
#include "sm/policy/rule_set.h"

namespace sm::policy {

/// What a request for a path says of its traffic. What it does not say fits no rule that asks.
struct QosRequest {
  std::optional<std::uint16_t> qos_class;
  std::optional<std::uint64_t> service_id;
  std::optional<std::uint16_t> p_key;  // without the membership bit
};

/// What a level of service grants: bounds of the paths that get it, codes as in PathRecord.
struct QosGrant {
  std::optional<ib::Sl> sl;
  std::optional<std::uint8_t> mtu_limit, rate_limit, packet_life;
  Intervals<std::uint16_t> p_keys;     // that its paths may have; none: all
  Intervals<std::uint32_t> path_bits;  // without effect; for explanations
  bool is_default{false};              // no rule matched: a partition's own SL takes precedence
  std::string rule;                    // "qos-policy.conf:12 (level 'Storage')", for explanations
};

class QosPolicy {
 public:
  /// The sides of a path that a port may be at, as sets of rules.
  struct PortRules {
    RuleSet as_source, as_destination;
  };

  /// `partitions` give the P_Keys of partitions that groups name. What the two files do not agree
  /// on goes to `diagnostics`, as warnings. Precondition: `file` has no error.
  QosPolicy(const QosFile& file, const std::string& file_name, const Partitions& partitions,
            std::vector<ib::Diagnostic>& diagnostics);

  /// True when no request gets anything: no rule, and no default but SL 0.
  bool is_empty() const { return grants_.empty() && !default_; }
  /// Of all rules in their order, then of the default.
  std::vector<const QosGrant*> grants() const;
  /// SLs that requests may get, a bit each; 0 where nothing gives them one.
  std::uint16_t sls() const;
  /// `p_keys`: those of the port, without the membership bit.
  PortRules rules_of(const EndPortFacts& port, std::span<const std::uint16_t> p_keys) const;
  /// nullptr: no rule matches and there is no default.
  const QosGrant* match(const QosRequest& request, const PortRules& from,
                        const PortRules& to) const;
  /// The rule for a partition's multicast groups: one that asks for its P_Key alone. nullptr: none.
  const QosGrant* for_groups(std::uint16_t p_key) const;

 private:
  /// Which rules a port fits at one side of a path.
  struct Side {
    explicit Side(std::size_t count);
    RangeIndex<std::uint64_t> guids;
    std::unordered_map<std::string, std::vector<std::pair<std::uint8_t, std::size_t>>> names;
    RangeIndex<std::uint16_t> p_keys;
    RuleSet cas, switches, routers, self;
  };
  static RuleSet rules_at(const Side& side, const EndPortFacts& port,
                          std::span<const std::uint16_t> p_keys);

  std::vector<QosGrant> grants_;  // one a rule
  std::optional<QosGrant> default_;
  RangeIndex<std::uint16_t> qos_classes_, p_keys_;
  RangeIndex<std::uint64_t> service_ids_;
  Side sources_, destinations_;
};

}  // namespace sm::policy
