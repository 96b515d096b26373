// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/core/kept_nodes.h"

#include <gtest/gtest.h>

#include "tests/unit/sm/plan/small_subnet.h"

namespace sm::core {
namespace {

using ib::discover::Observed;
using ib::discover::Trouble;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;

/// Two switches with two cables between them, all ports ACTIVE.
Observed two_switches() {
  Observed seen;
  for (const std::uint64_t guid : {1, 2}) {
    ib::fabric::Node node;
    node.type = ib::wire::NodeType::Switch;
    node.guid = ib::Guid{guid};
    node.num_ports = 2;
    const NodeIndex n = seen.fabric.add_node(node);
    auto& observed = seen.nodes.emplace_back();
    observed.info.node_guid = node.guid;
    observed.info.node_type = node.type;
    observed.info.num_ports = node.num_ports;
    observed.switch_info.emplace();
    seen.ports.resize(seen.fabric.port_count());
    for (std::uint8_t p = 0; p <= 2; ++p) {
      seen.port({n, p}).known = true;
      sm::test::change_port(seen, {n, p}, [](ib::wire::PortInfo& info) {
        info.port_state = ib::wire::PortState::Active;
      });
    }
  }
  for (std::uint8_t p = 1; p <= 2; ++p)
    seen.fabric.connect({0, p}, {1, p}, ib::wire::LinkWidth{}, ib::wire::LinkSpeed{});
  seen.fabric.reindex();
  seen.local_port = {0, 1};
  return seen;
}

/// It said who it is before it fell silent, so a cable of it is in the fabric that was found.
TEST(KeptNodes, ASwitchThatFellSilentHalfWayHasTheSameCablesAtBothEnds) {
  const Observed before = two_switches();
  Observed found = before;
  found.nodes[1].usable = false;
  found.fabric.disconnect({0, 2});
  Trouble silent;
  silent.kind = Trouble::Kind::Silent;
  silent.node_guid = ib::Guid{2};
  silent.behind = {0, 1};
  found.troubles.push_back(silent);
  KeptNodes kept;
  kept.keep(ib::Instant{1'000'000'000}, found, before, {true, true}, false);
  ASSERT_TRUE(kept.contains(ib::Guid{2}));
  for (std::uint8_t p = 1; p <= 2; ++p) {
    EXPECT_EQ(found.fabric.port(0, p).peer, (PortRef{1, p}));
    EXPECT_EQ(found.fabric.port(1, p).peer, (PortRef{0, p}));
  }
}

}  // namespace
}  // namespace sm::core
