// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibfabric/description.h"

#include <algorithm>
#include <cerrno>

#include "libdiag/wire/rates.h"
#include "tools/ibfabric/place.h"

namespace ibfabric {
namespace {

using ib::sim::Model;
using ib::sim::PortRef;

/// How the kernel's sysfs prints a port's rate: whole Gb/s.
std::uint32_t sysfs_rate(const ib::wire::PortInfo& info) {
  using ib::wire::LinkSpeed;
  const auto tenths = [](LinkSpeed s) -> unsigned {
    switch (s) {
      case LinkSpeed::Ddr:
        return 50;
      case LinkSpeed::Qdr:
      case LinkSpeed::Fdr10:
        return 100;
      case LinkSpeed::Fdr:
        return 140;
      case LinkSpeed::Edr:
        return 250;
      case LinkSpeed::Hdr:
        return 500;
      case LinkSpeed::Ndr:
        return 1000;
      case LinkSpeed::Xdr:
        return 2000;
      default:
        return 25;
    }
  };
  const unsigned lanes = std::max(1U, ib::wire::lanes(ib::wire::active_width(info)));
  return tenths(ib::wire::active_speed(info)) * lanes / 10;
}

PortDescription describe_port(const Model& model, PortRef port) {
  const auto info = model.port_info(port);
  PortDescription p = {};
  p.present = 1;
  p.lid = info.lid.value;
  p.lmc = info.lmc;
  p.sm_lid = info.master_sm_lid.value;
  p.sm_sl = info.master_sm_sl.value;
  p.state = static_cast<std::uint8_t>(info.port_state);
  p.phys_state = static_cast<std::uint8_t>(info.port_physical_state);
  p.rate_gbps = sysfs_rate(info);
  p.cap_mask = info.capability_mask;
  p.gid_prefix = info.gid_prefix;
  const auto guids = model.guids(port);
  p.guid = guids.empty() ? 0 : guids.front().value;
  const auto keys = model.p_keys(port);
  p.p_key_count = static_cast<std::uint16_t>(std::min(keys.size(), kPKeysMax));
  for (std::size_t i = 0; i < p.p_key_count; ++i) p.p_keys[i] = keys[i].value;
  return p;
}

}  // namespace

Description describe(const Model& model, const char* at) {
  Description d = {};
  d.reply.protocol = kProtocol;
  const auto& fabric = model.topology();
  const auto place = find_place(fabric, at);
  if (!place) {
    d.reply.result = -ENODEV;
    return d;
  }
  const auto& node = fabric.node(place->node);
  const auto info = model.node_info(place->node);
  d.node_type = static_cast<std::uint32_t>(info.node_type);
  d.device_id = info.device_id;
  d.revision = info.revision;
  d.node_guid = info.node_guid.value;
  d.system_guid = info.system_image_guid.value;
  d.default_port = place->port.value_or(0);
  d.num_ports = node.is_switch() ? 0 : std::min<int>(node.num_ports, kPortsMax - 1);
  for (int p = node.is_switch() ? 0 : 1; p <= d.num_ports; ++p)
    d.ports[p] = describe_port(model, {place->node, static_cast<std::uint8_t>(p)});
  return d;
}

}  // namespace ibfabric
