// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What any host can change by one Set while there are no keys: the subnet manager's own port, the
// LID of another host, tables of switches. Found, said and put right.
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

class OwnDoor : public testing::Test {
 protected:
  explicit OwnDoor(core::Options options = {}) : run_(small_tree(), {}, std::move(options)) {
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
  Lid lid_of(NodeIndex n) { return run_.model().port_info({n, 0}).lid; }
  void operator_sweeps() {
    const auto reports = run_.reports();
    run_.sm().sweep_now(run_.now(), core::Reason::Operator);
    ASSERT_TRUE(run_.run_until_reports(reports + 1));
    EXPECT_TRUE(run_.last().up()) << testing::PrintToString(run_.last().lines);
  }

  SmOnModel run_;
  std::optional<Stranger> stranger_;
};

// ---- an operator's sweep

TEST_F(OwnDoor, AnOperatorsSweepFindsAForwardingTableThatSomebodyElseWrote) {
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

TEST_F(OwnDoor, AnOperatorsSweepReadsMulticastTablesBeyondTheFirstBlock) {
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

TEST_F(OwnDoor, AnOperatorsSweepFindsAnAliasGuidThatSomebodyElseCleared) {
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
class OwnDoorWithQos : public OwnDoor {
 protected:
  OwnDoorWithQos() : OwnDoor(with_qos()) {}
};

TEST_F(OwnDoorWithQos, AnOperatorsSweepFindsSlToVlAndArbitrationThatSomebodyElseWrote) {
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
