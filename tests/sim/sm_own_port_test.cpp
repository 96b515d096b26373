// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What any host can change by one Set while there are no keys: the subnet manager's own port, the
// LID of another host, tables of switches. Found, said and put right.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/small_tree.h"
#include "tests/sim/stranger.h"

namespace sm::test {
namespace {

using namespace std::chrono_literals;
using ib::Lid;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
namespace attr = ib::wire::attr;

class OwnPortTest : public testing::Test {
 protected:
  explicit OwnPortTest(core::Options options = {}) : run_(small_tree(), {}, std::move(options)) {
    run_.write_log_to([this](const ib::LogEvent& event) {
      if (event.level == ib::LogLevel::Error) alarms_.push_back(event.message);
    });
    EXPECT_TRUE(run_.run_until_reports(1));
    EXPECT_TRUE(run_.last().up());
    run_.run_for(1s);
    stranger_.emplace(run_, Stranger::last_host(run_.model().topology()));
  }

  NodeIndex far_switch() {
    const auto& f = run_.model().topology();
    NodeIndex last = 0;
    for (NodeIndex n = 0; n < f.nodes().size(); ++n)
      if (f.node(n).is_switch() && f.port(run_.at()).peer.node != n) last = n;
    return last;
  }
  Lid own_lid() { return run_.model().port_info(run_.at()).lid; }
  Lid lid_of(NodeIndex n) { return run_.model().port_info({n, 0}).lid; }
  void operator_sweeps() {
    const auto reports = run_.reports();
    run_.sm().sweep_now(run_.now(), core::Reason::Operator);
    ASSERT_TRUE(run_.run_until_reports(reports + 1));
    EXPECT_TRUE(run_.last().up()) << testing::PrintToString(run_.last().lines);
  }

