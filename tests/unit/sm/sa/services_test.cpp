// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Registering services: who may, for whom, for how long; what is stored, and what a restart keeps.
#include "sm/sa/registry/services.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>

#include "tests/unit/sm/sa/subnet.h"

namespace sm::sa::test {
namespace {

using ib::wire::ServiceRecord;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
namespace attr = ib::wire::attr;
namespace status = ib::wire::status;

constexpr std::uint64_t kId = 1, kGid = 2, kPKey = 4, kLease = 16, kKey = 32, kName = 64;
constexpr std::uint64_t kUsual = kId | kGid | kPKey | kLease | kKey | kName;

ServiceRecord service_at(const Gid& gid, std::uint64_t id, const char* name = "printer") {
  ServiceRecord r;
  r.service_id = id;
  r.service_gid = gid;
  r.service_p_key = ib::kDefaultPKey;
  r.lease = 0xFFFFFFFF;
  std::strncpy(r.name.data(), name, r.name.size());
  return r;
}

class SaServices : public ::testing::Test {
 protected:
  Bench bench{small_tree()};

  ServiceRecord wish(std::size_t host, std::uint64_t id = 7) {
    return service_at(bench.gid(host), id);
  }
  Packet set(const ServiceRecord& r, std::size_t from, std::uint64_t mask = kUsual) {
    return bench.ask(bench.request(Method::Set, attr::kServiceRecord, r, mask, 0, from));
  }
  Packet remove(const ServiceRecord& r, std::size_t from, std::uint64_t mask = kId | kGid | kPKey) {
    return bench.ask(bench.request(Method::Delete, attr::kServiceRecord, r, mask, 0, from));
  }
  std::vector<store::Service> kept() { return bench.store->load()->services; }
  void pass(ib::Duration time) {
    bench.now = bench.now + time;
    if (bench.server.next_deadline() <= bench.now) bench.server.on_time(bench.now);
    EXPECT_THAT(bench.drain(), IsEmpty());
  }
};

/// As opensm takes it, masked or not.
TEST_F(SaServices, APKeyOfZeroIsNoPartitionInParticular) {
  auto r = wish(3);
  r.service_p_key = ib::PKey{0};
  const auto answer = set(r, 3);
  ASSERT_EQ(answer.mad.status(), status::kOk);
  EXPECT_EQ(ib::wire::body<ServiceRecord>(answer.mad).service_p_key, ib::PKey{0}) << "as asked";
  EXPECT_EQ(set(r, 3).mad.status(), status::kOk) << "renewed";
  EXPECT_EQ(remove(wish(3), 3).mad.status(), status::kSaNoRecords) << "by another name";
  EXPECT_EQ(remove(r, 3).mad.status(), status::kOk);
  EXPECT_EQ(remove(r, 3).mad.status(), status::kSaNoRecords);
  r.service_p_key = ib::PKey{0x8000};
  EXPECT_EQ(set(r, 3).mad.status(), status::kSaReqInvalid) << "no partition at all";
}

TEST_F(SaServices, ARegistrationIsEchoedAndKept) {
  auto r = wish(3);
  r.data8[15] = 8;
  r.data16[7] = 16;
  r.data32[3] = 32;
  r.data64[1] = 64;
  const auto answer = set(r, 3);
  EXPECT_EQ(answer.mad.method(), Method::GetResp);
  ASSERT_EQ(answer.mad.status(), status::kOk);
  EXPECT_EQ(answer.mad.get<&ib::wire::SaHeader::attribute_offset>(), 22);
  EXPECT_EQ(ib::wire::body<ServiceRecord>(answer.mad), r);
  ASSERT_THAT(kept(), SizeIs(1));
  EXPECT_EQ(kept()[0].record, r);
  EXPECT_EQ(kept()[0].owner, bench.host(3).guid);
  EXPECT_EQ(kept()[0].expires, store::Service::kNeverExpires);
  EXPECT_EQ(bench.server.contents().services, kept());
}

TEST_F(SaServices, IsStoredBeforeItIsAnswered) {
  const auto r = wish(3);
  bench.server.on_packet(bench.now,
                         bench.request(Method::Set, attr::kServiceRecord, r, kUsual, 0, 3));
  EXPECT_FALSE(bench.server.next_send(bench.now));
  ASSERT_TRUE(bench.drain().size() == 1);
  EXPECT_THAT(kept(), SizeIs(1));
}

TEST_F(SaServices, WhatTheMaskLeavesOutHasItsDefaults) {
  auto r = wish(3);
  r.service_p_key = ib::PKey{0};
  r.lease = 5;
  const auto answer = set(r, 3, kId | kGid);
  ASSERT_EQ(answer.mad.status(), status::kOk);
  const auto shown = ib::wire::body<ServiceRecord>(answer.mad);
  EXPECT_EQ(shown.service_p_key, ib::kDefaultPKey);
  EXPECT_EQ(shown.lease, 0xFFFFFFFFU);
  EXPECT_EQ(kept()[0].record.service_p_key, ib::PKey{0}) << "the record's name is as it was sent";
  EXPECT_EQ(kept()[0].expires, store::Service::kNeverExpires);
}

TEST_F(SaServices, NeedsAnIdAndAGid) {
  EXPECT_EQ(set(wish(3), 3, kUsual & ~kId).mad.status(), status::kSaInsufficientComponents);
  EXPECT_EQ(set(wish(3), 3, kUsual & ~kGid).mad.status(), status::kSaInsufficientComponents);
  EXPECT_THAT(kept(), IsEmpty());
}

TEST_F(SaServices, KeysAreShownToTheTrustedOnly) {
  auto r = wish(3);
  r.key[0] = 11;
  EXPECT_EQ(ib::wire::body<ServiceRecord>(set(r, 3).mad).key, decltype(r.key){});
  EXPECT_EQ(kept()[0].record.key, r.key);
  bench.sm_key = 1;
  EXPECT_EQ(ib::wire::body<ServiceRecord>(set(r, 3).mad).key, r.key);
}

// ---- whose GID

TEST_F(SaServices, TheGidIsTheRequestersOwn) {
  EXPECT_EQ(set(wish(4), 3).mad.status(), status::kSaReqDenied);
  EXPECT_EQ(set(service_at(Gid::from(ib::kDefaultSubnetPrefix, Guid{0xDEAD}), 1), 3).mad.status(),
            status::kSaReqInvalid);
  EXPECT_THAT(kept(), IsEmpty());
  bench.sm_key = 1;
  EXPECT_EQ(set(wish(4), 3).mad.status(), status::kOk) << "an operator may register for others";
}

TEST_F(SaServices, ThePrefixMayBeMissingButNotAnothers) {
  EXPECT_EQ(set(service_at(Gid::from(0, bench.host(3).guid), 1), 3).mad.status(), status::kOk);
  EXPECT_EQ(set(service_at(Gid::from(0xFEC0ULL << 48, bench.host(3).guid), 1), 3).mad.status(),
            status::kSaInvalidGid);
  // osmtest reverses the default one.
  EXPECT_EQ(set(service_at(Gid::from(0x80FE, bench.host(3).guid), 1), 3).mad.status(), status::kOk);
}

TEST_F(SaServices, AliasGuidsAreTheRequestersToo) {
  store::Contents contents;
  contents.aliases.push_back({bench.host(3).guid, 1, Guid{0xA11A5}});
  Bench other(small_tree(), {}, contents);
  const auto r = service_at(Gid::from(ib::kDefaultSubnetPrefix, Guid{0xA11A5}), 1);
  const auto ask = [&](std::size_t from) {
    return other.ask(other.request(Method::Set, attr::kServiceRecord, r, kUsual, 0, from))
        .mad.status();
  };
  EXPECT_EQ(ask(4), status::kSaReqDenied);
  EXPECT_EQ(ask(3), status::kOk);
}

TEST_F(SaServices, AGroupsServiceIsItsMembersToAnnounce) {
  const auto group = ipoib_group(ib::kDefaultPKey).mgid;
  EXPECT_EQ(set(service_at(group, 1), 3).mad.status(), status::kSaReqDenied);
  ib::wire::McMemberRecord join;
  join.mgid = group;
  join.port_gid = bench.gid(3);
  join.join_state = 1;
  bench.ask(bench.request(Method::Set, attr::kMcMemberRecord, join, 0x10003, 0, 3));
  EXPECT_EQ(set(service_at(group, 1), 3).mad.status(), status::kOk);

  // By an alias a port is in the group as well.
  store::Contents contents = *bench.store->load();
  contents.aliases.push_back({bench.host(4).guid, 1, Guid{0xA11A5}});
  contents.members.push_back({group, Gid::from(ib::kDefaultSubnetPrefix, Guid{0xA11A5}), 1, false});
  Bench other(small_tree(), {}, contents);
  const auto ask = [&](std::size_t from) {
    return other
        .ask(
            other.request(Method::Set, attr::kServiceRecord, service_at(group, 2), kUsual, 0, from))
        .mad.status();
  };
  EXPECT_EQ(ask(4), status::kOk);
  EXPECT_EQ(ask(5), status::kSaReqDenied);
}

/// Anybody may join a group, which gives him no say in what another member registered.
TEST_F(SaServices, AGroupsServiceIsItsRegistrantsAlone) {
  const auto group = ipoib_group(ib::kDefaultPKey).mgid;
  for (const std::size_t host : {3U, 4U}) {
    ib::wire::McMemberRecord join;
    join.mgid = group;
    join.port_gid = bench.gid(host);
    join.join_state = 1;
    bench.ask(bench.request(Method::Set, attr::kMcMemberRecord, join, 0x10003, 0, host));
  }
  for (const bool keyed : {false, true}) {
    auto record = service_at(group, 1);
    if (keyed) record.key[0] = 0x11;
    ASSERT_EQ(set(record, 3).mad.status(), status::kOk);
    const auto plain = service_at(group, 1, "thief");
    EXPECT_EQ(set(plain, 4).mad.status(), status::kSaReqDenied) << keyed;
    EXPECT_EQ(remove(plain, 4).mad.status(), status::kSaReqDenied) << keyed;
    EXPECT_EQ(set(record, 3).mad.status(), status::kOk) << "renewed";
    EXPECT_THAT(kept(), SizeIs(1));
    EXPECT_EQ(remove(plain, 3).mad.status(), status::kOk) << "by who registered it";
  }
  auto record = service_at(group, 1);
  record.key[0] = 0x11;
  ASSERT_EQ(set(record, 3).mad.status(), status::kOk);
  EXPECT_EQ(remove(record, 4, kId | kGid | kPKey | kKey).mad.status(), status::kOk)
      << "by who has the key";
}

/// What is told again after the lease has ended would not be so.
TEST_F(SaServices, ARenewalByTheSameTidIsOneAfterFiveSeconds) {
  auto record = wish(3);
  record.lease = 8;
  const auto request = bench.request(Method::Set, attr::kServiceRecord, record, kUsual, 0, 3);
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(bench.ask(request).mad.status(), status::kOk);
    EXPECT_THAT(kept(), SizeIs(1)) << i;
    pass(std::chrono::seconds(3));
  }
}

TEST_F(SaServices, AStrangerIsRefused) {
  auto packet = bench.request(Method::Set, attr::kServiceRecord, wish(3), kUsual, 0, 3);
  packet.address.lid = Lid{0xBFFF};
  EXPECT_EQ(bench.ask(packet).mad.status(), status::kSaReqInvalid);
}

TEST_F(SaServices, ThePartitionIsOneTheRequesterIsIn) {
  auto r = wish(3);
  r.service_p_key = ib::PKey{0x8123};
  EXPECT_EQ(set(r, 3).mad.status(), status::kSaReqInvalid);
  EXPECT_EQ(set(r, 3, kUsual & ~kPKey).mad.status(), status::kSaReqInvalid)
      << "it would be part of the record's name all the same";
}

// ---- changing and removing

TEST_F(SaServices, OneRecordForOneName) {
  auto r = wish(3);
  set(r, 3);
  // A record without a key is given one, and another name.
  r.key[5] = 5;
  r.name[0] = 'P';
  EXPECT_EQ(set(r, 3).mad.status(), status::kOk);
  ASSERT_THAT(kept(), SizeIs(1));
  EXPECT_EQ(kept()[0].record, r);
  // Another ID, GID or P_Key is another record.
  EXPECT_EQ(set(wish(3, 8), 3).mad.status(), status::kOk);
  EXPECT_EQ(set(service_at(Gid::from(0, bench.host(3).guid), 7), 3).mad.status(), status::kOk);
  r.service_p_key = ib::PKey{0x7FFF};
  EXPECT_EQ(set(r, 3).mad.status(), status::kOk);
  EXPECT_THAT(kept(), SizeIs(4));
}

TEST_F(SaServices, AKeyProtectsFromOthersOnTheSamePort) {
  auto r = wish(3);
  r.key[0] = 1;
  set(r, 3);
  auto other = r;
  other.key[0] = 2;
  EXPECT_EQ(set(other, 3).mad.status(), status::kSaReqDenied);
  EXPECT_EQ(remove(other, 3, kId | kGid | kPKey | kKey).mad.status(), status::kSaReqDenied);
  EXPECT_EQ(kept()[0].record, r);
  r.data8[0] = 1;
  EXPECT_EQ(set(r, 3).mad.status(), status::kOk);
  EXPECT_EQ(remove(r, 3, kId | kGid | kPKey | kKey).mad.status(), status::kOk);
}

TEST_F(SaServices, RemovalShowsWhatWasRemoved) {
  auto r = wish(3);
  r.data64[0] = 64;
  set(r, 3);
  // As osmtest does it: the record as a query showed it, and a mask of the name alone.
  const auto answer = remove(r, 3, kName);
  EXPECT_EQ(answer.mad.method(), Method::DeleteResp);
  ASSERT_EQ(answer.mad.status(), status::kOk);
  EXPECT_EQ(ib::wire::body<ServiceRecord>(answer.mad), r);
  EXPECT_THAT(kept(), IsEmpty());
  EXPECT_EQ(remove(r, 3).mad.status(), status::kSaNoRecords);
}

TEST_F(SaServices, NobodyRemovesAnothersWithoutItsKey) {
  auto r = wish(3);
  r.key[0] = 1;
  set(r, 3);
  EXPECT_EQ(remove(r, 4).mad.status(), status::kSaReqDenied);
  auto guess = r;
  guess.key = {};
  EXPECT_EQ(remove(guess, 4, kId | kGid | kPKey | kKey).mad.status(), status::kSaReqDenied);
  EXPECT_THAT(kept(), SizeIs(1));
  EXPECT_EQ(remove(r, 4, kId | kGid | kPKey | kKey).mad.status(), status::kOk);
  // A record without a key has none that could be known.
  set(wish(3), 3);
  EXPECT_EQ(remove(wish(3), 4, kId | kGid | kPKey | kKey).mad.status(), status::kSaReqDenied);
  bench.sm_key = 1;
  EXPECT_EQ(remove(wish(3), 4).mad.status(), status::kOk);
}

// ---- leases

TEST_F(SaServices, ALeaseEndsOnTime) {
  auto r = wish(3);
  r.lease = 4;
  set(r, 3);
  EXPECT_EQ(bench.server.next_deadline(), bench.now + std::chrono::seconds(4));
  pass(std::chrono::milliseconds(3999));
  EXPECT_THAT(bench.server.contents().services, SizeIs(1));
  EXPECT_EQ(bench.server.contents().services[0].record.lease, 4U) << "shown as it was given";
  pass(std::chrono::milliseconds(1));
  EXPECT_THAT(bench.server.contents().services, IsEmpty());
  EXPECT_THAT(kept(), IsEmpty()) << "and the store knows";
  EXPECT_EQ(bench.server.next_deadline(), ib::kNever);
}

TEST_F(SaServices, ALeaseIsRenewed) {
  auto r = wish(3);
  r.lease = 4;
  set(r, 3);
  pass(std::chrono::seconds(3));
  set(r, 3);
  pass(std::chrono::seconds(3));
  EXPECT_THAT(kept(), SizeIs(1));
  r.lease = 0xFFFFFFFF;
  set(r, 3);
  EXPECT_EQ(bench.server.next_deadline(), ib::kNever);
}

TEST_F(SaServices, ALeaseRunsOnAcrossARestart) {
  auto r = wish(3);
  r.lease = 100;
  set(r, 3);
  const auto contents = *bench.store->load();
  // The new process has another time line, whose origin is 30 s after the old one's second 1.
  Options options;
  options.wall_clock = WallClock(31'000'000'000, Instant{5'000'000'000});
  Bench after(small_tree(), options, contents);
  after.now = Instant{5'000'000'000};
  EXPECT_EQ(after.server.next_deadline(), after.now + std::chrono::seconds(70));
  after.now = after.now + std::chrono::seconds(70);
  after.server.on_time(after.now);
  after.drain();
  EXPECT_THAT(after.store->load()->services, IsEmpty());
}

TEST_F(SaServices, LeasesThatEndedMeanwhileAreGoneAtOnce) {
  auto r = wish(3);
  r.lease = 10;
  set(r, 3);
  Options options;
  options.wall_clock = WallClock(3'600'000'000'000, Instant{0});
  Bench after(small_tree(), options, *bench.store->load());
  EXPECT_LE(after.server.next_deadline(), after.now);
  after.server.on_time(after.now);
  after.drain();
  EXPECT_THAT(after.store->load()->services, IsEmpty());
}

TEST_F(SaServices, AStoreThatFailsIsAskedAgainLater) {
  auto r = wish(3);
  r.lease = 1;
  set(r, 3);
  bench.now = bench.now + std::chrono::seconds(1);
  bench.server.on_time(bench.now);
  bench.server.on_commit_done(bench.now, bench.server.next_commit()->ticket, false);
  EXPECT_FALSE(bench.server.next_commit());
  EXPECT_GT(bench.server.next_deadline(), bench.now);
  pass(std::chrono::seconds(10));
  EXPECT_THAT(kept(), IsEmpty());
}

TEST_F(SaServices, ALateCopyOfARegistrationDoesNotUndoTheRemoval) {
  const auto request = bench.request(Method::Set, attr::kServiceRecord, wish(3), kUsual, 0, 3);
  const auto first = bench.ask(request);
  ASSERT_EQ(first.mad.status(), status::kOk);
  EXPECT_EQ(remove(wish(3), 3).mad.status(), status::kOk);
  EXPECT_EQ(bench.ask(request).mad, first.mad);
  EXPECT_THAT(kept(), IsEmpty());
  // The same by another LID, QP or TID, or as a Delete, is another request.
  std::uint64_t replayed = bench.server.counters().replayed;
  auto other = request;
  other.address.qpn = 7;
  EXPECT_EQ(bench.ask(other).mad.status(), status::kOk);
  other = request;
  other.address.lid = bench.host(4).lid;
  EXPECT_EQ(bench.ask(other).mad.status(), status::kSaReqDenied) << "another port's";
  other = request;
  other.mad.set<&ib::wire::MadHeader::tid>(ib::Tid{0x99});
  EXPECT_EQ(bench.ask(other).mad.status(), status::kOk);
  other = request;
  other.mad.set<&ib::wire::MadHeader::method>(Method::Delete);
  EXPECT_EQ(bench.ask(other).mad.method(), Method::DeleteResp);
  EXPECT_EQ(bench.server.counters().replayed, replayed);
}

// ---- quota

/// Who registers for another pays for it.
TEST_F(SaServices, ARegistrationForAnotherIsTheRegistrars) {
  Options options;
  options.quotas.services = 2;
  bench = Bench(small_tree(), options);
  bench.sm_key = 1;
  EXPECT_EQ(set(wish(3, 1), 2).mad.status(), status::kOk);
  EXPECT_EQ(set(wish(4, 2), 2).mad.status(), status::kOk);
  EXPECT_EQ(set(wish(3, 3), 2).mad.status(), status::kSaNoResources);
  bench.sm_key = 0;
  EXPECT_EQ(set(wish(3, 4), 3).mad.status(), status::kOk) << "nothing of his was used";
}

TEST_F(SaServices, OnePortRegistersSoManyAndNoMore) {
  Options options;
  options.quotas.services = 3;
  Bench tight(small_tree(), options);
  const auto ask = [&](std::size_t from, std::uint64_t id, Method method = Method::Set) {
    const auto r = service_at(tight.gid(from), id);
    return tight.ask(tight.request(method, attr::kServiceRecord, r, kUsual, 0, from)).mad.status();
  };
  for (std::uint64_t id = 0; id < 3; ++id) EXPECT_EQ(ask(3, id), status::kOk);
  EXPECT_EQ(ask(3, 3), status::kSaNoResources);
  EXPECT_EQ(ask(3, 2), status::kOk) << "renewing is no more";
  EXPECT_EQ(ask(4, 3), status::kOk) << "others have their own";
  EXPECT_EQ(ask(3, 0, Method::Delete), status::kOk);
  EXPECT_EQ(ask(3, 3), status::kOk);
}

// ---- at random

/// A second opinion on the rules, as short as it can be said.
struct Model {
  std::map<std::pair<std::uint64_t, std::size_t>, std::pair<std::uint8_t, std::int64_t>> records;

