// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What the SA answers to queries: every attribute, every component-mask bit, every refusal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "libdiag/query/sa_client.h"
#include "tests/unit/sm/sa/subnet.h"

namespace sm::sa::test {
namespace {

using ib::query::read_table;
using ib::wire::NodeRecord;
using ib::wire::PathRecord;
using ib::wire::PortInfoRecord;
using ib::wire::Selector;
using ::testing::IsEmpty;
using ::testing::SizeIs;
namespace attr = ib::wire::attr;
namespace status = ib::wire::status;

constexpr std::uint64_t at_bit(unsigned n) { return std::uint64_t{1} << n; }

template <class Record>
std::vector<Record> table(Bench& bench, std::uint16_t attribute, const Record& wanted = {},
                          std::uint64_t mask = 0, std::uint32_t modifier = 0) {
  auto answer = bench.ask_table(bench.request(Method::GetTable, attribute, wanted, mask, modifier));
  EXPECT_EQ(answer.mad.method(), Method::GetTableResp);
  auto records = read_table<Record>(answer);
  EXPECT_TRUE(records) << records.error().message;
  return records ? std::move(*records) : std::vector<Record>{};
}

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

// ---- PathRecord

constexpr unsigned kDgid = 2, kSgid = 3, kDlid = 4, kSlid = 5, kReversible = 11, kNumbPath = 12,
                   kPKey = 13, kSl = 15, kMtuSelector = 16, kMtu = 17, kRateSelector = 18,
                   kRate = 19, kLifeSelector = 20, kLife = 21;

PathRecord between(const Bench& bench, std::size_t from, std::size_t to) {
  PathRecord r;
  r.sgid = bench.gid(from);
  r.dgid = bench.gid(to);
  r.slid = bench.host(from).lid;
  r.dlid = bench.host(to).lid;
  return r;
}

TEST(SaQuery, PathByGids) {
  Bench bench(small_tree());
  const auto wanted = between(bench, 0, 15);
  const auto answer = bench.ask(bench.request(Method::Get, attr::kPathRecord, wanted,
                                              at_bit(kDgid) | at_bit(kSgid) | at_bit(kNumbPath)));
  ASSERT_EQ(answer.mad.status(), status::kOk);
  EXPECT_EQ(answer.mad.get<&ib::wire::SaHeader::attribute_offset>(), 8);
  const auto path = ib::wire::body<PathRecord>(answer.mad);
  EXPECT_EQ(path.slid, wanted.slid);
  EXPECT_EQ(path.dlid, wanted.dlid);
  EXPECT_EQ(path.sgid, wanted.sgid);
  EXPECT_EQ(path.dgid, wanted.dgid);
  EXPECT_TRUE(path.reversible);
  EXPECT_EQ(path.p_key, ib::kDefaultPKey);
  EXPECT_EQ(path.hop_limit, 0);
  EXPECT_EQ(path.sl.value, 0);
  EXPECT_EQ(path.mtu_selector, Selector::Exactly);
  EXPECT_EQ(path.mtu, 5);
  EXPECT_EQ(path.rate_selector, Selector::Exactly);
  EXPECT_EQ(path.rate, 16) << "4x EDR";
  EXPECT_EQ(path.packet_life_selector, Selector::Exactly);
  EXPECT_EQ(path.packet_life, 18);
  EXPECT_EQ(path.preference, 0);
}

TEST(SaQuery, PathByLidsEqualsPathByGids) {
  Bench bench(small_tree());
  const auto wanted = between(bench, 3, 9);
  const auto by_gids = table(bench, attr::kPathRecord, wanted, at_bit(kDgid) | at_bit(kSgid));
  const auto by_lids = table(bench, attr::kPathRecord, wanted, at_bit(kDlid) | at_bit(kSlid));
  ASSERT_THAT(by_gids, SizeIs(1));
  EXPECT_EQ(by_gids, by_lids);
}

TEST(SaQuery, PathsFromOneSourceReachEveryPort) {
  Bench bench(small_tree());
  const auto wanted = between(bench, 0, 0);
  const auto paths = table(bench, attr::kPathRecord, wanted, at_bit(kSlid));
  std::set<std::uint16_t> reached;
  for (const auto& p : paths) {
    EXPECT_EQ(p.slid, wanted.slid);
    reached.insert(p.dlid.value);
  }
  EXPECT_EQ(reached.size(), 22U) << "hosts and switches, itself included";
  EXPECT_EQ(paths.size(), reached.size());
}

TEST(SaQuery, EveryPairOfTheSubnet) {
  Bench bench(small_tree());
  const auto paths = table<PathRecord>(bench, attr::kPathRecord);
  std::set<std::pair<std::uint16_t, std::uint16_t>> pairs;
  for (const auto& p : paths) pairs.emplace(p.slid.value, p.dlid.value);
  EXPECT_EQ(pairs.size(), 22U * 22U);
  EXPECT_EQ(paths.size(), pairs.size());
}

TEST(SaQuery, PathTakesTheSlowestLinkAndTheSmallestMtu) {
  auto fabric = small_tree();
  const auto hosts = hosts_of(fabric);
  fabric.port(hosts[5]).speed = ib::wire::LinkSpeed::Qdr;
  fabric.port(fabric.port(hosts[5]).peer).speed = ib::wire::LinkSpeed::Qdr;
  Bench bench(std::move(fabric));
  auto observed = std::make_shared<ib::discover::Observed>(*bench.snapshot->observed);
  fields_of(observed->port(hosts[6])).set<&ib::wire::PortInfo::neighbor_mtu>(3);
  bench.snapshot = std::make_shared<Snapshot>(*bench.snapshot);
  bench.snapshot->observed = observed;
  bench.server.publish(bench.now, bench.snapshot);

  constexpr auto kMask = at_bit(kDgid) | at_bit(kSgid);
  auto path = table(bench, attr::kPathRecord, between(bench, 0, 5), kMask)[0];
  EXPECT_EQ(path.rate, 7) << "4x QDR";
  EXPECT_EQ(path.mtu, 5);
  path = table(bench, attr::kPathRecord, between(bench, 6, 0), kMask)[0];
  EXPECT_EQ(path.rate, 16);
  EXPECT_EQ(path.mtu, 3);
}

TEST(SaQuery, SelectorsOfMtuRateAndLife) {
  Bench bench(small_tree());  // paths of MTU 4096 (5), rate 100 Gb/s (16), life 18
  const auto ask = [&](auto set, std::uint64_t mask) -> std::optional<PathRecord> {
    auto wanted = between(bench, 0, 15);
    set(wanted);
    const auto answer = bench.ask(bench.request(Method::Get, attr::kPathRecord, wanted,
                                                at_bit(kDgid) | at_bit(kSgid) | mask));
    if (answer.mad.status() == status::kSaNoRecords) return std::nullopt;
    EXPECT_EQ(answer.mad.status(), status::kOk);
    return ib::wire::body<PathRecord>(answer.mad);
  };
  const auto mtu = [&](Selector s, std::uint8_t v) {
    return ask(
        [&](PathRecord& r) {
          r.mtu_selector = s;
          r.mtu = v;
        },
        at_bit(kMtuSelector) | at_bit(kMtu));
  };
  EXPECT_EQ(mtu(Selector::GreaterThan, 4)->mtu, 5);
  EXPECT_FALSE(mtu(Selector::GreaterThan, 5));
  EXPECT_EQ(mtu(Selector::LessThan, 5)->mtu, 4);
  EXPECT_FALSE(mtu(Selector::LessThan, 1));
  EXPECT_EQ(mtu(Selector::Exactly, 4)->mtu, 4);
  EXPECT_EQ(mtu(Selector::Largest, 1)->mtu, 5);

  const auto rate = [&](Selector s, std::uint8_t v) {
    return ask(
        [&](PathRecord& r) {
          r.rate_selector = s;
          r.rate = v;
        },
        at_bit(kRateSelector) | at_bit(kRate));
  };
  // Codes are not in the order of speed: 12 (56 Gb/s) is faster than 9 and 7, 13 faster than 16.
  EXPECT_EQ(rate(Selector::GreaterThan, 12)->rate, 16);
  EXPECT_FALSE(rate(Selector::GreaterThan, 13));
  EXPECT_EQ(rate(Selector::LessThan, 13)->rate, 16);
  EXPECT_EQ(rate(Selector::LessThan, 16)->rate, 10) << "the next slower rate, 12x QDR";
  EXPECT_EQ(rate(Selector::Exactly, 16)->rate, 16);
  EXPECT_FALSE(rate(Selector::Exactly, 7));
  EXPECT_EQ(rate(Selector::Largest, 2)->rate, 16);

  const auto life = [&](Selector s, std::uint8_t v) {
    return ask(
        [&](PathRecord& r) {
          r.packet_life_selector = s;
          r.packet_life = v;
        },
        at_bit(kLifeSelector) | at_bit(kLife));
  };
  EXPECT_EQ(life(Selector::GreaterThan, 17)->packet_life, 18);
  EXPECT_FALSE(life(Selector::GreaterThan, 18));
  EXPECT_EQ(life(Selector::LessThan, 18)->packet_life, 17);
  EXPECT_EQ(life(Selector::Largest, 3)->packet_life, 18);

  // A selector without a value, and a value without a selector, say nothing.
  EXPECT_TRUE(ask([](PathRecord& r) { r.mtu = 1; }, at_bit(kMtu)));
  EXPECT_TRUE(
      ask([](PathRecord& r) { r.mtu_selector = Selector::GreaterThan; }, at_bit(kMtuSelector)));
}

TEST(SaQuery, PathOfAnotherPartitionIsNone) {
  Bench bench(small_tree());
  auto wanted = between(bench, 0, 1);
  constexpr auto kMask = at_bit(kDgid) | at_bit(kSgid);
  wanted.p_key = ib::PKey{0x8001};
  EXPECT_THAT(table(bench, attr::kPathRecord, wanted, kMask | at_bit(kPKey)), IsEmpty());
  wanted.p_key = ib::PKey{0x7FFF};
  const auto limited = table(bench, attr::kPathRecord, wanted, kMask | at_bit(kPKey));
  ASSERT_THAT(limited, SizeIs(1));
  EXPECT_EQ(limited[0].p_key, ib::PKey{0x7FFF});
  wanted.sl = ib::Sl{3};
  EXPECT_THAT(table(bench, attr::kPathRecord, wanted, kMask | at_bit(kSl)), SizeIs(1))
      << "routes on one VL have every SL";
}

TEST(SaQuery, PathsCarryTheSlOfThePairAndAreReversibleWhereBothWaysAgree) {
  Bench bench(small_tree());
  const auto leaf = [&](std::size_t host) {
    return leaf_of(bench.snapshot->fabric(), bench.snapshot->routing->graph, bench.hosts[host]);
  };
  Routing routing = *bench.snapshot->routing;
  routing.virtual_lanes.sls = ib::tables::PathSls(routing.graph.switch_count(), ib::Sl{0});
  routing.virtual_lanes.sls.set(leaf(0), leaf(15), ib::Sl{3});
  routing.virtual_lanes.sls.set_one_way(leaf(0), leaf(8), ib::Sl{5});
  bench.snapshot = std::make_shared<Snapshot>(*bench.snapshot);
  bench.snapshot->routing = std::make_shared<Routing>(std::move(routing));
  bench.server.publish(bench.now, bench.snapshot);

  constexpr auto kMask = at_bit(kDgid) | at_bit(kSgid);
  auto wanted = between(bench, 0, 15);
  for (const auto& [from, to] : {std::pair{0U, 15U}, std::pair{15U, 0U}}) {
    const auto paths = table(bench, attr::kPathRecord, between(bench, from, to), kMask);
    ASSERT_THAT(paths, SizeIs(1));
    EXPECT_EQ(paths[0].sl, ib::Sl{3});
    EXPECT_TRUE(paths[0].reversible);
  }
  EXPECT_EQ(table(bench, attr::kPathRecord, between(bench, 0, 1), kMask).at(0).sl, ib::Sl{0});

  const auto one_way = between(bench, 0, 8);
  EXPECT_EQ(table(bench, attr::kPathRecord, one_way, kMask).at(0).sl, ib::Sl{5});
  EXPECT_FALSE(table(bench, attr::kPathRecord, one_way, kMask).at(0).reversible);

  // By SL: the hosts of that leaf, and the leaf itself.
  wanted.sl = ib::Sl{3};
  const auto by_sl = table(bench, attr::kPathRecord, wanted, at_bit(kSgid) | at_bit(kSl));
  EXPECT_THAT(by_sl, SizeIs(5));
  for (const auto& path : by_sl) EXPECT_EQ(path.sl, ib::Sl{3});
}

TEST(SaQuery, PathsOfLmcRangesDiagonalFirst) {
  auto fabric = small_tree();
  const auto hosts = hosts_of(fabric);
  for (const unsigned i : {0U, 15U}) {
    fabric.port(hosts[i]).lid = Lid{static_cast<std::uint16_t>(64 + 4 * i)};
    fabric.port(hosts[i]).lmc = i == 0 ? 1 : 2;
  }
  fabric.reindex();
  Bench bench(std::move(fabric));
  auto wanted = between(bench, 0, 15);
  constexpr auto kMask = at_bit(kDgid) | at_bit(kSgid);
  const auto offsets = [&](const std::vector<PathRecord>& paths) {
    std::vector<std::tuple<int, int, int>> list;
    list.reserve(paths.size());
    for (const auto& p : paths)
      list.emplace_back(p.slid.value - bench.host(0).lid.value,
                        p.dlid.value - bench.host(15).lid.value, p.preference);
    return list;
  };
  using T = std::tuple<int, int, int>;
  EXPECT_THAT(offsets(table(bench, attr::kPathRecord, wanted, kMask)),
              ::testing::ElementsAre(T(0, 0, 0), T(1, 1, 0), T(0, 1, 2), T(0, 2, 2), T(0, 3, 2),
                                     T(1, 0, 2), T(1, 2, 2), T(1, 3, 2)));
  wanted.numb_path = 3;
  EXPECT_THAT(offsets(table(bench, attr::kPathRecord, wanted, kMask | at_bit(kNumbPath))),
              ::testing::ElementsAre(T(0, 0, 0), T(1, 1, 0), T(0, 1, 2)));
  wanted.dlid = Lid{static_cast<std::uint16_t>(bench.host(15).lid.value + 3)};
  EXPECT_THAT(offsets(table(bench, attr::kPathRecord, wanted, kMask | at_bit(kDlid))),
              ::testing::ElementsAre(T(0, 3, 0), T(1, 3, 2)));
}

TEST(SaQuery, BrokenRoutesAreNoPaths) {
  Bench bench(small_tree());
  const auto hosts = bench.hosts;
  const auto& fabric = bench.snapshot->fabric();
  // The leaf of host 15 forgets host 0: forward paths to 15 stand, the way back does not.
  Routing broken = *bench.snapshot->routing;
  const auto leaf = fabric.port(hosts[15]).peer.node;
  broken.lfts.set(broken.graph.switch_of(leaf), bench.host(0).lid, ib::tables::kNoPort);
  bench.snapshot = std::make_shared<Snapshot>(*bench.snapshot);
  bench.snapshot->routing = std::make_shared<Routing>(std::move(broken));
  bench.server.publish(bench.now, bench.snapshot);

  constexpr auto kMask = at_bit(kDgid) | at_bit(kSgid);
  auto wanted = between(bench, 0, 15);
  auto paths = table(bench, attr::kPathRecord, wanted, kMask);
  ASSERT_THAT(paths, SizeIs(1));
  EXPECT_FALSE(paths[0].reversible);
  wanted.reversible = true;
  EXPECT_THAT(table(bench, attr::kPathRecord, wanted, kMask | at_bit(kReversible)), IsEmpty());
  wanted = between(bench, 15, 0);
  EXPECT_THAT(table(bench, attr::kPathRecord, wanted, kMask), IsEmpty());
}

TEST(SaQuery, PathToItself) {
  Bench bench(small_tree());
  const auto paths =
      table(bench, attr::kPathRecord, between(bench, 4, 4), at_bit(kDgid) | at_bit(kSgid));
  ASSERT_THAT(paths, SizeIs(1));
  EXPECT_EQ(paths[0].packet_life, 0);
  EXPECT_EQ(paths[0].mtu, 5);
  EXPECT_TRUE(paths[0].reversible);
}

TEST(SaQuery, WhatCannotBeMeantIsRefused) {
  Bench bench(small_tree());
  const auto refused = [&](const PathRecord& wanted, std::uint64_t mask) {
    return bench.ask(bench.request(Method::Get, attr::kPathRecord, wanted, mask)).mad.status();
  };
  auto wanted = between(bench, 0, 1);
  EXPECT_EQ(refused(wanted, at_bit(0)), status::kSaInsufficientComponents);
  EXPECT_EQ(refused(wanted, at_bit(1)), status::kSaInsufficientComponents);
  wanted.mtu = 6;
  EXPECT_EQ(refused(wanted, at_bit(kMtuSelector) | at_bit(kMtu)), status::kSaReqInvalid);
  wanted.rate = 1;
  EXPECT_EQ(refused(wanted, at_bit(kRateSelector) | at_bit(kRate)), status::kSaReqInvalid);
  wanted = between(bench, 0, 1);
  wanted.dlid = bench.host(2).lid;
  EXPECT_EQ(refused(wanted, at_bit(kDgid) | at_bit(kDlid)), status::kSaReqInvalid);
  wanted.dgid = Gid::from(0xFEC0000000000001ULL, bench.host(1).guid);
  EXPECT_EQ(refused(wanted, at_bit(kDgid)), status::kSaInvalidGid);
  wanted.dgid = Gid::from(ib::kDefaultSubnetPrefix, Guid{0x1234});
  EXPECT_EQ(refused(wanted, at_bit(kDgid)), status::kSaNoRecords);
  wanted.dlid = Lid{0xBFFF};
  EXPECT_EQ(refused(wanted, at_bit(kDlid)), status::kSaNoRecords);
}

TEST(SaQuery, PathToAMulticastGroup) {
  Bench bench(small_tree());
  PathRecord wanted;
  wanted.dgid = ipoib_group(ib::kDefaultPKey).mgid;
  auto paths = table(bench, attr::kPathRecord, wanted, at_bit(kDgid));
  ASSERT_THAT(paths, SizeIs(1));
  EXPECT_EQ(paths[0].dlid, Lid{0xC000});
  EXPECT_EQ(paths[0].mtu, 4);
  EXPECT_EQ(paths[0].rate, 3);
  EXPECT_EQ(paths[0].numb_path, 1);
  wanted.dlid = Lid{0xC001};
  EXPECT_THAT(table(bench, attr::kPathRecord, wanted, at_bit(kDgid) | at_bit(kDlid)), IsEmpty());
  wanted.sgid = bench.gid(0);
  EXPECT_THAT(table(bench, attr::kPathRecord, wanted, at_bit(kDgid) | at_bit(kSgid)), IsEmpty())
      << "not a member";
}

// ---- refusals and keys

TEST(SaServer, AnswersWhatItDoesNotKnow) {
  Bench bench(small_tree());
  const auto status_of = [&](Method method, std::uint16_t attribute) {
    const auto answer = bench.ask(bench.request(method, attribute));
    EXPECT_NE(static_cast<unsigned>(answer.mad.method()) & 0x80U, 0U);
    return answer.mad.status();
  };
  for (const std::uint16_t attribute :
       std::initializer_list<std::uint16_t>{0x0000, 0x0016, 0x0039, 0x003B, 0xFFFF}) {
    EXPECT_EQ(status_of(Method::Get, attribute), status::kBadAttribute) << attribute;
    EXPECT_EQ(status_of(Method::GetTable, attribute), status::kBadAttribute) << attribute;
    EXPECT_EQ(status_of(Method::Set, attribute), status::kBadAttribute) << attribute;
    EXPECT_EQ(status_of(Method::Delete, attribute), status::kBadAttribute) << attribute;
  }
  EXPECT_EQ(status_of(Method::GetTable, attr::kClassPortInfo), status::kBadAttribute);
  EXPECT_EQ(status_of(Method::Set, attr::kNodeRecord), status::kBadAttribute);
  EXPECT_EQ(status_of(Method::GetTraceTable, attr::kNodeRecord), status::kBadAttribute);
  EXPECT_EQ(status_of(Method::GetMulti, attr::kPathRecord), status::kBadAttribute);
  EXPECT_EQ(status_of(static_cast<Method>(0x7F), attr::kNodeRecord), status::kBadMethod);
  EXPECT_EQ(bench.ask(bench.request(Method::Delete, 0x16)).mad.method(), Method::DeleteResp);
  EXPECT_EQ(bench.ask(bench.request(Method::Set, 0x16)).mad.method(), Method::GetResp);
}

TEST(SaServer, AnswersAnotherClassVersionWithAStatus) {
  Bench bench(small_tree());
  auto request = bench.request(Method::Get, attr::kClassPortInfo);
  request.mad.set<&ib::wire::MadHeader::class_version>(std::uint8_t{1});
  EXPECT_EQ(bench.ask(request).mad.status(), status::kBadVersion);
}

TEST(SaServer, NeverAnswersAnAnswer) {
  Bench bench(small_tree());
  for (const auto method : {Method::GetResp, Method::ReportResp, Method::GetTableResp, Method::Trap,
                            Method::TrapRepress})
    bench.server.on_packet(bench.now, bench.request(method, attr::kNodeRecord));
  EXPECT_THAT(bench.drain(), IsEmpty());
  EXPECT_EQ(bench.server.counters().dropped_stray, 3U);
  EXPECT_EQ(bench.server.counters().dropped_unanswerable, 2U);
}

TEST(SaServer, DropsAForeignSmKey) {
  Options options;
  options.trust.sa_key = 42;
  Bench bench(small_tree(), options);
  for (const std::uint64_t key : {0U, 42U}) {
    bench.sm_key = key;
    const auto answer = bench.ask(bench.request(Method::Get, attr::kClassPortInfo));
    EXPECT_EQ(answer.mad.status(), status::kOk);
    EXPECT_EQ(answer.mad.get<&ib::wire::SaHeader::sm_key>(), 0U) << "the key is not told";
  }
  bench.sm_key = 1;
  bench.server.on_packet(bench.now, bench.request(Method::Get, attr::kClassPortInfo));
  EXPECT_THAT(bench.drain(), IsEmpty());
  EXPECT_EQ(bench.server.counters().dropped_sm_key, 1U);
}

TEST(SaServer, IsSilentBeforeTheFirstSnapshot) {
  Bench bench(small_tree());
  Server fresh({}, {});
  fresh.on_packet(bench.now, bench.request(Method::Get, attr::kClassPortInfo));
  EXPECT_FALSE(fresh.next_send(bench.now));
  EXPECT_EQ(fresh.counters().dropped_not_ready, 1U);
}

TEST(SaServer, MirrorsTheGlobalRouteHeader) {
  Bench bench(small_tree());
  auto request = bench.request(Method::Get, attr::kClassPortInfo);
  ib::mad::Grh grh;
  grh.gid = bench.gid(0);
  grh.gid_index = 2;
  grh.hop_limit = 1;
  grh.traffic_class = 5;
  grh.flow_label = 0x123;
  request.address.grh = grh;
  request.address.qpn = 77;
  request.address.p_key_index = 3;
  request.address.path_bits = 1;
  const auto answer = bench.ask(request);
  ASSERT_TRUE(answer.address.grh);
  EXPECT_EQ(answer.address.grh->gid, grh.gid);
  EXPECT_EQ(answer.address.grh->gid_index, 2);
  EXPECT_EQ(answer.address.grh->traffic_class, 5);
  EXPECT_EQ(answer.address.grh->flow_label, 0x123U);
  EXPECT_EQ(answer.address.grh->hop_limit, 0xFF);
  EXPECT_EQ(answer.address.qpn, 77U);
  EXPECT_EQ(answer.address.q_key, ib::wire::kQp1QKey);
  EXPECT_EQ(answer.address.p_key_index, 3);
  EXPECT_EQ(answer.address.path_bits, 1);
}

}  // namespace
}  // namespace sm::sa::test
