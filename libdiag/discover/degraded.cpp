// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/discover/degraded.h"

#include "libdiag/wire/rates.h"

namespace ib::discover {

using wire::LinkSpeed;

namespace {

bool supports(const wire::PortInfo& port, LinkSpeed speed) {
  wire::PortInfo as;
  wire::set_active_speed(as, speed);
  if (as.link_speed_ext_active2 != 0) {
    return (port.link_speed_ext_supported2 & as.link_speed_ext_active2) != 0;
  }
  if (as.link_speed_ext_active != 0) {
    return (port.link_speed_ext_supported & as.link_speed_ext_active) != 0;
  }
  return (port.link_speed_supported & as.link_speed_active) != 0;
}

}  // namespace

bool is_degraded(const wire::PortInfo& a, const wire::PortInfo& b, const fabric::Port& active) {
  for (const wire::LinkWidth width :
       {wire::LinkWidth::W12x, wire::LinkWidth::W8x, wire::LinkWidth::W4x, wire::LinkWidth::W2x}) {
    if (wire::lanes(width) <= wire::lanes(active.width) || active.width == wire::LinkWidth::Unknown)
      break;
    if ((a.link_width_supported & b.link_width_supported & static_cast<unsigned>(width)) != 0)
      return true;
  }
  if (active.speed == LinkSpeed::Unknown) return false;
  for (const LinkSpeed speed : {LinkSpeed::Xdr, LinkSpeed::Ndr, LinkSpeed::Hdr, LinkSpeed::Edr,
                                LinkSpeed::Fdr, LinkSpeed::Qdr, LinkSpeed::Ddr}) {
    if (wire::gbps_per_lane(speed) <= wire::gbps_per_lane(active.speed)) return false;
    if (supports(a, speed) && supports(b, speed)) return true;
  }
  return false;
}

}  // namespace ib::discover
