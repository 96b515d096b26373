// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Tables by RMPP: large ones, lost segments, clients that vanish, and the limits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "libdiag/query/sa_client.h"
#include "tests/unit/sm/sa/subnet.h"

namespace sm::sa::test {
namespace {

using ib::query::read_table;
using ib::wire::NodeRecord;
using ib::wire::PathRecord;
using ib::wire::PortInfoRecord;
using ib::wire::RmppHeader;
using ::testing::IsEmpty;
using ::testing::SizeIs;
namespace attr = ib::wire::attr;
namespace rmpp = ib::mad::rmpp;
namespace status = ib::wire::status;

/// 1,008 hosts, 66 switches.
Fabric large_tree() {
  ib::fabric::FatTree tree;
  tree.radix = 48;
  tree.hosts_per_leaf = 24;
  tree.leaves = 42;
  tree.spines = 24;
  auto fabric = ib::fabric::generate(tree);
  EXPECT_TRUE(fabric) << fabric.error().message;
  return std::move(*fabric);
}

/// Drives the table answer to `request`; `lost` decides about each packet of either direction.
template <class Lost>
Packet receive(Bench& bench, const Packet& request, Lost&& lost) {
  rmpp::Receiver receiver;
  const auto from = ib::mad::gsi_address(bench.snapshot->sm_lid);
  bench.server.on_packet(bench.now, request);
  for (int turn = 0; turn < 20'000; ++turn) {
    for (auto& segment : bench.drain())
      if (!lost()) receiver.on_mad(bench.now, from, segment.mad);
    bool said_something = false;
    while (auto ack = receiver.next_send()) {
      said_something = true;
      ack->address = request.address;
      if (!lost()) bench.server.on_packet(bench.now, *ack);
    }
    if (auto message = receiver.next_message()) {
      // The sender may not know it yet.
      while (auto ack = receiver.next_send()) {
        ack->address = request.address;
        bench.server.on_packet(bench.now, *ack);
      }
      return *message;
    }
    if (said_something) continue;
    if (bench.server.next_deadline() == ib::kNever) break;
    bench.now = std::max(bench.now, bench.server.next_deadline());
    bench.server.on_time(bench.now);
  }
  ADD_FAILURE() << "the table never ended";
  return {};
}

TEST(SaTable, NodeRecordsOfAThousandNodes) {
  Bench bench(large_tree());
  const auto answer = bench.ask_table(bench.request(Method::GetTable, attr::kNodeRecord));
  const auto records = read_table<NodeRecord>(answer);
  ASSERT_TRUE(records);
  EXPECT_THAT(*records, SizeIs(1008 + 42 + 24));
  EXPECT_EQ(rmpp::data_bytes(answer), records->size() * 112);
  EXPECT_EQ(bench.server.next_deadline(), ib::kNever) << "the transfer is over";
  EXPECT_EQ(bench.server.counters().segments_resent, 0U);
}

TEST(SaTable, SegmentsAreWellFormed) {
  Bench bench(large_tree());
  const auto request = bench.request(Method::GetTable, attr::kNodeRecord);
  bench.server.on_packet(bench.now, request);
  auto sent = bench.drain();
  ASSERT_THAT(sent, SizeIs(1)) << "before an ACK opens the window only the first goes out";
  const auto first = header_of(sent[0].mad);
  EXPECT_TRUE(first.active && first.first && !first.last);
  EXPECT_EQ(first.version, 1);
  EXPECT_EQ(first.response_time, 0x1F);
  EXPECT_EQ(sent[0].mad.get<&ib::wire::SaHeader::attribute_offset>(), 14);

  // An ACK to a GetTableResp has the method GetTable.
  Packet ack = sent[0];
  ack.address = request.address;
  ack.mad.set<&ib::wire::MadHeader::method>(Method::GetTable);
  RmppHeader header;
  header.version = 1;
  header.type = static_cast<std::uint8_t>(rmpp::Type::Ack);
  header.active = true;
  header.data1 = 1;
  header.data2 = 10;
  ib::wire::encode(header, ack.mad.bytes.data());
  bench.server.on_packet(bench.now, ack);
  sent = bench.drain();
  ASSERT_THAT(sent, SizeIs(9)) << "the window is 10";
  for (std::size_t i = 0; i < sent.size(); ++i) {
    EXPECT_EQ(header_of(sent[i].mad).data1, i + 2);
    EXPECT_FALSE(header_of(sent[i].mad).first);
  }
}

TEST(SaTable, AShortTableAnnouncesItsLength) {
  Bench bench(small_tree());  // 22 records of 112 bytes: 13 segments, the last holds 64 bytes
  const auto request = bench.request(Method::GetTable, attr::kNodeRecord);
  bench.server.on_packet(bench.now, request);
  const auto sent = bench.drain();
  ASSERT_THAT(sent, SizeIs(1));
  EXPECT_EQ(header_of(sent[0].mad).data2, 22 * 112 + 13 * 20);
}

TEST(SaTable, ArrivesWholeThroughALossyFabric) {
  constexpr unsigned kSeed = 4711;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  Bench bench(large_tree());
  const auto whole =
      read_table<NodeRecord>(bench.ask_table(bench.request(Method::GetTable, attr::kNodeRecord)));
  const auto answer = receive(bench, bench.request(Method::GetTable, attr::kNodeRecord),
                              [&] { return random() % 100 < 5; });
  const auto records = read_table<NodeRecord>(answer);
  ASSERT_TRUE(records);
  EXPECT_TRUE(*records == *whole);
  EXPECT_GT(bench.server.counters().segments_resent, 0U);
}

TEST(SaTable, ForgetsAClientThatVanished) {
  Bench bench(large_tree());
  bench.server.on_packet(bench.now, bench.request(Method::GetTable, attr::kNodeRecord));
  std::size_t sent = 0;
  for (int i = 0; i < 50; ++i) {
    sent += bench.drain().size();
    if (bench.server.next_deadline() == ib::kNever) break;
    bench.now = bench.server.next_deadline();
    bench.server.on_time(bench.now);
  }
  EXPECT_EQ(bench.server.next_deadline(), ib::kNever);
  EXPECT_EQ(bench.server.counters().transfers_aborted, 1U);
  EXPECT_LE(sent, 10U);
}

TEST(SaTable, TheClientMayAbort) {
  Bench bench(large_tree());
  const auto request = bench.request(Method::GetTable, attr::kNodeRecord);
  bench.server.on_packet(bench.now, request);
  Packet abort = bench.drain()[0];
  abort.address = request.address;
  abort.mad.set<&ib::wire::MadHeader::method>(Method::GetTable);
  RmppHeader header;
  header.version = 1;
  header.type = static_cast<std::uint8_t>(rmpp::Type::Abort);
  header.active = true;
  header.status = rmpp::status::kTooManyRetries;
  ib::wire::encode(header, abort.mad.bytes.data());
  bench.server.on_packet(bench.now, abort);
  EXPECT_THAT(bench.drain(), IsEmpty());
  EXPECT_EQ(bench.server.next_deadline(), ib::kNever);
  // A stray one is counted, never answered.
  bench.server.on_packet(bench.now, abort);
  EXPECT_THAT(bench.drain(), IsEmpty());
  EXPECT_EQ(bench.server.counters().dropped_stray, 1U);
}

TEST(SaTable, ARepeatedRequestStartsNoSecondTransfer) {
  Bench bench(large_tree());
  const auto request = bench.request(Method::GetTable, attr::kNodeRecord);
  bench.server.on_packet(bench.now, request);
  EXPECT_THAT(bench.drain(), SizeIs(1));
  bench.server.on_packet(bench.now, request);
  EXPECT_THAT(bench.drain(), IsEmpty());
  EXPECT_EQ(bench.server.counters().under_way, 1U);
  EXPECT_EQ(bench.server.counters().transfers, 1U);
}

TEST(SaTable, IsBusyBeyondItsTransfers) {
  Options options;
  options.transfers_max = 2;
  Bench bench(large_tree(), options);
  for (std::size_t i = 0; i < 3; ++i)
    bench.server.on_packet(
        bench.now, bench.request(Method::GetTable, attr::kNodeRecord, NodeRecord{}, 0, 0, i));
  EXPECT_THAT(bench.drain(), SizeIs(2)) << "the third waits";
  EXPECT_FALSE(bench.server.has_work());
  bench.now = bench.now + options.admission.time_in_queue;
  bench.server.on_time(bench.now);
  std::size_t busy = 0;
  for (const auto& packet : bench.drain()) busy += packet.mad.status() == status::kBusy ? 1 : 0;
  EXPECT_EQ(busy, 1U);
  EXPECT_EQ(bench.server.counters().busy_too_old, 1U);
}

/// Who has taken all his places is still told what needs none.
TEST(SaTable, OneThatWaitsHoldsUpNoOtherRequest) {
  Options options;
  options.transfers_per_requester = 2;
  Bench bench(large_tree(), options);
  for (int i = 0; i < 3; ++i)
    bench.server.on_packet(bench.now, bench.request(Method::GetTable, attr::kNodeRecord));
  EXPECT_THAT(bench.drain(), SizeIs(2)) << "the third waits";
  const auto get = bench.ask(bench.request(Method::Get, attr::kClassPortInfo));
  EXPECT_EQ(get.mad.status(), status::kOk);
}

/// All LIDs of a port are one requester.
TEST(SaTable, APortHasItsPlacesOnceWhateverItsLmc) {
  auto fabric = small_tree();
  auto& port = fabric.port(hosts_of(fabric)[1]);
  port.lid = Lid{256};
  port.lmc = 2;
  fabric.reindex();
  Options options;
  options.transfers_max = 8;
  options.transfers_per_requester = 2;
  Bench bench(fabric, options);
  for (std::uint16_t i = 0; i < 16; ++i) {
    auto request =
        bench.request(Method::GetTable, attr::kPortInfoRecord, PortInfoRecord{}, 0, 0, 1);
    request.address.lid = Lid{static_cast<std::uint16_t>(256 + i % 4)};
    bench.server.on_packet(bench.now, request);
  }
  EXPECT_THAT(bench.drain(), SizeIs(2));
  bench.server.on_packet(
      bench.now, bench.request(Method::GetTable, attr::kPortInfoRecord, PortInfoRecord{}, 0, 0, 2));
  EXPECT_THAT(bench.drain(), SizeIs(1)) << "others have theirs";
}

TEST(SaTable, AnswersFromTheSnapshotItBeganWith) {
  Bench bench(large_tree());
  const auto request = bench.request(Method::GetTable, attr::kNodeRecord);
  bench.server.on_packet(bench.now, request);
  rmpp::Receiver receiver;
  receiver.on_mad(bench.now, ib::mad::gsi_address(bench.snapshot->sm_lid), bench.drain()[0].mad);
  bench.server.publish(bench.now, snapshot_of(small_tree()));
  for (int i = 0; i < 1000; ++i) {
    while (auto ack = receiver.next_send()) {
      ack->address = request.address;
      bench.server.on_packet(bench.now, *ack);
    }
    for (auto& segment : bench.drain())
      receiver.on_mad(bench.now, ib::mad::gsi_address(bench.snapshot->sm_lid), segment.mad);
    if (auto message = receiver.next_message()) {
      EXPECT_THAT(*read_table<NodeRecord>(*message), SizeIs(1074));
      return;
    }
  }
  FAIL() << "the table never ended";
}

/// 1,074 x 1,074 paths are 74 MB; the server holds a window of them.
TEST(SaTable, StreamsAWorldOfPaths) {
  Bench bench(large_tree());
  bench.sm_key = 1;  // trusted
  const auto request = bench.request(Method::GetTable, attr::kPathRecord);
  bench.server.on_packet(bench.now, request);
  std::size_t segments = 0;
  std::uint32_t acked = 0;
  for (int turn = 0; turn < 200; ++turn) {
    const auto sent = bench.drain();
    ASSERT_LE(sent.size(), 64U);
    ASSERT_FALSE(sent.empty());
    segments += sent.size();
    Packet ack = sent.back();
    acked = header_of(ack.mad).data1;
    ack.address = request.address;
    ack.mad.set<&ib::wire::MadHeader::method>(Method::GetTable);
    RmppHeader header;
    header.version = 1;
    header.type = static_cast<std::uint8_t>(rmpp::Type::Ack);
    header.active = true;
    header.data1 = acked;
    header.data2 = acked + 64;
    ib::wire::encode(header, ack.mad.bytes.data());
    bench.server.on_packet(bench.now, ack);
  }
  EXPECT_GT(segments, 12'000U);
}

TEST(SaTable, GivesUpAnEndlessSearch) {
  Bench bench(large_tree());
  bench.sm_key = 1;  // trusted
  PathRecord wanted;
  wanted.rate_selector = ib::wire::Selector::GreaterThan;
  wanted.rate = 13;
  const auto answer = bench.ask(
      bench.request(Method::GetTable, attr::kPathRecord, wanted, (1U << 18) | (1U << 19)));
  EXPECT_EQ(answer.mad.status(), status::kSaNoResources);
}

TEST(SaTable, ThroughTheKernelsRmppTheMessageLeavesWhole) {
  Options options;
  options.kernel_rmpp = true;
  Bench bench(large_tree(), options);
  const auto answer = bench.ask(bench.request(Method::GetTable, attr::kNodeRecord));
  const auto records = read_table<NodeRecord>(answer);
  ASSERT_TRUE(records);
  EXPECT_THAT(*records, SizeIs(1074));
  EXPECT_TRUE(header_of(answer.mad).active);

  options.kernel_table_bytes_max = 50'000;
  Bench capped(large_tree(), options);
  EXPECT_EQ(capped.ask(capped.request(Method::GetTable, attr::kNodeRecord)).mad.status(),
            status::kSaNoResources);
}

}  // namespace
}  // namespace sm::sa::test
