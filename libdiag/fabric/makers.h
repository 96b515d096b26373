// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Who made a device, for messages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ib::fabric {

/// By the IEEE number in NodeInfo:VendorID; empty where it is none of those that are known.
std::string_view maker(std::uint32_t vendor_id);

/// "Mellanox device 4119", or "vendor 0x00abcd device 1".
std::string device_label(std::uint32_t vendor_id, std::uint16_t device_id);

}  // namespace ib::fabric
