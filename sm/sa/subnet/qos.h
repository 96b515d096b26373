// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Qos: the QoS policy in force for the ports of one snapshot. Which rules a port fits is found once
// a snapshot, so that a request costs two look-ups and one match.
#pragma once

#include <memory>
#include <unordered_map>

#include "sm/policy/qos_policy.h"
#include "sm/sa/subnet/paths.h"

namespace sm::sa {

struct Policy;

class Qos {
 public:
  /// No request has a level of service.
  Qos() = default;
  /// `partitions`: those of this policy say which P_Keys a port has.
  Qos(std::shared_ptr<const policy::QosPolicy> rules, const Paths& paths, const Policy& partitions);

  /// What a request for a path from one to the other gets; nullptr: no rule matches, and there is
  /// no default. A port that the snapshot lacked fits the rules that ask for no port.
  const policy::QosGrant* grant(const policy::QosRequest& request, const EndPort& from,
                                const EndPort& to) const;

 private:
  std::shared_ptr<const policy::QosPolicy> rules_;  // nullptr: there are none
  std::unordered_map<ib::Guid, policy::QosPolicy::PortRules> ports_;
  policy::QosPolicy::PortRules unknown_;
};

}  // namespace sm::sa
