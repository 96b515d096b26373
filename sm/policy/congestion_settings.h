// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What an operator wants of congestion control, whichever way it was said: by the file of the
// ccmgr plug-in or by opensm's cc_* keys. The initial values are those of an empty ccmgr file.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "libdiag/wire/congestion_attributes.h"

namespace sm::policy {

inline constexpr std::uint32_t kCongestionHostsMax = 48 * 1024;
inline constexpr std::size_t kCongestionTableMax = 128;  // entries

struct CongestionSettings {
  bool enable{true};  // false: devices are to do nothing about congestion

  // The key of devices; 0: whatever they have is left, and used where it can be read.
  std::uint64_t cc_key{0};
  bool key_protect{true};
  std::uint16_t key_lease{60};  // seconds; 0: for ever

  // Switches. What is set says Control_Map.
  ib::wire::SwitchCongestionSetting of_switch{};
  bool victims_by_ports{true};  // Victim_Mask: the ports that lead to hosts

  // Channel adapters. SLs that are set says Control_Map.
  ib::wire::CaCongestionSetting of_ca{};
  bool timer_by_hosts{true};                     // CCTI_Timer from the number of hosts
  bool table_by_hosts{true};                     // and the table
  std::vector<ib::wire::CongestionDelay> table;  // else this one, from index 0
  bool last_fills{true};                         // its last entry fills what room the device has
  std::uint32_t num_hosts{0};                    // 0: as many as there are

  // More errors than this within the window end it.
  std::uint32_t max_errors{5};
  std::chrono::seconds error_window{5};  // 0: nothing does

  std::uint32_t requests_most{500};  // under way at a time

  CongestionSettings() {
    namespace map = ib::wire::congestion_map;
    of_switch.control_map = map::kThreshold | map::kMarkingRate;
    of_switch.threshold = 15;
    of_switch.packet_size = 0x200 / 64;
    of_switch.marking_rate = 10;
    of_ca.control_map = 0xFFFF;
    of_ca.entries.fill({0, 1, 2, 0});
  }
  friend bool operator==(const CongestionSettings&, const CongestionSettings&) = default;
};

}  // namespace sm::policy
