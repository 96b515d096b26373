// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Writes that share a transaction: order, durability before answers, and the way back.
#include "sm/sa/intake/write_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/unit/sm/sa/subnet.h"

namespace sm::sa::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using namespace std::chrono_literals;

Gid group_id(unsigned n) {
  Gid g;
  g.bytes = {0xFF, 0x12, 0x40, 0x1b, 0xFF, 0xFF};
  g.bytes[15] = static_cast<std::uint8_t>(n);
  return g;
}
constexpr Lid kHost{7}, kOther{9};
Gid port_id(unsigned n) { return Gid::from(ib::kDefaultSubnetPrefix, Guid{n + 1}); }

/// A queue whose requests are numbers in the TID: an even one joins port n to group 1, an odd one
/// makes the last that joined leave, 99 is refused, 98 changes nothing.
class SaWriteQueue : public ::testing::Test {
 protected:
  SaWriteQueue() : state(with_group()) {}

  static store::Contents with_group() {
    store::Contents contents;
    store::McGroup group;
    group.mgid = group_id(1);
    group.well_known = true;
    contents.groups.push_back(group);
    return contents;
  }
  static Packet request(unsigned n) {
    Packet packet;
    packet.mad.set<&ib::wire::MadHeader::tid>(ib::Tid{n});
    return packet;
  }
  static Outcome judge(const World& world, const Packet& packet) {
    const auto n = static_cast<unsigned>(packet.mad.tid().value);
    if (n == 99) return Refusal{ib::wire::status::kSaReqInvalid, "because"};
    Change change;
    if (n == 98) return change;
    const auto& members = world.state.multicast.members(group_id(1));
    if (n % 2 == 0) {
      change.batch.members.push_back({group_id(1), port_id(n), 1, false});
    } else {
      // What it sees are those before it, whether they are durable or not.
      if (members.empty()) return Refusal{ib::wire::status::kSaNoRecords, {}};
      change.batch.members.push_back({group_id(1), members.rbegin()->port_gid, 0, false});
    }
    change.reply.resize(members.size());
    return change;
  }
  std::optional<store::Batch> next_batch() {
    return queue.next_batch({nullptr, state, policy}, state, judge);
  }
  std::vector<WriteQueue::Finished> finished() {
    std::vector<WriteQueue::Finished> all;
    while (auto done = queue.next_finished()) all.push_back(std::move(*done));
    return all;
  }
  static std::uint16_t status_of(const WriteQueue::Finished& done) {
    const auto* refusal = std::get_if<Refusal>(&done.outcome);
    return refusal != nullptr ? refusal->status : std::uint16_t{0};
  }

