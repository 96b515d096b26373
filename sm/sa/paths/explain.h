// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// explain(): what a request for a path between two ports gets, and who decided each value of it:
// links, partitions, the QoS policy, the routes. The path itself is PathChoice's. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sm/sa/registry/world.h"

namespace sm::sa {

/// One value, and who decided it.
struct PathReason {
  std::string subject;  // "P_Key", "rule", "SL", "MTU", "rate", "packet life", "path-bits"
  std::string value;    // "4096"
  std::string reason;   // a clause
};

struct ExplainedPath {
  std::optional<ib::wire::PathRecord> path;  // none: no path, and `refusal` says why
  std::string refusal;
  std::vector<PathReason> reasons;  // as far as it came
  std::vector<Paths::Step> way;     // the nodes on the way; empty: it does not arrive
};

/// `rules`: the policy that `world.policy.qos` was made of; nullptr: none is in force. What the
/// request does not say of its traffic fits no rule that asks for it. To the first LID of `to`.
/// Precondition: the ports are of world.paths.
ExplainedPath explain(const World& world, const policy::QosPolicy* rules, const EndPort& from,
                      const EndPort& to, const policy::QosRequest& traffic);

}  // namespace sm::sa