  void pass_to(std::int64_t second) {
    std::erase_if(records, [&](const auto& r) { return r.second.second <= second; });
  }
  std::uint16_t set(std::uint64_t id, std::size_t at, std::size_t from, std::uint8_t key,
                    std::int64_t until) {
    if (at != from) return status::kSaReqDenied;
    const auto known = records.find({id, at});
    if (known != records.end() && known->second.first != 0 && known->second.first != key)
      return status::kSaReqDenied;
    records[{id, at}] = {key, until};
    return status::kOk;
  }
  std::uint16_t remove(std::uint64_t id, std::size_t at, std::size_t from, std::uint8_t key) {
    const auto known = records.find({id, at});
    if (known == records.end()) return status::kSaNoRecords;
    const bool right = known->second.first == key;
    if (!right || (at != from && key == 0)) return status::kSaReqDenied;
    records.erase(known);
    return status::kOk;
  }
};

TEST_F(SaServices, WhatAnotherOneStoredIsAnsweredAndWasNeverMixed) {
  set(wish(1, 7), 1);
  // A commit is out while another subnet manager answers.
  bench.give(bench.request(Method::Set, attr::kServiceRecord, wish(2, 8), kUsual, 0, 2));
  bench.now = std::max(bench.now, bench.server.next_deadline());
  bench.server.on_time(bench.now);
  const auto out = bench.server.next_commit();
  ASSERT_TRUE(out);
  bench.server.withdraw();
  const auto requests = bench.server.counters().requests;
  const auto revision = bench.server.revision();

  store::Contents theirs;
  theirs.services = {{wish(3, 9)}};
  theirs.services[0].owner = bench.host(3).guid;
  theirs.aliases = {{bench.host(3).guid, 1, ib::Guid{0xABC}}};
  bench.store = store::make_memory_store(theirs);
  bench.server.restore(theirs);
  bench.server.on_commit_done(bench.now, out->ticket, true);
  EXPECT_THAT(bench.drain(), IsEmpty());
  EXPECT_EQ(bench.server.contents().services, theirs.services);
  EXPECT_EQ(bench.server.counters().requests, requests);
  EXPECT_GT(bench.server.revision(), revision) << "the dump is written again";
  EXPECT_TRUE(bench.server.take_aliases_changed());
  EXPECT_EQ(bench.server.aliases().size(), 1U);

  bench.server.publish(bench.now, bench.snapshot);
  EXPECT_EQ(set(wish(4, 10), 4).mad.status(), status::kOk);
  EXPECT_THAT(kept(), SizeIs(2));
}

TEST_F(SaServices, WhoHandsOverRegistersUntilSomebodyElseHasTheStore) {
  bench.server.hand_over(true);
  EXPECT_TRUE(bench.server.hands_over());
  EXPECT_EQ(set(wish(1, 7), 1).mad.status(), status::kOk);
  // What it cannot store it does not refuse: the next one is asked.
  bench.give(bench.request(Method::Set, attr::kServiceRecord, wish(2, 8), kUsual, 0, 2));
  const auto out = bench.server.next_commit();
  ASSERT_TRUE(out);
  bench.server.on_commit_done(bench.now, out->ticket, false);
  EXPECT_FALSE(bench.server.hands_over());
  EXPECT_THAT(bench.drain(), IsEmpty());
  bench.give(bench.request(Method::Get, attr::kServiceRecord, wish(1, 7), kUsual, 0, 1));
  EXPECT_THAT(bench.drain(), IsEmpty()) << "nor does it answer any more";

  bench.server.publish(bench.now, bench.snapshot);
  EXPECT_EQ(set(wish(2, 8), 2).mad.status(), status::kOk);
  EXPECT_THAT(kept(), SizeIs(2));
}

TEST_F(SaServices, WhoHandsOverOrHasWithdrawnEndsNothingInTheStoreOfTheNextOne) {
  auto record = wish(1, 7);
  record.lease = 4;
  set(record, 1);
  ASSERT_NE(bench.server.next_deadline(), ib::kNever);
  for (const bool withdrawn : {false, true}) {
    withdrawn ? bench.server.withdraw() : bench.server.hand_over(true);
    EXPECT_EQ(bench.server.next_deadline(), ib::kNever);
    bench.now = bench.now + std::chrono::minutes(1);
    bench.server.on_time(bench.now);
    EXPECT_FALSE(bench.server.next_commit());
    EXPECT_THAT(kept(), SizeIs(1));
  }
  bench.server.publish(bench.now, bench.snapshot);
  bench.server.on_time(bench.now);
  bench.drain();
  EXPECT_THAT(kept(), IsEmpty());
}

TEST_F(SaServices, WhereAnotherOneWritesTheStoreReadsAreAnsweredAndNobodyRegisters) {
  set(wish(1, 7), 1);
  const auto answers = [&](Method method, std::uint64_t id) {
    bench.give(bench.request(method, attr::kServiceRecord, wish(1, id), kUsual, 0, 1));
    return bench.drain().size();
  };
  bench.server.hand_over(false);
  EXPECT_EQ(answers(Method::Get, 7), 1U);
  EXPECT_EQ(answers(Method::Set, 8), 0U);
  EXPECT_EQ(answers(Method::Delete, 7), 0U);
  bench.server.publish(bench.now, bench.snapshot, false);
  EXPECT_EQ(answers(Method::Get, 7), 1U);
  EXPECT_EQ(answers(Method::Set, 8), 0U);
  bench.server.withdraw();
  bench.server.hand_over(true);
  EXPECT_FALSE(bench.server.hands_over()) << "it had nothing to hand over";
  EXPECT_EQ(answers(Method::Get, 7), 0U);
  bench.server.publish(bench.now, bench.snapshot);
  EXPECT_EQ(answers(Method::Set, 8), 1U);
}

TEST_F(SaServices, AnySequenceKeepsToTheRules) {
  std::mt19937 random(4);
  SCOPED_TRACE("seed 4");
  Options options;
  options.quotas.services = 1000;
  Bench many(small_tree(), options);
  Model model;
  for (int turn = 0; turn < 4000; ++turn) {
    if (random() % 8 == 0) {
      many.now = many.now + std::chrono::milliseconds(random() % 3000);
      if (many.server.next_deadline() <= many.now) many.server.on_time(many.now);
      many.drain();
    }
    const std::int64_t second = many.now.ns / 1'000'000'000;
    model.pass_to(second);
    const std::uint64_t id = random() % 4;
    const std::size_t at = random() % 4, from = random() % 4;
    const auto key = static_cast<std::uint8_t>(random() % 3);
    auto r = service_at(many.gid(at), id);
    r.key[3] = key;
    r.lease = static_cast<std::uint32_t>(random() % 5);
    const bool removes = random() % 3 == 0;
    const auto packet = many.request(removes ? Method::Delete : Method::Set, attr::kServiceRecord,
                                     r, kUsual, 0, from);
    const auto got = many.ask(packet).mad.status();
    const auto wanted =
        removes ? model.remove(id, at, from, key) : model.set(id, at, from, key, second + r.lease);
    ASSERT_EQ(got, wanted) << "turn " << turn;
    many.server.on_time(many.now);  // a lease of no length at all
    many.drain();
    model.pass_to(second);
    ASSERT_EQ(many.store->load()->services.size(), model.records.size()) << "turn " << turn;
  }
  EXPECT_EQ(many.server.contents().services, many.store->load()->services);
}

}  // namespace
}  // namespace sm::sa::test
