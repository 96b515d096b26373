// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// MultiPathRecord and TraceRecord: several ends at once, independence, the nodes on the way.
#include "sm/sa/paths/multi_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "libdiag/route/choose/plan.h"
#include "libdiag/route/engine.h"
#include "sm/sa/paths/trace_records.h"
#include "tests/unit/sm/sa/path_world.h"

namespace sm::sa::test {
namespace {

using ib::wire::MultiPathRecord;
using ib::wire::TraceRecord;
using ::testing::IsEmpty;
using ::testing::SizeIs;
namespace multi = multi_path_bit;
namespace status = ib::wire::status;

constexpr Gid kMulticastGid = Gid::from(0xFF12401BFFFF0000, Guid{0xFFFFFFFF});
constexpr std::uint64_t kCounts = bit(multi::kSgidCount) | bit(multi::kDgidCount);

Query multi_query(const PathWorld& w, MultiPathRecord record, std::uint64_t mask,
                  const std::vector<Gid>& sources, const std::vector<Gid>& destinations) {
  Query q = w.query({}, mask, false);
  q.method = Method::GetMulti;
  q.attribute = ib::wire::attr::kMultiPathRecord;
  record.sgid_count = static_cast<std::uint8_t>(sources.size());
  record.dgid_count = static_cast<std::uint8_t>(destinations.size());
  std::vector<std::byte> message(ib::wire::LayoutOf<MultiPathRecord>::kBytes);
  ib::wire::encode(record, message.data());
  for (const auto* side : {&sources, &destinations})
    for (const Gid& gid : *side)
      for (const auto byte : gid.bytes) message.push_back(std::byte{byte});
  message.resize(std::max(message.size(), q.wanted.size()));
  std::copy_n(message.begin(), q.wanted.size(), q.wanted.begin());
  q.more.assign(message.begin() + static_cast<std::ptrdiff_t>(q.wanted.size()), message.end());
  q.bytes = message.size();
  return q;
}

std::vector<PathRecord> answer(const PathWorld& w, const Query& q) {
  auto opened = open_multi_path_query(w.world(), q);
  if (const auto* refusal = std::get_if<std::uint16_t>(&opened)) {
    ADD_FAILURE() << "refused with " << *refusal;
    return {};
  }
  return PathWorld::records(*std::get<std::unique_ptr<RecordSource>>(opened));
}
std::uint16_t refusal(const PathWorld& w, const Query& q) {
  const auto opened = open_multi_path_query(w.world(), q);
  const auto* status = std::get_if<std::uint16_t>(&opened);
  return status == nullptr ? std::uint16_t{0} : *status;
}

TEST(SaMultiPath, EverySourceToEveryDestination) {
  PathWorld w(small_tree());
  std::vector<Gid> sources, destinations;
  for (std::size_t i = 0; i < 9; ++i) sources.push_back(w.gid(i));
  for (std::size_t i = 9; i < 16; ++i) destinations.push_back(w.gid(i));
  const auto paths = answer(w, multi_query(w, {}, kCounts, sources, destinations));
  std::set<std::pair<Gid, Gid>> pairs;
  for (const auto& p : paths) {
    pairs.emplace(p.sgid, p.dgid);
    // Each is what a PathRecord query says.
    PathRecord wanted;
    wanted.sgid = p.sgid;
    wanted.dgid = p.dgid;
    EXPECT_EQ(w.get(wanted, kGids), p);
  }
  EXPECT_EQ(pairs.size(), 9U * 7U) << "GIDs behind the first 200 bytes are read as well";

  MultiPathRecord few;
  few.numb_path = 5;
  EXPECT_THAT(
      answer(w, multi_query(w, few, kCounts | bit(multi::kNumbPath), sources, destinations)),
      SizeIs(5));
  for (std::size_t i = 0; i < 9; ++i) destinations.push_back(w.gid(i));
  for (std::size_t i = 9; i < 16; ++i) sources.push_back(w.gid(i));
  EXPECT_THAT(answer(w, multi_query(w, {}, kCounts, sources, destinations)), SizeIs(127));
}

TEST(SaMultiPath, WishesAreThoseOfAPathRecord) {
  PathWorld w(small_tree());
  MultiPathRecord wish;
  wish.mtu_selector = Selector::LessThan;
  wish.mtu = 4;
  wish.rate_selector = Selector::GreaterThan;
  wish.rate = 7;
  wish.packet_life_selector = Selector::Exactly;
  wish.packet_life = 10;
  wish.p_key = ib::PKey{0x7FFF};
  wish.sl = ib::Sl{2};
  wish.reversible = true;
  wish.service_id_high = 0x12;
  wish.service_id_low = 0x345678;
  std::uint64_t mask = kCounts;
  for (const unsigned n : {multi::kMtuSelector, multi::kMtu, multi::kRateSelector, multi::kRate,
                           multi::kLifeSelector, multi::kLife, multi::kPKey, multi::kSl,
                           multi::kReversible, multi::kServiceIdHigh, multi::kServiceIdLow})
    mask |= bit(n);
  const auto paths = answer(w, multi_query(w, wish, mask, {w.gid(0)}, {w.gid(15)}));
  ASSERT_THAT(paths, SizeIs(1));
  EXPECT_EQ(paths[0].mtu, 3);
  EXPECT_EQ(paths[0].rate, 16);
  EXPECT_EQ(paths[0].packet_life, 10);
  EXPECT_EQ(paths[0].p_key, wish.p_key);
  EXPECT_EQ(paths[0].sl, wish.sl);
  EXPECT_TRUE(paths[0].reversible);
  EXPECT_EQ(paths[0].service_id, 0x1200000000345678U);
  wish.rate = 13;
  EXPECT_THAT(answer(w, multi_query(w, wish, mask, {w.gid(0)}, {w.gid(15)})), IsEmpty());
}

TEST(SaMultiPath, WhatCannotBeMeantIsRefused) {
  PathWorld w(small_tree());
  const auto a = w.gid(0), b = w.gid(1);
  EXPECT_EQ(refusal(w, multi_query(w, {}, kCounts, {a}, {b})), 0);
  for (const unsigned n : {multi::kSgidCount, multi::kDgidCount})
    EXPECT_EQ(refusal(w, multi_query(w, {}, bit(n), {a}, {b})), status::kSaInsufficientComponents);
  for (const unsigned n : {multi::kServiceIdHigh, multi::kServiceIdLow})
    EXPECT_EQ(refusal(w, multi_query(w, {}, kCounts | bit(n), {a}, {b})),
              status::kSaInsufficientComponents);
  // Which complaint comes first is part of the answer: values, halves, GIDs.
  MultiPathRecord fast;
  fast.rate = 63;
  const auto rate = bit(multi::kRateSelector) | bit(multi::kRate);
  for (const unsigned n : {multi::kServiceIdHigh, multi::kServiceIdLow}) {
    EXPECT_EQ(refusal(w, multi_query(w, fast, kCounts | rate | bit(n), {a}, {b})),
              status::kSaReqInvalid);
    EXPECT_EQ(refusal(w, multi_query(w, {}, kCounts | bit(n), {}, {kMulticastGid})),
              status::kSaInsufficientComponents);
  }
  EXPECT_EQ(refusal(w, multi_query(w, {}, kCounts, {}, {b})), status::kSaReqInvalid);
  EXPECT_EQ(refusal(w, multi_query(w, {}, kCounts, {a}, {})), status::kSaReqInvalid);
  MultiPathRecord raw;
  raw.raw_traffic = true;
  EXPECT_EQ(refusal(w, multi_query(w, raw, kCounts | bit(multi::kRawTraffic), {a}, {b})),
            status::kSaReqInvalid);
  for (const Gid& gid : {Gid{}, Gid::from(0xFEC0, w.host(1).guid),
                         Gid::from(ib::kDefaultSubnetPrefix, Guid{0x77}), kMulticastGid}) {
    EXPECT_EQ(refusal(w, multi_query(w, {}, kCounts, {gid}, {b})), status::kSaInvalidGid);
    EXPECT_EQ(refusal(w, multi_query(w, {}, kCounts, {a}, {b, gid})), status::kSaInvalidGid);
  }
  // Counts beyond the message.
  auto q = multi_query(w, {}, kCounts, {a}, {b});
  auto record = ib::wire::decode<MultiPathRecord>(q.wanted.data());
  for (const std::uint8_t count : {std::uint8_t{11}, std::uint8_t{254}, std::uint8_t{255}}) {
    record.sgid_count = count;
    ib::wire::encode(record, q.wanted.data());
    EXPECT_EQ(refusal(w, q), status::kSaReqInvalid) << "that many GIDs do not fit";
  }
  q = multi_query(w, {}, kCounts, {a}, {b});
  q.method = Method::Get;
  EXPECT_EQ(refusal(w, q), status::kBadAttribute);
}

std::vector<PortRef> cables_of(const PathWorld& w, const PathRecord& p) {
  std::vector<PortRef> cables;
  for (const auto& step : w.paths->trace(*w.paths->find(p.slid), *w.paths->find(p.dlid), p.dlid)) {
    if (step.exit == 0) continue;
    const PortRef out{step.node, step.exit};
    cables.push_back(std::min(out, w.snapshot->fabric().port(out).peer));
  }
  return cables;
}
std::size_t shared(const PathWorld& w, const PathRecord& a, const PathRecord& b) {
  std::size_t n = 0;
  const auto others = cables_of(w, b);
  for (const auto cable : cables_of(w, a))
    n += static_cast<std::size_t>(std::ranges::count(others, cable));
  return n;
}

/// small_tree() with LMC 2, each LID over the spine of its own.
PathWorld spread_tree() {
  auto fabric = small_tree();
  EXPECT_TRUE(ib::route::give_lids(fabric, std::uint8_t{2}));
  fabric.reindex();
  PathWorld w(std::move(fabric));
  ib::route::Request request;
  request.fabric = &w.snapshot->fabric();
  request.graph = &w.snapshot->routing->graph;
  auto routes = ib::route::find_engine("updn")->compute(request);
  EXPECT_TRUE(routes);
  Routing routing = *w.snapshot->routing;
  routing.lfts = std::move(routes->lfts);
  w.snapshot->routing = std::make_shared<Routing>(std::move(routing));
  w.publish();
  return w;
}

std::vector<PathRecord> two_paths(const PathWorld& w, const std::vector<Gid>& sources,
                                  const std::vector<Gid>& destinations) {
  MultiPathRecord two;
  two.numb_path = 2;
  return answer(w, multi_query(w, two, kCounts | bit(multi::kNumbPath), sources, destinations));
}

TEST(SaMultiPath, MigrationGetsEachPortOnceAndNoSharedCable) {
  const auto w = spread_tree();
  const auto paths = two_paths(w, {w.gid(0), w.gid(4)}, {w.gid(8), w.gid(12)});
  ASSERT_THAT(paths, SizeIs(2));
  EXPECT_NE(paths[0].sgid, paths[1].sgid);
  EXPECT_NE(paths[0].dgid, paths[1].dgid);
  EXPECT_EQ(shared(w, paths[0], paths[1]), 0U);

  // Two ports on one leaf to two on another: the trunks differ as well.
  const auto close = two_paths(w, {w.gid(0), w.gid(1)}, {w.gid(8), w.gid(9)});
  ASSERT_THAT(close, SizeIs(2));
  EXPECT_EQ(shared(w, close[0], close[1]), 0U);
}

/// A GID may be named more than once; a path is given once.
TEST(SaMultiPath, NoRecordTwice) {
  const auto w = spread_tree();
  const auto a = w.gid(0), b = w.gid(8), c = w.gid(9);
  const std::vector<std::pair<std::vector<Gid>, std::vector<Gid>>> ends{
      {{a, a}, {b}}, {{a}, {b, b}}, {{a, a}, {b, b}}, {{a, a, a}, {b, c, b}}, {{a, a}, {b, c}}};
  for (const auto& [sources, destinations] : ends) {
    for (unsigned turn = 0; turn < 4; ++turn) {
      MultiPathRecord wish;
      wish.numb_path = turn % 2 == 0 ? 2 : 127;
      wish.independence_selector = turn / 2 == 0 ? 0 : 1;
      const auto mask = kCounts | bit(multi::kNumbPath) | bit(multi::kIndependence);
      auto paths = answer(w, multi_query(w, wish, mask, sources, destinations));
      const auto once = std::set<Gid>(destinations.begin(), destinations.end()).size();
      EXPECT_EQ(paths.size(), turn % 2 == 0 ? 2 : once * 16) << turn;
      const auto lids = [](const PathRecord& p) { return std::pair(p.slid, p.dlid); };
      std::ranges::sort(paths, {}, lids);
      EXPECT_EQ(std::ranges::adjacent_find(paths, {}, lids), paths.end()) << turn;
    }
  }
}

/// Automatic path migration between single ports: with LMC, each has two ways.
TEST(SaMultiPath, OnePortNamedTwiceHasTwoWays) {
  const auto w = spread_tree();
  const auto paths = two_paths(w, {w.gid(0), w.gid(0)}, {w.gid(8), w.gid(8)});
  ASSERT_THAT(paths, SizeIs(2));
  EXPECT_EQ(shared(w, paths[0], paths[1]), 2U) << "only the cables of the two hosts";
}

TEST(SaMultiPath, IndependentPathsComeFirst) {
  const auto w = spread_tree();
  MultiPathRecord wish;
  wish.numb_path = 4;
  wish.independence_selector = 1;
  const auto mask = kCounts | bit(multi::kNumbPath) | bit(multi::kIndependence);
  const auto paths = answer(w, multi_query(w, wish, mask, {w.gid(0)}, {w.gid(8)}));
  ASSERT_THAT(paths, SizeIs(4));
  EXPECT_EQ(shared(w, paths[0], paths[1]), 2U) << "only the cables of the two hosts";
}

/// However short the steps are, the answer is the same, and no step looks at more than it may.
TEST(SaMultiPath, StepsOfAnyLengthGiveTheSame) {
  const auto w = spread_tree();
  std::mt19937_64 random(11);
  SCOPED_TRACE("seed 11");
  std::size_t records = 0;
  for (int round = 0; round < 200; ++round) {
    std::vector<Gid> sources(1 + random() % 4), destinations(1 + random() % 6);
    if (round % 4 == 0) sources.resize(2), destinations.resize(2);
    for (auto* side : {&sources, &destinations})
      for (auto& gid : *side) gid = w.gid(random() % 16);
    MultiPathRecord wish;
    wish.numb_path = round % 4 == 0 ? 2 : static_cast<std::uint8_t>(random() % 20);
    wish.independence_selector = static_cast<std::uint8_t>(random() % 2);
    const auto mask = kCounts | bit(multi::kNumbPath) | bit(multi::kIndependence);
    const auto q = multi_query(w, wish, mask, sources, destinations);
    const auto whole = answer(w, q);
    records += whole.size();

    auto opened = open_multi_path_query(w.world(), q);
    auto& source = *std::get<std::unique_ptr<RecordSource>>(opened);
    std::vector<PathRecord> found;
    std::vector<std::byte> bytes(source.record_bytes());
    for (auto what = RecordSource::Found::NotYet; what != RecordSource::Found::Nothing;) {
      std::size_t candidates = 1 + random() % 9;
      what = source.next_among(bytes.data(), candidates);
      if (what != RecordSource::Found::Record) continue;
      found.push_back(ib::wire::decode<PathRecord>(bytes.data()));
    }
    EXPECT_EQ(found, whole) << round;
  }
  EXPECT_GT(records, 1000U);
}

/// Random messages: an answer or a refusal.
TEST(SaMultiPath, EndlessNonsenseIsSurvived) {
  const auto w = spread_tree();
  std::mt19937_64 random(3);
  std::size_t answered = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<Gid> sources(random() % 4), destinations(random() % 12);
    for (auto* side : {&sources, &destinations})
      for (auto& gid : *side) gid = w.gid(random() % 16);
    auto q = multi_query(w, {}, kCounts | (random() & random() & random()), sources, destinations);
    for (auto n = random() % 4; n > 0; --n)
      q.wanted[random() % 40] = static_cast<std::byte>(random());
    q.more.resize(random() % 2 == 0 ? q.more.size() : random() % 4096);
    q.bytes = random() % 8192;
    auto opened = open_multi_path_query(w.world(), q);
    if (auto* source = std::get_if<std::unique_ptr<RecordSource>>(&opened))
      answered += PathWorld::records(**source).size();
  }
  EXPECT_GT(answered, 1000U);
}

// ---- TraceRecord

std::vector<TraceRecord> traced(const PathWorld& w, const PathRecord& wanted, std::uint64_t mask) {
  auto q = w.query(wanted, mask, false);
  q.method = Method::GetTraceTable;
  auto opened = open_trace_query(w.world(), q);
  if (const auto* refusal = std::get_if<std::uint16_t>(&opened)) {
    ADD_FAILURE() << "refused with " << *refusal;
    return {};
  }
  auto& source = *std::get<std::unique_ptr<RecordSource>>(opened);
  std::vector<TraceRecord> found;
  std::vector<std::byte> bytes(source.record_bytes());
  while (source.next(bytes.data())) found.push_back(ib::wire::decode<TraceRecord>(bytes.data()));
  return found;
}

TEST(SaTrace, NodesInTheOrderOfThePath) {
  PathWorld w(small_tree());
  const auto& fabric = w.snapshot->fabric();
  for (const auto mask : {kGids, kLids}) {
    const auto trace = traced(w, w.between(0, 15), mask);
    ASSERT_THAT(trace, SizeIs(5)) << "host, leaf, spine, leaf, host";
    PortRef at = w.hosts[0];
    EXPECT_EQ(trace[0].entry_port.value, 0);
    for (std::size_t i = 0; i < trace.size(); ++i) {
      const auto& node = fabric.node(at.node);
      EXPECT_EQ(trace[i].gid_prefix, ib::kDefaultSubnetPrefix);
      EXPECT_EQ(trace[i].node_id, node.guid.value);
      EXPECT_EQ(trace[i].chassis_id, node.system_image_guid.value);
      EXPECT_EQ(trace[i].node_type, static_cast<std::uint8_t>(node.type));
      EXPECT_TRUE(i == 0 || trace[i].entry_port.value == at.port);
      if (i + 1 != trace.size()) at = fabric.port(at.node, trace[i].exit_port.value).peer;
    }
    EXPECT_EQ(at, w.hosts[15]);
    EXPECT_EQ(trace[0].exit_port_id, w.host(0).guid.value);
    EXPECT_EQ(trace[2].entry_port_id, 0U) << "ports of a switch have no GUIDs";
    EXPECT_EQ(trace[4].entry_port_id, w.host(15).guid.value);
    EXPECT_EQ(trace[4].exit_port.value, 0);
  }
  EXPECT_THAT(traced(w, w.between(3, 3), kGids), SizeIs(1));
}

TEST(SaTrace, OfOnePathThatIsThere) {
  PathWorld w(small_tree());
  auto wanted = w.between(0, 15);
  wanted.p_key = ib::PKey{0x8012};
  EXPECT_THAT(traced(w, wanted, kGids | bit(path_bit::kPKey)), IsEmpty()) << "none in there";
  wanted.dlid = Lid{0xBFFF};
  EXPECT_THAT(traced(w, wanted, kLids), IsEmpty());
  const auto status_of = [&](const PathRecord& r, std::uint64_t mask, Method method) {
    auto q = w.query(r, mask, false);
    q.method = method;
    const auto opened = open_trace_query(w.world(), q);
    const auto* refusal = std::get_if<std::uint16_t>(&opened);
    return refusal == nullptr ? std::uint16_t{0} : *refusal;
  };
  for (const unsigned end : {path_bit::kSgid, path_bit::kDgid, path_bit::kSlid, path_bit::kDlid})
    EXPECT_EQ(status_of(w.between(0, 1), bit(end), Method::GetTraceTable),
              status::kSaInsufficientComponents);
  EXPECT_EQ(status_of({}, 0, Method::GetTraceTable), status::kSaInsufficientComponents);
  EXPECT_EQ(status_of(w.between(0, 1), kGids, Method::GetTable), status::kBadAttribute);
  wanted = w.between(0, 1);
  wanted.dgid = kMulticastGid;
  EXPECT_EQ(status_of(wanted, kGids, Method::GetTraceTable), status::kSaReqInvalid);
  wanted.dgid = Gid::from(0xFEC0, Guid{1});
  EXPECT_EQ(status_of(wanted, kGids, Method::GetTraceTable), status::kSaInvalidGid);
}

}  // namespace
}  // namespace sm::sa::test
