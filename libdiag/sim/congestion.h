// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What congestion control an end port has been programmed with.
#pragma once

#include <vector>

#include "libdiag/wire/congestion_attributes.h"

namespace ib::sim {

/// Initially nothing is marked and nothing is slowed down, and anybody may change that.
struct CongestionState {
  wire::CongestionKeyInfo key;
  wire::SwitchCongestionSetting of_switch;           // of port 0 of a switch
  std::vector<wire::SwitchPortCongestion> of_ports;  // ... by number; empty: as the switch
  wire::CaCongestionSetting of_ca;                   // of ports of CAs and routers
  std::vector<wire::CongestionDelay> table;          // ... whole blocks; empty: none was set
  std::uint16_t ccti_limit{};                        // ... its last index that counts
  friend bool operator==(const CongestionState&, const CongestionState&) = default;
};

/// Blocks of the table that CAs here have.
inline constexpr std::uint8_t kControlTableCap = 2;

}  // namespace ib::sim
