// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// After another subnet manager had answered a port: what it does not register again ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sm/sa/registry/multicast.h"
#include "tests/unit/sm/sa/subnet.h"
#include "tests/unit/sm/sa/to_trap.h"

namespace sm::sa::test {
namespace {

using namespace std::chrono_literals;
using ib::wire::McMemberRecord;
using ib::wire::ServiceRecord;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
namespace attr = ib::wire::attr;
namespace status = ib::wire::status;

class SaDoubts : public ::testing::Test {
 protected:
  Bench bench{small_tree()};

  void SetUp() override {
    for (const std::size_t host : {3U, 4U}) {
      join(host, 1);
      join(host, 2);
      serve(host, 7);
      serve(host, 8);
      subscribe(host, 64);
      subscribe(host, 65);
    }
  }
  void join(std::size_t host, std::uint64_t group) {
    const auto bit = [](unsigned n) { return std::uint64_t{1} << n; };
    McMemberRecord r;
    r.mgid = Gid::from(0xff12401bffff0000ULL, Guid{group});
    r.port_gid = bench.gid(host);
    r.join_state = join_state::kFull;
    r.q_key = 0x0b1b;
    r.p_key = ib::kDefaultPKey;
    const auto mask = bit(mc_bit::kMgid) | bit(mc_bit::kPortGid) | bit(mc_bit::kJoinState) |
                      bit(mc_bit::kQKey) | bit(mc_bit::kTClass) | bit(mc_bit::kPKey) |
                      bit(mc_bit::kSl) | bit(mc_bit::kFlowLabel);
    ask(bench.request(Method::Set, attr::kMcMemberRecord, r, mask, 0, host));
  }
  void serve(std::size_t host, std::uint64_t id) {
    ServiceRecord r;
    r.service_id = id;
    r.service_gid = bench.gid(host);
    r.service_p_key = ib::kDefaultPKey;
    r.lease = 0xFFFFFFFF;
    ask(bench.request(Method::Set, attr::kServiceRecord, r, 0x17, 0, host));
  }
  void subscribe(std::size_t host, std::uint16_t number) {
    ask(bench.request(Method::Set, attr::kInformInfo, to_trap(number), 0, 0, host));
  }
  void ask(const Packet& request) { EXPECT_EQ(bench.ask(request).mad.status(), status::kOk); }

