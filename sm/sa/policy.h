// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What partition and QoS files decide about paths and groups, as values: the hooks are here and in
// this order; without such files every port is a full member of the default partition.
#pragma once

#include "sm/sa/multicast_options.h"
#include "sm/sa/paths.h"

namespace sm::sa {

struct Policy {
  /// Whether the port's P_Key table has this key, as full or limited member.
  bool holds(const EndPort&, ib::PKey p_key) const {
    return p_key.base() == ib::kDefaultPKey.base();
  }
  /// Whether two ports share a partition in which one of them at least is a full member: the rule
  /// by which records about a port are shown (IBA 10.9.3).
  bool share(const EndPort&, const EndPort&) const { return true; }

  MulticastOptions multicast;
};

}  // namespace sm::sa
