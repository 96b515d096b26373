// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What clients of the field ask of paths, with the component masks that they send, through the
// server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "libdiag/query/sa_client.h"
#include "sm/sa/paths/path_records.h"
#include "tests/unit/sm/sa/subnet.h"

namespace sm::sa::test {
namespace {

using ib::wire::PathRecord;
using ib::wire::TraceRecord;
using ::testing::SizeIs;
namespace attr = ib::wire::attr;
namespace status = ib::wire::status;

constexpr std::uint64_t kServiceId = bit(path_bit::kServiceIdHigh) | bit(path_bit::kServiceIdLow);

PathRecord between(const Bench& bench, std::size_t from, std::size_t to) {
  PathRecord r;
  r.sgid = bench.gid(from);
  r.dgid = bench.gid(to);
  return r;
}

/// What every consumer needs to fill an address handle and to connect.
void expect_usable(const Bench& bench, const PathRecord& path, std::size_t from, std::size_t to) {
  EXPECT_EQ(path.sgid, bench.gid(from));
  EXPECT_EQ(path.dgid, bench.gid(to));
  EXPECT_EQ(path.slid, bench.host(from).lid);
  EXPECT_EQ(path.dlid, bench.host(to).lid);
  EXPECT_TRUE(path.reversible);
  EXPECT_EQ(path.hop_limit, 0) << "no GRH within the subnet";
  EXPECT_EQ(path.p_key, ib::kDefaultPKey);
  EXPECT_EQ(path.mtu, 5);
  EXPECT_EQ(path.rate, 16);
}

TEST(SaPathClients, Ipoib) {
  // path_rec_start(): DGID, SGID, NumbPath, TrafficClass, P_Key.
  Bench bench(small_tree());
  auto wanted = between(bench, 2, 13);
  wanted.numb_path = 1;
  wanted.p_key = ib::kDefaultPKey;
  constexpr auto kMask = bit(path_bit::kDgid) | bit(path_bit::kSgid) | bit(path_bit::kNumbPath) |
                         bit(path_bit::kTClass) | bit(path_bit::kPKey);
  for (const std::uint8_t traffic_class : {std::uint8_t{0}, std::uint8_t{0x20}}) {
    wanted.traffic_class = traffic_class;
    const auto answer =
        bench.ask(bench.request(Method::Get, attr::kPathRecord, wanted, kMask, 0, 2));
    ASSERT_EQ(answer.mad.status(), status::kOk);
    expect_usable(bench, ib::wire::body<PathRecord>(answer.mad), 2, 13);
  }
}

TEST(SaPathClients, RdmaCm) {
  // cma_query_ib_route(): DGID, SGID, P_Key, NumbPath, Reversible, ServiceID, and QoSClass with
  // IPv4 addresses, TrafficClass with IPv6 and native ones.
  Bench bench(small_tree());
  auto wanted = between(bench, 1, 9);
  wanted.numb_path = 1;
  wanted.reversible = true;
  wanted.p_key = ib::kDefaultPKey;
  wanted.service_id = 0x0000000001060000 + 20049;
  wanted.qos_class = 5;
  wanted.traffic_class = 0x40;
  constexpr auto kMask = bit(path_bit::kDgid) | bit(path_bit::kSgid) | bit(path_bit::kPKey) |
                         bit(path_bit::kNumbPath) | bit(path_bit::kReversible) | kServiceId;
  for (const auto more : {bit(path_bit::kQosClass), bit(path_bit::kTClass)}) {
    const auto answer =
        bench.ask(bench.request(Method::Get, attr::kPathRecord, wanted, kMask | more, 0, 1));
    ASSERT_EQ(answer.mad.status(), status::kOk);
    const auto path = ib::wire::body<PathRecord>(answer.mad);
    expect_usable(bench, path, 1, 9);
    EXPECT_EQ(path.service_id, wanted.service_id);
  }
  wanted.dgid = Gid::from(ib::kDefaultSubnetPrefix, Guid{0x4711});
  const auto answer = bench.ask(bench.request(Method::Get, attr::kPathRecord, wanted, kMask, 0, 1));
  EXPECT_EQ(answer.mad.status(), status::kSaNoRecords) << "an unknown host is an answer";
}

TEST(SaPathClients, IbacmFindsItsPathAndItsTable) {
  // acmp: a Get with the bits of the fields that are not zero; and all paths from one LID, as its
  // address file is made.
  Bench bench(small_tree());
  auto wanted = between(bench, 0, 7);
  wanted.slid = bench.host(0).lid;
  wanted.dlid = bench.host(7).lid;
  wanted.reversible = true;
  wanted.p_key = ib::kDefaultPKey;
  constexpr auto kMask = bit(path_bit::kDgid) | bit(path_bit::kSgid) | bit(path_bit::kDlid) |
                         bit(path_bit::kSlid) | bit(path_bit::kReversible) | bit(path_bit::kPKey);
  const auto answer = bench.ask(bench.request(Method::Get, attr::kPathRecord, wanted, kMask));
  ASSERT_EQ(answer.mad.status(), status::kOk);
  expect_usable(bench, ib::wire::body<PathRecord>(answer.mad), 0, 7);

  const auto table = ib::query::read_table<PathRecord>(bench.ask_table(
      bench.request(Method::GetTable, attr::kPathRecord, wanted,
                    bit(path_bit::kSlid) | bit(path_bit::kReversible) | bit(path_bit::kNumbPath))));
  ASSERT_TRUE(table);
  EXPECT_THAT(*table, SizeIs(0)) << "NumbPath 0";
  wanted.numb_path = 1;
  const auto paths = ib::query::read_table<PathRecord>(bench.ask_table(
      bench.request(Method::GetTable, attr::kPathRecord, wanted,
                    bit(path_bit::kSlid) | bit(path_bit::kReversible) | bit(path_bit::kNumbPath))));
  ASSERT_TRUE(paths);
  std::set<Lid> reached;
  for (const auto& path : *paths) reached.insert(path.dlid);
  EXPECT_THAT(reached, SizeIs(22));
}

TEST(SaPathClients, ATraceThroughTheServer) {
  Bench bench(small_tree());
  const ib::query::SaAddress sa{bench.snapshot->sm_lid, {}, 0};
  const auto ask = [&](const ib::mad::Request& request) {
    auto packet = bench.request(request.mad.method(), request.mad.attribute_id());
    const auto tid = packet.mad.tid();
    packet.mad = request.mad;
    packet.mad.set<&ib::wire::MadHeader::tid>(tid);
    return bench.ask_table(packet);
  };
  const auto trace = ask(ib::query::trace_request(0, sa, between(bench, 0, 15),
                                                  bit(path_bit::kDgid) | bit(path_bit::kSgid)));
  EXPECT_EQ(trace.mad.method(), Method::GetTableResp);
  EXPECT_EQ(trace.mad.attribute_id(), attr::kTraceRecord);
  const auto nodes = ib::query::read_table<TraceRecord>(trace);
  ASSERT_TRUE(nodes);
  EXPECT_THAT(*nodes, SizeIs(5));
}

}  // namespace
}  // namespace sm::sa::test