  State state;
  Policy policy;
  WriteQueue queue;
  Instant now{1'000'000'000};
};

TEST_F(SaWriteQueue, OneClientNeverWaitsForCompany) {
  for (unsigned n = 0; n < 8; n += 2) {
    queue.add(now, kHost, request(n));
    EXPECT_LE(queue.next_deadline(), now);
    EXPECT_THAT(next_batch()->members, SizeIs(1));
    EXPECT_THAT(finished(), IsEmpty()) << "not before it is durable";
    EXPECT_EQ(queue.next_deadline(), ib::kNever);
    queue.on_done(state, true);
    EXPECT_THAT(finished(), SizeIs(1));
    now = now + 100us;
  }
}

TEST_F(SaWriteQueue, ThoseThatArriveTogetherShareATransaction) {
  queue.add(now, kHost, request(2));
  queue.add(now, kHost, request(4));
  EXPECT_THAT(next_batch()->members, SizeIs(2));
  queue.on_done(state, true);
  EXPECT_THAT(finished(), SizeIs(2));

  // There is company: all that arrive until 2 ms after the last one began share the next.
  for (unsigned n = 6; n < 20; n += 2) {
    now = now + 250us;
    queue.add(now, kHost, request(n));
    EXPECT_FALSE(next_batch()) << "too early";
  }
  EXPECT_EQ(queue.next_deadline(), Instant{1'000'000'000} + 2ms);
  now = now + 250us;
  queue.on_time(now);
  EXPECT_THAT(next_batch()->members, SizeIs(7));
  queue.on_done(state, true);
  EXPECT_THAT(finished(), SizeIs(7));
}

TEST_F(SaWriteQueue, WhatArrivesWhileABatchIsOutMakesTheNext) {
  queue.add(now, kHost, request(2));
  EXPECT_TRUE(next_batch());
  queue.add(now, kHost, request(4));
  queue.add(now, kHost, request(6));
  EXPECT_FALSE(next_batch());
  queue.on_done(state, true);
  EXPECT_THAT(next_batch()->members, SizeIs(2));
}

TEST_F(SaWriteQueue, EachIsJudgedByTheStateThatThoseBeforeItLeave) {
  for (const unsigned n : {1U, 2U, 3U, 5U, 4U, 98U}) queue.add(now, kHost, request(n));
  const auto batch = next_batch();
  ASSERT_TRUE(batch);
  // Joined and left within the batch: its end is what counts.
  store::Contents stored = with_group();
  store::apply(*batch, stored);
  EXPECT_EQ(stored, state.contents());
  queue.on_done(state, true);
  const auto all = finished();
  ASSERT_THAT(all, SizeIs(6));
  EXPECT_EQ(status_of(all[0]), ib::wire::status::kSaNoRecords);
  EXPECT_EQ(status_of(all[1]), 0);
  EXPECT_EQ(status_of(all[2]), 0) << "saw the one before it";
  EXPECT_EQ(status_of(all[3]), ib::wire::status::kSaNoRecords);
  EXPECT_EQ(status_of(all[4]), 0);
  EXPECT_THAT(state.multicast.members(group_id(1)), SizeIs(1));
}

TEST_F(SaWriteQueue, AFailureTakesAllOfItBack) {
  queue.add(now, kHost, request(2));
  ASSERT_TRUE(next_batch());
  queue.on_done(state, true);
  (void)finished();
  const auto before = state.contents();

  bool told = false, durable = true;
  for (const unsigned n : {4U, 3U, 3U, 99U, 6U}) queue.add(now, kHost, request(n));
  queue.add(now, WriteQueue::Own{[](const World&) {
                                   Change change;
                                   change.batch.groups_removed.push_back(group_id(1));
                                   return change;
                                 },
                                 [&](bool d) {
                                   told = true;
                                   durable = d;
                                 }});
  ASSERT_TRUE(next_batch());
  EXPECT_NE(state.contents(), before);
  queue.on_done(state, false);
  EXPECT_EQ(state.contents(), before);
  const auto all = finished();
  ASSERT_THAT(all, SizeIs(6));
  for (const auto& done : all) EXPECT_EQ(status_of(done), ib::wire::status::kSaNoResources);
  // Subnet administration takes its turn as a requester does.
  std::get<WriteQueue::Own>(all[1].what).done(false);
  EXPECT_TRUE(told && !durable);
  // And the next is none the worse.
  queue.add(now + 2ms, kHost, request(8));
  EXPECT_TRUE(next_batch());
}

TEST_F(SaWriteQueue, WithoutAChangeNothingIsWritten) {
  queue.add(now, kHost, request(98));
  queue.add(now, kHost, request(99));
  EXPECT_FALSE(next_batch());
  const auto all = finished();
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(status_of(all[0]), 0);
  EXPECT_EQ(status_of(all[1]), ib::wire::status::kSaReqInvalid);
}

TEST_F(SaWriteQueue, ATransactionHasABound) {
  queue = WriteQueue(WriteQueue::Options{2ms, 3});
  for (unsigned n = 0; n < 14; n += 2) queue.add(now, kHost, request(n));
  std::size_t batches = 0;
  while (const auto batch = next_batch()) {
    EXPECT_LE(batch->members.size(), 3U);
    queue.on_done(state, true);
    ++batches;
  }
  EXPECT_EQ(batches, 3U);
  EXPECT_THAT(finished(), SizeIs(7));
}

/// However much a host asks for: a transaction has a few of its writes, and those of the others.
TEST_F(SaWriteQueue, RequestersTakeTurnsInATransaction) {
  queue = WriteQueue(WriteQueue::Options{2ms, 256, 4});
  for (unsigned n = 0; n < 20; n += 2) queue.add(now, kHost, request(n));
  EXPECT_FALSE(queue.has_room(kHost));
  EXPECT_TRUE(queue.has_room(kOther));
  queue.add(now, kOther, request(20));
  queue.add(now, kOther, request(22));
  ASSERT_TRUE(next_batch());
  EXPECT_EQ(queue.waiting(), 6U);
  queue.on_done(state, true);
  std::vector<std::uint64_t> order;
  for (const auto& done : finished()) order.push_back(std::get<Packet>(done.what).mad.tid().value);
  EXPECT_THAT(order, ElementsAre(0, 20, 2, 22, 4, 6));
  ASSERT_TRUE(next_batch());
  queue.on_done(state, true);
  EXPECT_TRUE(queue.has_room(kHost));
  ASSERT_TRUE(next_batch());
  queue.on_done(state, true);
  EXPECT_EQ(queue.waiting(), 0U);
}

/// Whatever several changes do to a state: one batch does the same, and one takes it back.
TEST(SaBatchKeys, ManyChangesAreOneBatchAndHaveAWayBack) {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
    const auto change = [&] {
      store::Batch batch;
      for (unsigned i = below(2); i > 0; --i) batch.groups_removed.push_back(group_id(below(4)));
      for (unsigned i = below(3); i > 0; --i) {
        store::McGroup group;
        group.mgid = group_id(below(4));
        group.mlid = Lid{static_cast<std::uint16_t>(0xC000 + below(8))};
        batch.groups.push_back(group);
      }
      for (unsigned i = below(5); i > 0; --i)
        batch.members.push_back({group_id(below(4)), port_id(below(5)),
                                 static_cast<std::uint8_t>(below(4)), below(2) == 0});
      for (unsigned i = below(2); i > 0; --i)
        batch.services_removed.push_back({below(4), {}, ib::kDefaultPKey});
      for (unsigned i = below(3); i > 0; --i) {
        store::Service service;
        service.record.service_id = below(4);
        service.record.service_p_key = ib::kDefaultPKey;
        service.expires = static_cast<std::int64_t>(below(9));
        batch.services.push_back(service);
      }
      const auto subscription = [&] {
        store::Subscription s;
        s.to.lid = Lid{static_cast<std::uint16_t>(1 + below(4))};
        s.trusted = below(2) == 0;
        return s;
      };
      for (unsigned i = below(2); i > 0; --i) batch.subscriptions_removed.push_back(subscription());
      for (unsigned i = below(3); i > 0; --i) batch.subscriptions.push_back(subscription());
      for (unsigned i = below(3); i > 0; --i)
        batch.aliases.push_back({Guid{1 + below(2)}, static_cast<std::uint16_t>(1 + below(3)),
                                 Guid{std::uint64_t{below(2)} * (100 + i + 10 * below(50))}});
      // The store keeps members of groups that do not exist; here nobody joins such a group.
      return batch;
    };
    State state;
    const auto step = [&](store::Batch batch) {
      std::erase_if(batch.members, [&](const store::McMember& m) {
        const bool made = std::any_of(batch.groups.begin(), batch.groups.end(),
                                      [&](const auto& g) { return g.mgid == m.mgid; });
        const bool gone = std::find(batch.groups_removed.begin(), batch.groups_removed.end(),
                                    m.mgid) != batch.groups_removed.end();
        return !made && (gone || state.multicast.find(m.mgid) == nullptr);
      });
      return batch;
    };
    for (int i = 0; i < 6; ++i) state.apply(step(change()));
    const auto before = state.contents();

    BatchKeys all;
    std::vector<store::Batch> back;
    store::Contents stored = before;
    for (int i = 0; i < 5; ++i) {
      const auto batch = step(change());
      BatchKeys one;
      one.add(batch);
      back.push_back(one.as_in(state));
      all.add(batch);
      state.apply(batch);
    }
    const auto after = state.contents();
    store::apply(all.as_in(state), stored);
    std::erase_if(stored.aliases, [](const auto& alias) { return alias.guid.value == 0; });
    ASSERT_EQ(stored, after) << "the store";
    ASSERT_EQ(State(stored).contents(), after) << "what a restart finds";
    for (auto at = back.rbegin(); at != back.rend(); ++at) state.apply(*at);
    ASSERT_EQ(state.contents(), before) << "the way back";
  }
}

}  // namespace
}  // namespace sm::sa::test
