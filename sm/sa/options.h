// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What an operator decides of subnet administration.
#pragma once

#include <cstdint>
#include <memory>

#include "sm/sa/intake/admission.h"
#include "sm/sa/intake/replays.h"
#include "sm/sa/intake/trust.h"
#include "sm/sa/registry/quotas.h"
#include "sm/sa/registry/wall_clock.h"
#include "sm/sa/registry/world.h"
#include "sm/sa/reports/forwarding.h"
#include "sm/sa/subnet/policy.h"

namespace sm::sa {

struct Options {
  TrustOptions trust;
  AdmissionOptions admission;
  ReplayOptions replays;
  std::uint8_t resp_time_value{16};  // ClassPortInfo: 4.096 us x 2^16 = 268 ms
  bool kernel_rmpp{false};           // the transport segments: answers leave whole, and capped
  std::size_t kernel_table_bytes_max{16U << 20};
  std::size_t transfers_max{256};           // tables under way at once; more wait in the queues
  std::size_t transfers_per_requester{16};  // one client that never answers must not take them all
  std::size_t writes_pending_max{4096};     // uncommitted; more wait in the queues
  Quotas quotas;
  WallClock wall_clock;  // leases are kept by it
  MulticastOptions multicast;
  ForwardingOptions forwarding;
  std::uint8_t sm_assigned_guid{0};  // part of alias GUIDs that are made here
  RouterAliases router_aliases{RouterAliases::Leave};
  Policy policy;                                 // its multicast options are those above
  std::shared_ptr<const policy::QosPolicy> qos;  // nullptr: no policy
};

}  // namespace sm::sa
