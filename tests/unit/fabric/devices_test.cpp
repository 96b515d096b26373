// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What the numbers of devices say: who made them, which of their ports are one.
#include <gtest/gtest.h>

#include "libdiag/fabric/labels.h"
#include "libdiag/fabric/makers.h"
#include "libdiag/fabric/planes.h"

namespace ib::fabric {
namespace {

TEST(Makers, AreKnownByTheNumberOfTheIeee) {
  EXPECT_EQ(maker(0x0002C9), "Mellanox");
  EXPECT_EQ(maker(0x0001FF), "DDN") << "the first";
  EXPECT_EQ(maker(0xF45214), "Mellanox") << "the last";
  EXPECT_EQ(maker(0x005076), "IBM");
  EXPECT_EQ(maker(0x00ABCD), "");
  EXPECT_EQ(device_label(0x2C9, 4119), "Mellanox device 4119");
  EXPECT_EQ(device_label(0xABCD, 1), "vendor 0x00abcd device 1");
}

TEST(Makers, StandForTheNameOfANodeThatHasNone) {
  Fabric f;
  Node node;
  node.guid = Guid{0x21};
  node.vendor_id = 0x2C9;
  node.device_id = 4119;
  const NodeIndex nameless = f.add_node(node);
  node.guid = Guid{0x22};
  node.description = "host7";
  const NodeIndex named = f.add_node(node);
  EXPECT_EQ(node_label(f.node(nameless)), "0x0000000000000021 (Mellanox device 4119)");
  EXPECT_EQ(port_name(f, {nameless, 1}), "0x0000000000000021 (Mellanox device 4119) port 1");
  EXPECT_EQ(node_label(f.node(named)), "0x0000000000000022 \"host7\"");
  EXPECT_EQ(port_name(f, {named, 1}), "\"host7\" port 1");
}

TEST(Planes, AreFurtherPortsOfACaThatBearOneGuid) {
  Fabric f;
  Node node;
  node.num_ports = 4;
  const NodeIndex ca = f.add_node(node);
  node.type = wire::NodeType::Switch;
  const NodeIndex sw = f.add_node(node);
  for (std::uint8_t p = 1; p <= 4; ++p) {
    f.port(ca, p).guid = Guid{p < 3 ? 0x10U : 0x20U};
    f.port(sw, p).guid = Guid{0x30};
  }
  EXPECT_FALSE(is_further_plane(f, {ca, 1}));
  EXPECT_TRUE(is_further_plane(f, {ca, 2}));
  EXPECT_FALSE(is_further_plane(f, {ca, 3}));
  EXPECT_TRUE(is_further_plane(f, {ca, 4}));
  EXPECT_FALSE(is_further_plane(f, {sw, 2})) << "all ports of a switch have one GUID";
  f.port(ca, 1).guid = f.port(ca, 2).guid = Guid{};
  EXPECT_FALSE(is_further_plane(f, {ca, 2})) << "which nobody knows";
}

}  // namespace
}  // namespace ib::fabric
