// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What few ask of ports beside PortInfo: their states at one blow, and what the vendor says of them
// beyond speeds.
#pragma once

#include <array>
#include <cstdint>

#include "libdiag/wire/layout.h"
#include "libdiag/wire/smp_attributes.h"

namespace ib::wire {

namespace attr {
inline constexpr std::uint16_t kPortInfoExtended = 0x0033, kSwitchPortStateTable = 0x0034;
}
namespace port_cap {
inline constexpr std::uint32_t kMulticastPKeyTrapSuppression = 1U << 29;
}
namespace port_cap2 {
inline constexpr std::uint16_t kSwitchPortStateTable = 1U << 3;
}

/// Forward error correction: what runs on a port's link, and what it supports and may use at each
/// speed. AttributeModifier: the port.
struct PortInfoExtended {
  std::uint32_t capability_mask{};
  std::uint16_t fec_mode_active{};
  std::uint16_t fdr_fec_supported{}, fdr_fec_enabled{};
  std::uint16_t edr_fec_supported{}, edr_fec_enabled{};
  std::uint16_t hdr_fec_supported{}, hdr_fec_enabled{};
  std::uint16_t ndr_fec_supported{}, ndr_fec_enabled{};
  friend bool operator==(const PortInfoExtended&, const PortInfoExtended&) = default;
};
template <>
struct LayoutOf<PortInfoExtended>
    : Layout<"PortInfoExtended", "IBA: attribute 0x0033", 64,
             Field<&PortInfoExtended::capability_mask, at(0), 32, "CapMask">,
             Field<&PortInfoExtended::fec_mode_active, at(4), 16, "FECModeActive", Show::Decimal>,
             Field<&PortInfoExtended::fdr_fec_supported, at(6), 16, "FDRFECModeSupported">,
             Field<&PortInfoExtended::fdr_fec_enabled, at(8), 16, "FDRFECModeEnabled">,
             Field<&PortInfoExtended::edr_fec_supported, at(10), 16, "EDRFECModeSupported">,
             Field<&PortInfoExtended::edr_fec_enabled, at(12), 16, "EDRFECModeEnabled">,
             Field<&PortInfoExtended::hdr_fec_supported, at(14), 16, "HDRFECModeSupported">,
             Field<&PortInfoExtended::hdr_fec_enabled, at(16), 16, "HDRFECModeEnabled">,
             Field<&PortInfoExtended::ndr_fec_supported, at(18), 16, "NDRFECModeSupported">,
             Field<&PortInfoExtended::ndr_fec_enabled, at(20), 16, "NDRFECModeEnabled">> {};
inline constexpr std::uint32_t kIsFecModeSupported = 1U << 0;  // of CapMask

/// AttributeModifier: the block; 128 ports each, port 0 of the switch first.
struct SwitchPortStateTable {
  std::array<std::uint8_t, 128> state{};  // PortState
  friend bool operator==(const SwitchPortStateTable&, const SwitchPortStateTable&) = default;
};
template <>
struct LayoutOf<SwitchPortStateTable>
    : Layout<"SwitchPortStateTable", "OpenSM 5: attribute 0x0034", 64,
             Field<&SwitchPortStateTable::state, at(0), 4, "PortState", Show::Decimal>> {};
inline constexpr unsigned kPortStatesInBlock = 128;

/// Vendor attribute 0xFF90 (Mellanox), beside the speeds of MlnxExtendedPortInfo: what a switch has
/// built in behind a port.
struct MlnxSpecialPort {
  bool is_special{};
  std::uint8_t type{};  // 1 aggregation node, 2 router, 3 Ethernet gateway
  friend bool operator==(const MlnxSpecialPort&, const MlnxSpecialPort&) = default;
};
template <>
struct LayoutOf<MlnxSpecialPort>
    : Layout<"MlnxSpecialPort", "OpenSM 5: MlnxExtendedPortInfo", 64,
             Field<&MlnxSpecialPort::is_special, at(47), 1, "IsSpecialPort", Show::Decimal>,
             Field<&MlnxSpecialPort::type, at(47, 4), 4, "SpecialPortType", Show::Decimal>> {};

}  // namespace ib::wire
