// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Every plain record: what it says, every component-mask bit and random masks against the full
// table, every index out of range, and what is not for everybody to see.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "sm/device/tables/kinds.h"
#include "sm/sa/registry/subscriptions.h"
#include "tests/unit/sm/sa/masks.h"

namespace sm::sa::test {
namespace {

using ib::query::read_table;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
namespace attr = ib::wire::attr;
namespace status = ib::wire::status;

constexpr std::uint64_t kSmKey = 1;
constexpr ib::PKey kOthersPKey{0x8001};  // nobody of these ports holds it

/// A tree with LMC on some hosts, tables on every device, groups, services and subscriptions.
class Records {
 public:
  Records() : bench(fabric(), {}, contents()), device_state(std::make_shared<DeviceState>()) {
    const auto& observed = *bench.snapshot->observed;
    device::Inventory tables;
    for (NodeIndex n = 0; n < observed.nodes.size(); ++n) read(n, tables);
    const auto& routing = bench.snapshot->routing;
    device_state->graph = {routing, &routing->graph};
    auto mfts = std::make_shared<ib::tables::MulticastTables>();
    for (const unsigned mlid : {0xC000U, 0xC001U, 0xC021U, 0xC03FU})
      for (ib::fabric::SwitchIndex s = 0; s < routing->graph.switch_count(); ++s)
        for (unsigned p = 0; p <= 8; ++p)
          if (random() % 3 == 0) (*mfts)[Lid{static_cast<std::uint16_t>(mlid)}][s].set(p);
    device_state->multicast = mfts;
    for (ib::fabric::SwitchIndex s = 0; s < routing->graph.switch_count(); ++s)
      read_forwarding(tables.own_forwarding(routing->graph.guid(s)));
    device_state->tables = tables.publish();
    device_state->own_sm.guid = bench.snapshot->sm_port_guid;
    device_state->own_sm.act_count = 4711;
    device_state->own_sm.priority = 5;
    device_state->own_sm.sm_state = ib::wire::SmState::Master;
    for (const std::size_t host : {3U, 7U}) {
      ib::wire::SmInfo info;
      info.guid = bench.host(host).guid;
      info.priority = static_cast<std::uint8_t>(host);
      info.sm_state = host == 3 ? ib::wire::SmState::Standby : ib::wire::SmState::NotActive;
      info.act_count = 4711;
      device_state->other_sms.push_back(info);
    }
    bench.server.publish(device_state);
  }

  /// What a client of `Record` gets.
  template <class Record>
  std::vector<Record> table(std::uint16_t attribute, const Record& wanted = {},
                            std::uint64_t mask = 0, std::size_t from = 0) {
    auto answer =
        bench.ask_table(bench.request(Method::GetTable, attribute, wanted, mask, 0, from));
    auto records = read_table<Record>(answer);
    EXPECT_TRUE(records) << records.error().message;
    return records ? std::move(*records) : std::vector<Record>{};
  }
  std::uint16_t get(std::uint16_t attribute, std::uint64_t mask = 0) {
    return bench.ask(bench.request(Method::Get, attribute, mask)).mad.status();
  }
  Lid lid_of_switch() const {
    const auto& f = bench.snapshot->fabric();
    for (NodeIndex n = 0; n < f.nodes().size(); ++n)
      if (f.node(n).is_switch()) return f.port(n, 0).lid;
    return {};
  }
  Guid guid(NodeIndex n) const { return bench.snapshot->fabric().node(n).guid; }

  std::mt19937 random{20240607};
  Bench bench;
  std::shared_ptr<DeviceState> device_state;