  SmOnModel run_;
  std::vector<std::string> alarms_;  // its log at error level
  std::optional<Stranger> stranger_;
};

// ---- its own link was down

/// Everything was rebooted, our own switch with it: what switches tell is not cleared while they
/// are looked at, for another one may be master. A cable that moves in that sweep is found all the
/// same.
TEST(OwnLink, CablesThatAreSwappedWhileItIsSweptForAreFound) {
  ib::fabric::FatTree kind;
  kind.radix = 6;
  kind.hosts_per_leaf = 2;
  kind.leaves = 4;  // and free ports at the spines
  SmOnModel run(unconfigured(kind));
  ASSERT_TRUE(run.run_until_reports(1));
  const auto& f = run.model().topology();
  std::vector<PortRef> ends;  // of leaves, to which hosts are cabled but our own
  PortRef spare;
  for (NodeIndex n = 0; n < f.nodes().size(); ++n) {
    if (!f.node(n).is_switch() && n != run.at().node) ends.push_back(f.port(n, 1).peer);
    for (std::uint8_t p = 1; f.node(n).is_switch() && p <= f.node(n).num_ports; ++p)
      if (!f.port(n, p).peer) spare = {n, p};
  }
  const PortRef a = ends.at(1), b = ends.back();
  ASSERT_NE(a.node, b.node);
  ASSERT_TRUE(spare);

  run.hold_plans();
  for (NodeIndex n = 0; n < f.nodes().size(); ++n) ASSERT_TRUE(run.model().reboot(run.now(), n));
  for (int i = 0; i < 1000 && !run.is_planning(); ++i) run.run_for(10ms);
  ASSERT_TRUE(run.is_planning());
  for (const auto& [from, to] : {std::pair(a, spare), std::pair(b, a), std::pair(spare, b)})
    ASSERT_TRUE(run.model().move_cable(run.now(), from, to));
  run.run_for(10ms);
  run.make_held_plan();
  ASSERT_TRUE(run.run_until_reports(run.reports() + 1));
  EXPECT_TRUE(run.last().up()) << testing::PrintToString(run.last().lines);
  const auto& seen = run.sm().snapshot()->fabric();
  for (const PortRef at : {a, b}) {
    const auto leaf = seen.find_node(f.node(at.node).guid);
    ASSERT_TRUE(leaf);
    EXPECT_EQ(seen.node(seen.port(*leaf, at.port).peer.node).guid,
              f.node(f.port(at).peer.node).guid);
  }
}

// ---- the subnet manager's own port

TEST_F(OwnPortTest, NothingIsSetAtItsOwnPortWhileNobodyTouchesIt) {
  const auto sets = run_.sm().counters().sets;
  unsigned own_sets = 0;
  run_.watch([&](const ib::mad::Packet& p) {
    own_sets += p.mad.method() == ib::wire::Method::Set;
    return true;
  });
  run_.run_for(60s);
  EXPECT_EQ(own_sets, 0U);
  EXPECT_EQ(run_.sm().counters().sets, sets);
  EXPECT_THAT(alarms_, testing::IsEmpty());
}

TEST_F(OwnPortTest, APKeyTableThatSomebodyEmptiedIsPutRightByTheNextLightSweep) {
  const auto before = run_.model().p_keys(run_.at());
  ASSERT_THAT(before, testing::Contains(ib::kDefaultPKey));
  stranger_->set(own_lid(), attr::kPKeyTable, 0, ib::wire::PKeyTable{});
  run_.run_for(1s);
  ASSERT_NE(run_.model().p_keys(run_.at()), before);
  run_.run_for(10s);
  EXPECT_EQ(run_.model().p_keys(run_.at()), before);
  EXPECT_THAT(alarms_,
              testing::ElementsAre(testing::AllOf(
                  testing::HasSubstr("another program changed the P_KeyTable of our own port"),
                  testing::HasSubstr("P_Key 0 is 0x0000, not 0xffff; it is put right"))));
  run_.run_for(30s);
  EXPECT_EQ(alarms_.size(), 1U);
}

TEST_F(OwnPortTest, PacketsWhosePKeyItsOwnPortHasLostLeadToARepairAtOnce) {
  const auto before = run_.model().p_keys(run_.at());
  stranger_->set(own_lid(), attr::kPKeyTable, 0, ib::wire::PKeyTable{});
  run_.run_for(100ms);
  ASSERT_NE(run_.model().p_keys(run_.at()), before);
  stranger_->send_gmp(0);  // the port raises trap 257
  run_.run_for(200ms);
  EXPECT_EQ(run_.model().p_keys(run_.at()), before);
}

TEST_F(OwnPortTest, ATrap259AboutPacketsToItsOwnPortLeadsToARepairAtOnce) {
  const auto before = run_.model().p_keys(run_.at());
  stranger_->set(own_lid(), attr::kPKeyTable, 0, ib::wire::PKeyTable{});
  run_.run_for(100ms);
  ASSERT_NE(run_.model().p_keys(run_.at()), before);
  ib::wire::Notice notice;
  notice.trap_number = ib::wire::trap::kSwitchBadPKey;
  notice.issuer_lid = stranger_->lid();
  notice.details[4] = static_cast<std::uint8_t>(own_lid().value >> 8);
  notice.details[5] = static_cast<std::uint8_t>(own_lid().value & 0xFF);
  stranger_->trap(notice);
  run_.run_for(200ms);
  EXPECT_EQ(run_.model().p_keys(run_.at()), before);
}

TEST_F(OwnPortTest, AFloodOfSuchTrapsCostsTenLooksASecond) {
  run_.run_for(1s);
  unsigned looks = 0;
  run_.watch([&](const ib::mad::Packet& p) {
    looks += p.mad.attribute_id() == attr::kPKeyTable;
    return true;
  });
  for (unsigned i = 0; i < 1000; ++i) {
    ib::wire::Notice notice;
    notice.trap_number = ib::wire::trap::kBadPKey;
    notice.issuer_lid = own_lid();
    notice.details[53] = static_cast<std::uint8_t>(i);
    stranger_->trap(notice);
    run_.run_for(1ms);
  }
  EXPECT_LE(looks, 11U);
  EXPECT_GE(looks, 5U);
}

struct Change {
  const char* name;
  void (*make)(ib::wire::PortInfo& info);
};
class OwnPortInfo : public OwnPortTest, public testing::WithParamInterface<Change> {};

TEST_P(OwnPortInfo, IsPutRightByTheNextLightSweep) {
  const auto before = run_.model().port_info(run_.at());
  auto info = before;
  info.port_state = ib::wire::PortState::NoChange;
  info.port_physical_state = ib::wire::PhysState::NoChange;
  GetParam().make(info);
  stranger_->set(own_lid(), attr::kPortInfo, 1, info);
  run_.run_for(100ms);
  ASSERT_NE(run_.model().port_info(run_.at()), before);
  run_.run_for(10s);
  EXPECT_EQ(run_.model().port_info(run_.at()), before);
  EXPECT_THAT(alarms_,
              testing::ElementsAre(testing::AllOf(
                  testing::HasSubstr("another program changed the PortInfo of our own port"),
                  testing::HasSubstr(GetParam().name), testing::HasSubstr("it is put right"))));
}
INSTANTIATE_TEST_SUITE_P(
    Field, OwnPortInfo,
    testing::Values(Change{"LID is 500, not", [](ib::wire::PortInfo& i) { i.lid = Lid{500}; }},
                    Change{"MasterSMLID is 500, not",
                           [](ib::wire::PortInfo& i) { i.master_sm_lid = Lid{500}; }},
                    Change{"GidPrefix is 0xfe80000000000001, not 0xfe80000000000000",
                           [](ib::wire::PortInfo& i) { i.gid_prefix |= 1; }},
                    Change{"M_Key is another one",
                           [](ib::wire::PortInfo& i) { i.m_key = 0x4711; }}),
    [](const auto& change) {
      const std::string name = change.param.name;
      return name.substr(0, name.find(' '));
    });

TEST_F(OwnPortTest, AnOwnPortThatSomebodySetDownIsUpAgainBeforeTheNextLightSweep) {
  auto info = run_.model().port_info(run_.at());
  info.port_state = ib::wire::PortState::Down;
  stranger_->set(own_lid(), attr::kPortInfo, 1, info);
  run_.run_for(12s);
  EXPECT_THAT(run_.not_active(), testing::IsEmpty());
}

TEST_F(OwnPortTest, AStartWithoutTheDefaultPKeyPutsItBack) {
  ib::wire::PKeyTable limited;
  limited.p_keys[0] = ib::PKey{0x7FFF};
  limited.p_keys[1] = ib::PKey{0x8001};
  stranger_->set(own_lid(), attr::kPKeyTable, 0, limited);
  run_.run_for(100ms);
  run_.boot();
  ASSERT_TRUE(run_.run_until_reports(1));
  run_.run_for(1s);
  const auto keys = run_.model().p_keys(run_.at());
  EXPECT_EQ(keys.at(0), ib::kDefaultPKey);
  EXPECT_EQ(keys.at(1), ib::PKey{0}) << "without a partition file there is one partition";
}

// ---- LIDs of others

TEST_F(OwnPortTest, AHostWhoseLidSomebodyElseSetGetsItsOwnBack) {
  const Lid own = stranger_->lid();
  const auto give_it_another = [&] {
    auto info = run_.model().port_info(stranger_->at());
    info.port_state = ib::wire::PortState::NoChange;
    info.port_physical_state = ib::wire::PhysState::NoChange;
    info.lid = Lid{500};
    stranger_->set(stranger_->lid(), attr::kPortInfo, 1, info);
    run_.run_for(100ms);
    ASSERT_EQ(stranger_->lid(), Lid{500});
  };
  give_it_another();
  operator_sweeps();
  EXPECT_EQ(stranger_->lid(), own);
  EXPECT_THAT(run_.log(), testing::Contains(testing::HasSubstr(
                              fmt::format("holds LID 500, not assigned by this subnet manager; "
                                          "reassigning LID {}",
                                          own.value))));
  // And after a restart, which has the store only.
  give_it_another();
  run_.boot();
  ASSERT_TRUE(run_.run_until_reports(1));
  EXPECT_EQ(stranger_->lid(), own);
}

TEST_F(OwnPortTest, LidsOfAWholeFabricThatAnotherManagerGaveStand) {
  const auto held = run_.kept().lids;
  store::Contents old = run_.kept();
  for (store::LidClaim& claim : old.lids)
    claim.lid = Lid{static_cast<std::uint16_t>(claim.lid.value + 100)};
  run_.boot_with(old);
  ASSERT_TRUE(run_.run_until_reports(1));
  EXPECT_TRUE(run_.last().up());
  for (const store::LidClaim& claim : held) {
    const auto port = run_.model().topology().find_port_guid(claim.port_guid);
    ASSERT_TRUE(port);
    EXPECT_EQ(run_.model().port_info(*port).lid, claim.lid);
  }
}

// ---- an operator's sweep

TEST_F(OwnPortTest, AnOperatorsSweepFindsAForwardingTableThatSomebodyElseWrote) {
  const NodeIndex n = far_switch();
  std::vector<std::uint8_t> before;
  for (std::uint16_t lid = 0; lid < 64; ++lid) before.push_back(run_.model().lft(n, Lid{lid}));
  ib::wire::LinearForwardingTable nowhere;
  nowhere.port.fill(255);
  stranger_->set(lid_of(n), attr::kLinearForwarding, 0, nowhere);
  run_.run_for(1s);
  ASSERT_EQ(run_.model().lft(n, stranger_->lid()), 255) << "the Set took";
  operator_sweeps();
  for (std::uint16_t lid = 0; lid < 64; ++lid)
    EXPECT_EQ(run_.model().lft(n, Lid{lid}), before[lid]) << "LID " << lid;
}

TEST_F(OwnPortTest, AnOperatorsSweepReadsMulticastTablesBeyondTheFirstBlock) {
  std::vector<ib::Guid> members;
  for (const auto& claim : run_.kept().lids) members.push_back(claim.port_guid);
  const Lid mlid{static_cast<std::uint16_t>(ib::kLidMulticastMin.value + 40)};
  run_.sm().set_groups(run_.now(), {{mlid, members, {}}});
  run_.run_for(1s);
  const NodeIndex n = far_switch();
  unsigned set = 0, forged = 0;
  run_.watch([&](const ib::mad::Packet& p) {
    set += p.mad.attribute_id() == attr::kMulticastForwarding &&
           p.mad.method() == ib::wire::Method::Set;
    return true;
  });
  operator_sweeps();
  EXPECT_EQ(set, 0U) << "what is as it should be is not written again";
  stranger_->set(lid_of(n), attr::kMulticastForwarding, 1, ib::wire::MulticastForwardingTable{});
  run_.run_for(1s);
  operator_sweeps();
  forged = set;
  EXPECT_EQ(forged, 1U);
}

TEST_F(OwnPortTest, AnOperatorsSweepFindsAnAliasGuidThatSomebodyElseCleared) {
  const auto port = run_.model().topology().port(stranger_->at()).guid;
  run_.sm().set_aliases(run_.now(), {{port, {{1, ib::Guid{0xA1}}}}});
  run_.run_for(1s);
  ASSERT_EQ(run_.model().guids(stranger_->at()).at(1), ib::Guid{0xA1});
  stranger_->set(stranger_->lid(), attr::kGuidInfo, 0, ib::wire::GuidInfo{});
  run_.run_for(1s);
  ASSERT_EQ(run_.model().guids(stranger_->at()).at(1), ib::Guid{});
  operator_sweeps();
  EXPECT_EQ(run_.model().guids(stranger_->at()).at(1), ib::Guid{0xA1});
}

core::Options with_qos() {
  core::Options options;
  options.plan.qos = true;
  return options;
}
class OwnPortTestWithQos : public OwnPortTest {
 protected:
  OwnPortTestWithQos() : OwnPortTest(with_qos()) {}
};

TEST_F(OwnPortTestWithQos, AnOperatorsSweepFindsSlToVlAndArbitrationThatSomebodyElseWrote) {
  const auto row = run_.model().sl_to_vl(stranger_->at());
  const auto arbitration = run_.model().vl_arbitration(stranger_->at(), 1);
  ib::wire::SlToVlTable to_nowhere;
  to_nowhere.vl.fill(15);
  stranger_->set(stranger_->lid(), attr::kSlToVl, 0, to_nowhere);
  stranger_->set(stranger_->lid(), attr::kVlArbitration, 1U << 16, ib::wire::VlArbitrationTable{});
  run_.run_for(1s);
  ASSERT_NE(run_.model().sl_to_vl(stranger_->at()), row);
  ASSERT_NE(run_.model().vl_arbitration(stranger_->at(), 1), arbitration);
  operator_sweeps();
  EXPECT_EQ(run_.model().sl_to_vl(stranger_->at()), row);
  EXPECT_EQ(run_.model().vl_arbitration(stranger_->at(), 1), arbitration);
}

}  // namespace
}  // namespace sm::test
