// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Several ibsm on one fabric: one master when it is quiet, in any order of starts and deaths,
// with and without loss; and what a take-over sends.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <set>

#include "libdiag/query/smp_client.h"
#include "sm/daemon/sm_verb.h"
#include "sm/daemon/sweep_verbs.h"
#include "tests/sim/election.h"

namespace sm::test {
namespace {

TEST_F(Election, OneOfSeveralThatStartTogetherIsMasterWhateverTheirPriorities) {
  for (const auto& [a, b] : {std::pair(0U, 0U), {1U, 0U}, {0U, 1U}, {15U, 14U}}) {
    host(0).start(with_priority(a));
    host(2).start(with_priority(b));
    ASSERT_TRUE(settles()) << logs();
    world_.run_for(30s);
    EXPECT_EQ(masters(), 1U) << logs();
    EXPECT_TRUE((a >= b ? host(0) : host(2)).is_master()) << a << " " << b << "\n" << logs();
    EXPECT_EQ((a >= b ? host(2) : host(0)).state(), SmState::Standby);
    EXPECT_TRUE(all_active());
    host(0).kill();
    host(2).kill();
  }
}

TEST_F(Election, AFreshOneBesideAMasterStandsByAndSetsNothing) {
  host(0).start();
  ASSERT_TRUE(settles());
  host(2).start();
  world_.run_for(20s);
  EXPECT_TRUE(host(0).is_master());
  EXPECT_EQ(host(2).state(), SmState::Standby);
  EXPECT_EQ(host(2).sets(), 0U);
  EXPECT_EQ(host(2).reports(), 0U);
  EXPECT_EQ(host(2).sm().mastership().headline(),
            fmt::format("SUBNET STANDBY master={} lid=1 priority=0", to_string(host(0).guid())));
  EXPECT_EQ(host(2).sm().snapshot(), nullptr) << "it answers for no subnet";
  // What it costs on the wire: a poll a second, and every tenth asks all others what they are.
  const auto sends = host(2).sm().mad_counters().sends;
  world_.run_for(100s);
  EXPECT_GE(host(2).sm().mad_counters().sends, sends + 100);
  EXPECT_LE(host(2).sm().mad_counters().sends, sends + 112);
}

TEST_F(Election, AStandbyTakesOverFromADeadMasterWithoutOneSetOfTables) {
  host(0).start();
  ASSERT_TRUE(settles());
  host(2).start();
  world_.run_for(5s);
  const auto before = lids();
  lft_sets_ = mft_sets_ = 0;
  const ib::Instant died = world_.now();
  host(0).kill();
  ASSERT_TRUE(settles()) << logs();
  EXPECT_TRUE(host(2).is_master());
  EXPECT_LT((world_.now() - died) / 1ms, 3000) << "since the host of the dead one says so";
  EXPECT_EQ(lids(), before);
  EXPECT_TRUE(all_active());
  EXPECT_EQ(lft_sets_, 0U);
  EXPECT_EQ(mft_sets_, 0U);
}

core::Options with_shared_store() {
  core::Options options;
  options.shares_store = true;
  return options;
}

TEST_F(Election, AStandbyThatSharesTheStorePlansByWhatTheMasterStored) {
  for (const bool can_be_read : {true, false}) {
    unsigned recalls = 0;
    host(0).kept() = {};
    host(0).on_recall = [&] { host(0).sm().on_recalled(world_.now(), store::Contents{}); };
    host(0).start(with_shared_store());
    ASSERT_TRUE(settles());
    host(2).kept() = {};
    host(2).on_recall = [&] {
      ++recalls;
      host(2).sm().on_recalled(world_.now(),
                               can_be_read ? std::optional(host(0).kept()) : std::nullopt);
    };
    host(2).start(with_shared_store());
    world_.run_for(5s);
    EXPECT_EQ(recalls, 0U) << "a standby plans nothing";
    const auto before = lids();
    host(0).kill();
    ASSERT_TRUE(settles()) << logs();
    EXPECT_TRUE(host(2).is_master());
    world_.run_for(30s);
    EXPECT_EQ(recalls, 1U);
    EXPECT_EQ(lids(), before);
    // What is stored already is not written again.
    EXPECT_EQ(host(2).kept().lids.empty(), can_be_read);
    host(2).kill();
  }
}

TEST_F(Election, AStoreThatAnswersLateHoldsUpThePlanAndNotTheElection) {
  host(2).on_recall = [] {};
  host(2).start(with_shared_store());
  world_.run_for(20s);
  EXPECT_TRUE(host(2).is_master());
  EXPECT_EQ(host(2).sets(), 0U);
  host(2).sm().on_recalled(world_.now(), store::Contents{});
  ASSERT_TRUE(settles()) << logs();
  const auto before = lids();
  // What nobody waits for any more changes nothing.
  store::Contents late;
  late.lids = {{host(0).guid(), ib::Lid{4000}, 0}};
  host(2).sm().on_recalled(world_.now(), late);
  host(2).sm().sweep_now(world_.now(), core::Reason::Operator);
  world_.run_for(20s);
  EXPECT_EQ(lids(), before);
}

TEST_F(Election, WhoseStoreWasTakenAsksTheOthersAndIfItIsMasterTheStore) {
  unsigned recalls = 0;
  host(2).on_recall = [&] {
    ++recalls;
    host(2).sm().on_recalled(world_.now(), host(2).kept());
  };
  host(2).start(with_shared_store());
  ASSERT_TRUE(settles());
  const auto before = lids();
  for (int i = 0; i < 3; ++i) host(2).sm().on_deposed(world_.now());
  world_.run_for(20s);
  EXPECT_EQ(recalls, 2U) << "once for the start, once for this";
  EXPECT_TRUE(host(2).is_master());
  EXPECT_EQ(lids(), before);

  // Who ignores others leaves the store to them.
  host(2).kill();
  recalls = 0;
  auto alone = with_shared_store();
  alone.mastership.ignore_others = true;
  host(2).start(alone);
  ASSERT_TRUE(settles());
  host(2).sm().on_deposed(world_.now());
  world_.run_for(20s);
  EXPECT_EQ(recalls, 1U);
}

TEST_F(Election, TreesOfGroupsThatTheNewMasterDoesNotKnowStandWhileMembersRegisterAgain) {
  host(0).start();
  ASSERT_TRUE(settles());
  host(2).start();
  std::vector<ib::Guid> members{host(0).guid(), host(1).guid(), host(2).guid()};
  const std::vector<plan::MlidGroup> two = {{ib::kLidMulticastMin, members, {}},
                                            {ib::Lid{0xC001}, members, {}}};
  host(0).sm().set_groups(world_.now(), two);
  world_.run_for(5s);
  const NodeIndex leaf = world_.model().topology().port(host(1).at()).peer.node;
  const auto port = world_.open(host(1).at());
  ib::mad::Session session(*port, {}, world_.clock());
  const auto ports_of = [&](unsigned mlid) -> unsigned {
    const auto answer = ib::query::SmpClient(session).get(
        world_.model().port_info({leaf, 0}).lid, attr::kMulticastForwarding, (mlid - 0xC000) / 32);
    if (!answer) return 0xFFFF;
    return ib::wire::body<ib::wire::MulticastForwardingTable>(answer->mad).port_mask[mlid % 32];
  };
  const auto first = ports_of(0xC000), second = ports_of(0xC001);
  ASSERT_NE(first, 0U);
  ASSERT_NE(second, 0U);
  host(0).kill();
  ASSERT_TRUE(settles()) << logs();
  EXPECT_EQ(ports_of(0xC000), first);
  // One is joined again, the other is not.
  host(2).sm().set_groups(world_.now(), {two.front()});
  world_.run_for(30s);
  EXPECT_EQ(ports_of(0xC000), first);
  EXPECT_EQ(ports_of(0xC001), second);
  world_.run_for(60s);
  EXPECT_EQ(ports_of(0xC000), first);
  EXPECT_EQ(ports_of(0xC001), 0U);
}

TEST_F(Election, AMasterThatHangsIsGoneAfterItsPolls) {
  host(0).start();
  ASSERT_TRUE(settles());
  host(2).start();
  world_.run_for(5s);
  host(0).stop();
  world_.run_for(3500ms);
  EXPECT_EQ(host(2).state(), SmState::Standby) << "three polls may be unanswered";
  world_.run_for(8s);
  EXPECT_TRUE(host(2).is_master()) << logs();
  // It comes to itself, finds that it is one of two, and as the lower GUID gets mastership back.
  host(0).go_on();
  ASSERT_TRUE(settles()) << logs();
  world_.run_for(60s);
  EXPECT_EQ(masters(), 1U) << logs();
  EXPECT_TRUE(all_active());
}

TEST_F(Election, ABetterOneThatComesBackGetsMastershipBackUnlessThatIsRefused) {
  host(0).start(with_priority(2));
  ASSERT_TRUE(settles());
  host(2).start(with_priority(9));
  world_.run_for(30s);
  EXPECT_TRUE(host(2).is_master()) << logs();
  EXPECT_EQ(host(0).state(), SmState::Standby);
  EXPECT_TRUE(settles());

  // And back: the better one dies and returns, and mastership follows it.
  host(2).kill();
  ASSERT_TRUE(settles());
  EXPECT_TRUE(host(0).is_master());
  host(2).start(with_priority(9));
  world_.run_for(30s);
  EXPECT_TRUE(host(2).is_master()) << logs();
  EXPECT_TRUE(settles());

  // With master_sm_priority a master stays master.
  host(2).kill();
  host(0).kill();
  auto sticky = with_priority(2);
  sticky.mastership.master_priority = 12;
  host(0).start(sticky);
  ASSERT_TRUE(settles());
  host(2).start(with_priority(9));
  world_.run_for(30s);
  EXPECT_TRUE(host(0).is_master()) << logs();
  EXPECT_EQ(host(2).state(), SmState::Standby);
}

TEST_F(Election, LidsOfTheDevicesStandAfterATakeOverAndWithXThoseOfTheStore) {
  for (const bool honor : {false, true}) {
    host(0).start();
    ASSERT_TRUE(settles());
    const auto before = lids();
    // An old store of the standby's has another LID for one port.
    auto& kept = host(2).kept();
    kept = host(0).kept();
    ib::Guid moved{};
    for (auto& claim : kept.lids)
      if (claim.port_guid == host(1).guid()) {
        moved = claim.port_guid;
        claim.lid = ib::Lid{99};
      }
    auto options = with_priority(0);
    options.honor_stored_lids = honor;
    host(2).start(options);
    world_.run_for(5s);
    host(0).kill();
    ASSERT_TRUE(settles()) << logs();
    if (honor) {
      EXPECT_EQ(lids().at(moved), ib::Lid{99});
    } else {
      EXPECT_EQ(lids(), before);
    }
    host(2).kill();
  }
}

TEST_F(Election, NoPingPongWhereAFifthOfAllPacketsIsLost) {
  lose(20);
  host(0).start(with_priority(3));
  host(1).start(with_priority(3));
  host(2).start(with_priority(1));
  ASSERT_TRUE(settles(10min)) << logs();
  world_.run_for(60s);
  const auto changes = [&] { return host(0).changes() + host(1).changes() + host(2).changes(); };
  const auto before = changes();
  world_.run_for(10min);
  EXPECT_EQ(masters(), 1U) << logs();
  EXPECT_EQ(changes(), before) << logs();
  EXPECT_TRUE(host(0).is_master());
}

/// The subnet is being brought up, is up, is swept again: whenever it is.
TEST_F(Election, WheneverTheMasterDiesTheOtherBringsTheSubnetUpWithTheLidsThatThereAre) {
  for (int i = 0; i < 200; ++i) {
    host(0).start();
    world_.run_for(i < 100 ? i * 100us : i * 20ms);
    const auto held = lids();
    host(2).start();
    world_.run_for(i % 7 * 150us);
    host(0).kill();
    ASSERT_TRUE(settles()) << i << "\n" << logs();
    EXPECT_TRUE(host(2).is_master());
    EXPECT_TRUE(all_active()) << i;
    const auto after = lids();
    for (const auto& [guid, lid] : held) {
      if (lid.is_unicast()) {
        EXPECT_EQ(after.at(guid), lid) << i;
      }
    }
    std::set<ib::Lid> distinct;
    for (const auto& [guid, lid] : after) distinct.insert(lid);
    EXPECT_EQ(distinct.size(), after.size()) << i;
    host(2).kill();
  }
}

/// Three that start, die, hang and come to themselves, while a tenth of all packets is lost.
TEST_F(Election, AfterAnyHistoryTheBestOfThoseThatRunIsMasterAndItAlone) {
  std::mt19937 random(1977);
  const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  std::array<bool, 3> hangs{};
  for (int round = 0; round < 100; ++round) {
    lose(10);
    for (int event = 0; event < 12; ++event) {
      const std::size_t i = below(3);
      if (!host(i).runs()) {
        host(i).start(with_priority(below(3)));
      } else if (hangs[i]) {
        host(i).go_on();
        hangs[i] = false;
      } else if (below(2) == 0) {
        host(i).stop();
        hangs[i] = true;
      } else {
        host(i).kill();
      }
      world_.run_for(below(6000) * 1ms);
    }
    lose(0);
    for (std::size_t i = 0; i < 3; ++i) {
      if (std::exchange(hangs[i], false)) host(i).go_on();
      if (!host(i).runs()) host(i).start(with_priority(below(3)));
    }
    world_.run_for(150s);
    const auto best = std::ranges::max_element(hosts_, [](const auto& a, const auto& b) {
      return core::election::ranks_above({b->sm().mastership().own_info().priority, b->guid()},
                                         {a->sm().mastership().own_info().priority, a->guid()});
    });
    EXPECT_EQ(masters(), 1U) << round << "\n" << logs();
    EXPECT_TRUE((*best)->is_master()) << round << "\n" << logs();
    EXPECT_TRUE(all_active()) << round;
    if (HasFailure()) return;
    for (const auto& h : hosts_) h->forget_log();
  }
}

/// It slept while another one was master and died: its tables, LIDs and MasterSMLID stand.
TEST_F(Election, AMasterThatSleptThroughAnothersTermLearnsOfItFromItsOwnPort) {
  host(0).start();
  ASSERT_TRUE(settles());
  host(2).start();
  world_.run_for(5s);
  host(0).stop();
  world_.run_for(20s);
  ASSERT_TRUE(host(2).is_master()) << logs();
  host(2).kill();
  host(0).go_on();
  world_.run_for(30s);
  EXPECT_TRUE(host(0).is_master());
  EXPECT_THAT(host(0).log(), testing::Contains(testing::HasSubstr("have been master meanwhile")));
  const ib::Lid own = world_.model().port_info(host(0).at()).lid;
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(world_.model().port_info(host(i).at()).master_sm_lid, own);
  EXPECT_TRUE(all_active());
}

std::vector<store::LidClaim> of_another_fabric() {
  std::vector<store::LidClaim> lids;
  for (std::uint16_t i = 0; i < 8; ++i) lids.push_back({ib::Guid{0xf0e1U + i}, ib::Lid{i}, 0});
  for (auto& claim : lids) ++claim.lid.value;
  return lids;
}

TEST_F(Election, WhatIsStoredOfAnotherFabricIsRefusedAndStays) {
  const auto foreign = of_another_fabric();
  host(0).kept().lids = foreign;
  // The head node moved, and so did its own port.
  host(0).kept().lids.push_back({host(0).guid(), ib::Lid{9}, 0});
  const auto stored = host(0).kept();
  host(0).start();
  world_.run_for(20s);
  ASSERT_TRUE(host(0).refused());
  EXPECT_EQ(host(0).refused()->stored, 9U);
  EXPECT_EQ(host(0).refused()->known, 0U);
  EXPECT_EQ(host(0).sets(), 0U);
  EXPECT_EQ(host(0).reports(), 0U);
  EXPECT_EQ(host(0).kept(), stored);
  host(0).kill();
  // Beside a master, too, and before it is to take over.
  host(2).start();
  ASSERT_TRUE(settles());
  host(0).start();
  world_.run_for(5s);
  EXPECT_TRUE(host(0).refused());
  EXPECT_EQ(host(0).sets(), 0U);
  host(0).kill();
  host(2).kill();
  // The operator says that it is to go on with it.
  core::Options anew;
  anew.plan.reassign_lids = true;
  host(0).start(anew);
  ASSERT_TRUE(settles());
  EXPECT_FALSE(host(0).refused());
}

TEST_F(Election, AStoreOfThisFabricIsTakenWhateverWasReplacedAddedOrIsAway) {
  host(0).start();
  ASSERT_TRUE(settles());
  const auto all = host(0).kept().lids;
  const auto gone = of_another_fabric();
  for (const auto& [stored, absent] : {std::pair(std::size_t{2}, std::size_t{0}), {2, 8}, {0, 3}}) {
    host(0).kill();
    host(0).kept().lids.assign(all.end() - static_cast<std::ptrdiff_t>(stored), all.end());
    host(0).kept().lids.insert(host(0).kept().lids.end(), gone.begin(),
                               gone.begin() + static_cast<std::ptrdiff_t>(absent));
    host(0).start();
    ASSERT_TRUE(settles());
    EXPECT_FALSE(host(0).refused());
    EXPECT_EQ(host(0).kept().lids.size(), all.size() + absent);
  }
}

TEST_F(Election, TheThirdTakesOverAfterTheSecond) {
  for (const std::size_t i : {0U, 1U, 2U}) {
    host(i).start(with_priority(9 - static_cast<unsigned>(i)));
    ASSERT_TRUE(settles());
  }
  const auto before = lids();
  host(0).kill();
  ASSERT_TRUE(settles()) << logs();
  EXPECT_TRUE(host(1).is_master());
  world_.run_for(5s);
  host(1).kill();
  ASSERT_TRUE(settles()) << logs();
  EXPECT_TRUE(host(2).is_master());
  EXPECT_EQ(lids(), before);
}

TEST_F(Election, APortThatKeepsNamingTheOneBeforeIsNamedUntilItDoesNot) {
  host(0).start();
  ASSERT_TRUE(settles());
  host(2).start();
  world_.run_for(5s);
  const NodeIndex leaf = world_.model().topology().port(host(1).at()).peer.node;
  const auto keep = [&](const char* what) {
    for (const NodeIndex node : {leaf, host(1).at().node})
      EXPECT_TRUE(world_.model().set_trait(world_.now(), node, std::nullopt, "keep", what));
  };
  const auto said = [&](std::string_view what) {
    return std::ranges::count_if(
        host(2).log(), [&](const std::string& line) { return line.find(what) != line.npos; });
  };
  keep("PortInfo");
  const unsigned own_lid = world_.model().port_info(host(2).at()).lid.value;
  host(0).kill();
  ASSERT_TRUE(settles()) << logs();
  EXPECT_THAT(host(2).last().headline(), testing::HasSubstr(" refused=2"));
  EXPECT_THAT(
      host(2).last().lines,
      testing::UnorderedElementsAre(
          testing::AllOf(testing::StartsWith("refused: Set(PortInfo) to "),
                         testing::HasSubstr(world_.model().topology().node(leaf).description),
                         testing::HasSubstr(fmt::format(
                             " port 0: MasterSMLID stays 1, and is to be {}", own_lid))),
          testing::HasSubstr(" port 1: MasterSMLID stays 1, ")));
  EXPECT_EQ(host(2).sm().snapshot()->refused_tables.size(), 2U);
  EXPECT_EQ(said("MasterSMLID stays"), 2);

  keep("none");
  world_.run_for(70s);
  EXPECT_EQ(host(2).last().refused, 0U) << host(2).last().headline();
  EXPECT_TRUE(host(2).sm().snapshot()->refused_tables.empty());
  EXPECT_EQ(said("MasterSMLID stays"), 2) << logs();
  EXPECT_EQ(said("takes its PortInfo now"), 2) << logs();
  EXPECT_EQ(world_.model().port_info({leaf, 0}).master_sm_lid.value, own_lid);
}

/// What it answers when it goes on comes late, and says nothing of how long to wait for the next.
TEST_F(Election, AMasterThatHangsAgainAndAgainIsTakenOverFromAsSoonAsTheFirstTime) {
  host(0).start(with_priority(9));
  ASSERT_TRUE(settles());
  host(2).start();
  world_.run_for(5s);
  for (const auto pause : {4200ms, 6000ms, 4200ms}) {
    host(0).stop();
    world_.run_for(pause);
    host(0).go_on();
    ASSERT_TRUE(world_.run_until([&] { return host(0).is_master() && masters() == 1; }, 60s));
    world_.run_for(3s);
  }
  host(0).stop();
  const ib::Instant hung = world_.now();
  EXPECT_TRUE(world_.run_until([&] { return host(2).is_master(); }, 60s)) << logs();
  EXPECT_LE((world_.now() - hung) / 1ms, 9000);
}

TEST_F(Election, CtlShowsAllOfThemAndWhy) {
  host(0).start(with_priority(2));
  ASSERT_TRUE(settles());
  host(2).start(with_priority(1));
  world_.run_for(12s);
  const auto ask = [&](control::Request request) {
    return daemon::sm_verb(request, host(2).sm().mastership(), {"9", nullptr, ib::Lid{7}},
                           world_.now());
  };
  const auto text = ask({"sm", {}, {}});
  EXPECT_EQ(text.status, 0);
  EXPECT_THAT(text.text,
              testing::MatchesRegex("GUID +LID STATE +PRIORITY +SINCE +ACTCOUNT WHO\n"
                                    "0x[0-9a-f]+ +7 STANDBY +1 +1[12]s +[0-9]+ this one\n"
                                    "0x[0-9a-f]+ +1 MASTER +2 +1[12]s +[0-9]+ \".*\" port 1\n"
                                    "STANDBY since 1[12] s: another subnet manager is master, or "
                                    "ranks above this one: .*\n"));
  const auto json = ask({"sm", {}, {{"json", "TRUE"}}}).text;
  EXPECT_THAT(json, testing::HasSubstr(R"("schema": "ibkit.ibsm-managers/2")"));
  EXPECT_THAT(json, testing::HasSubstr(R"("state": "MASTER", "priority": 2)"));
  EXPECT_THAT(json, testing::HasSubstr(R"("key_matches": true)"));
  EXPECT_THAT(json, testing::Not(testing::HasSubstr("sm_key")));
  EXPECT_EQ(ask({"sm", {"all"}, {}}).status, 2);
  host(0).stop();
  ASSERT_TRUE(world_.run_until([&] { return host(2).is_master(); }, 60s));
  EXPECT_THAT(ask({"sm", {}, {}}).text,
              testing::ContainsRegex("0x[0-9a-f]+ +1 [?] +[?] +[?] +[?] \".*\" port 1 "
                                     "\\(does not answer, was MASTER\\)\n"));
}

TEST_F(Election, APausedMasterLearnsOfOneThatRanksHigherWhenItGoesOn) {
  host(0).start(with_priority(1));
  ASSERT_TRUE(settles());
  host(0).sm().set_paused(world_.now(), true);
  host(2).start(with_priority(2));
  world_.run_for(60s);
  EXPECT_TRUE(host(0).is_master());
  EXPECT_EQ(host(2).state(), SmState::Standby);
  EXPECT_EQ(host(2).sets(), 0U);
  EXPECT_TRUE(host(0).sm().mastership().others().all().empty());
  host(0).sm().set_paused(world_.now(), false);
  EXPECT_TRUE(world_.run_until(
      [&] { return host(2).is_master() && host(0).state() == SmState::Standby; }, 60s));
}

TEST_F(Election, WhoIsNotMasterSaysWhatItIsWhenItIsToRewrite) {
  const auto ask = [&](unsigned i, const char* verb, std::vector<std::string> words) {
    return daemon::sweep_verb({verb, std::move(words), {}}, host(i).sm(), world_.now())->text;
  };
  host(0).start(with_priority(2));
  ASSERT_EQ(host(0).state(), SmState::Discovering);
  EXPECT_THAT(ask(0, "rewrite", {}), testing::StartsWith("this one is DISCOVERING, not MASTER: "));
  EXPECT_THAT(ask(0, "enable", {"1:1"}), testing::StartsWith("this one is DISCOVERING, not "));
  ASSERT_TRUE(settles());
  EXPECT_EQ(ask(0, "rewrite", {}), "everything is sent again\n");
  host(2).start(with_priority(1));
  world_.run_for(12s);
  EXPECT_EQ(ask(2, "rewrite", {}), "another one is master\n");
}

ib::fabric::Fabric with_twins() {
  auto f = small_tree();
  const auto hosts = hosts_of(f);
  const PortRef first = hosts.front(), twin = hosts.back();
  f.node(twin.node).guid = f.node(first.node).guid;
  f.port(twin).guid = f.port(first).guid;
  f.reindex();
  return f;
}

class Twins : public Election {
 protected:
  Twins() : Election(with_twins()) {}
  std::ptrdiff_t named(std::size_t i) {
    return std::ranges::count_if(host(i).log(), [](const std::string& line) {
      return line.find("its port has the GUID of ours") != line.npos;
    });
  }
};

/// Neither ranks above the other: who is there first stays, and nothing of it is overwritten.
TEST_F(Twins, OneThatFindsAMasterWithItsOwnGuidLeavesTheSubnetToIt) {
  host(0).start(with_priority(1));
  world_.run_for(20s);
  ASSERT_TRUE(host(0).is_master());
  host(2).start(with_priority(9));
  world_.run_for(60s);
  EXPECT_EQ(host(2).state(), SmState::Standby) << logs();
  EXPECT_EQ(host(2).sets(), 0U);
  EXPECT_EQ(named(2), 1) << logs();
  EXPECT_TRUE(host(0).is_master());
  host(0).kill();
  world_.run_for(60s);
  EXPECT_TRUE(host(2).is_master()) << logs();
}

/// Who is master by the time that it sees the other one stays it, and says so.
TEST_F(Twins, TwoThatStartTogetherSaySo) {
  host(0).start();
  host(2).start();
  world_.run_for(120s);
  EXPECT_GE(masters(), 1U) << logs();
  EXPECT_GE(named(0) + named(2), 1) << logs();
}

TEST_F(Election, AStandbyThatIsNotFitDoesNotTakeOverUntilItIs) {
  host(0).start(with_priority(2));
  ASSERT_TRUE(settles());
  host(2).start(with_priority(1));
  world_.run_for(12s);
  ASSERT_EQ(host(2).state(), SmState::Standby);
  host(2).sm().set_fit(world_.now(), false, "another configuration");
  world_.run_for(2s);
  EXPECT_EQ(host(2).state(), SmState::NotActive);
  EXPECT_EQ(host(2).sm().mastership().status().why, "another configuration");
  host(2).sm().set_fit(world_.now(), true, "the master's configuration");
  world_.run_for(2s);
  EXPECT_EQ(host(2).state(), SmState::Standby);
  host(2).sm().set_fit(world_.now(), false, "another configuration");
  host(0).stop();
  world_.run_for(60s);
  EXPECT_EQ(host(2).state(), SmState::NotActive) << logs();
  host(2).sm().set_fit(world_.now(), true, "the operator says so");
  world_.run_for(30s);
  EXPECT_TRUE(host(2).is_master()) << logs();
}

TEST_F(Election, WhoeverIgnoresOthersManagesTheSubnet) {
  host(0).start(with_priority(9));
  ASSERT_TRUE(settles());
  auto options = with_priority(0);
  options.mastership.ignore_others = true;
  host(2).start(options);
  world_.run_for(5s);
  EXPECT_TRUE(host(2).is_master());
  EXPECT_GT(host(2).reports(), 0U);
}

}  // namespace
}  // namespace sm::test
