// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Of which port the vendor attribute ExtendedPortInfo (Mellanox 0xFF90) is asked: some firmware
// does not survive an attribute that it does not know, and nearly all ports have nothing to say by
// it.
#pragma once

#include <cstdint>

#include "libdiag/discover/observed.h"
#include "libdiag/wire/port_attributes.h"

namespace ib::discover {

/// Devices that are known to answer it.
bool answers_vendor_port_info(std::uint32_t vendor, std::uint16_t device);

/// FDR10 shows as plain QDR in PortInfo.
bool may_run_fdr10(const wire::PortInfo& info);

SpecialPort special_port(const wire::MlnxSpecialPort& info);

/// Whether a sweep asks it of this port of `node`: its link may be FDR10, or something that is
/// built into the switch is behind it.
bool is_to_tell_vendor_port_info(const wire::NodeInfo& node, std::uint8_t port,
                                 const wire::PortInfo& info);

}  // namespace ib::discover
