// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What tests of Transactor do step by step.
#pragma once

#include "libdiag/mad/transactor.h"

namespace ib::mad::test {

constexpr Instant at(Duration since_start) { return Instant{since_start.count()}; }

/// What its target says to an order.
inline Packet answer(const SendOrder& order) {
  Packet packet{order.address, order.mad, {}};
  packet.mad.set<&wire::MadHeader::method>(wire::Method::GetResp);
  return packet;
}

}  // namespace ib::mad::test