  void ask_again(const std::vector<std::size_t>& of) {
    std::vector<Guid> ports;
    ports.reserve(of.size());
    for (const std::size_t host : of) ports.push_back(bench.host(host).guid);
    bench.server.doubt(ports);
    bench.server.on_asked_again(bench.now, ports);
  }
  std::shared_ptr<const Snapshot> with_lids_swapped(std::size_t one, std::size_t other) {
    auto fabric = small_tree();
    std::swap(fabric.port(*fabric.find_port_guid(bench.host(one).guid)).lid,
              fabric.port(*fabric.find_port_guid(bench.host(other).guid)).lid);
    fabric.reindex();
    return snapshot_of(std::move(fabric));
  }
  void pass(ib::Duration time) {
    bench.now = bench.now + time;
    if (bench.server.next_deadline() <= bench.now) bench.server.on_time(bench.now);
    (void)bench.drain();
  }
  /// Groups, service ids and traps of a host, each with 100, 200 and 300 added.
  std::vector<std::uint64_t> kept(std::size_t host) {
    const auto contents = *bench.store->load();
    std::vector<std::uint64_t> all;
    for (const auto& m : contents.members)
      if (m.port_gid == bench.gid(host)) all.push_back(100 + m.mgid.guid().value);
    for (const auto& s : contents.services)
      if (s.owner == bench.host(host).guid) all.push_back(200 + s.record.service_id);
    for (const auto& s : contents.subscriptions)
      if (s.subscriber == bench.host(host).guid) all.push_back(300 + s.inform_info.trap_number);
    return all;
  }
};

TEST_F(SaDoubts, WhatIsNotRepeatedInAMinuteEnds) {
  ask_again({3});
  join(3, 2);
  serve(3, 7);
  subscribe(3, 65);
  pass(59s);
  EXPECT_THAT(kept(3), SizeIs(6));
  EXPECT_TRUE(bench.server.awaits_clients());
  pass(2s);
  EXPECT_THAT(kept(3), ElementsAre(102, 207, 365));
  EXPECT_EQ(bench.server.contents().members.size(), bench.store->load()->members.size());
  EXPECT_FALSE(bench.server.awaits_clients());
  EXPECT_THAT(kept(4), SizeIs(6)) << "nobody asked it";
}

TEST_F(SaDoubts, WhoRepeatsAllIsAwaitedNoLonger) {
  ask_again({3});
  for (const std::uint64_t group : {1U, 2U}) join(3, group);
  for (const std::uint64_t id : {7U, 8U}) serve(3, id);
  EXPECT_TRUE(bench.server.awaits_clients());
  for (const std::uint16_t number : {std::uint16_t{64}, std::uint16_t{65}}) subscribe(3, number);
  EXPECT_FALSE(bench.server.awaits_clients());
  pass(61s);
  EXPECT_THAT(kept(3), SizeIs(6));
}

TEST_F(SaDoubts, WhoRepeatsNothingHasNothing) {
  ask_again({3, 4});
  serve(4, 8);
  pass(61s);
  EXPECT_THAT(kept(3), IsEmpty());
  EXPECT_THAT(kept(4), ElementsAre(208));
  serve(3, 7);
  pass(61s);
  EXPECT_THAT(kept(3), ElementsAre(207)) << "what comes later is new";
}

TEST_F(SaDoubts, WhoHasNotTakenTheRequestHasTime) {
  bench.server.doubt({bench.host(3).guid});
  serve(3, 9);
  pass(120s);
  EXPECT_THAT(kept(3), SizeIs(7));
  bench.server.on_asked_again(bench.now, {bench.host(3).guid});
  pass(61s);
  EXPECT_THAT(kept(3), ElementsAre(209));
}

/// Another port, which had its LID for a while, may have subscribed for it.
TEST_F(SaDoubts, WhatWasSubscribedToOfLateIsInDoubtAlone) {
  pass(11min);
  subscribe(3, 66);
  subscribe(3, 67);
  subscribe(4, 66);
  const std::vector ports{bench.host(3).guid};
  bench.server.doubt_subscriptions(bench.now, ports);
  EXPECT_FALSE(bench.server.awaits_clients());
  pass(120s);
  EXPECT_THAT(kept(3), SizeIs(8)) << "it has not taken the request";
  bench.server.on_asked_again(bench.now, ports);
  EXPECT_TRUE(bench.server.awaits_clients());
  subscribe(3, 66);
  pass(61s);
  EXPECT_THAT(kept(3), ElementsAre(101, 102, 207, 208, 364, 365, 366));
  EXPECT_THAT(kept(4), SizeIs(7));
  EXPECT_FALSE(bench.server.awaits_clients());
}

/// All that it has is in doubt for another cause, too.
TEST_F(SaDoubts, WhatIsInDoubtStaysSoWhereSubscriptionsAreAsWell) {
  const std::vector ports{bench.host(3).guid};
  bench.server.doubt(ports);
  bench.server.doubt_subscriptions(bench.now, ports);
  bench.server.on_asked_again(bench.now, ports);
  serve(3, 7);
  pass(61s);
  EXPECT_THAT(kept(3), ElementsAre(207));
}

/// Or the next start would ask it once more.
TEST_F(SaDoubts, WhoIsInDoubtNoMoreLeavesTheStore) {
  store::Batch batch;
  for (const std::size_t host : {3U, 4U, 5U})
    batch.clients_in_doubt.push_back(bench.host(host).guid);
  ASSERT_TRUE(bench.store->commit(batch));
  ask_again({3, 4, 5});
  pass(1ms);
  const auto in_doubt = [&] { return bench.store->load()->clients_in_doubt; };
  EXPECT_THAT(in_doubt(), SizeIs(2)) << "one had registered nothing";
  for (const std::uint64_t group : {1U, 2U}) join(3, group);
  for (const std::uint64_t id : {7U, 8U}) serve(3, id);
  for (const std::uint16_t number : {std::uint16_t{64}, std::uint16_t{65}}) subscribe(3, number);
  pass(1ms);
  EXPECT_THAT(in_doubt(), ElementsAre(bench.host(4).guid)) << "this one has repeated all";
  pass(61s);
  EXPECT_THAT(in_doubt(), IsEmpty());
  EXPECT_THAT(kept(3), SizeIs(6));
}

TEST_F(SaDoubts, WhatIsStoredIsReadAgainAndStaysInDoubt) {
  ask_again({3});
  bench.server.restore(*bench.store->load());
  bench.server.publish(bench.now, bench.snapshot);
  pass(61s);
  EXPECT_THAT(kept(3), IsEmpty());
}

/// It was answered till then that it has what another one has not stored.
TEST_F(SaDoubts, WhoHadWhatIsNotStoredIsAskedUnlessAnotherOneAnswered) {
  auto stored = *bench.store->load();
  const auto lost = bench.host(3).guid;
  std::erase_if(stored.subscriptions, [&](const auto& s) { return s.subscriber == lost; });
  for (const bool answers : {true, false}) {
    Bench other(small_tree(), {}, *bench.store->load());
    if (!answers) other.server.withdraw();
    other.server.restore(stored);
    EXPECT_THAT(other.server.take_untold_clients(),
                answers ? std::vector{lost} : std::vector<Guid>{});
  }
  // Likewise where another port has the same there, since it has its LID.
  stored = *bench.store->load();
  for (auto& s : stored.subscriptions)
    if (s.subscriber == lost) s.subscriber = bench.host(5).guid;
  bench.server.restore(stored);
  EXPECT_THAT(bench.server.take_untold_clients(), ElementsAre(lost));
}

TEST_F(SaDoubts, NothingEndsWhileAnotherOneAnswers) {
  ask_again({3});
  serve(3, 7);
  bench.server.withdraw();
  pass(61s);
  EXPECT_THAT(kept(3), SizeIs(6));
}

/// The next one has taken the store before the end was written: who is in doubt there stays so.
TEST_F(SaDoubts, WhatCouldNotBeEndedAnyMoreIsTheNextOnesToJudge) {
  ask_again({3});
  bench.now = bench.now + 61s;
  bench.server.on_time(bench.now);
  const auto commit = bench.server.next_commit();
  ASSERT_TRUE(commit);
  ASSERT_THAT(commit->batch.clients_sure, SizeIs(1));
  bench.server.hand_over(true);
  bench.server.on_commit_done(bench.now, commit->ticket, false);
  bench.now = bench.now + 10s;
  bench.server.on_time(bench.now);
  EXPECT_FALSE(bench.server.next_commit());
  EXPECT_THAT(kept(3), SizeIs(6));
}

/// One that has the LID of another one now has subscribed to what that one had.
TEST_F(SaDoubts, WhatAnotherPortHasByItsLidStays) {
  ask_again({3});
  bench.server.publish(bench.now, with_lids_swapped(3, 4));
  pass(1ms);
  subscribe(3, 64);
  EXPECT_THAT(kept(4), ElementsAre(101, 102, 207, 208, 364)) << "from the LID that was the other's";
  pass(61s);
  EXPECT_THAT(kept(4), ElementsAre(101, 102, 207, 208, 364));
  EXPECT_THAT(kept(3), IsEmpty());
}

TEST_F(SaDoubts, TheLastMemberOfAGroupEndsIt) {
  const auto groups = [&] { return bench.server.contents().groups.size(); };
  const auto before = groups();
  join(3, 9);
  EXPECT_EQ(groups(), before + 1);
  ask_again({3});
  serve(3, 7);
  pass(61s);
  EXPECT_THAT(kept(3), ElementsAre(207));
  EXPECT_EQ(groups(), before);
}

}  // namespace
}  // namespace sm::sa::test
