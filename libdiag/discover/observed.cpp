// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/discover/observed.h"

namespace ib::discover {

std::string_view trouble_name(Trouble::Kind kind) {
  switch (kind) {
    case Trouble::Kind::Silent:
      return "silent";
    case Trouble::Kind::Refused:
      return "refused";
    case Trouble::Kind::Garbage:
      return "garbage";
    case Trouble::Kind::DuplicateGuid:
      return "duplicate GUID";
    case Trouble::Kind::Moved:
      return "moved";
    case Trouble::Kind::TooFar:
      return "too far";
  }
  return "trouble";
}

wire::PortInfo ObservedPort::info() const { return wire::decode<wire::PortInfo>(bytes.data()); }

void Observed::update_port(fabric::PortRef p, const std::byte* answer, const wire::PortInfo& info) {
  ObservedPort& seen = port(p);
  std::copy_n(answer, seen.bytes.size(), seen.bytes.begin());
  seen.known = true;
  fabric::Port& out = fabric.port(p);
  out.present = true;
  out.state = info.port_state;
  out.phys_state = info.port_physical_state;
  out.width = wire::active_width(info);
  out.speed = wire::active_speed(info, seen.fdr10);
  out.vl_cap = info.vl_cap;
  out.mtu_cap = info.mtu_cap;
  const bool end_port = !fabric.node(p.node).is_switch() || p.port == 0;
  if (end_port) {
    out.lid = info.lid.is_unicast() ? info.lid : kNoLid;
    out.lmc = info.lmc;
  }
}

}  // namespace ib::discover
