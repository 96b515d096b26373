// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/device/virtual_ports.h"

#include "libdiag/wire/virtualization_attributes.h"

namespace sm {

bool has_virtual_ports(const ib::discover::ObservedPort& port) {
  using ib::wire::PortInfo;
  return port.known &&
         (port.get<&PortInfo::capability_mask>() & ib::wire::port_cap::kCapabilityMask2) != 0 &&
         (port.get<&PortInfo::capability_mask2>() & ib::wire::port_cap2::kVirtualization) != 0;
}

policy::EndPortFacts virtual_port_facts(const VirtualPort& vport, const ib::fabric::Fabric& fabric,
                                        ib::fabric::PortRef at) {
  policy::EndPortFacts facts;
  facts.guid = vport.guid;
  facts.kind = policy::EndPortKind::Virtual;
  facts.node = fabric.node(at.node).guid;
  facts.port = at.port;
  return facts;
}

}  // namespace sm
