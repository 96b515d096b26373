// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What an operator decides about multicast groups, as values.
#pragma once

#include <vector>

#include "sm/store/store.h"

namespace sm::sa {

/// The IPoIB broadcast group of a partition (RFC 4391 section 4): Q_Key 0x0b1b, MTU 2048, 10 Gb/s,
/// SL 0, link-local. Its MLID is found when it is made.
store::McGroup ipoib_group(ib::PKey p_key);

struct MulticastOptions {
  /// Groups that are there from the start and stay without members.
  std::vector<store::McGroup> configured{ipoib_group(ib::kDefaultPKey)};
  /// Q_Key, P_Key, TClass, SL, FlowLabel and HopLimit of a join must be the group's
  /// (mcgroup_join_validation).
  bool join_validation{true};
  /// A new MGID must be well formed, and an IPoIB group must agree with the broadcast group of its
  /// partition (ipoib_mcgroup_creation_validation).
  bool creation_validation{true};
  /// IPv6 solicited-node groups of a partition share an MLID (consolidate_ipv6_snm_req).
  bool consolidate_ipv6_snm{false};
  /// There are no groups, and nobody joins any (disable_multicast).
  bool disabled{false};
  /// Without the SA key, too, a port may join others by proxy, and take away who was joined so.
  bool untrusted_proxies{true};
};

}  // namespace sm::sa
