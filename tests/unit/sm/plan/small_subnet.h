// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Two switches with two cables between them and two hosts each, in the text of ibnetdiscover, as a
// sweep would have found them: after a cold start, or as left by a subnet manager.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string_view>

#include "libdiag/fabric/topology_text.h"
#include "tests/unit/sm/sa/snapshot_of.h"

namespace sm::test {

using ib::Guid;
using ib::Lid;
using ib::discover::Observed;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using ib::wire::PortInfo;
using ib::wire::PortState;

//   H1 (0x31) --1[S1 0x10]3--1[S2 0x20]3-- H3 (0x51)
//   H2 (0x41) --2[       ]4--2[       ]4-- H4 (0x61)
inline constexpr std::string_view kSmallSubnet = R"(switchguid=0x10(10)
Switch	4 "S-0000000000000010"		# "S1" base port 0 lid 0 lmc 0
[1]	"H-0000000000000030"[1](31) 		# "H1" lid 0 4xEDR
[2]	"H-0000000000000040"[1](41) 		# "H2" lid 0 4xEDR
[3]	"S-0000000000000020"[1]		# "S2" lid 0 4xEDR
[4]	"S-0000000000000020"[2]		# "S2" lid 0 4xEDR

switchguid=0x20(20)
Switch	4 "S-0000000000000020"		# "S2" base port 0 lid 0 lmc 0
[1]	"S-0000000000000010"[3]		# "S1" lid 0 4xEDR
[2]	"S-0000000000000010"[4]		# "S1" lid 0 4xEDR
[3]	"H-0000000000000050"[1](51) 		# "H3" lid 0 4xEDR
[4]	"H-0000000000000060"[1](61) 		# "H4" lid 0 4xEDR

caguid=0x30
Ca	1 "H-0000000000000030"		# "H1"
[1](31) 	"S-0000000000000010"[1]		# lid 0 lmc 0 "S1" lid 0 4xEDR

caguid=0x40
Ca	1 "H-0000000000000040"		# "H2"
[1](41) 	"S-0000000000000010"[2]		# lid 0 lmc 0 "S1" lid 0 4xEDR

caguid=0x50
Ca	1 "H-0000000000000050"		# "H3"
[1](51) 	"S-0000000000000020"[3]		# lid 0 lmc 0 "S2" lid 0 4xEDR

caguid=0x60
Ca	1 "H-0000000000000060"		# "H4"
[1](61) 	"S-0000000000000020"[4]		# lid 0 lmc 0 "S2" lid 0 4xEDR
)";

inline NodeIndex node_of(const Observed& seen, std::uint64_t guid) {
  const auto at = seen.fabric.find_node(Guid{guid});
  EXPECT_TRUE(at.has_value()) << guid;
  return at.value_or(0);
}
inline PortRef port_of(const Observed& seen, std::uint64_t node, std::uint8_t port = 1) {
  return {node_of(seen, node), port};
}

/// As swept from H1: no port has a LID, every link is in INIT.
inline std::shared_ptr<Observed> cold_subnet(std::string_view topology = kSmallSubnet) {
  auto fabric = ib::fabric::read_topology(topology, "small.topo");
  EXPECT_TRUE(fabric.has_value()) << (fabric ? "" : fabric.error().message);
  auto seen = std::make_shared<Observed>(*sa::test::snapshot_of(*std::move(fabric))->observed);
  for (NodeIndex n = 0; n < seen->nodes.size(); ++n) {
    for (unsigned p = 0; p <= seen->fabric.node(n).num_ports; ++p) {
      const PortRef at{n, static_cast<std::uint8_t>(p)};
      auto& port = seen->port(at);
      if (!port.known) continue;
      auto info = port.info();
      info.m_key = 0;
      info.lid = info.master_sm_lid = ib::kNoLid;
      info.neighbor_mtu = 1;
      info.vl_arbitration_low_cap = info.vl_arbitration_high_cap = 8;
      if (info.port_state == PortState::Active && p != 0) info.port_state = PortState::Initialize;
      ib::wire::encode(info, port.bytes.data());
      seen->fabric.port(at).state = port.state();
    }
    // Where it is; of switches by the first of two cables.
    auto& route = seen->nodes[n].route;
    switch (seen->fabric.node(n).guid.value) {
      case 0x10:
        route.hops = {1};
        break;
      case 0x20:
        route.hops = {1, 3};
        break;
      case 0x40:
        route.hops = {1, 2};
        break;
      case 0x50:
        route.hops = {1, 3, 3};
        break;
      case 0x60:
        route.hops = {1, 3, 4};
        break;
      default:
        break;
    }
  }
  seen->local_port = port_of(*seen, 0x30);
  return seen;
}

/// Changes what a port answered.
template <class Change>
void change_port(Observed& seen, PortRef at, Change change) {
  auto info = seen.port(at).info();
  change(info);
  ib::wire::encode(info, seen.port(at).bytes.data());
  seen.fabric.port(at).state = seen.port(at).state();
}

}  // namespace sm::test
