// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/discover/vendor_port_info.h"

#include <algorithm>
#include <iterator>

namespace ib::discover {
namespace {

/// Those that opensm and infiniband-diags ask (osm_subnet.c, is_mlnx_ext_port_info_supported).
bool is_asked_for_fdr10(std::uint32_t vendor, std::uint16_t device) {
  constexpr std::uint32_t kBull = 0x119f;
  if (vendor == kBull) {
    constexpr std::uint16_t known[] = {0x1b02, 0x1b50, 0x1ba0, 0x1b33, 0x1b73, 0x1b40,
                                       0x1b41, 0x1b60, 0x1b61, 0x1b83, 0x1b93, 0x1b94,
                                       0x1bb4, 0x1bb5, 0x1bc4, 0x1bc5, 0x1bc6, 0x1bf0};
    return std::ranges::find(known, device) != std::end(known) ||
           (device >= 0x1bd0 && device <= 0x1bd5);
  }
  return (device >= 0xc738 && device <= 0xc73b) || device == 0xc839 || device == 0xcb20 ||
         device == 0xcf08 || device == 0xcf09 || device == 0xd2f0 || device == 0xa2d2 ||
         (device >= 0x1003 && device <= 0x101b);
}

/// Quantum-2 and Quantum-3, which are too young for FDR10.
bool is_young_switch(std::uint16_t device) { return device == 0xd2f2 || device == 0xd2f4; }

/// A switch has cages for a multiple of four ports; those beyond them are of what is built in
/// (port 41 of 41 of a Quantum, 65 of 65 of a Quantum-2).
bool is_beyond_the_cages(const wire::NodeInfo& node, std::uint8_t port) {
  return node.node_type == wire::NodeType::Switch && node.num_ports > 4 &&
         port > node.num_ports - node.num_ports % 4;
}

}  // namespace

bool answers_vendor_port_info(std::uint32_t vendor, std::uint16_t device) {
  return is_asked_for_fdr10(vendor, device) || is_young_switch(device);
}

bool may_run_fdr10(const wire::PortInfo& info) {
  return info.port_state != wire::PortState::Down && info.link_speed_active == 4 &&
         info.link_speed_ext_active == 0;
}

SpecialPort special_port(const wire::MlnxSpecialPort& info) {
  if (!info.is_special || info.type > static_cast<unsigned>(SpecialPort::Gateway))
    return SpecialPort::None;
  return static_cast<SpecialPort>(info.type);
}

bool is_to_tell_vendor_port_info(const wire::NodeInfo& node, std::uint8_t port,
                                 const wire::PortInfo& info) {
  if (info.port_state == wire::PortState::Down ||
      !answers_vendor_port_info(node.vendor_id, node.device_id))
    return false;
  return may_run_fdr10(info) || is_beyond_the_cages(node, port);
}

}  // namespace ib::discover
