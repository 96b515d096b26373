// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// SL2VL mapping and VL arbitration as an operator writes them in the options file (qos_sl2vl,
// qos_vlarb_high, ...): values, not yet fitted to the VLs and tables of a device.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "libdiag/base/result.h"

namespace sm::policy {

/// VLs of SLs 0 to 15; 15 drops the SL (IBA 7.6.6).
using SlToVlTemplate = std::array<std::uint8_t, 16>;

/// One entry of an arbitration table: a VL from 0 to 14 and its weight in units of 64 bytes; weight
/// 0 is skipped (IBA 7.6.9).
struct VlWeight {
  std::uint8_t vl{}, weight{};
  friend bool operator==(const VlWeight&, const VlWeight&) = default;
};
using VlArbitrationTemplate = std::vector<VlWeight>;  // 64 entries at most

/// What opensm has built in.
inline constexpr SlToVlTemplate kDefaultSlToVl = {0, 1, 2,  3,  4,  5,  6,  7,
                                                  8, 9, 10, 11, 12, 13, 14, 7};
VlArbitrationTemplate default_vl_arbitration_high();
VlArbitrationTemplate default_vl_arbitration_low();

/// "0,1,2,...": up to 16 VLs, of SL 0 on. A trailing comma is accepted. An error, of kind Usage,
/// says what is wrong with which entry.
ib::Result<std::vector<std::uint8_t>> read_sl_to_vl(std::string_view text);

/// "0:4,1:64,...": VL:weight pairs. A trailing comma is accepted; an empty text is an empty table.
ib::Result<VlArbitrationTemplate> read_vl_arbitration(std::string_view text);

}  // namespace sm::policy
