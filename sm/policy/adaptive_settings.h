// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Adaptive routing as an operator wants it, whether said to the armgr plug-in or by keys. The
// initial values are those of an empty armgr file.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "libdiag/base/ids.h"

namespace sm::policy {

struct AdaptiveSettings {
  /// Which ports a switch may choose among.
  enum class Algorithm : std::uint8_t {
    Lag,   // all that lead to the switch that the LFT leads to
    Tree,  // all that are on a shortest way of the engine's tree
  };
  /// What one switch has otherwise.
  struct OfSwitch {
    std::optional<bool> enable;
    std::optional<std::uint32_t> ageing_time;
    friend bool operator==(const OfSwitch&, const OfSwitch&) = default;
  };

  bool enable{true};  // false: it is turned off where it is on
  Algorithm algorithm{Algorithm::Lag};
  bool free_choice{false};        // for every packet; else the port of a burst stays (bounded)
  std::uint32_t ageing_time{30};  // us without traffic until a burst is over
  std::map<ib::Guid, OfSwitch> switches;  // by node GUID
  std::uint16_t sls{0xFFFF};              // that it is for, a bit each
  bool fast_recovery{true};  // SHIELD: another port of the group where one is not ACTIVE

  bool enabled(ib::Guid node) const {
    const auto own = switches.find(node);
    return enable && (own == switches.end() || own->second.enable.value_or(true));
  }
  std::uint32_t ageing_time_of(ib::Guid node) const {
    const auto own = switches.find(node);
    return own == switches.end() ? ageing_time : own->second.ageing_time.value_or(ageing_time);
  }
  friend bool operator==(const AdaptiveSettings&, const AdaptiveSettings&) = default;
};

}  // namespace sm::policy
