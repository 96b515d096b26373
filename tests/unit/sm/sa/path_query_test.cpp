// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What the SA answers to queries for paths.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/unit/sm/sa/query_tables.h"

namespace sm::sa::test {
namespace {

using ib::query::read_table;
using ib::wire::PathRecord;
using ib::wire::Selector;
using ::testing::IsEmpty;
using ::testing::SizeIs;
namespace attr = ib::wire::attr;
namespace status = ib::wire::status;

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

}  // namespace
}  // namespace sm::sa::test
