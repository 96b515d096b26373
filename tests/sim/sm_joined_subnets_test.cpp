// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Two subnets, each with a master, that a cable joins.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/sim/election.h"

namespace sm::test {
namespace {

TEST_F(Election, MastersOfTwoSubnetsThatAreJoinedSettleByTheBook) {
  const auto cut = cables_of_first_leaf();
  ASSERT_FALSE(cut.empty());
  for (const bool first_is_better : {true, false}) {
    for (const PortRef p : cut) ASSERT_TRUE(world_.model().link_down(world_.now(), p));
    host(0).start(with_priority(first_is_better ? 5 : 1));
    host(2).start(with_priority(3));
    world_.run_for(20s);
    ASSERT_EQ(masters(), 2U) << logs();
    for (const PortRef p : cut) ASSERT_TRUE(world_.model().link_up(world_.now(), p));
    world_.run_for(40s);
    EXPECT_EQ(masters(), 1U) << logs();
    EXPECT_TRUE((first_is_better ? host(0) : host(2)).is_master()) << logs();
    ASSERT_TRUE(settles()) << logs();
    EXPECT_TRUE(all_active()) << logs();
    host(0).kill();
    host(2).kill();
  }
}

/// The one that sweeps first across the new cable leaves the other's switches as they are: what
/// changed there is the only thing that tells the other master.
TEST_F(Election, MastersThatACableJoinsFindEachOtherWhoeverOfThemLooksFirst) {
  const auto cut = cables_of_first_leaf();
  for (unsigned seed = 0; seed < 24; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](unsigned end) { return static_cast<unsigned>(random() % end); };
    const bool first_is_better = below(2) != 0;
    // They were one subnet, or never were.
    const bool were_one = below(2) != 0;
    if (!were_one) {
      for (const PortRef p : cut) ASSERT_TRUE(world_.model().link_down(world_.now(), p));
    }
    host(0).start(with_priority(first_is_better ? 5 : 1));
    host(2).start(with_priority(3));
    world_.run_for(10s);
    if (were_one) {
      for (const PortRef p : cut) ASSERT_TRUE(world_.model().link_down(world_.now(), p));
    }
    world_.run_for(20s + std::chrono::milliseconds(below(20'000)));
    ASSERT_EQ(masters(), 2U) << seed << "\n" << logs();
    for (const auto& h : hosts_) h->forget_log();
    for (const PortRef p : cut) ASSERT_TRUE(world_.model().link_up(world_.now(), p));
    if (const unsigned first = below(3); first != 0)
      host(first == 1 ? 0 : 2).sm().sweep_now(world_.now(), core::Reason::Trap);
    EXPECT_TRUE(world_.run_until([&] { return masters() == 1; }, 5s)) << seed << "\n" << logs();
    EXPECT_TRUE((first_is_better ? host(0) : host(2)).is_master()) << seed << "\n" << logs();
    ASSERT_TRUE(settles()) << seed << "\n" << logs();
    EXPECT_TRUE(all_active()) << seed << "\n" << logs();
    if (HasFailure()) return;
    host(0).kill();
    host(2).kill();
    for (const PortRef p : cut) (void)world_.model().link_up(world_.now(), p);
  }
}

/// The first one reads around the cables that were out, and has known the port of the other one
/// since before there was a subnet manager.
TEST_F(Election, AMasterFindsOneThatStartedWhileCablesWereOutForAMoment) {
  const auto cut = cables_of_first_leaf();
  for (const bool first_is_better : {true, false}) {
    host(0).start(with_priority(first_is_better ? 5 : 1));
    ASSERT_TRUE(settles()) << logs();
    world_.run_for(30s);
    for (const PortRef p : cut) ASSERT_TRUE(world_.model().link_down(world_.now(), p));
    host(2).start(with_priority(3));
    ASSERT_TRUE(world_.run_until([&] { return host(2).reports() > 0; }, 50ms)) << logs();
    ASSERT_EQ(masters(), 2U) << logs();
    for (const PortRef p : cut) ASSERT_TRUE(world_.model().link_up(world_.now(), p));
    EXPECT_TRUE(world_.run_until([&] { return masters() == 1; }, 2s)) << logs();
    EXPECT_TRUE((first_is_better ? host(0) : host(2)).is_master()) << logs();
    ASSERT_TRUE(settles()) << logs();
    EXPECT_TRUE(all_active()) << logs();
    host(0).kill();
    host(2).kill();
  }
}

/// Another one may have become master while its cable was out, and only what switches tell leads
/// that one to what changed.
TEST_F(Election, AMasterWhoseOwnCableWasOutClearsNothingBeforeItHasFoundTheOthers) {
  host(0).start(with_priority(3));
  ASSERT_TRUE(settles()) << logs();
  world_.run_for(2s);
  const PortRef own = host(0).at();
  const NodeIndex leaf = world_.model().topology().port(own).peer.node;
  ASSERT_TRUE(world_.model().link_down(world_.now(), own));
  host(2).start(with_priority(3));
  ASSERT_TRUE(world_.run_until([&] { return host(2).reports() > 0; }, 1s)) << logs();
  ASSERT_EQ(masters(), 2U) << logs();
  ASSERT_FALSE(world_.model().switch_info(leaf).port_state_change);
  ASSERT_TRUE(world_.model().link_up(world_.now(), own));
  const auto tells = [&] { return world_.model().switch_info(leaf).port_state_change; };
  ASSERT_TRUE(world_.run_until(tells, 1s));
  host(0).sm().sweep_now(world_.now(), core::Reason::Trap);
  const auto finds_others = [&] { return !host(0).sm().mastership().others().all().empty(); };
  ASSERT_TRUE(world_.run_until(finds_others, 50ms)) << logs();
  EXPECT_TRUE(tells());
  host(0).kill();
  ASSERT_TRUE(world_.run_until([&] { return all_active(); }, 15s)) << logs();
}

/// A start after one that left tables everywhere, which hears of another master when `is_time`: as
/// one does that a cable has joined since the sweep.
class HeardMaster : public Election {
 protected:
  template <class Time>
  void hear_when(Time is_time) {
    host(0).start(with_priority(3));
    ASSERT_TRUE(settles()) << logs();
    host(0).kill();
    // Something is to be set again.
    ASSERT_TRUE(world_.model().reboot(world_.now(), cables_of_first_leaf().front().node));
    world_.run_for(20ms);
    host(0).forget_log();
    lft_gets_ = lft_sets_ = 0;
    host(0).start(with_priority(3));
    ASSERT_TRUE(world_.run_until(is_time, 1s)) << logs();
    ib::mad::Packet packet;
    packet.address = ib::mad::smi_address(world_.model().port_info(host(2).at()).lid);
    packet.mad = ib::wire::make_mad(ib::wire::MgmtClass::SubnLid, Method::Set, attr::kSmInfo, 1);
    SmInfo master;
    master.guid = host(2).guid();
    master.sm_key = 1;
    master.sm_state = SmState::Master;
    ib::wire::set_body(packet.mad, master);
    host(0).sm().on_packet(world_.now(), packet);
  }
  /// What it says right after that.
  std::string line_after(std::string_view beginning) {
    const auto& lines = host(0).log();
    const auto at = std::ranges::find_if(
        lines, [&](const std::string& line) { return line.starts_with(beginning); });
    return at == lines.end() || std::next(at) == lines.end() ? logs() : *std::next(at);
  }
};

TEST_F(HeardMaster, WhileTablesAreReadSweepsBeforeAnythingIsSet) {
  hear_when([&] { return lft_gets_ > 0; });
  ASSERT_TRUE(settles()) << logs();
  EXPECT_EQ(line_after("the plan is dropped before"), "full sweep: election");
}

TEST_F(HeardMaster, WhileTablesAreSetEndsThat) {
  hear_when([&] { return lft_sets_ > 0; });
  const auto sets = lft_sets_;
  const auto sweeps = [&] {
    return line_after("what is being programmed is broken off") == "full sweep: election";
  };
  ASSERT_TRUE(world_.run_until(sweeps, 1ms)) << logs();
  EXPECT_EQ(lft_sets_, sets);
  ASSERT_TRUE(settles()) << logs();
  EXPECT_TRUE(all_active());
  EXPECT_GT(lft_sets_, sets);
}

}  // namespace
}  // namespace sm::test
