// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#pragma once

#include "libdiag/wire/gmp_attributes.h"

namespace sm::sa::test {

/// A subscription to traps of this number, from all ports.
inline ib::wire::InformInfo to_trap(std::uint16_t number) {
  ib::wire::InformInfo i;
  i.lid_range_begin = ib::Lid{0xFFFF};
  i.is_generic = 1;
  i.subscribe = 1;
  i.type = 0xFFFF;
  i.trap_number = number;
  i.producer_type = 0xFFFFFF;
  return i;
}

}  // namespace sm::sa::test
