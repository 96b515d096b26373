// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// GetMulti and GetTraceTable as clients send them: segments in, segments out, through the server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "libdiag/query/sa_client.h"
#include "sm/sa/paths/multi_path.h"
#include "sm/sa/paths/path_records.h"
#include "tests/unit/sm/sa/subnet.h"

namespace sm::sa::test {
namespace {

using ib::query::read_table;
using ib::wire::MultiPathRecord;
using ib::wire::PathRecord;
using ib::wire::RmppHeader;
using ib::wire::SaHeader;
using ib::wire::Selector;
using ib::wire::TraceRecord;
using ::testing::IsEmpty;
using ::testing::SizeIs;
namespace attr = ib::wire::attr;
namespace multi = multi_path_bit;
namespace rmpp = ib::mad::rmpp;
namespace status = ib::wire::status;

constexpr std::uint64_t kBothCounts = bit(multi::kSgidCount) | bit(multi::kDgidCount);
constexpr std::uint64_t kGids = bit(path_bit::kSgid) | bit(path_bit::kDgid);

class SaMulti : public ::testing::Test {
 protected:
  Bench bench{small_tree()};

  std::vector<Gid> gids(std::size_t from, std::size_t count) const {
    std::vector<Gid> some;
    for (std::size_t i = 0; i < count; ++i) some.push_back(bench.gid((from + i) % 16));
    return some;
  }
  /// As a program hands it to the kernel: whole.
  Packet request(const MultiPathRecord& record, std::uint64_t mask, const std::vector<Gid>& sources,
                 const std::vector<Gid>& destinations, std::size_t from = 0) {
    const ib::query::SaAddress sa{bench.snapshot->sm_lid, {}, bench.sm_key};
    auto made = ib::query::multi_path_request(0, sa, record, mask, sources, destinations);
    auto packet = bench.request(Method::GetMulti, attr::kMultiPathRecord, std::uint64_t{0},
                                std::uint32_t{0}, from);
    const auto tid = packet.mad.tid();
    packet.mad = made.mad;
    packet.mad.set<&ib::wire::MadHeader::tid>(tid);
    packet.more = std::move(made.more);
    bytes_ =
        ib::wire::LayoutOf<MultiPathRecord>::kBytes + 16 * (sources.size() + destinations.size());
    return packet;
  }

  /// What the kernel makes of it: a two-sided transfer, and the answer put together. A refusal
  /// comes back as it is.
  Packet ask(const Packet& packet) {
    std::vector<std::byte> message(packet.mad.bytes.begin(),
                                   packet.mad.bytes.begin() + ib::wire::kSaDataOffset);
    message.insert(message.end(), packet.mad.data(), packet.mad.data() + ib::wire::kSaDataBytes);
    message.insert(message.end(), packet.more.begin(), packet.more.end());
    message.resize(ib::wire::kSaDataOffset + bytes_);
    rmpp::SenderOptions two_sided;
    two_sided.response_follows = true;
    rmpp::Sender sender(message, two_sided);
    rmpp::Receiver receiver;
    const auto server = ib::mad::gsi_address(bench.snapshot->sm_lid);
    for (int turn = 0; turn < 10'000; ++turn) {
      while (auto mad = sender.next_send(bench.now)) give(packet.address, *mad);
      for (const auto& sent : bench.drain()) {
        if (sender.owns(sent.mad)) {
          sender.on_mad(bench.now, sent.mad);
        } else if (!rmpp::is_active(sent.mad)) {
          return sent;
        } else {
          receiver.on_mad(bench.now, server, sent.mad);
        }
      }
      while (auto ack = receiver.next_send()) give(packet.address, ack->mad);
      if (auto answer = receiver.next_message()) {
        EXPECT_EQ(sender.state(), rmpp::Sender::State::Done);
        return *answer;
      }
    }
    ADD_FAILURE() << "no answer";
    return {};
  }
  std::vector<PathRecord> paths(const MultiPathRecord& record, std::uint64_t mask,
                                const std::vector<Gid>& sources,
                                const std::vector<Gid>& destinations) {
    const auto answer = ask(request(record, mask, sources, destinations));
    EXPECT_EQ(answer.mad.method(), Method::GetMultiResp);
    EXPECT_EQ(answer.mad.attribute_id(), attr::kPathRecord);
    EXPECT_EQ(answer.mad.status(), status::kOk);
    auto records = read_table<PathRecord>(answer);
    EXPECT_TRUE(records);
    return records ? *records : std::vector<PathRecord>{};
  }
  /// The status that comes back; 0 for records.
  std::uint16_t status_of(const Packet& packet) { return ask(packet).mad.status(); }

