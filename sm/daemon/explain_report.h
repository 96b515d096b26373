// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The path between two ports as ibsm grants it, who decided each of its values, and the VL and its
// weight at each link: text and JSON, of a subnet that is planned or that runs (`ibsm ctl
// explain`).
#pragma once

#include <memory>
#include <string>

#include "libdiag/base/result.h"
#include "sm/control/protocol.h"
#include "sm/daemon/explain_view.h"
#include "sm/policy/rate_policy.h"

namespace sm::daemon {

inline constexpr std::uint16_t kQosClassMax = 0xFFF;

struct ExplainRequest {
  std::string source, destination;  // LIDs, GUIDs or NODE[:PORT]
  policy::QosRequest traffic;
  bool json{false};
};

/// The enhanced QoS policy; null: no rate is limited.
struct RateRules {
  std::shared_ptr<const policy::RatePolicy> policy;
  std::string file;
};

/// Status 0: a path that works; 1: none, or one whose packets are dropped. An error where
/// an end is nobody.
ib::Result<control::Answer> explain_path(const ExplainView& subnet, const ExplainRequest& request,
                                         const RateRules& rates, const std::string& version);

/// `ibsm ctl explain SRC DST`, with the options service-id, pkey, qos-class and json.
ib::Result<ExplainRequest> read_explain_request(const control::Request& request);

}  // namespace sm::daemon
