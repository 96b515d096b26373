// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// While routes are computed elsewhere, the subnet manager answers at once; and what it is told
// meanwhile is in what it programs in the end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/small_tree.h"
#include "tests/sim/stranger.h"
#include "tests/unit/sm/policy/policy_of.h"

namespace sm::test {
namespace {

using namespace std::chrono_literals;
using ib::wire::Method;
namespace attr = ib::wire::attr;

class Planning : public testing::Test {
 protected:
  Planning() {
    run_.watch([this](const ib::mad::Packet& p) {
      sent_.push_back(p);
      return true;
    });
  }

  /// A plan is being made, and everything else is done.
  void plan_and_wait() {
    run_.hold_plans();
    run_.sm().sweep_now(run_.now(), core::Reason::ChangeSeen);
    run_.run_for(5s);
    ASSERT_TRUE(run_.is_planning());
    sent_.clear();
  }
  void come_up() { ASSERT_TRUE(run_.run_until_reports(1) && run_.last().up()); }

  std::vector<const ib::mad::Packet*> sent_with(Method method, std::uint16_t attribute) const {
    std::vector<const ib::mad::Packet*> out;
    for (const auto& p : sent_)
      if (p.mad.method() == method && p.mad.attribute_id() == attribute) out.push_back(&p);
    return out;
  }
  /// What the subnet manager does without any time going by.
  void at_this_instant() { run_.run_for(0ns); }

  SmOnModel run_{small_tree()};
  std::vector<ib::mad::Packet> sent_;
};

ib::mad::Packet sm_info(Method method, ib::wire::SmState state) {
  ib::mad::Packet p;
  p.address = ib::mad::smi_address(ib::Lid{2});
  p.mad = ib::wire::make_mad(ib::wire::MgmtClass::SubnLid, method, attr::kSmInfo);
  ib::wire::SmInfo info;
  info.sm_state = state;
  ib::wire::set_body(p.mad, info);
  return p;
}

TEST_F(Planning, SmInfoIsAnsweredAtOnce) {
  come_up();
  plan_and_wait();
  run_.sm().on_packet(run_.now(), sm_info(Method::Get, ib::wire::SmState::NotActive));
  at_this_instant();
  auto answers = sent_with(Method::GetResp, attr::kSmInfo);
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(ib::wire::body<ib::wire::SmInfo>(answers[0]->mad).sm_state, ib::wire::SmState::Master);
  run_.sm().on_packet(run_.now(), sm_info(Method::Set, ib::wire::SmState::Standby));
  at_this_instant();
  EXPECT_EQ(sent_with(Method::GetResp, attr::kSmInfo).size(), 2U);
  EXPECT_TRUE(run_.is_planning());
}

TEST_F(Planning, OfTheFirstRoutesIsNoReasonToKeepAnybodyWaiting) {
  run_.hold_plans();
  run_.run_for(5s);
  ASSERT_TRUE(run_.is_planning());
  run_.sm().on_packet(run_.now(), sm_info(Method::Get, ib::wire::SmState::NotActive));
  at_this_instant();
  EXPECT_EQ(sent_with(Method::GetResp, attr::kSmInfo).size(), 1U);
  EXPECT_TRUE(sent_with(Method::Set, attr::kPortInfo).empty());
  run_.make_held_plan();
  come_up();
}

TEST_F(Planning, ATrapIsAnsweredAtOnceAndLookedAtAfterwards) {
  come_up();
  plan_and_wait();
  Stranger stranger(run_, Stranger::last_host(run_.model().topology()));
  ib::wire::Notice notice;
  notice.is_generic = true;
  notice.trap_number = ib::wire::trap::kCapabilityChange;
  notice.issuer_lid = stranger.lid();
  stranger.trap(notice);
  run_.run_for(1ms);
  EXPECT_EQ(sent_with(Method::TrapRepress, attr::kNotice).size(), 1U);
  EXPECT_TRUE(sent_with(Method::Get, attr::kPortInfo).empty());
  run_.make_held_plan();
  run_.run_for(5s);
  EXPECT_FALSE(sent_with(Method::Get, attr::kPortInfo).empty());
  EXPECT_TRUE(run_.last().up());
}

TEST_F(Planning, GroupsThatComeMeanwhileAreProgrammedAfterwards) {
  run_.hold_plans();
  run_.run_for(5s);
  plan::MlidGroup group;
  group.mlid = ib::Lid{0xC001};
  const auto& f = run_.model().topology();
  for (const auto at : {run_.at(), Stranger::last_host(f)})
    group.receivers.push_back(f.port(at).guid);
  run_.sm().set_groups(run_.now(), {group});
  run_.make_held_plan();
  run_.run_for(5s);
  EXPECT_TRUE(run_.last().up());
  EXPECT_FALSE(sent_with(Method::Set, attr::kMulticastForwarding).empty());
}

TEST_F(Planning, WhatTheOperatorChangedMeanwhileMakesItVain) {
  come_up();
  plan_and_wait();
  const auto& f = run_.model().topology();
  run_.sm().set_partitions(policy::test::policy_of("Default=0x7fff,ipoib : ALL=full ;\nred=0x1 : " +
                                                   to_string(f.port(Stranger::last_host(f)).guid) +
                                                   "=full ;\n"));
  run_.make_held_plan();
  EXPECT_THAT(run_.log(), testing::Contains(testing::HasSubstr("is dropped")));
  EXPECT_TRUE(sent_with(Method::Set, attr::kPKeyTable).empty());
  run_.run_for(5s);
  EXPECT_FALSE(sent_with(Method::Set, attr::kPKeyTable).empty());
  EXPECT_TRUE(run_.last().up());
}

TEST_F(Planning, ThatFailsIsAnErrorAndNoEnd) {
  come_up();
  plan_and_wait();
  const std::size_t before = run_.reports();
  core::PlanResult failed;
  failed.generation = run_.drop_held_plan();
  failed.planned.desired = ib::fail(ib::ErrorKind::Unavailable, "no memory");
  run_.sm().on_planned(run_.now(), std::move(failed));
  at_this_instant();
  ASSERT_EQ(run_.reports(), before + 1);
  EXPECT_THAT(run_.last().lines, testing::Contains("missing: no memory"));
  run_.run_for(30s);
  EXPECT_TRUE(run_.last().up()) << "the next sweep plans again";
}

}  // namespace
}  // namespace sm::test
