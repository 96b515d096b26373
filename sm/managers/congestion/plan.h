// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What devices are to hold for congestion control, and whether they do. Functions of settings,
// subnet and capabilities alone. doc/congestion.md has the formulas and where they come from.
#pragma once

#include <cstdint>
#include <vector>

#include "sm/device/snapshot.h"
#include "sm/policy/congestion_settings.h"

namespace sm::managers {

/// Ports that can send at once: active ports of channel adapters, or what the settings say. Counted
/// numbers are rounded up to 2^n or 3 x 2^n, so that a host more does not change every table.
std::uint32_t congestion_hosts(const policy::CongestionSettings& settings, const Snapshot& subnet);

/// A table of `entries`: from no delay to the share of one of `hosts - 1` senders, each step a like
/// part of the rate.
std::vector<ib::wire::CongestionDelay> computed_table(std::uint32_t hosts, std::size_t entries);

/// CCTI_Timer, in 1.024 us: the time between two marks for one of `hosts - 1` senders at its share.
std::uint16_t computed_timer(std::uint32_t hosts, std::uint16_t marking_rate);

/// Of node `node`, a switch with these capabilities.
ib::wire::SwitchCongestionSetting wanted_of_switch(const policy::CongestionSettings& settings,
                                                   const ib::fabric::Fabric& fabric,
                                                   ib::fabric::NodeIndex node,
                                                   const ib::wire::CongestionInfo& info);
ib::wire::CaCongestionSetting wanted_of_ca(const policy::CongestionSettings& settings,
                                           std::uint32_t hosts);
/// Blocks of the table of a device with room for `cap` blocks, at least 1. All carry the same
/// CCTI_Limit.
std::vector<ib::wire::CongestionControlTable> wanted_table(
    const policy::CongestionSettings& settings, std::uint32_t hosts, std::uint8_t cap);

/// Whether `held`, an answer, has all that a Set of `wanted` would bring about.
bool holds(const ib::wire::SwitchCongestionSetting& held,
           const ib::wire::SwitchCongestionSetting& wanted);
bool holds(const ib::wire::CaCongestionSetting& held, const ib::wire::CaCongestionSetting& wanted);
/// Block `block`; entries above CCTI_Limit mean nothing.
bool holds(const ib::wire::CongestionControlTable& held,
           const ib::wire::CongestionControlTable& wanted, std::size_t block);

}  // namespace sm::managers
