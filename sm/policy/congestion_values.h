// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Values of congestion control as operators write them in the options file and in the ccmgr file.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "libdiag/base/result.h"
#include "libdiag/wire/congestion_attributes.h"

namespace sm::policy {

/// `SHIFT:MULTIPLIER`, or the multiplier alone with a shift of 0.
std::optional<ib::wire::CongestionDelay> read_congestion_delay(std::string_view text);
inline constexpr std::string_view kDelayWanted =
    "SHIFT:MULTIPLIER, 0 to 3 and 0 to 16383, or the multiplier alone";

/// `SHIFT:MULTIPLIER, ...`, at most 128 of them; nothing at all is an empty table. Errors say what
/// was expected and what is there.
ib::Result<std::vector<ib::wire::CongestionDelay>> read_congestion_table(std::string_view text);

/// Up to 64 hexadecimal digits, with or without 0x: bit 0 is port 0.
ib::Result<ib::wire::CongestionPortMask> read_port_mask(std::string_view text);

/// `SL VALUE`, several with commas between them; 0 where nothing is said.
ib::Result<std::array<std::uint16_t, 16>> read_sl_values(std::string_view text, std::uint16_t max);

}  // namespace sm::policy
