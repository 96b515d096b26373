// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Answers of devices that are known to say what is not so.
#pragma once

#include <cstdint>

#include "libdiag/wire/smp_attributes.h"

namespace ib::discover {

/// What a switch of this vendor says of itself, as it is.
inline wire::SwitchInfo corrected(wire::SwitchInfo info, std::uint32_t vendor_id) {
  // It says that it enforces partitions at its ports, and does not (opensm, osm_port_info_rcv.c).
  constexpr std::uint32_t kIbmEhca = 0x5076;
  if (vendor_id == kIbmEhca) info.partition_enforcement_cap = 0;
  return info;
}

}  // namespace ib::discover
