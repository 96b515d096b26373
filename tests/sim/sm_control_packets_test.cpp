// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What subnet managers order each other (Set of SMInfo), who may, and who is left alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/election.h"

namespace sm::test {
namespace {

TEST_F(Election, OneThatIsNotActiveDoesNothingUntilItIsToldToStandBy) {
  host(0).start();
  ASSERT_TRUE(settles());
  auto options = with_priority(15);
  options.mastership.start_inactive = true;
  host(2).start(options);
  world_.run_for(30s);
  EXPECT_EQ(host(2).state(), SmState::NotActive);
  EXPECT_TRUE(host(0).is_master());
  SmInfo sender{host(0).guid(), 1, 9, 0, SmState::Master};
  EXPECT_EQ(status_of_set(host(2), 1, sender), ib::wire::status::kBadValue);
  EXPECT_EQ(status_of_set(host(2), 4, sender), 0);
  EXPECT_EQ(host(2).state(), SmState::Standby);
  world_.run_for(30s);
  EXPECT_TRUE(host(2).is_master()) << "it ranks above: " << logs();
}

TEST_F(Election, SetsOfSmInfoAreHeardInTheStatesThatTheTableHas) {
  host(0).start(with_priority(5));
  ASSERT_TRUE(settles());
  host(2).start();
  world_.run_for(5s);
  const SmInfo good{host(0).guid(), 1, 9, 5, SmState::Master};
  SmInfo wrong_key = good, wrong_state = good, other_guid = good;
  wrong_key.sm_key = 2;
  wrong_state.sm_state = SmState::Discovering;
  other_guid.guid = host(1).guid();
  for (std::uint32_t modifier = 0; modifier < 8; ++modifier)
    for (const SmInfo& bad : {wrong_key, wrong_state, other_guid}) {
      EXPECT_EQ(status_of_set(host(2), modifier, bad), ib::wire::status::kBadValue) << modifier;
      EXPECT_EQ(status_of_set(host(2), modifier, good, 1), ib::wire::status::kBadValue)
          << modifier << " from the port of another";
      EXPECT_EQ(host(2).state(), SmState::Standby);
    }
  EXPECT_EQ(status_of_set(host(2), 0, good), ib::wire::status::kBadValue);
  EXPECT_EQ(status_of_set(host(2), 4, good), ib::wire::status::kBadValue);
  EXPECT_EQ(status_of_set(host(2), 3, good), 0);
  EXPECT_EQ(host(2).state(), SmState::NotActive);
  EXPECT_EQ(status_of_set(host(2), 3, good), ib::wire::status::kBadValue);
  EXPECT_EQ(status_of_set(host(2), 4, good), 0);
  EXPECT_EQ(host(2).state(), SmState::Standby);
  EXPECT_EQ(status_of_set(host(2), 5, good), 0);
  EXPECT_EQ(host(2).state(), SmState::Discovering);
  world_.run_for(5s);
  EXPECT_EQ(host(2).state(), SmState::Standby);
  // A HANDOVER that nobody meant: the sweep finds the master, which ranks above.
  EXPECT_EQ(status_of_set(host(2), 1, good), 0);
  EXPECT_EQ(host(2).state(), SmState::Master);
  const auto sets = host(2).sets();
  world_.run_for(30s);
  EXPECT_EQ(host(2).state(), SmState::Standby) << logs();
  EXPECT_EQ(host(2).sets(), sets) << "it set nothing meanwhile";
  EXPECT_TRUE(host(0).is_master());
  for (const std::uint32_t modifier : {2U, 3U, 4U, 5U})
    EXPECT_EQ(status_of_set(host(0), modifier, {host(2).guid(), 1, 9, 0, SmState::Master}, 2),
              ib::wire::status::kBadValue)
        << modifier;
}

/// Every state, attribute modifier, key, state of the sender, GUID and port that it may come from,
/// those that belong together excepted.
TEST_F(Election, WhatIsForgedIsRefusedInEveryStateWithEveryModifierAndKey) {
  unsigned forged = 0;
  const auto refuses_all = [&](ManagerHost& to, SmState state, bool knows_ports) {
    ASSERT_EQ(to.state(), state);
    const auto sets = to.sets();
    for (const std::uint32_t modifier : {0U, 1U, 2U, 3U, 4U, 5U, 6U, 7U, 0x10001U, ~0U})
      for (const std::uint64_t key :
           {std::uint64_t{1}, std::uint64_t{0}, std::uint64_t{2}, ~std::uint64_t{0}})
        for (const auto said :
             {SmState::NotActive, SmState::Discovering, SmState::Standby, SmState::Master})
          for (const ib::Guid guid : {host(0).guid(), host(1).guid(), host(2).guid(), ib::Guid{}})
            for (const std::size_t from : {0, 1, 2}) {
              const auto control = core::election::control_packet(modifier);
              const bool is_proper = control && core::election::transition(state, *control) &&
                                     said == core::election::state_of_sender(*control) &&
                                     key == 1 && guid != to.guid() &&
                                     (!knows_ports || guid == host(from).guid());
              if (is_proper) continue;
              ++forged;
              ASSERT_EQ(status_of_set(to, modifier, {guid, key, 9, 15, said}, from),
                        ib::wire::status::kBadValue)
                  << "modifier " << modifier << " key " << key << " of a sender that says it is "
                  << core::election::state_name(said) << " with GUID " << to_string(guid)
                  << " from host " << from << " to one that is "
                  << core::election::state_name(state);
              ASSERT_EQ(to.state(), state);
            }
    EXPECT_EQ(to.sets(), sets);
  };
  host(0).start(with_priority(5));
  ASSERT_TRUE(settles());
  host(2).start();
  world_.run_for(5s);
  refuses_all(host(2), SmState::Standby, true);
  refuses_all(host(0), SmState::Master, true);
  host(2).kill();
  core::Options inactive;
  inactive.mastership.start_inactive = true;
  host(2).start(inactive);
  refuses_all(host(2), SmState::NotActive, false);
  host(2).kill();
  host(2).start();
  refuses_all(host(2), SmState::Discovering, false);
  world_.run_for(30s);
  EXPECT_EQ(host(2).state(), SmState::Standby) << logs();
  EXPECT_TRUE(host(0).is_master());
  EXPECT_GT(forged, 7000U);
  EXPECT_LT(said_of_sets_.size(), 20U) << "a line a minute of each sender";
}

TEST_F(Election, WhoeverIsNoSubnetManagerOrdersNobody) {
  host(0).start(with_priority(5));
  ASSERT_TRUE(settles());
  host(2).start();
  world_.run_for(5s);
  // With its own GUID, as any host can.
  const SmInfo forged{host(1).guid(), 1, 9, 15, SmState::Master};
  for (unsigned i = 0; i < 50; ++i)
    for (std::uint32_t modifier = 1; modifier < 6; ++modifier)
      EXPECT_EQ(status_of_set(host(2), modifier, forged, 1), ib::wire::status::kBadValue);
  EXPECT_EQ(host(2).state(), SmState::Standby);
  EXPECT_THAT(said_of_sets_, testing::ElementsAre(testing::HasSubstr("is refused")));
  // Nor does another subnet manager, which this one does not follow.
  host(1).start();
  world_.run_for(5s);
  EXPECT_EQ(status_of_set(host(2), 3, forged, 1), ib::wire::status::kBadValue);
  EXPECT_EQ(host(2).state(), SmState::Standby);
}

TEST_F(Election, AFloodOfHandoversMakesASweepInTenSeconds) {
  host(0).start(with_priority(5));
  ASSERT_TRUE(settles());
  const auto before = host(0).sm().counters().full_sweeps;
  const SmInfo forged{host(1).guid(), 1, 9, 15, SmState::Master};
  for (unsigned i = 0; i < 1000; ++i) {
    EXPECT_EQ(status_of_set(host(0), 1, forged, 1), 0);
    world_.run_for(5ms);
  }
  EXPECT_LE(host(0).sm().counters().full_sweeps, before + 1);
  EXPECT_TRUE(host(0).is_master());
}

/// Its sender was master once more since.
TEST_F(Election, AHandoverThatIsNoRepetitionMakesASweepOfItsOwnLater) {
  host(0).start(with_priority(5));
  ASSERT_TRUE(settles());
  const auto before = host(0).sm().counters().full_sweeps;
  const SmInfo sender{host(1).guid(), 1, 9, 15, SmState::Master};
  for (const auto pause : {1s, 5s}) {  // the first one is repeated
    EXPECT_EQ(status_of_set(host(0), 1, sender, 1), 0);
    world_.run_for(pause);
  }
  EXPECT_EQ(host(0).sm().counters().full_sweeps, before + 1);
  EXPECT_EQ(status_of_set(host(0), 1, sender, 1), 0);
  world_.run_for(2s);
  EXPECT_EQ(host(0).sm().counters().full_sweeps, before + 1);
  world_.run_for(20s);
  EXPECT_EQ(host(0).sm().counters().full_sweeps, before + 2);
}

TEST_F(Election, AStandbyThatTakesNoHandoverIsLeftInPeaceForAMinute) {
  host(0).start(with_priority(1));
  ASSERT_TRUE(settles());
  host(2).swallows = [](const ib::mad::Packet& packet) {
    return packet.mad.method() == Method::Set && packet.mad.attribute_id() == attr::kSmInfo;
  };
  host(2).start(with_priority(9));
  world_.run_for(50s);
  EXPECT_TRUE(host(0).is_master()) << logs();
  EXPECT_EQ(host(2).state(), SmState::Standby);
  const auto tries = [&] {
    return std::ranges::count_if(host(0).log(), [](const std::string& line) {
      return line.find("mastership is handed over to") != line.npos;
    });
  };
  EXPECT_EQ(tries(), 1) << logs();
  host(2).swallows = nullptr;
  world_.run_for(40s);
  EXPECT_TRUE(host(2).is_master()) << logs();
  EXPECT_EQ(masters(), 1U);
}

TEST_F(Election, OneThatIsNotAllowedCountsForNothing) {
  host(0).start(with_priority(1));
  ASSERT_TRUE(settles());
  auto options = with_priority(0);
  options.mastership.allowed = {host(2).guid()};
  host(2).start(options);
  world_.run_for(20s);
  EXPECT_TRUE(host(2).is_master()) << logs();
  EXPECT_THAT(host(2).log(), testing::Contains(testing::HasSubstr("not among allowed_sm_guids")));
}

TEST_F(Election, AMasterWithAnotherKeyIsLeftAloneAndGetsNoMastership) {
  auto secret = with_priority(9);
  secret.mastership.sm_key = 0x1234;
  host(0).start(with_priority(1));
  ASSERT_TRUE(settles());
  host(2).start(secret);
  world_.run_for(40s);
  EXPECT_TRUE(host(0).is_master()) << logs();
  EXPECT_EQ(host(2).state(), SmState::Standby);
  EXPECT_EQ(host(2).sets(), 0U);
}

TEST_F(Election, ASecretKeyIsShownToSubnetManagersSoThatTheyHandOver) {
  auto low = with_priority(1), high = with_priority(9);
  low.mastership.sm_key = high.mastership.sm_key = 0x1234'5678'9abc'def0;
  host(0).start(low);
  ASSERT_TRUE(settles());
  host(2).start(high);
  world_.run_for(30s);
  EXPECT_TRUE(host(2).is_master()) << logs();
  EXPECT_EQ(host(0).state(), SmState::Standby);
}

TEST_F(Election, AMasterIsFitAndOneThatTheMasterDisabledStaysSo) {
  host(0).start(with_priority(2));
  ASSERT_TRUE(settles());
  host(0).sm().set_fit(world_.now(), false, "another configuration");
  world_.run_for(5s);
  EXPECT_TRUE(host(0).is_master());
  auto inactive = with_priority(1);
  inactive.mastership.start_inactive = true;
  host(2).start(inactive);
  host(2).sm().set_fit(world_.now(), true, "the master's configuration");
  world_.run_for(5s);
  EXPECT_EQ(host(2).state(), SmState::NotActive);
}

}  // namespace
}  // namespace sm::test
