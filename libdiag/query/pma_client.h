// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// PMA client: port counters, read and never reset: requests, and how their answers are read.
#pragma once

#include "libdiag/base/result.h"
#include "libdiag/mad/request.h"
#include "libdiag/wire/gmp_attributes.h"

namespace ib::query {

/// ClassPortInfo:CapabilityMask of class 0x04 (IBA 16.1.3.1).
namespace pma_cap {
inline constexpr std::uint16_t kExtendedWidth = 1U << 9,  // PortCountersExtended, all of it
    kExtendedWidthNoIetf = 1U << 10;                      // without the unicast and multicast ones
}
/// ... CapabilityMask2.
namespace pma_cap2 {
inline constexpr std::uint32_t kErrorsExtended = 1U << 1;  // PortErrorsExtended is there
}
inline constexpr std::uint8_t kAllPorts = 255;

mad::Request pma_request(mad::Cookie cookie, Lid lid, std::uint16_t attribute, std::uint8_t port,
                         Sl sl = Sl{0});

/// The counters of an answer; Refused with the status, or Malformed when it tells of another port.
Result<wire::PortCounters> read_port_counters(const mad::Packet& answer, std::uint8_t port);
Result<wire::PortCountersExtended> read_port_counters_extended(const mad::Packet& answer,
                                                               std::uint8_t port);

}  // namespace ib::query
