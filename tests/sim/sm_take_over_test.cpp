// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What a standby does for clients from the moment when it is master, where both share a store: it
// answers before it has read what switches hold, tells each host once, and asks nobody to register
// again who need not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/sim/election.h"

namespace sm::test {
namespace {

using ib::wire::PortInfo;

core::Options sharing() {
  core::Options options;
  options.shares_store = true;
  return options;
}

class TakeOver : public Election {
 protected:
  TakeOver() {
    world_.model().set_tap(
        [](void* self, ib::Instant, ib::Lid, ib::Lid, bool, const ib::mad::Packet& packet) {
          static_cast<TakeOver*>(self)->see(packet);
        },
        this);
    world_.model().set_watch(
        [](void* self, ib::Instant, PortRef at, const ib::wire::Mad& answer) {
          if (answer.attribute_id() == attr::kPortInfo) ++static_cast<TakeOver*>(self)->told_[at];
        },
        this);
    host(0).on_recall = [this] { host(0).sm().on_recalled(world_.now(), host(0).kept()); };
    host(2).on_recall = [this] { host(2).sm().on_recalled(world_.now(), host(0).kept()); };
    host(2).on_stopgap = [this](const SnapshotPtr& snapshot) {
      stopgaps_.push_back(snapshot);
      lfts_read_before_ = lfts_read_;
    };
  }
  void see(const ib::mad::Packet& packet) {
    count(packet);
    lapsed_ |= packet.mad.method() == Method::Set && packet.mad.attribute_id() == attr::kPortInfo &&
               !host(0).still_answers();
    lfts_read_ +=
        packet.mad.method() == Method::Get && packet.mad.attribute_id() == attr::kLinearForwarding;
    if (packet.mad.method() == Method::Set && packet.mad.attribute_id() == attr::kPortInfo)
      asked_again_ += ib::wire::body<PortInfo>(packet.mad).client_reregister;
  }
  /// All but that of the standby, which has a store of the same contents. Their port GUIDs.
  std::vector<ib::Guid> take_over_while_hosts_reboot(const core::Options& options) {
    host(0).start(options);
    EXPECT_TRUE(settles()) << logs();
    host(2).kept() = host(0).kept();
    host(2).start(options);
    world_.run_for(5s);
    host(0).kill();
    std::vector<ib::Guid> rebooted;
    for (const PortRef p : hosts_of(world_.model().topology())) {
      if (p == host(2).at()) continue;
      EXPECT_TRUE(world_.model().reboot(world_.now(), p.node));
      rebooted.push_back(world_.model().topology().port(p).guid);
    }
    EXPECT_TRUE(settles()) << logs();
    EXPECT_TRUE(host(2).is_master());
    return rebooted;
  }
  /// The first one ends, another one is master for some time, or none, hosts reboot, and the first
  /// one is started again. The port GUIDs of these hosts.
  std::vector<ib::Guid> start_again_after(bool another_one, const core::Options& options = {}) {
    host(0).start(options);
    EXPECT_TRUE(settles()) << logs();
    host(0).kill();
    if (another_one) {
      host(2).start();
      EXPECT_TRUE(settles()) << logs();
      host(2).kill();
    }
    std::vector<ib::Guid> rebooted;
    for (const PortRef p : hosts_of(world_.model().topology())) {
      if (p == host(0).at() || p == host(1).at()) continue;
      EXPECT_TRUE(world_.model().reboot(world_.now(), p.node));
      rebooted.push_back(world_.model().topology().port(p).guid);
    }
    host(0).start(options);
    EXPECT_TRUE(settles()) << logs();
    return rebooted;
  }
  /// It hears that a host is untold, and is master after that. Whom it was to ask more for that.
  std::set<ib::Guid> asked_by_standby(const core::Options& options) {
    host(0).start(options);
    EXPECT_TRUE(settles()) << logs();
    host(2).kept() = host(0).kept();
    host(2).start(options);
    world_.run_for(5s);
    EXPECT_EQ(host(2).state(), SmState::Standby);
    const auto before = host(2).sm().clients_to_ask().ports;
    host(2).sm().on_untold_clients(world_.now(), {host(1).guid()});
    auto more = host(2).sm().clients_to_ask().ports;
    for (const ib::Guid port : before) more.erase(port);
    host(0).kill();
    EXPECT_TRUE(settles()) << logs();
    return more;
  }
  /// The master is killed when all is up, the standby has been there for a while.
  void take_over(const core::Options& options = sharing()) {
    host(0).start(options);
    ASSERT_TRUE(settles()) << logs();
    host(2).kept() = host(0).kept();
    host(2).start(options);
    world_.run_for(5s);
    before_ = lids();
    host(0).kill();
    told_.clear();
    lft_sets_ = mft_sets_ = lfts_read_ = asked_again_ = 0;
    ASSERT_TRUE(settles()) << logs();
    EXPECT_TRUE(host(2).is_master());
    EXPECT_EQ(lids(), before_);
    EXPECT_EQ(lft_sets_, 0U);
    EXPECT_EQ(mft_sets_, 0U);
  }
  /// A better one comes back, and the master hands over to it.
  void hand_over(const core::Options& options) {
    host(0).start(options);
    ASSERT_TRUE(settles()) << logs();
    before_ = lids();
    host(2).kept() = host(0).kept();
    host(2).on_stopgap = [this](const SnapshotPtr& snapshot) {
      stopgaps_.push_back(snapshot);
      registers_.push_back(host(2).registers());
      lfts_read_before_ = lfts_read_;
    };
    auto better = options;
    better.mastership.priority = 9;
    lft_sets_ = mft_sets_ = lfts_read_ = 0;
    told_.clear();
    lapsed_ = false;
    host(2).start(better);
    ASSERT_TRUE(world_.run_until([&] { return host(0).state() == SmState::Standby; }, 60s));
    EXPECT_TRUE(host(0).still_answers());
  }
  unsigned times_told() const {
    unsigned times = 0;
    for (const auto& [port, n] : told_) times += n;
    return times;
  }
  bool knows_every_host(const Snapshot& snapshot) {
    const auto& f = world_.model().topology();
    return std::ranges::all_of(hosts_of(f), [&](PortRef p) {
      const auto at = snapshot.fabric().find_port_guid(f.port(p).guid);
      return at && snapshot.fabric().port(*at).lid == before_.at(f.port(p).guid);
    });
  }

