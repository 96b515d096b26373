// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// One question of a Sweep, and the cookie that its answer comes back with. Inside libdiag/discover
// only.
#pragma once

#include <cstdint>
#include <string_view>

#include "libdiag/fabric/fabric.h"
#include "libdiag/mad/request.h"

namespace ib::discover {

enum class Ask : std::uint8_t {
  Probe = 1,       // NodeInfo through (node, port); node kNoNode: of the local port
  Description,     // NodeDescription of node
  SwitchInfo,      // of node
  ClearChange,     // Set(SwitchInfo) of node, which clears PortStateChange
  PortInfo,        // of (node, port)
  PortInfoExt,     // the same with the extended-speeds modifier
  VendorPortInfo,  // Mellanox ExtendedPortInfo of (node, port)
  Recheck,         // NodeInfo through (node, port) once more
  RecheckPort,     // PortInfo of (node, port) once more
};

struct Key {
  Ask ask;
  fabric::PortRef at;
};
constexpr mad::Cookie kCookieMask = (mad::Cookie{1} << 48) - 1;
/// 48 bits: what is asked, node and port.
mad::Cookie to_cookie(Key k);
Key from_cookie(mad::Cookie c);

/// The attribute id of the SMP that asks it, and the name of such an id.
std::uint16_t attribute_of(Ask ask);
std::string_view attribute_name(std::uint16_t attribute);

}  // namespace ib::discover
