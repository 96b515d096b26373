// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What is made of a scan by libibnetdisc: a switch, a host at its port 1, and something that
// answers nonsense at its port 2.
#include "tools/ibtopo/ibnetdisc_fabric.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "libdiag/wire/smp_attributes.h"

namespace ib::tools::topo {
namespace {

template <class T>
void encode(const T& value, std::uint8_t* bytes) {
  wire::encode(value, reinterpret_cast<std::byte*>(bytes));
}

/// A node as the library keeps it.
struct Found {
  ibnd_node_t node{};
  std::array<ibnd_port_t, 4> port{};
  std::array<ibnd_port_t*, 4> ports{};

  Found(std::uint64_t guid, wire::NodeType type, std::uint8_t num_ports, const char* name) {
    wire::NodeInfo info;
    info.node_type = type;
    info.num_ports = num_ports;
    info.node_guid = Guid{guid};
    info.port_guid = Guid{guid + 1};
    info.local_port_num = PortNum{1};
    encode(info, node.info);
    node.guid = guid;
    node.type = static_cast<int>(type);
    node.numports = num_ports;
    std::strncpy(node.nodedesc, name, IB_SMP_DATA_SIZE);
    node.ports = ports.data();
  }
  ibnd_port_t& at(int number) {
    auto& p = port.at(static_cast<std::size_t>(number));
    p.guid = node.guid + 1;
    p.portnum = number;
    p.node = &node;
    wire::PortInfo info;
    info.port_state = wire::PortState::Active;
    info.port_physical_state = wire::PhysState::LinkUp;
    encode(info, p.info);
    ports.at(static_cast<std::size_t>(number)) = &p;
    return p;
  }
};

void connect(ibnd_port_t& a, ibnd_port_t& b) {
  a.remoteport = &b;
  b.remoteport = &a;
}

struct Scan {
  Found leaf{0x20, wire::NodeType::Switch, 3, "leaf"};
  Found host{0x10, wire::NodeType::ChannelAdapter, 1, "host"};
  Found other{0x30, wire::NodeType::ChannelAdapter, 1, "ot\x1bher"};
  ibnd_fabric_t fabric{};

  Scan() {
    connect(host.at(1), leaf.at(1));
    connect(other.at(1), leaf.at(2));
    fabric.nodes = &leaf.node;
    leaf.node.next = &host.node;
    host.node.next = &other.node;
    fabric.from_node = &host.node;
    fabric.from_portnum = 1;
  }
};

TEST(IbnetdiscFabric, NodesAndCablesAreTheLibrarys) {
  Scan scan;
  const Source source = source_of(scan.fabric, 63);
  EXPECT_TRUE(source.complete);
  EXPECT_EQ(source.fabric.nodes().size(), 3U);
  EXPECT_EQ(source.fabric.link_count(), 2U);
  EXPECT_EQ(source.fabric.initiated_from_node, Guid{0x10});
}

TEST(IbnetdiscFabric, ANodeThatCannotBeIsLeftOutWithItsCableAndNamed) {
  Scan scan;
  auto info =
      wire::decode<wire::NodeInfo>(reinterpret_cast<const std::byte*>(scan.other.node.info));
  info.node_type = static_cast<wire::NodeType>(166);
  encode(info, scan.other.node.info);
  const Source source = source_of(scan.fabric, 63);
  EXPECT_FALSE(source.complete);
  ASSERT_EQ(source.errors.size(), 1U);
  EXPECT_EQ(source.errors[0], "0x0000000000000030 \"ot her\": NodeType is 166; left out");
  EXPECT_EQ(source.fabric.nodes().size(), 2U);
  EXPECT_EQ(source.fabric.link_count(), 1U);
}

TEST(IbnetdiscFabric, ACableToAPortThatIsNotThereIsNone) {
  Scan scan;
  scan.other.port[1].portnum = 9;
  const Source source = source_of(scan.fabric, 63);
  EXPECT_EQ(source.fabric.nodes().size(), 3U);
  const auto leaf = source.fabric.find_node(Guid{0x20});
  ASSERT_TRUE(leaf);
  EXPECT_FALSE(source.fabric.port(*leaf, 2).peer);
}

TEST(IbnetdiscFabric, ACableThatIsUpAndLeadsNowhereIsSilence) {
  Scan scan;
  scan.leaf.port[2].remoteport = nullptr;
  const Source source = source_of(scan.fabric, 63);
  EXPECT_FALSE(source.complete);
  EXPECT_TRUE(source_of(scan.fabric, 2).complete) << "it was told to stop somewhere";
}

}  // namespace
}  // namespace ib::tools::topo
