// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/discover/degraded.h"

#include "libdiag/wire/rates.h"

namespace ib::discover {
namespace {

using wire::LinkSpeed;
using wire::LinkWidth;
using wire::PortInfo;

constexpr LinkWidth kWidths[] = {LinkWidth::W12x, LinkWidth::W8x, LinkWidth::W4x, LinkWidth::W2x};
constexpr LinkSpeed kSpeeds[] = {LinkSpeed::Xdr, LinkSpeed::Ndr, LinkSpeed::Hdr, LinkSpeed::Edr,
                                 LinkSpeed::Fdr, LinkSpeed::Qdr, LinkSpeed::Ddr};

/// The bits of a port whose fastest speed is this one.
LinkSupport only(LinkSpeed speed) {
  PortInfo as;
  wire::set_active_speed(as, speed);
  LinkSupport out;
  out.extended_speeds2 = as.link_speed_ext_active2;
  out.extended_speeds = out.extended_speeds2 != 0 ? std::uint8_t{0} : as.link_speed_ext_active;
  const bool extended = out.extended_speeds2 != 0 || out.extended_speeds != 0;
  out.speeds = extended ? std::uint8_t{0} : as.link_speed_active;
  return out;
}
bool supports(const LinkSupport& port, const LinkSupport& wanted) {
  return (port.speeds & wanted.speeds) != 0 ||
         (port.extended_speeds & wanted.extended_speeds) != 0 ||
         (port.extended_speeds2 & wanted.extended_speeds2) != 0;
}

}  // namespace

LinkSupport support_of(const ObservedPort& port) {
  return {port.get<&PortInfo::link_width_supported>(), port.get<&PortInfo::link_speed_supported>(),
          port.get<&PortInfo::link_speed_ext_supported>(),
          port.get<&PortInfo::link_speed_ext_supported2>()};
}

bool is_degraded(const LinkSupport& a, const LinkSupport& b, const fabric::Port& active) {
  for (const LinkWidth width : kWidths) {
    if (active.width == LinkWidth::Unknown || wire::lanes(width) <= wire::lanes(active.width))
      break;
    if ((a.widths & b.widths & static_cast<unsigned>(width)) != 0) return true;
  }
  if (active.speed == LinkSpeed::Unknown) return false;
  for (const LinkSpeed speed : kSpeeds) {
    if (wire::gbps_per_lane(speed) <= wire::gbps_per_lane(active.speed)) return false;
    const LinkSupport wanted = only(speed);
    if (supports(a, wanted) && supports(b, wanted)) return true;
  }
  return false;
}

bool is_degraded(const Observed& observed, fabric::PortRef port) {
  const fabric::PortRef peer = observed.fabric.port(port).peer;
  if (!peer) return false;
  const ObservedPort* own = observed.known_port(port);
  const ObservedPort* far = observed.known_port(peer);
  return own != nullptr && far != nullptr &&
         is_degraded(support_of(*own), support_of(*far), observed.fabric.port(port));
}

}  // namespace ib::discover