 private:
  static Fabric fabric() {
    auto f = small_tree();
    std::uint16_t lid = 256;
    for (const std::size_t host : {1U, 6U, 11U}) {
      auto& port = f.port(hosts_of(f)[host]);
      port.lid = Lid{lid};
      port.lmc = 2;
      lid = static_cast<std::uint16_t>(lid + 4);
    }
    f.reindex();
    return f;
  }
  static Guid host_guid(std::size_t host) {
    const auto f = fabric();
    return f.port(hosts_of(f)[host]).guid;
  }
  static store::Contents contents() {
    store::Contents all;
    std::mt19937 random{7};
    for (std::uint64_t id = 0; id < 9; ++id) {
      store::Service s;
      s.record.service_id = id / 2;
      s.record.service_gid = Gid::from(ib::kDefaultSubnetPrefix, host_guid(2 + id % 3));
      s.record.service_p_key = id % 2 == 0 ? ib::kDefaultPKey : ib::PKey{0};
      s.record.lease = id % 4 == 0 ? 0xFFFFFFFF : static_cast<std::uint32_t>(1000 * id);
      s.record.key[0] = static_cast<std::uint8_t>(id + 1);
      s.record.name[0] = static_cast<char>('a' + id % 4);
      for (auto& v : s.record.data8) v = static_cast<std::uint8_t>(random() % 3);
      for (auto& v : s.record.data16) v = static_cast<std::uint16_t>(random() % 3);
      for (auto& v : s.record.data32) v = static_cast<std::uint32_t>(random() % 3);
      for (auto& v : s.record.data64) v = random() % 3;
      s.owner = host_guid(2 + id % 3);
      all.services.push_back(s);
    }
    std::ranges::sort(all.services, {}, &store::Service::key);
    for (unsigned i = 0; i < 8; ++i) {
      store::Subscription s;
      s.subscriber = host_guid(i % 3);
      s.to = ib::mad::gsi_address(Lid{static_cast<std::uint16_t>(i + 1)});
      s.inform_info.lid_range_begin = i % 2 == 0 ? ib::kPermissiveLid : Lid{2};
      s.inform_info.lid_range_end = i % 2 == 0 ? ib::kNoLid : Lid{5};
      s.inform_info.is_generic = 1;
      s.inform_info.subscribe = 1;
      s.inform_info.type = i % 4 == 0 ? 0xFFFF : 3;
      s.inform_info.trap_number = static_cast<std::uint16_t>(64 + i / 2);
      s.inform_info.qpn = 1 + i;
      s.inform_info.resp_time_value = 18;
      s.inform_info.producer_type = i % 3 == 0 ? 0xFFFFFF : 4;
      all.subscriptions.push_back(s);
    }
    std::ranges::sort(all.subscriptions, Subscriptions::ByKey());
    for (std::uint16_t i = 1; i <= 3; ++i)
      all.aliases.push_back({host_guid(4), i, Guid{0xA11A50000ULL + i}});
    store::McGroup of_others;
    of_others.mgid = Gid::from(0xff12401b80010000ULL, Guid{1});
    of_others.mlid = Lid{0xC007};
    of_others.p_key = kOthersPKey;
    all.groups.push_back(of_others);
    for (unsigned i = 0; i < 5; ++i) {
      store::McGroup g;
      g.mgid = Gid::from(0xff12401bffff0000ULL, Guid{i});
      g.mlid = Lid{static_cast<std::uint16_t>(0xC001 + i / 2)};
      g.q_key = i % 2;
      g.p_key = i == 3 ? ib::PKey{0x7FFF} : ib::kDefaultPKey;
      g.mtu = static_cast<std::uint8_t>(4 + i % 2);
      g.rate = 3;
      g.packet_life = static_cast<std::uint8_t>(18 + i % 2);
      g.traffic_class = static_cast<std::uint8_t>(i / 2);
      g.sl = ib::Sl{static_cast<std::uint8_t>(i % 2)};
      g.flow_label = i / 3;
      g.hop_limit = static_cast<std::uint8_t>(i);
      g.scope = 2;
      all.groups.push_back(g);
      for (unsigned m = 0; m <= i; ++m)
        all.members.push_back({g.mgid, Gid::from(ib::kDefaultSubnetPrefix, host_guid(m)),
                               static_cast<std::uint8_t>(m % 2 == 0 ? 1 : 4), m == 2});
    }
    std::ranges::sort(all.members, [](const auto& a, const auto& b) {
      return std::tie(a.mgid, a.port_gid) < std::tie(b.mgid, b.port_gid);
    });
    return all;
  }