  std::size_t bytes_{0};  // of the last request: the record and its GIDs

 private:
  void give(const ib::mad::Address& from, const Mad& mad) {
    bench.server.on_packet(bench.now, Packet{from, mad, {}});
  }
};

TEST_F(SaMulti, EverySourceToEveryDestinationInSegmentsBothWays) {
  const auto sources = gids(0, 9), destinations = gids(9, 7);
  const auto found = paths({}, kBothCounts, sources, destinations);
  std::set<std::pair<Gid, Gid>> pairs;
  for (const auto& path : found) {
    pairs.emplace(path.sgid, path.dgid);
    PathRecord wanted;
    wanted.sgid = path.sgid;
    wanted.dgid = path.dgid;
    const auto single = bench.ask(bench.request(Method::Get, attr::kPathRecord, wanted, kGids));
    EXPECT_EQ(ib::wire::body<PathRecord>(single.mad), path);
  }
  EXPECT_THAT(pairs, SizeIs(63));
  EXPECT_EQ(bench.server.counters().messages_in, 1U);
  EXPECT_EQ(bench.server.counters().segments_in, 2U);
  EXPECT_EQ(bench.server.next_deadline() != ib::kNever, true) << "the request lingers";
  bench.now = bench.server.next_deadline();
  bench.server.on_time(bench.now);
  EXPECT_EQ(bench.server.next_deadline(), ib::kNever);
}

/// Without the RMPP flag, as infiniband-diags sends it.
TEST_F(SaMulti, InOneMadWithoutTheFlag) {
  auto packet = request({}, kBothCounts, gids(0, 5), gids(5, 6));
  ASSERT_THAT(packet.more, IsEmpty()) << "eleven GIDs are the most that fit";
  ib::wire::encode(RmppHeader{}, packet.mad.bytes.data());
  const auto records = read_table<PathRecord>(bench.ask_table(packet));
  ASSERT_TRUE(records);
  EXPECT_THAT(*records, SizeIs(30));
}

TEST_F(SaMulti, CountsAtTheirLimits) {
  for (const std::size_t count : {1U, 11U, 12U, 127U, 128U, 254U, 255U}) {
    SCOPED_TRACE(count);
    // The bench has 16 hosts; one that is named again is the same end.
    const auto found = paths({}, kBothCounts, gids(0, count), gids(1, 1));
    EXPECT_EQ(found.size(), std::min<std::size_t>(count, 16));
    auto last_is_nobody = gids(0, count);
    last_is_nobody.back() = Gid::from(ib::kDefaultSubnetPrefix, Guid{0x77});
    EXPECT_EQ(status_of(request({}, kBothCounts, last_is_nobody, gids(1, 1))),
              status::kSaInvalidGid);
    MultiPathRecord one;
    one.numb_path = 1;
    EXPECT_THAT(paths(one, kBothCounts | bit(multi::kNumbPath), gids(0, 1), gids(1, count)),
                SizeIs(1));
  }
  EXPECT_THAT(paths({}, kBothCounts, gids(0, 255), gids(0, 255)), SizeIs(127)) << "8 KB of GIDs";
  EXPECT_EQ(status_of(request({}, kBothCounts, {}, gids(0, 1))), status::kSaReqInvalid);
  EXPECT_EQ(status_of(request({}, kBothCounts, gids(0, 1), {})), status::kSaReqInvalid);
  EXPECT_EQ(status_of(request({}, kBothCounts, {}, {})), status::kSaReqInvalid);
}

/// The counts say more than came; the rest of the last segment is nobody's.
TEST_F(SaMulti, CountsBeyondTheMessage) {
  const std::pair<unsigned, unsigned> counts[] = {{2, 2},   {1, 3},     {3, 1},   {11, 1},
                                                  {254, 1}, {255, 255}, {1, 254}, {1, 255}};
  for (const auto& [sources, destinations] : counts) {
    SCOPED_TRACE(::testing::Message() << sources << " and " << destinations);
    auto packet = request({}, kBothCounts, gids(0, 1), gids(1, 2));
    const auto spare = bench.gid(3);
    for (std::size_t i = 0; i < 16; ++i) packet.mad.data()[24 + 48 + i] = std::byte{spare.bytes[i]};
    auto record = ib::wire::body<MultiPathRecord>(packet.mad);
    record.sgid_count = static_cast<std::uint8_t>(sources);
    record.dgid_count = static_cast<std::uint8_t>(destinations);
    ib::wire::encode(record, packet.mad.data());
    EXPECT_EQ(status_of(packet), status::kSaReqInvalid);
  }
  // A long message that is one GID short.
  auto packet = request({}, kBothCounts, gids(0, 20), gids(1, 20));
  bytes_ -= 16;
  EXPECT_EQ(status_of(packet), status::kSaReqInvalid);
  // Fewer than came are enough.
  packet = request({}, kBothCounts, gids(0, 20), gids(1, 20));
  auto record = ib::wire::body<MultiPathRecord>(packet.mad);
  record.sgid_count = record.dgid_count = 2;
  ib::wire::encode(record, packet.mad.data());
  EXPECT_THAT(*read_table<PathRecord>(ask(packet)), SizeIs(4));
}

/// Each bit alone: what it asks for, with a value that fits and with one that does not.
TEST_F(SaMulti, EveryComponent) {
  struct Wish {
    unsigned number;
    MultiPathRecord fits, fails;
    std::uint64_t with{0};  // components that mean something together only
    std::uint16_t refused{0};
  };
  const auto with = [](auto member, auto value) {
    MultiPathRecord r;
    r.*member = value;
    return r;
  };
  const auto bound = [](auto selector, auto member, Selector how, std::uint8_t value) {
    MultiPathRecord r;
    r.*selector = how;
    r.*member = value;
    return r;
  };
  using M = MultiPathRecord;
  const std::vector<Wish> wishes{
      {multi::kRawTraffic, {}, with(&M::raw_traffic, true), 0, status::kSaReqInvalid},
      {multi::kNumbPath, with(&M::numb_path, std::uint8_t{1}), {}},
      {multi::kPKey, with(&M::p_key, ib::kDefaultPKey), with(&M::p_key, ib::PKey{0x8012})},
      {multi::kMtu, bound(&M::mtu_selector, &M::mtu, Selector::Exactly, 5),
       bound(&M::mtu_selector, &M::mtu, Selector::GreaterThan, 5), bit(multi::kMtuSelector)},
      {multi::kRate, bound(&M::rate_selector, &M::rate, Selector::Exactly, 16),
       bound(&M::rate_selector, &M::rate, Selector::LessThan, 2), bit(multi::kRateSelector)},
      {multi::kLife, bound(&M::packet_life_selector, &M::packet_life, Selector::GreaterThan, 1),
       bound(&M::packet_life_selector, &M::packet_life, Selector::LessThan, 0),
       bit(multi::kLifeSelector)},
  };
  for (const auto& wish : wishes) {
    SCOPED_TRACE(wish.number);
    const auto mask = kBothCounts | bit(wish.number) | wish.with;
    const auto ask_for = [&](const M& record) {
      return ask(request(record, mask, gids(0, 1), gids(1, 1)));
    };
    EXPECT_THAT(*read_table<PathRecord>(ask_for(wish.fits)), SizeIs(1));
    const auto failed = ask_for(wish.fails);
    EXPECT_EQ(failed.mad.status(), wish.refused);
    if (wish.refused == 0) {
      EXPECT_THAT(*read_table<PathRecord>(failed), IsEmpty());
    }
    // A value whose bit is not set is no wish.
    EXPECT_THAT(paths(wish.fails, kBothCounts, gids(0, 1), gids(1, 1)), SizeIs(1));
  }
  // These are echoed or not compared.
  for (const unsigned n : {multi::kFlowLabel, multi::kHopLimit, multi::kTClass, multi::kQosClass,
                           multi::kReversible, multi::kSl, multi::kMtuSelector,
                           multi::kRateSelector, multi::kLifeSelector, multi::kIndependence}) {
    SCOPED_TRACE(n);
    EXPECT_THAT(paths({}, kBothCounts | bit(n), gids(0, 1), gids(1, 1)), SizeIs(1));
  }
  // Halves of a ServiceID, and counts that are not given.
  for (const unsigned n : {multi::kServiceIdHigh, multi::kServiceIdLow})
    EXPECT_EQ(status_of(request({}, kBothCounts | bit(n), gids(0, 1), gids(1, 1))),
              status::kSaInsufficientComponents);
  for (const unsigned n : {multi::kSgidCount, multi::kDgidCount}) {
    auto packet = request({}, kBothCounts, gids(0, 1), gids(1, 1));
    packet.mad.set<&SaHeader::component_mask>(kBothCounts & ~bit(n));
    EXPECT_EQ(status_of(packet), status::kSaInsufficientComponents);
  }
  // Bits of reserved fields, and such as no component has, ask for nothing.
  for (unsigned n = 0; n < 64; ++n) {
    if (n != 1 && n != 18 && n < 22) continue;
    EXPECT_THAT(paths({}, kBothCounts | bit(n), gids(0, 1), gids(1, 1)), SizeIs(1)) << n;
  }
}

TEST_F(SaMulti, IndependentPathsShareNoPort) {
  MultiPathRecord two;
  two.numb_path = 2;
  two.independence_selector = 1;
  const auto mask = kBothCounts | bit(multi::kNumbPath) | bit(multi::kIndependence);
  const auto found = paths(two, mask, {bench.gid(0), bench.gid(4)}, {bench.gid(8), bench.gid(12)});
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_NE(found[0].slid, found[1].slid);
  EXPECT_NE(found[0].dlid, found[1].dlid);
}

TEST_F(SaMulti, GidsThatAreNoOnesHere) {
  const auto a = bench.gid(0), b = bench.gid(1);
  for (const Gid& gid : {Gid{}, Gid::from(ib::kDefaultSubnetPrefix, Guid{0x77}),
                         Gid::from(0xFEC0000000000000ULL, bench.host(1).guid)}) {
    EXPECT_EQ(status_of(request({}, kBothCounts, {gid}, {b})), status::kSaInvalidGid);
    EXPECT_EQ(status_of(request({}, kBothCounts, {a}, {b, gid})), status::kSaInvalidGid);
  }
}

TEST_F(SaMulti, OtherMethodsHaveNone) {
  for (const auto method : {Method::Get, Method::GetTable, Method::Set, Method::Delete}) {
    const auto answer = bench.ask(bench.request(method, attr::kMultiPathRecord, kBothCounts));
    EXPECT_EQ(answer.mad.status(), status::kBadAttribute);
  }
  EXPECT_EQ(bench.ask(bench.request(Method::GetMulti, attr::kPathRecord)).mad.status(),
            status::kBadAttribute);
}

// ---- GetTraceTable

class SaTraceTable : public SaMulti {
 protected:
  Packet trace(const PathRecord& path, std::uint64_t mask,
               std::uint16_t attribute = attr::kTraceRecord) {
    return bench.ask_table(bench.request(Method::GetTraceTable, attribute, path, mask));
  }
  PathRecord between(std::size_t from, std::size_t to) const {
    PathRecord r;
    r.sgid = bench.gid(from);
    r.dgid = bench.gid(to);
    r.slid = bench.host(from).lid;
    r.dlid = bench.host(to).lid;
    return r;
  }
};

TEST_F(SaTraceTable, EveryPairIsOneChainOfCables) {
  const auto& fabric = bench.snapshot->fabric();
  for (std::size_t from = 0; from < 16; from += 3) {
    for (std::size_t to = 0; to < 16; ++to) {
      const auto answer = trace(between(from, to), kGids);
      EXPECT_EQ(answer.mad.method(), Method::GetTableResp);
      EXPECT_EQ(answer.mad.attribute_id(), attr::kTraceRecord);
      const auto nodes = read_table<TraceRecord>(answer);
      ASSERT_TRUE(nodes);
      EXPECT_EQ(nodes->size(), from == to ? 1U : from / 4 == to / 4 ? 3U : 5U);
      PortRef at = bench.hosts[from];
      for (std::size_t i = 0; i < nodes->size(); ++i) {
        EXPECT_EQ((*nodes)[i].node_id, fabric.node(at.node).guid.value);
        if (i + 1 < nodes->size()) at = fabric.port(at.node, (*nodes)[i].exit_port.value).peer;
      }
      EXPECT_EQ(at, bench.hosts[to]);
    }
  }
}

TEST_F(SaTraceTable, AnswersByLidsGidsAndAttributeIds) {
  constexpr auto kLids = bit(path_bit::kSlid) | bit(path_bit::kDlid);
  const auto by_gids = read_table<TraceRecord>(trace(between(0, 15), kGids));
  for (const auto attribute : {attr::kTraceRecord, attr::kPathRecord}) {
    const auto answer = trace(between(0, 15), kLids, attribute);
    EXPECT_EQ(answer.mad.attribute_id(), attr::kTraceRecord);
    const auto by_lids = read_table<TraceRecord>(answer);
    ASSERT_TRUE(by_lids) << by_lids.error().message;
    EXPECT_EQ(*by_lids, *by_gids);
  }
}

TEST_F(SaTraceTable, WhatIsRefused) {
  for (unsigned n = 0; n < 24; ++n)
    EXPECT_NE(trace(between(0, 1), bit(n)).mad.status(), status::kOk) << "bit " << n;
  auto wanted = between(0, 1);
  wanted.dgid = Gid::from(ib::kDefaultSubnetPrefix, Guid{0x77});
  EXPECT_THAT(*read_table<TraceRecord>(trace(wanted, kGids)), IsEmpty());
  for (const auto attribute : {attr::kNodeRecord, attr::kMultiPathRecord})
    EXPECT_EQ(bench.ask(bench.request(Method::GetTraceTable, attribute, kGids)).mad.status(),
              status::kBadAttribute);
  for (const auto method : {Method::Get, Method::GetTable, Method::GetMulti, Method::Set})
    EXPECT_EQ(bench.ask(bench.request(method, attr::kTraceRecord, kGids)).mad.status(),
              status::kBadAttribute);
}

/// LIDs of either end at every edge: none leads out of a table.
TEST_F(SaTraceTable, EveryLid) {
  constexpr auto kLids = bit(path_bit::kSlid) | bit(path_bit::kDlid);
  std::size_t traced = 0;
  for (const unsigned lid :
       {0U, 1U, 22U, 23U, 24U, 254U, 255U, 256U, 0xBFFFU, 0xC000U, 0xFFFEU, 0xFFFFU}) {
    for (const auto member : {&PathRecord::slid, &PathRecord::dlid}) {
      auto wanted = between(0, 1);
      wanted.*member = Lid{static_cast<std::uint16_t>(lid)};
      const auto answer = trace(wanted, kLids);
      if (answer.mad.status() == status::kOk) traced += read_table<TraceRecord>(answer)->size();
    }
  }
  EXPECT_GT(traced, 0U);
}

}  // namespace
}  // namespace sm::sa::test
