// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The SMA's tables: what is programmed is what is read, blocks that do not exist are refused
// (IBA 14.2.5.4 to 14.2.5.12).
#include "tests/unit/sim/small_fabric.h"

namespace ib::sim::test {
namespace {

namespace attr = wire::attr;

std::uint16_t status_of(const std::optional<mad::Packet>& reply) {
  return reply ? reply->mad.status() : std::uint16_t{0xFFFF};
}

TEST(Tables, LinearForwardingStartsEmptyAndKeepsWhatIsWritten) {
  Model model(small_fabric());
  Hand hand(model);
  EXPECT_EQ(hand.get<wire::LinearForwardingTable>({1}, attr::kLinearForwarding, 3).port[5], 255);
  wire::LinearForwardingTable block;
  block.port.fill(255);
  block.port[5] = 7;
  EXPECT_EQ(hand.set({1}, attr::kLinearForwarding, 3, block), 0);
  EXPECT_EQ(hand.get<wire::LinearForwardingTable>({1}, attr::kLinearForwarding, 3), block);
  EXPECT_EQ(model.lft(kS1, Lid{3 * 64 + 5}), 7);
  EXPECT_EQ(status_of(hand.directed({1}, Method::Get, attr::kLinearForwarding, 767)), 0);
  EXPECT_EQ(status_of(hand.directed({1}, Method::Get, attr::kLinearForwarding, 768)),
            wire::status::kBadValue);
}

TEST(Tables, PortsOfAMulticastLidAreThoseThatWereSet) {
  Model model(small_fabric());
  Hand hand(model);
  wire::MulticastForwardingTable block;
  block.port_mask[3] = 0x8006;
  EXPECT_EQ(hand.set({1}, attr::kMulticastForwarding, 1, block), 0);
  block.port_mask[3] = 0x0001;
  EXPECT_EQ(hand.set({1}, attr::kMulticastForwarding, (1U << 28) | 1, block), 0);
  EXPECT_EQ(model.multicast_ports(kS1, Lid{0xC023}), (std::vector<std::uint8_t>{1, 2, 15, 16}));
  EXPECT_TRUE(model.multicast_ports(kS1, Lid{0xC024}).empty());
  EXPECT_TRUE(model.multicast_ports(kS2, Lid{0xC023}).empty());
  EXPECT_TRUE(model.multicast_ports(kH1, Lid{0xC023}).empty());
}

TEST(Tables, SetsThatDevicesTakeAreWatchedAndOthersAreNot) {
  Model model(small_fabric());
  Hand hand(model);
  std::vector<std::string> seen;
  model.set_watch(
      [](void* seen_by, Instant, PortRef at, const wire::Mad& answer) {
        static_cast<std::vector<std::string>*>(seen_by)->push_back(
            std::to_string(at.node) + "." + std::to_string(at.port) + " " +
            std::to_string(answer.attribute_id()) + " " +
            std::to_string(answer.attribute_modifier()));
      },
      &seen);
  wire::LinearForwardingTable block;
  block.port.fill(255);
  EXPECT_EQ(hand.set({1}, attr::kLinearForwarding, 3, block), 0);
  EXPECT_EQ(hand.set({1}, attr::kLinearForwarding, 768, block), wire::status::kBadValue);
  (void)hand.get<wire::LinearForwardingTable>({1}, attr::kLinearForwarding, 3);
  EXPECT_EQ(seen, std::vector<std::string>{"0.0 25 3"});
}

TEST(Tables, SwitchInfoRefusesTopsBeyondItsCapacity) {
  Model model(small_fabric());
  Hand hand(model);
  auto info = hand.get<wire::SwitchInfo>({1}, attr::kSwitchInfo);
  EXPECT_TRUE(info.enhanced_port0);
  EXPECT_EQ(info.linear_fdb_cap, 49152);
  info.linear_fdb_top = 49152;
  EXPECT_EQ(hand.set({1}, attr::kSwitchInfo, 0, info), wire::status::kBadValue);
  info.linear_fdb_top = 49151;
  EXPECT_EQ(hand.set({1}, attr::kSwitchInfo, 0, info), 0);
  EXPECT_EQ(status_of(hand.directed({}, Method::Get, attr::kSwitchInfo)),
            wire::status::kBadAttribute);
}

TEST(Tables, PKeysOfEndPortsAndOfSwitchPorts) {
  Model model(small_fabric());
  Hand hand(model);
  EXPECT_EQ(hand.get<wire::PKeyTable>({}, attr::kPKeyTable).p_keys[0], kDefaultPKey);
  EXPECT_EQ(hand.get<wire::PKeyTable>({1}, attr::kPKeyTable, 3U << 16).p_keys[0], PKey{0});
  auto table = hand.get<wire::PKeyTable>({}, attr::kPKeyTable, 3);
  table.p_keys[31] = PKey{0x8123};
  EXPECT_EQ(hand.set({}, attr::kPKeyTable, 3, table), 0);
  const auto keys = model.p_keys({kH1, 1});
  ASSERT_EQ(keys.size(), 128U);
  EXPECT_EQ(keys[127], PKey{0x8123});
  EXPECT_EQ(keys[0], kDefaultPKey);
  EXPECT_EQ(status_of(hand.directed({}, Method::Get, attr::kPKeyTable, 4)),
            wire::status::kBadValue);
  EXPECT_EQ(status_of(hand.directed({1}, Method::Get, attr::kPKeyTable, (3U << 16) | 1)),
            wire::status::kBadValue);
  EXPECT_EQ(status_of(hand.directed({1}, Method::Get, attr::kPKeyTable, 37U << 16)),
            wire::status::kBadValue);
}

TEST(Tables, GuidZeroIsReadOnly) {
  Model model(small_fabric());
  Hand hand(model);
  wire::GuidInfo guids;
  guids.guid[0] = Guid{0xBAD};
  guids.guid[1] = Guid{0x77};
  EXPECT_EQ(hand.set({}, attr::kGuidInfo, 0, guids), 0);
  const auto now = hand.get<wire::GuidInfo>({}, attr::kGuidInfo);
  EXPECT_EQ(now.guid[0], Guid{0x31});
  EXPECT_EQ(now.guid[1], Guid{0x77});
  EXPECT_EQ(status_of(hand.directed({}, Method::Get, attr::kGuidInfo, 1)), wire::status::kBadValue);
}

TEST(Tables, SlToVlByInputAndOutputPort) {
  Model model(small_fabric());
  Hand hand(model);
  auto table = hand.get<wire::SlToVlTable>({1}, attr::kSlToVl, (1U << 8) | 3);
  EXPECT_EQ(table.vl[9], 1);  // VL0-7 from power-on: SL modulo the number of VLs
  table.vl.fill(2);
  EXPECT_EQ(hand.set({1}, attr::kSlToVl, (1U << 8) | 3, table), 0);
  EXPECT_EQ(hand.get<wire::SlToVlTable>({1}, attr::kSlToVl, (1U << 8) | 3), table);
  EXPECT_NE(hand.get<wire::SlToVlTable>({1}, attr::kSlToVl, (2U << 8) | 3), table);
  // The optimized form: every input and every output port at once.
  table.vl.fill(5);
  EXPECT_EQ(hand.set({1}, attr::kSlToVl, 3U << 16, table), 0);
  EXPECT_EQ(hand.get<wire::SlToVlTable>({1}, attr::kSlToVl, (2U << 8) | 4), table);
  EXPECT_EQ(status_of(hand.directed({1}, Method::Get, attr::kSlToVl, (40U << 8) | 4)),
            wire::status::kBadValue);
}

TEST(Tables, VlArbitrationHasTheBlocksItsCapabilitiesAllow) {
  Model model(small_fabric());
  Hand hand(model);
  auto table = hand.get<wire::VlArbitrationTable>({1}, attr::kVlArbitration, (3U << 16) | 3);
  EXPECT_EQ(table.weight[0], 0);
  table.vl[7] = 4;
  table.weight[7] = 200;
  EXPECT_EQ(hand.set({1}, attr::kVlArbitration, (3U << 16) | 3, table), 0);
  EXPECT_EQ(hand.get<wire::VlArbitrationTable>({1}, attr::kVlArbitration, (3U << 16) | 3), table);
  EXPECT_EQ(status_of(hand.directed({1}, Method::Get, attr::kVlArbitration, (2U << 16) | 3)),
            wire::status::kBadValue);  // 8 entries are one block
  EXPECT_EQ(status_of(hand.directed({1}, Method::Get, attr::kVlArbitration, 3)),
            wire::status::kBadValue);
}

TEST(Tables, MulticastMasksByBlockAndPosition) {
  Model model(small_fabric());
  Hand hand(model);
  wire::MulticastForwardingTable block;
  block.port_mask[2] = 0x0012;
  EXPECT_EQ(hand.set({1}, attr::kMulticastForwarding, 2U << 28, block), 0);
  EXPECT_EQ(hand.get<wire::MulticastForwardingTable>({1}, attr::kMulticastForwarding, 2U << 28),
            block);
  EXPECT_EQ(hand.get<wire::MulticastForwardingTable>({1}, attr::kMulticastForwarding),
            wire::MulticastForwardingTable{});
  // 36 ports and port 0 need positions 0 to 2.
  EXPECT_EQ(status_of(hand.directed({1}, Method::Get, attr::kMulticastForwarding, 3U << 28)),
            wire::status::kBadValue);
  EXPECT_EQ(status_of(hand.directed({1}, Method::Get, attr::kMulticastForwarding, 128)),
            wire::status::kBadValue);
}

TEST(Tables, WhatIsReadOnlyIsRefused) {
  Model model(small_fabric());
  Hand hand(model);
  EXPECT_EQ(hand.set({1}, attr::kNodeInfo, 0, wire::NodeInfo{}), wire::status::kBadAttribute);
  EXPECT_EQ(hand.set({1}, attr::kNodeDescription, 0, wire::NodeDescription{}),
            wire::status::kBadAttribute);
  const auto name = hand.get<wire::NodeDescription>({1}, attr::kNodeDescription);
  EXPECT_STREQ(name.text.data(), "S1");
}

TEST(Tables, AVendorAttributeOfAnotherVendorIsUnknown) {
  auto fabric = small_fabric();
  fabric.node(kS1).vendor_id = 0x66A;
  Model model(fabric);
  Hand hand(model);
  EXPECT_EQ(status_of(hand.directed({1}, Method::Get, attr::kMlnxExtendedPortInfo, 1)),
            wire::status::kBadAttribute);
}

}  // namespace
}  // namespace ib::sim::test