  device::Block block() {
    device::Block b{};
    for (auto& byte : b) byte = static_cast<std::byte>(random() % 2);
    return b;
  }
  /// As if a device had answered; the last node and some blocks are silent.
  /// Other entries than those of the routes, and all masks of the first position.
  void read_forwarding(device::Forwarding& held) {
    const std::size_t blocks = (bench.snapshot->routing->lfts.lid_count() + 63) / 64;
    held.lft_known.assign(blocks, true);
    for (std::size_t lid = 0; lid < blocks * 64; ++lid)
      held.lft.push_back(static_cast<std::uint8_t>(random() % 9));
    for (const std::uint16_t block : {std::uint16_t{0}, std::uint16_t{1}})
      for (auto& mask : held.mft[{block, std::uint8_t{0}}])
        mask = static_cast<std::uint16_t>(random());
  }

  void read(NodeIndex n, device::Inventory& tables) {
    const auto& f = bench.snapshot->fabric();
    const auto& node = f.node(n);
    if (n + 1 == f.nodes().size()) return;
    const auto put = [&](const device::TableKind& kind, device::Slot slot, device::Block b) {
      if (random() % 8 != 0) tables.put(kind, node.guid, node.num_ports, slot, b);
    };
    for (std::uint8_t p = 0; p <= node.num_ports; ++p) {
      const bool end_port = node.is_switch() == (p == 0);
      const std::uint16_t key_blocks = end_port && !node.is_switch() ? 4 : 1;
      for (std::uint16_t b = 0; b < key_blocks; ++b) put(device::kPKeyTable, {p, 0, b}, block());
      if (end_port) {
        device::Block guids{};
        guids[15] = std::byte{0x77};  // the second GUID
        tables.put(device::kGuidInfo, node.guid, node.num_ports, {p, 0, 0}, guids);
      }
      for (std::uint16_t b = 1; b <= 4; ++b) put(device::kVlArbitration, {p, 0, b}, block());
      const std::uint8_t inputs = node.is_switch() ? node.num_ports : std::uint8_t{0};
      for (std::uint8_t in = 0; in <= inputs; ++in) {
        device::Block row{};
        row[6] = row[7] = static_cast<std::byte>(random() % 3 * 0x11);
        put(device::kSlToVl, {p, in, 0}, row);
      }
    }
  }
};

// ---- what the records say

TEST(SaRecords, SwitchInfoOfEverySwitchAsItAnswered) {
  Records r;
  const auto records = r.table<ib::wire::SwitchInfoRecord>(attr::kSwitchInfoRecord);
  ASSERT_THAT(records, SizeIs(6));
  for (const auto& record : records) {
    const auto owner = r.bench.snapshot->fabric().find_lid(record.lid);
    ASSERT_TRUE(owner);
    EXPECT_EQ(record.switch_info, *r.bench.snapshot->observed->nodes[owner->node].switch_info);
  }
}

/// What the switch of a record's LID answered.
const device::Forwarding& answered(const Records& r, Lid lid) {
  const auto owner = r.bench.snapshot->fabric().find_lid(lid);
  return *r.device_state->tables->forwarding(r.bench.snapshot->fabric().node(owner->node).guid);
}

TEST(SaRecords, LinearTablesAreWhatSwitchesAnsweredUpToTheHighestLid) {
  Records r;
  const auto records = r.table<ib::wire::LinearFdtRecord>(attr::kLinearFdtRecord);
  ASSERT_THAT(records, SizeIs(6 * ((r.bench.snapshot->routing->lfts.lid_count() + 63) / 64)));
  for (const auto& record : records)
    for (std::size_t i = 0; i < 64; ++i)
      EXPECT_EQ(record.table.port[i],
                answered(r, record.lid).lft[std::size_t{64} * record.block + i]);
}

TEST(SaRecords, MulticastTablesAreWhatSwitchesAnswered) {
  Records r;
  const auto records = r.table<ib::wire::MulticastFdtRecord>(attr::kMulticastFdtRecord);
  ASSERT_THAT(records, SizeIs(6 * 2)) << "blocks 0 and 1, one position of 16 ports";
  for (const auto& record : records)
    EXPECT_EQ(record.table.port_mask,
              answered(r, record.lid).mft.at({record.block, record.position}));
}

/// As after a Set without an answer.
TEST(SaRecords, BlocksOfForwardingTablesThatAreNotKnownHaveNoRecord) {
  Records r;
  device::Inventory tables;
  const auto& graph = r.bench.snapshot->routing->graph;
  const Guid whole = graph.guid(0), part = graph.guid(1);
  for (const Guid guid : {whole, part})
    tables.own_forwarding(guid) = *r.device_state->tables->forwarding(guid);
  tables.own_forwarding(part).lft_known[0] = false;
  tables.own_forwarding(part).mft.erase({1, 0});
  r.device_state->tables = tables.publish();
  r.bench.server.publish(std::make_shared<DeviceState>(*r.device_state));
  const auto blocks = (r.bench.snapshot->routing->lfts.lid_count() + 63) / 64;
  EXPECT_THAT(r.table<ib::wire::LinearFdtRecord>(attr::kLinearFdtRecord), SizeIs(2 * blocks - 1));
  EXPECT_THAT(r.table<ib::wire::MulticastFdtRecord>(attr::kMulticastFdtRecord), SizeIs(3));
}

TEST(SaRecords, EveryCableIsALinkFromBothEnds) {
  Records r;
  const auto& fabric = r.bench.snapshot->fabric();
  std::size_t directions = 0;
  for (NodeIndex n = 0; n < fabric.nodes().size(); ++n)
    for (unsigned p = 1; p <= fabric.node(n).num_ports; ++p)
      directions += fabric.port(n, static_cast<std::uint8_t>(p)).peer ? 1 : 0;
  const auto records = r.table<ib::wire::LinkRecord>(attr::kLinkRecord);
  EXPECT_THAT(records, SizeIs(directions));
  for (const auto& link : records) {
    const auto from = fabric.find_lid(link.from_lid);
    const PortRef out{from->node, link.from_port.value};
    const PortRef in = fabric.port(out).peer;
    ASSERT_TRUE(in);
    EXPECT_EQ(link.to_port.value, in.port);
    EXPECT_EQ(fabric.find_lid(link.to_lid)->node, in.node);
    const ib::wire::LinkRecord back{link.to_lid, link.to_port, link.from_port, link.from_lid};
    EXPECT_THAT(records, ::testing::Contains(back));
  }
}

TEST(SaRecords, WhatWasNotReadHasNoRecordAndWhatCannotBeIsEmpty) {
  Records r;
  r.bench.server.publish(std::make_shared<DeviceState>());
  r.bench.sm_key = kSmKey;
  EXPECT_THAT(r.table<ib::wire::PKeyTableRecord>(attr::kPKeyTableRecord), IsEmpty());
  EXPECT_THAT(r.table<ib::wire::MulticastFdtRecord>(attr::kMulticastFdtRecord), IsEmpty());
  EXPECT_THAT(r.table<ib::wire::SmInfoRecord>(attr::kSmInfoRecord), IsEmpty());
  EXPECT_THAT(r.table<ib::wire::SlToVlRecord>(attr::kSlToVlRecord), IsEmpty());
  // The ports of this bench have no arbitration at all: LowCap and HighCap are 0.
  const auto arbitration = r.table<ib::wire::VlArbitrationRecord>(attr::kVlArbitrationRecord);
  EXPECT_THAT(arbitration, SizeIs((16 + 6 * 9) * 4));
  for (const auto& record : arbitration) EXPECT_EQ(record.table, ib::wire::VlArbitrationTable{});
  // A GUIDInfo block that holds an alias is known as far as it was asked for.
  const auto guids = r.table<ib::wire::GuidInfoRecord>(attr::kGuidInfoRecord);
  ASSERT_THAT(guids, SizeIs(1));
  EXPECT_EQ(guids[0].lid, r.bench.host(4).lid);
}

TEST(SaRecords, GuidsAreThePortsOwnThenAliasesThenWhatTheDeviceHolds) {
  Records r;
  std::map<std::uint16_t, ib::wire::GuidInfoRecord> by_lid;
  for (const auto& record : r.table<ib::wire::GuidInfoRecord>(attr::kGuidInfoRecord))
    by_lid[record.lid.value] = record;
  const auto& plain = by_lid.at(r.bench.host(5).lid.value).guid_info.guid;
  EXPECT_EQ(plain[0], r.bench.host(5).guid);
  EXPECT_EQ(plain[1], Guid{0x77});
  EXPECT_EQ(plain[2], Guid{0});
  const auto& aliased = by_lid.at(r.bench.host(4).lid.value).guid_info.guid;
  EXPECT_EQ(aliased[0], r.bench.host(4).guid);
  EXPECT_EQ(aliased[1], Guid{0xA11A50001ULL}) << "not what the device held before";
  EXPECT_EQ(aliased[3], Guid{0xA11A50003ULL});
}

TEST(SaRecords, SubnetManagersAreThisOneAndTheOthersThatAnswered) {
  Records r;
  const auto records = r.table<ib::wire::SmInfoRecord>(attr::kSmInfoRecord);
  ASSERT_THAT(records, SizeIs(3));
  EXPECT_EQ(records[0].lid, r.bench.snapshot->sm_lid);
  EXPECT_EQ(records[0].sm_info.sm_state, ib::wire::SmState::Master);
  EXPECT_EQ(records[0].sm_info.priority, 5);
  EXPECT_EQ(records[1].lid, r.bench.host(3).lid);
}

// ---- component masks

struct Case {
  const char* name;
  std::uint16_t attribute;
  std::size_t record_bytes;
  std::vector<Component> components;
  bool trusted{false};
  std::uint64_t unjudged{~std::uint64_t{0}};
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

std::vector<Component> service_components() {
  std::vector<Component> all{{0, 0, 0, 64},  {1, 8, 0, 128},  {2, 24, 0, 16},
                             {4, 28, 0, 32}, {5, 32, 0, 128}, {6, 48, 0, 512}};
  for (unsigned i = 0; i < 16; ++i) all.push_back({7 + i, 112U + i, 0, 8});
  for (unsigned i = 0; i < 8; ++i) all.push_back({23 + i, 128U + i * 2, 0, 16});
  for (unsigned i = 0; i < 4; ++i) all.push_back({31 + i, 144U + i * 4, 0, 32});
  for (unsigned i = 0; i < 2; ++i) all.push_back({35 + i, 160U + i * 8, 0, 64});
  return all;
}
std::vector<Component> guid_components() {
  std::vector<Component> all{{0, 0, 0, 16, Rule::Lid}, {1, 2, 0, 8}};
  for (unsigned i = 0; i < 8; ++i) all.push_back({4 + i, 8U + i * 8, 0, 64});
  return all;
}
std::vector<Component> sl_to_vl_components() {
  std::vector<Component> all{
      {0, 0, 0, 16, Rule::Lid}, {1, 2, 0, 8, Rule::PortOfSwitch}, {2, 3, 0, 8, Rule::PortOfSwitch}};
  for (unsigned sl = 0; sl < 16; ++sl)
    all.push_back({4 + sl, 8U + sl / 2, std::size_t{sl % 2} * 4, 4});
  return all;
}
std::vector<Component> port_components() {
  std::vector<Component> all{{0, 0, 0, 16, Rule::Lid}, {1, 2, 0, 8}};
  // Component, byte, bit, width in PortInfo (IBA 14.2.5.6, 15.2.5.3).
  const unsigned fields[][4] = {
      {3, 0, 0, 64},   {4, 8, 0, 64},   {5, 16, 0, 16},  {6, 18, 0, 16}, {7, 20, 0, 32},
      {8, 24, 0, 16},  {9, 26, 0, 16},  {10, 28, 0, 8},  {11, 29, 0, 8}, {12, 30, 0, 8},
      {13, 31, 0, 8},  {14, 32, 0, 4},  {15, 32, 4, 4},  {16, 33, 0, 4}, {17, 33, 4, 4},
      {18, 34, 0, 2},  {20, 34, 5, 3},  {21, 35, 0, 4},  {22, 35, 4, 4}, {23, 36, 0, 4},
      {24, 36, 4, 4},  {25, 37, 0, 4},  {26, 37, 4, 4},  {27, 38, 0, 8}, {28, 39, 0, 8},
      {29, 40, 0, 8},  {30, 41, 0, 4},  {31, 41, 4, 4},  {32, 42, 0, 3}, {33, 42, 3, 5},
      {34, 43, 0, 4},  {35, 43, 4, 1},  {36, 43, 5, 1},  {37, 43, 6, 1}, {38, 43, 7, 1},
      {39, 44, 0, 16}, {40, 46, 0, 16}, {41, 48, 0, 16}, {42, 50, 0, 8}, {43, 51, 0, 1},
      {44, 51, 1, 2},  {45, 51, 3, 5},  {47, 52, 3, 5},  {48, 53, 0, 4}, {49, 53, 4, 4},
      {50, 54, 0, 16}, {52, 57, 0, 24}, {53, 60, 0, 16}, {54, 62, 0, 4}, {55, 62, 4, 4},
      {57, 63, 3, 5}};
  for (const auto& f : fields) all.push_back({f[0], 4U + f[1], f[2], f[3]});
  return all;
}

const std::vector<Component> kNode{{0, 0, 0, 16, Rule::Lid},
                                   {2, 4, 0, 8},
                                   {3, 5, 0, 8},
                                   {4, 6, 0, 8},
                                   {5, 7, 0, 8},
                                   {6, 8, 0, 64},
                                   {7, 16, 0, 64},
                                   {8, 24, 0, 64},
                                   {9, 32, 0, 16},
                                   {10, 34, 0, 16},
                                   {11, 36, 0, 32},
                                   {12, 40, 0, 8},
                                   {13, 41, 0, 24}};
const std::vector<Component> kArbitration{
    {0, 0, 0, 16, Rule::Lid}, {1, 2, 0, 8, Rule::PortOfSwitch}, {2, 3, 0, 8}};
const std::vector<Component> kPKeys{
    {0, 0, 0, 16, Rule::Lid}, {1, 2, 0, 16}, {2, 4, 0, 8, Rule::PortOfSwitch}};
const std::vector<Component> kSmInfo{{0, 0, 0, 16, Rule::Lid}, {2, 4, 0, 64}, {3, 12, 0, 64},
                                     {4, 20, 0, 32},           {5, 24, 0, 4}, {6, 24, 4, 4}};
const std::vector<Component> kLink{
    {0, 0, 0, 16, Rule::Lid}, {1, 2, 0, 8}, {2, 3, 0, 8}, {3, 4, 0, 16, Rule::Lid}};
const std::vector<Component> kInform{{0, 0, 0, 128},  {1, 16, 0, 16}, {3, 24, 0, 128},
                                     {4, 40, 0, 16},  {5, 42, 0, 16}, {7, 46, 0, 8},
                                     {8, 47, 0, 8},   {9, 48, 0, 16}, {10, 50, 0, 16},
                                     {11, 52, 0, 24}, {13, 55, 3, 5}, {15, 57, 0, 24}};
/// Selectors (4, 8, 10) with their values are the business of the groups' own tests.
const std::vector<Component> kGroups{{0, 0, 0, 128},
                                     {1, 16, 0, 128},
                                     {2, 32, 0, 32},
                                     {3, 36, 0, 16},
                                     {5, 38, 2, 6},
                                     {6, 39, 0, 8},
                                     {7, 40, 0, 16, Rule::PKey},
                                     {9, 42, 2, 6},
                                     {11, 43, 2, 6},
                                     {12, 44, 0, 4},
                                     {13, 44, 4, 20},
                                     {14, 47, 0, 8},
                                     {15, 48, 0, 4},
                                     {16, 48, 4, 4},
                                     {17, 49, 0, 1}};

class SaMasks : public ::testing::TestWithParam<Case> {
 protected:
  SaMasks() {
    records_.bench.sm_key = GetParam().trusted ? kSmKey : 0;
    check_.emplace(records_.bench, GetParam().attribute, GetParam().record_bytes,
                   GetParam().components);
    check_->unjudged = GetParam().unjudged;
  }
  Records records_;
  std::optional<MaskCheck> check_;
};

TEST_P(SaMasks, EveryBitAlone) { check_->every_bit(); }
TEST_P(SaMasks, EveryIndexInAndOutOfRange) { check_->every_index(); }
TEST_P(SaMasks, RandomMasks) {
  for (unsigned seed = 1; seed <= 3; ++seed) check_->random_masks(seed, 150);
}

constexpr std::uint64_t kOptions = 1U << 2, kDescription = 1U << 14,
                        kSelectors = 1U << 4 | 1U << 8 | 1U << 10;
INSTANTIATE_TEST_SUITE_P(
    All, SaMasks,
    ::testing::Values(
        Case{"Node", attr::kNodeRecord, 108, kNode, false, ~kDescription},
        Case{"PortInfo", attr::kPortInfoRecord, 68, port_components(), false, ~kOptions},
        Case{"PortInfoTrusted", attr::kPortInfoRecord, 68, port_components(), true, ~kOptions},
        Case{"SlToVl", attr::kSlToVlRecord, 16, sl_to_vl_components()},
        Case{"SwitchInfo", attr::kSwitchInfoRecord, 24, {{0, 0, 0, 16, Rule::Lid}}},
        Case{"LinearFdt", attr::kLinearFdtRecord, 72, {{0, 0, 0, 16, Rule::Lid}, {1, 2, 0, 16}}},
        Case{"MulticastFdt",
             attr::kMulticastFdtRecord,
             72,
             {{0, 0, 0, 16, Rule::Lid}, {1, 2, 0, 4}, {3, 2, 7, 9}}},
        Case{"SmInfo", attr::kSmInfoRecord, 25, kSmInfo}, Case{"Link", attr::kLinkRecord, 6, kLink},
        Case{"GuidInfo", attr::kGuidInfoRecord, 72, guid_components()},
        Case{"Service", attr::kServiceRecord, 176, service_components()},
        Case{"ServiceTrusted", attr::kServiceRecord, 176, service_components(), true},
        Case{"PKeys", attr::kPKeyTableRecord, 72, kPKeys, true},
        Case{"Arbitration", attr::kVlArbitrationRecord, 72, kArbitration},
        Case{"InformInfo", attr::kInformInfoRecord, 60, kInform},
        Case{"InformInfoTrusted", attr::kInformInfoRecord, 60, kInform, true},
        Case{"GroupsTrusted", attr::kMcMemberRecord, 52, kGroups, true, ~kSelectors}),
    [](const auto& parameter) { return std::string(parameter.param.name); });

/// The ends of paths; what else a request may wish is the business of the tests of paths. GUIDs
/// without their prefix, which names a subnet.
TEST(SaRecords, PathsByEveryEnd) {
  Records r;
  MaskCheck check(r.bench, attr::kPathRecord, 64,
                  {{2, 16, 0, 64}, {3, 32, 0, 64}, {4, 40, 0, 16}, {5, 42, 0, 16}});
  check.preference = 57;
  check.every_bit(30);
  check.every_index();
}

// ---- who sees what

TEST(SaRecords, PKeyTablesAreForTheTrusted) {
  Records r;
  EXPECT_EQ(r.get(attr::kPKeyTableRecord), status::kSaReqInvalid);
  r.bench.sm_key = kSmKey;
  EXPECT_EQ(r.get(attr::kPKeyTableRecord), status::kSaTooManyRecords);
}

TEST(SaRecords, SecretsAreNeitherShownNorGuessedByTheUntrusted) {
  Records r;
  const auto ports = r.table<ib::wire::PortInfoRecord>(attr::kPortInfoRecord);
  for (const auto& p : ports) EXPECT_EQ(p.port_info.m_key, 0U);
  ib::wire::PortInfoRecord guess;
  guess.port_info.m_key = 0x1122334455667788ULL;  // the right one
  EXPECT_THAT(r.table(attr::kPortInfoRecord, guess, 1U << 3), IsEmpty());

  for (const auto& s : r.table<ib::wire::ServiceRecord>(attr::kServiceRecord))
    EXPECT_EQ(s.key, (std::array<std::uint8_t, 16>{}));
  ib::wire::ServiceRecord key;
  key.key[0] = 4;
  EXPECT_THAT(r.table(attr::kServiceRecord, key, 1U << 5), IsEmpty());

  for (const auto& s : r.table<ib::wire::InformInfoRecord>(attr::kInformInfoRecord))
    EXPECT_EQ(s.inform_info.qpn, 0U);
  ib::wire::InformInfoRecord qpn;
  qpn.inform_info.qpn = 3;
  EXPECT_THAT(r.table(attr::kInformInfoRecord, qpn, 1U << 11), IsEmpty());

  r.bench.sm_key = kSmKey;
  EXPECT_THAT(r.table(attr::kPortInfoRecord, guess, 1U << 3), SizeIs(ports.size()));
  EXPECT_THAT(r.table(attr::kServiceRecord, key, 1U << 5), SizeIs(1));
  EXPECT_THAT(r.table(attr::kInformInfoRecord, qpn, 1U << 11), SizeIs(1));
}

TEST(SaRecords, APortFindsItsOwnServicesByKeyAndIsNotToldIt) {
  Records r;
  ib::wire::ServiceRecord wanted;
  wanted.key[0] = 4;  // of the fourth service, registered by host 2
  const auto own = r.table(attr::kServiceRecord, wanted, 1U << 5, 2);
  ASSERT_THAT(own, SizeIs(1));
  EXPECT_EQ(own[0].key, (std::array<std::uint8_t, 16>{}));
  EXPECT_THAT(r.table(attr::kServiceRecord, wanted, 1U << 5, 3), IsEmpty());
}

TEST(SaRecords, GroupsAreShownToTheirPartition) {
  Records r;
  ib::wire::McMemberRecord wanted;
  wanted.mlid = Lid{0xC007};
  EXPECT_THAT(r.table<ib::wire::McMemberRecord>(attr::kMcMemberRecord), SizeIs(6))
      << "five, and the broadcast group";
  EXPECT_THAT(r.table(attr::kMcMemberRecord, wanted, 1U << 3), IsEmpty());
}

TEST(SaRecords, ALidThatNobodyHasIsShownNothingAboutPorts) {
  Records r;
  for (const std::uint16_t attribute :
       {attr::kNodeRecord, attr::kPortInfoRecord, attr::kSwitchInfoRecord, attr::kLinkRecord,
        attr::kLinearFdtRecord, attr::kSmInfoRecord, attr::kServiceRecord, attr::kInformInfoRecord,
        attr::kMcMemberRecord}) {
    auto request = r.bench.request(Method::Get, attribute);
    request.address.lid = Lid{0xBFFF};
    EXPECT_EQ(r.bench.ask(request).mad.status(), status::kSaNoRecords) << attribute;
  }
}

}  // namespace
}  // namespace sm::sa::test