  std::map<PortRef, unsigned> told_;  // by port: Sets of its PortInfo
  std::vector<SnapshotPtr> stopgaps_;
  std::map<ib::Guid, ib::Lid> before_;
  unsigned lfts_read_{0}, lfts_read_before_{0}, asked_again_{0};
  std::vector<bool> registers_;  // by stopgaps, in turn
  bool lapsed_{false};           // a port was told something while the one before did not answer
};

TEST_F(TakeOver, ClientsAreAnsweredBeforeItIsReadWhatSwitchesHold) {
  take_over();
  ASSERT_EQ(stopgaps_.size(), 1U);
  EXPECT_EQ(lfts_read_before_, 0U);
  EXPECT_GT(lfts_read_, 0U) << "and then it was read";
  EXPECT_TRUE(knows_every_host(*stopgaps_.front()));
  EXPECT_FALSE(stopgaps_.front()->up);
  for (const PortRef p : hosts_of(world_.model().topology()))
    EXPECT_EQ(told_[p], 1U) << "who its subnet manager is, once";
  // Routes are those that were there.
  EXPECT_TRUE(host(2).sm().snapshot()->changed_at_start);
  EXPECT_EQ(host(2).sm().snapshot()->changed_at_start->entries, 0U);
}

/// Clients always have one who answers: the one before until they know the next, and registers them
/// as long as the next one does not write the store.
TEST_F(TakeOver, WhoHandsOverAnswersUntilClientsKnowTheNext) {
  std::size_t told_at_take = 0;
  unsigned lfts_at_take = 0;
  bool answered_at_take = false;
  host(2).on_recall = [&] {
    if (host(2).recalls().back() == core::Recall::Take) {
      told_at_take = times_told();
      lfts_at_take = lfts_read_;
      answered_at_take = host(0).still_answers();
    }
    host(2).sm().on_recalled(world_.now(), host(0).kept());
  };
  hand_over(sharing());
  const auto hosts = hosts_of(world_.model().topology());
  ASSERT_TRUE(world_.run_until([&] { return !host(0).still_answers(); }, 60s)) << logs();
  EXPECT_THAT(host(2).recalls(), testing::ElementsAre(core::Recall::Read, core::Recall::Take));
  EXPECT_EQ(told_at_take, hosts.size()) << "all know it before it writes the store";
  EXPECT_EQ(lfts_at_take, 0U);
  EXPECT_TRUE(answered_at_take);
  EXPECT_THAT(registers_, testing::ElementsAre(false, true));
  ASSERT_EQ(stopgaps_.size(), 2U);
  EXPECT_TRUE(knows_every_host(*stopgaps_.front()));
  EXPECT_FALSE(lapsed_);
  ASSERT_TRUE(settles()) << logs();
  EXPECT_TRUE(host(2).is_master());
  for (const PortRef p : hosts) EXPECT_EQ(told_[p], 1U) << "who its subnet manager is, once";
  EXPECT_EQ(lids(), before_);
  EXPECT_EQ(lft_sets_, 0U);
  EXPECT_EQ(mft_sets_, 0U);
  EXPECT_TRUE(host(2).sm().clients_to_ask().empty());
}

TEST_F(TakeOver, WhoIsInDoubtByTheStoreIsAskedOnceByTheNext) {
  const auto hosts = hosts_of(world_.model().topology());
  const auto stored = [&] {
    store::Contents contents = host(0).kept();
    for (const PortRef p : hosts)
      if (p != host(2).at())
        contents.clients_in_doubt.push_back(world_.model().topology().port(p).guid);
    return contents;
  };
  host(2).on_recall = [&] { host(2).sm().on_recalled(world_.now(), stored()); };
  hand_over(sharing());
  ASSERT_TRUE(world_.run_until([&] { return !host(0).still_answers(); }, 60s)) << logs();
  EXPECT_THAT(registers_, testing::ElementsAre(false, true));
  ASSERT_TRUE(settles()) << logs();
  for (const PortRef p : hosts) EXPECT_EQ(told_[p], 1U) << "once";
}

TEST_F(TakeOver, WhereNobodyCanBeToldFirstTheStoreIsTakenFirst) {
  const PortRef one = cables_of_first_leaf().front();
  ASSERT_TRUE(world_.model().set_trait(world_.now(), one.node, one.port, "mtu_cap", "1024"));
  hand_over(sharing());
  ASSERT_TRUE(world_.run_until([&] { return !host(0).still_answers(); }, 60s)) << logs();
  EXPECT_TRUE(host(2).sm().snapshot()) << "it answers now";
  EXPECT_TRUE(stopgaps_.empty());
  ASSERT_TRUE(settles()) << logs();
  EXPECT_TRUE(host(2).is_master());
  EXPECT_EQ(lids(), before_);
}

TEST_F(TakeOver, WhatCannotBeReadIsTakenAsItIs) {
  host(2).on_recall = [&] { host(2).sm().on_recalled(world_.now(), std::nullopt); };
  hand_over(sharing());
  ASSERT_TRUE(settles()) << logs();
  EXPECT_THAT(host(2).recalls(), testing::ElementsAre(core::Recall::Read, core::Recall::Take));
  EXPECT_TRUE(stopgaps_.empty());
  world_.run_for(1s);
  EXPECT_FALSE(host(0).still_answers());
  EXPECT_EQ(lids(), before_);
}

TEST_F(TakeOver, WithAStoreOfItsOwnTheNextAcknowledgesWhenItAnswers) {
  hand_over({});
  ASSERT_TRUE(world_.run_until([&] { return !host(0).still_answers(); }, 60s)) << logs();
  EXPECT_TRUE(host(2).sm().snapshot());
  EXPECT_FALSE(lapsed_);
  ASSERT_TRUE(settles()) << logs();
  EXPECT_TRUE(host(2).is_master());
}

TEST_F(TakeOver, ForOneThatNeverAcknowledgesItAnswersHalfAMinute) {
  host(2).on_recall = [] {};
  hand_over(sharing());
  world_.run_for(25s);
  EXPECT_TRUE(host(0).still_answers());
  world_.run_for(10s);
  EXPECT_FALSE(host(0).still_answers());
  EXPECT_EQ(host(0).state(), SmState::Standby);
}

TEST_F(TakeOver, AnHeirThatDiesIsTakenOverFromAtOnce) {
  host(2).on_recall = [] {};
  hand_over(sharing());
  world_.run_for(1s);
  host(2).kill();
  ASSERT_TRUE(settles()) << logs();
  EXPECT_TRUE(host(0).is_master());
  EXPECT_FALSE(host(0).still_answers());
  EXPECT_EQ(lids(), before_);
}

/// They name no subnet manager any more, and what they took back at the one before is not known.
TEST_F(TakeOver, WhatHostsHadRegisteredThatRebootedMeanwhileIsInDoubt) {
  const auto rebooted = take_over_while_hosts_reboot({});
  ASSERT_THAT(rebooted, testing::Not(testing::IsEmpty()));
  EXPECT_THAT(host(2).kept().clients_in_doubt, testing::IsSupersetOf(rebooted));
}

TEST_F(TakeOver, WhatAHostHadRegisteredThatWasAwayAndRebootsMeanwhileIsInDoubt) {
  host(0).start();
  ASSERT_TRUE(settles()) << logs();
  host(2).kept() = host(0).kept();
  host(2).start();
  const PortRef away = host(1).at();
  ASSERT_TRUE(world_.model().link_down(world_.now(), away));
  world_.run_for(5s);
  host(0).kill();
  ASSERT_TRUE(settles()) << logs();
  const std::vector guid{host(1).guid()};
  EXPECT_THAT(host(2).kept().clients_in_doubt, testing::IsSupersetOf(guid))
      << "should this one end before it is back";
  ASSERT_TRUE(world_.model().reboot(world_.now(), away.node));
  ASSERT_TRUE(world_.model().link_up(world_.now(), away));
  asked_again_ = 0;
  world_.run_for(5s);
  ASSERT_TRUE(all_active());
  EXPECT_EQ(asked_again_, 1U);
}

/// The one before is gone when this one starts again. Who was not rebooted names it.
TEST_F(TakeOver, WhatHostsHadRegisteredThatRebootedIsInDoubtAfterAStartAsWell) {
  const auto rebooted = start_again_after(true);
  EXPECT_THAT(host(0).kept().clients_in_doubt, testing::IsSupersetOf(rebooted));
}

/// It was none of those that share it.
TEST_F(TakeOver, WhatHostsHadRegisteredThatRebootedIsInDoubtWhereAnotherOneDoesNotShareTheStore) {
  const auto rebooted = start_again_after(true, sharing());
  EXPECT_THAT(host(0).kept().clients_in_doubt, testing::IsSupersetOf(rebooted));
}

TEST_F(TakeOver, WhatHostsHadRegisteredThatRebootedIsNotInDoubtWhereNobodyElseWasMaster) {
  start_again_after(false);
  EXPECT_THAT(host(0).kept().clients_in_doubt, testing::IsEmpty());
}

TEST_F(TakeOver, WhereTheStoreIsSharedWhatTheyTookBackIsKnown) {
  take_over_while_hosts_reboot(sharing());
  EXPECT_THAT(host(2).kept().clients_in_doubt, testing::IsEmpty());
}

TEST_F(TakeOver, HostsAreAskedToRegisterAgainSinceTheirSubnetManagersLidIsAnother) {
  take_over();
  EXPECT_EQ(asked_again_, hosts_of(world_.model().topology()).size());
  EXPECT_TRUE(host(2).sm().clients_to_ask().empty());
}

/// Its own store has them as those who are to be asked, and nobody else takes them out of it.
TEST_F(TakeOver, WhomAStandbyFindsUntoldItAsksWhenItIsMaster) {
  EXPECT_EQ(asked_by_standby({}).size(), 1U);
  EXPECT_TRUE(host(2).sm().clients_to_ask().empty());
}

TEST_F(TakeOver, WhomAStandbyFindsUntoldTheMasterAsksWhereTheStoreIsShared) {
  EXPECT_THAT(asked_by_standby(sharing()), testing::IsEmpty());
}

TEST_F(TakeOver, NobodyIsAskedToRegisterAgainWhereTheOperatorWantsNone) {
  core::Options options = sharing();
  options.plan.reregister = false;
  take_over(options);
  EXPECT_EQ(asked_again_, 0U);
  for (const PortRef p : hosts_of(world_.model().topology())) EXPECT_EQ(told_[p], 1U);
}

TEST_F(TakeOver, WithoutWhatIsStoredNobodyIsAnsweredByWhatIsGuessed) {
  host(2).on_recall = [this] { host(2).sm().on_recalled(world_.now(), std::nullopt); };
  take_over();
  EXPECT_TRUE(stopgaps_.empty());
}

TEST_F(TakeOver, WhereAPortHoldsAnotherLidThanIsStoredNobodyIsAnsweredBeforeItIsSettled) {
  host(2).on_recall = [this] {
    store::Contents stored = host(0).kept();
    stored.lids.back().lid = ib::Lid{77};
    host(2).sm().on_recalled(world_.now(), stored);
  };
  take_over();
  EXPECT_TRUE(stopgaps_.empty());
}

TEST_F(TakeOver, WhereLinksBetweenSwitchesDifferInMtuTheWayDecides) {
  const PortRef one = cables_of_first_leaf().front();
  ASSERT_TRUE(world_.model().set_trait(world_.now(), one.node, one.port, "mtu_cap", "1024"));
  take_over();
  EXPECT_TRUE(stopgaps_.empty());
}

TEST_F(TakeOver, AHostThatComesUpMeanwhileKeepsItsLid) {
  host(0).start(sharing());
  ASSERT_TRUE(settles()) << logs();
  host(2).kept() = host(0).kept();
  host(2).start(sharing());
  world_.run_for(5s);
  before_ = lids();
  host(0).stop();
  ASSERT_TRUE(world_.model().link_down(world_.now(), host(1).at()));
  ASSERT_TRUE(world_.model().link_up(world_.now(), host(1).at()));
  world_.run_for(1s);
  host(0).kill();
  ASSERT_TRUE(settles()) << logs();
  ASSERT_EQ(stopgaps_.size(), 1U);
  EXPECT_TRUE(knows_every_host(*stopgaps_.front())) << "what it registered is kept";
  EXPECT_EQ(lids(), before_);
}

}  // namespace
}  // namespace sm::test
