// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The words for a MAD and its target in messages and traces: "Get(PortInfo) to DR path 0,1,3".
#pragma once

#include <string>
#include <string_view>

#include "libdiag/mad/transport.h"

namespace ib::mad {

std::string class_name(wire::MgmtClass mgmt_class);                               // "Subn", "0x0a"
std::string method_name(wire::Method method);                                     // "Get", "0x7f"
std::string attribute_name(wire::MgmtClass mgmt_class, std::uint16_t attribute);  // "PortInfo"

/// "DR path 0,1,3" or "LID 17", of a packet with a GRH "LID 17 GID fe80::2:c903:0:1".
std::string target_name(const Address& address, const wire::Mad& mad);

/// "Get(PortInfo)"; other classes than the SMPs' are named: "Perf Get(PortCounters)".
std::string describe(const wire::Mad& mad);
/// "Get(PortInfo) to DR path 0,1,3".
std::string describe(const Address& address, const wire::Mad& mad);

}  // namespace ib::mad
