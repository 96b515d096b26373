// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What the SA answers to queries: every attribute, every component-mask bit, every refusal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/unit/sm/sa/query_tables.h"

namespace sm::sa::test {
namespace {

using ib::query::read_table;
using ib::wire::NodeRecord;
using ib::wire::PortInfoRecord;
using ::testing::IsEmpty;
using ::testing::SizeIs;
namespace attr = ib::wire::attr;
namespace status = ib::wire::status;

template <class Record>
std::vector<std::byte> bytes_of(const Record& record) {
  std::vector<std::byte> bytes(ib::wire::LayoutOf<Record>::kBytes);
  ib::wire::encode(record, bytes.data());
  return bytes;
}

/// Bits [at, at + width) of an encoded record, read one by one: an oracle that knows no layouts.
std::vector<bool> bits(const std::vector<std::byte>& bytes, std::size_t at, std::size_t width) {
  std::vector<bool> out;
  for (std::size_t i = at; i < at + width; ++i)
    out.push_back((std::to_integer<unsigned>(bytes[i / 8]) >> (7 - i % 8) & 1) != 0);
  return out;
}

/// A component as the specification's tables have it: mask bit, byte, bit in the byte, width.
struct SpecComponent {
  unsigned mask_bit;
  std::size_t byte, bit, width;
};

/// For every component and every different value in the full table: the query by that one bit gives
/// exactly the records of the full table that have the value.
template <class Record>
void check_every_bit(Bench& bench, std::uint16_t attribute,
                     const std::vector<SpecComponent>& components) {
  const auto all = table<Record>(bench, attribute);
  ASSERT_FALSE(all.empty());
  for (const auto& c : components) {
    SCOPED_TRACE(::testing::Message() << "component-mask bit " << c.mask_bit);
    const std::size_t at = c.byte * 8 + c.bit;
    std::set<std::vector<bool>> asked;
    for (const auto& wanted : all) {
      const auto value = bits(bytes_of(wanted), at, c.width);
      if (!asked.insert(value).second || asked.size() > 12) continue;
      std::vector<Record> expected;
      for (const auto& record : all)
        if (bits(bytes_of(record), at, c.width) == value) expected.push_back(record);
      const auto got = table(bench, attribute, wanted, at_bit(c.mask_bit));
      EXPECT_TRUE(got == expected) << got.size() << " records, expected " << expected.size();
    }
  }
}

// ---- ClassPortInfo

TEST(SaQuery, ClassPortInfoSaysWhatIsThere) {
  Bench bench(small_tree());
  const auto answer = bench.ask(bench.request(Method::Get, attr::kClassPortInfo));
  EXPECT_EQ(answer.mad.method(), Method::GetResp);
  EXPECT_EQ(answer.mad.status(), status::kOk);
  const auto info = ib::wire::body<ib::wire::ClassPortInfo>(answer.mad);
  EXPECT_EQ(info.base_version, 1);
  EXPECT_EQ(info.class_version, 2);
  EXPECT_EQ(info.resp_time_value, 16);
  EXPECT_EQ(info.redirect_q_key, ib::wire::kQp1QKey);
  EXPECT_EQ(info.redirect_lid, Lid{0});
}

// ---- NodeRecord

TEST(SaQuery, NodeRecordsOfAllEndPorts) {
  Bench bench(small_tree());
  const auto records = table<NodeRecord>(bench, attr::kNodeRecord);
  ASSERT_THAT(records, SizeIs(16 + 6));
  std::set<std::uint16_t> lids;
  for (const auto& r : records) {
    lids.insert(r.lid.value);
    const auto owner = bench.snapshot->fabric().find_lid(r.lid);
    ASSERT_TRUE(owner);
    EXPECT_EQ(r.node_info.node_guid, bench.snapshot->fabric().node(owner->node).guid);
    EXPECT_EQ(r.node_info.port_guid, bench.snapshot->fabric().port(*owner).guid);
    EXPECT_EQ(r.node_info.local_port_num.value, owner->port) << "0 for a switch";
    EXPECT_EQ(std::string(r.node_description.text.data()),
              bench.snapshot->fabric().node(owner->node).description);
  }
  EXPECT_EQ(lids.size(), records.size());
}

TEST(SaQuery, NodeRecordByEveryComponent) {
  Bench bench(small_tree());
  check_every_bit<NodeRecord>(bench, attr::kNodeRecord,
                              {{0, 0, 0, 16},
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
                               {13, 41, 0, 24},
                               {14, 44, 0, 512}});
}

TEST(SaQuery, NodeDescriptionIsComparedUpToItsEnd) {
  Bench bench(small_tree());
  auto wanted = table<NodeRecord>(bench, attr::kNodeRecord)[3];
  const auto length = std::string(wanted.node_description.text.data()).size();
  ASSERT_LT(length + 2, wanted.node_description.text.size());
  wanted.node_description.text[length + 1] = 'x';  // behind the NUL
  EXPECT_THAT(table(bench, attr::kNodeRecord, wanted, at_bit(14)), SizeIs(1));
}

TEST(SaQuery, LidOfAnLmcRangeFindsItsPort) {
  auto fabric = small_tree();
  const auto host = hosts_of(fabric)[0];
  fabric.port(host).lid = Lid{64};
  fabric.port(host).lmc = 2;
  fabric.reindex();
  Bench bench(std::move(fabric));
  NodeRecord wanted;
  for (std::uint16_t lid = 63; lid <= 68; ++lid) {
    wanted.lid = Lid{lid};
    const auto found = table(bench, attr::kNodeRecord, wanted, at_bit(0));
    ASSERT_EQ(found.size(), lid >= 64 && lid < 68 ? 1U : 0U) << lid;
    if (!found.empty()) {
      EXPECT_EQ(found[0].lid, Lid{64}) << "records carry the base LID";
    }
  }
}

TEST(SaQuery, GetWantsExactlyOneRecord) {
  Bench bench(small_tree());
  NodeRecord wanted;
  wanted.lid = bench.host(2).lid;
  auto answer = bench.ask(bench.request(Method::Get, attr::kNodeRecord, wanted, at_bit(0)));
  EXPECT_EQ(answer.mad.status(), status::kOk);
  EXPECT_EQ(answer.mad.get<&ib::wire::SaHeader::attribute_offset>(), 112 / 8);
  EXPECT_EQ(ib::wire::body<NodeRecord>(answer.mad).node_info.port_guid, bench.host(2).guid);
  EXPECT_FALSE(ib::mad::rmpp::is_active(answer.mad));

  answer = bench.ask(bench.request(Method::Get, attr::kNodeRecord));
  EXPECT_EQ(answer.mad.status(), status::kSaTooManyRecords);
  wanted.lid = Lid{0xBFFF};
  const auto request = bench.request(Method::Get, attr::kNodeRecord, wanted, at_bit(0));
  answer = bench.ask(request);
  EXPECT_EQ(answer.mad.status(), status::kSaNoRecords);
  EXPECT_EQ(ib::wire::body<NodeRecord>(answer.mad), wanted) << "the request's data come back";
}

TEST(SaQuery, EmptyTableIsAnAnswer) {
  Bench bench(small_tree());
  NodeRecord wanted;
  wanted.lid = Lid{0xBFFF};
  bench.server.on_packet(bench.now,
                         bench.request(Method::GetTable, attr::kNodeRecord, wanted, at_bit(0)));
  const auto sent = bench.drain();
  ASSERT_THAT(sent, SizeIs(1));
  const auto& mad = sent[0].mad;
  EXPECT_EQ(mad.status(), status::kOk);
  EXPECT_EQ(mad.get<&ib::wire::SaHeader::attribute_offset>(), 0);
  const auto header = ib::wire::decode<ib::wire::RmppHeader>(mad.bytes.data());
  EXPECT_TRUE(header.active && header.first && header.last);
  EXPECT_EQ(header.data1, 1U);
  EXPECT_EQ(header.data2, 20U) << "the SA header alone";
  EXPECT_TRUE(read_table<NodeRecord>(sent[0])->empty());
}

// ---- PortInfoRecord

TEST(SaQuery, PortInfoRecordsOfAllPorts) {
  Bench bench(small_tree());
  const auto& fabric = bench.snapshot->fabric();
  std::size_t ports = 0;
  for (const auto& node : fabric.nodes())
    ports += node.num_ports + (node.is_switch() ? std::size_t{1} : 0);
  const auto records = table<PortInfoRecord>(bench, attr::kPortInfoRecord);
  EXPECT_THAT(records, SizeIs(ports));
  for (const auto& r : records) {
    const auto owner = fabric.find_lid(r.end_port_lid);
    ASSERT_TRUE(owner);
    EXPECT_EQ(r.port_info.local_port_num.value, r.port_num.value);
    EXPECT_EQ(r.port_info.m_key, 0U) << "not for everybody";
  }
}

TEST(SaQuery, PortInfoRecordByEveryComponent) {
  Bench bench(small_tree());
  check_every_bit<PortInfoRecord>(
      bench, attr::kPortInfoRecord,
      {{0, 0, 0, 16},   {1, 2, 0, 8},   {2, 3, 0, 8},    {3, 4, 0, 64},   {4, 12, 0, 64},
       {5, 20, 0, 16},  {6, 22, 0, 16}, {7, 24, 0, 32},  {8, 28, 0, 16},  {9, 30, 0, 16},
       {10, 32, 0, 8},  {11, 33, 0, 8}, {12, 34, 0, 8},  {13, 35, 0, 8},  {14, 36, 0, 4},
       {15, 36, 4, 4},  {16, 37, 0, 4}, {17, 37, 4, 4},  {18, 38, 0, 2},  {20, 38, 5, 3},
       {21, 39, 0, 4},  {22, 39, 4, 4}, {23, 40, 0, 4},  {24, 40, 4, 4},  {25, 41, 0, 4},
       {26, 41, 4, 4},  {27, 42, 0, 8}, {28, 43, 0, 8},  {29, 44, 0, 8},  {30, 45, 0, 4},
       {31, 45, 4, 4},  {32, 46, 0, 3}, {33, 46, 3, 5},  {34, 47, 0, 4},  {35, 47, 4, 1},
       {36, 47, 5, 1},  {37, 47, 6, 1}, {38, 47, 7, 1},  {39, 48, 0, 16}, {40, 50, 0, 16},
       {41, 52, 0, 16}, {42, 54, 0, 8}, {43, 55, 0, 1},  {45, 55, 3, 5},  {47, 56, 3, 5},
       {48, 57, 0, 4},  {49, 57, 4, 4}, {50, 58, 0, 16}, {52, 61, 0, 24}, {53, 64, 0, 16},
       {54, 66, 0, 4},  {55, 66, 4, 4}, {57, 67, 3, 5}});
}

TEST(SaQuery, MKeyIsShownToTheTrustedAndNeverGuessed) {
  Bench bench(small_tree());
  PortInfoRecord wanted;
  wanted.port_info.m_key = 0x1122334455667788ULL;
  EXPECT_THAT(table(bench, attr::kPortInfoRecord, wanted, at_bit(3)), IsEmpty())
      << "a masked compare must not confirm a guess";
  bench.sm_key = 1;
  const auto shown = table(bench, attr::kPortInfoRecord, wanted, at_bit(3));
  ASSERT_FALSE(shown.empty());
  EXPECT_EQ(shown[0].port_info.m_key, wanted.port_info.m_key);
}

TEST(SaQuery, CapabilityMaskByBitsWithModifierBit31) {
  Bench bench(small_tree());
  PortInfoRecord wanted;
  wanted.port_info.capability_mask = 0x800;  // every CA has it, among others
  EXPECT_THAT(table(bench, attr::kPortInfoRecord, wanted, at_bit(7)), IsEmpty());
  EXPECT_THAT(table(bench, attr::kPortInfoRecord, wanted, at_bit(7), 0x80000000U), SizeIs(16));
}

TEST(SaQuery, OldClientsSeeAFastLinkAsQdr) {
  Bench bench(small_tree());
  PortInfoRecord wanted;
  wanted.end_port_lid = bench.host(0).lid;
  auto found = table(bench, attr::kPortInfoRecord, wanted, at_bit(0));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].port_info.link_speed_active & 4, 4);
  wanted.options = 0x80;  // "I know extended speeds"
  const auto known = bench.snapshot->observed->known_port(bench.hosts[0])->info();
  found = table(bench, attr::kPortInfoRecord, wanted, at_bit(0) | at_bit(2));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].options, 0x80);
  EXPECT_EQ(found[0].port_info.link_speed_active, known.link_speed_active);
  EXPECT_EQ(found[0].port_info.link_speed_ext_active, known.link_speed_ext_active);
}

}  // namespace
}  // namespace sm::sa::test
