// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Several ibsm on one fabric: one master when it is quiet, whoever starts, dies and comes back,
// with and without loss; and what a take-over sends.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>
#include <set>

#include "libdiag/query/smp_client.h"
#include "sm/daemon/sm_verb.h"
#include "tests/sim/managers.h"
#include "tests/sim/small_tree.h"

namespace sm::test {
namespace {

using namespace std::chrono_literals;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using ib::wire::Method;
using ib::wire::SmInfo;
using ib::wire::SmState;
namespace attr = ib::wire::attr;

core::Options with_priority(unsigned priority) {
  core::Options options;
  options.mastership.priority = static_cast<std::uint8_t>(priority);
  return options;
}

std::vector<PortRef> hosts_of(const ib::fabric::Fabric& f) {
  std::vector<PortRef> hosts;
  for (NodeIndex n = 0; n < f.nodes().size(); ++n)
    if (f.node(n).type == ib::wire::NodeType::ChannelAdapter && f.port(n, 1).peer)
      hosts.push_back({n, 1});
  return hosts;
}

class Election : public testing::Test {
 protected:
  explicit Election() : Election(small_tree()) {}
  explicit Election(ib::fabric::Fabric fabric) : world_(std::move(fabric)) {
    const auto hosts = hosts_of(world_.model().topology());
    for (const std::size_t i : {std::size_t{0}, hosts.size() / 2, hosts.size() - 1})
      hosts_.push_back(std::make_unique<ManagerHost>(world_, hosts[i]));
    world_.model().set_tap(
        [](void* self, ib::Instant, ib::Lid, ib::Lid, bool, const ib::mad::Packet& packet) {
          static_cast<Election*>(self)->count(packet);
        },
        this);
  }
  void count(const ib::mad::Packet& packet) {
    if (packet.mad.method() != Method::Set) return;
    const auto attribute = packet.mad.attribute_id();
    lft_sets_ += attribute == attr::kLinearForwarding;
    mft_sets_ += attribute == attr::kMulticastForwarding;
  }
  ManagerHost& host(std::size_t i) { return *hosts_.at(i); }
  void lose(double percent) {
    auto faults = world_.model().faults();
    faults.loss_percent = percent;
    world_.model().set_faults(faults);
  }
  std::size_t masters() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(hosts_, [](const auto& h) { return h->is_master(); }));
  }
  /// Exactly one master, which has said that all is up.
  bool settles(ib::Duration limit = 120s) {
    const ib::Instant end = world_.now() + limit;
    return world_.run_until(
        [&] {
          const auto at =
              std::ranges::find_if(hosts_, [](const auto& h) { return h->is_master(); });
          return masters() == 1 && (*at)->reports() > 0 && (*at)->sm().idle() && (*at)->last().up();
        },
        end - world_.now());
  }
  std::map<ib::Guid, ib::Lid> lids() {
    std::map<ib::Guid, ib::Lid> out;
    const auto& f = world_.model().topology();
    for (NodeIndex n = 0; n < f.nodes().size(); ++n) {
      const PortRef p{n, static_cast<std::uint8_t>(f.node(n).is_switch() ? 0 : 1)};
      if (p.port == 0 || f.port(p).peer) out[f.port(p).guid] = world_.model().port_info(p).lid;
    }
    return out;
  }
  bool all_active() {
    const auto& f = world_.model().topology();
    for (NodeIndex n = 0; n < f.nodes().size(); ++n)
      for (unsigned p = 1; p <= f.node(n).num_ports; ++p)
        if (f.port(n, p).peer &&
            world_.model().port_info({n, static_cast<std::uint8_t>(p)}).port_state !=
                ib::wire::PortState::Active)
          return false;
    return true;
  }
  /// Of a control packet from the port of `from`, as a subnet manager there sends it.
  std::uint16_t status_of_set(ManagerHost& to, std::uint32_t modifier, const SmInfo& sender,
                              std::size_t from = 0) {
    ib::mad::Packet packet;
    packet.address = ib::mad::smi_address(world_.model().port_info(host(from).at()).lid);
    packet.mad =
        ib::wire::make_mad(ib::wire::MgmtClass::SubnLid, Method::Set, attr::kSmInfo, modifier);
    packet.mad.set<&ib::wire::MadHeader::tid>(ib::Tid{77});
    ib::wire::set_body(packet.mad, sender);
    std::optional<std::uint16_t> status;
    to.sm().on_packet(world_.now(), packet);
    auto effects = to.sm().take_effects(world_.now());
    for (const auto& line : effects.log) said_of_sets_.push_back(line.message);
    for (const auto& out : effects.send)
      if (out.packet.mad.method() == Method::GetResp && out.packet.mad.tid() == ib::Tid{77})
        status = out.packet.mad.status();
    if (!status) ADD_FAILURE() << "it did not answer";
    return status.value_or(0xFFFF);
  }
  std::string logs() {
    std::string text;
    for (const auto& h : hosts_)
      for (const auto& line : h->log()) text += to_string(h->guid()) + " " + line + "\n";
    return text;
  }

  ib::sim::World world_;
  std::vector<std::unique_ptr<ManagerHost>> hosts_;
  unsigned lft_sets_{0}, mft_sets_{0};
  std::vector<std::string> said_of_sets_;  // by whom status_of_set() asked
};

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

  // Who heeds no others leaves the store to them.
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

  // With master_sm_priority whoever is master stays it.
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

TEST_F(Election, MastersOfTwoSubnetsThatAreJoinedSettleByTheBook) {
  // The fabric is cut in two by its cables between the first host's leaf and all others.
  const auto& f = world_.model().topology();
  const NodeIndex leaf = f.port(host(0).at()).peer.node;
  std::vector<PortRef> cut;
  for (unsigned p = 1; p <= f.node(leaf).num_ports; ++p) {
    const PortRef far = f.port(leaf, p).peer;
    if (far && f.node(far.node).is_switch()) cut.push_back({leaf, static_cast<std::uint8_t>(p)});
  }
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

/// Whoever sweeps first across the new cable leaves the other's switches as they are: what changed
/// there is the only thing that tells the other master.
TEST_F(Election, MastersThatACableJoinsFindEachOtherWhoeverOfThemLooksFirst) {
  const auto& f = world_.model().topology();
  const NodeIndex leaf = f.port(host(0).at()).peer.node;
  std::vector<PortRef> cut;
  for (unsigned p = 1; p <= f.node(leaf).num_ports; ++p) {
    const PortRef far = f.port(leaf, p).peer;
    if (far && f.node(far.node).is_switch()) cut.push_back({leaf, static_cast<std::uint8_t>(p)});
  }
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

TEST_F(Election, WhatIsStoredOfAnotherFabricIsNamedAndStays) {
  const store::LidClaim foreign{ib::Guid{0xf0e1}, ib::Lid{7}, 0};
  const auto lines = [&] {
    return std::ranges::count_if(host(0).log(), [](const std::string& line) {
      return line.find("the state directory is that of another one") != line.npos;
    });
  };
  host(0).kept().lids = {foreign};
  host(0).start();
  ASSERT_TRUE(settles());
  EXPECT_EQ(lines(), 1) << logs();
  EXPECT_THAT(host(0).kept().lids, testing::Contains(foreign));
  // From now on it is this one's, too.
  host(0).kill();
  host(0).start();
  ASSERT_TRUE(settles());
  EXPECT_EQ(lines(), 1) << logs();
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
