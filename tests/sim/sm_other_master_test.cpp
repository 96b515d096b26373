// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Another subnet manager on the subnet: asked what it is before anything is set.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/small_tree.h"
#include "tests/sim/stranger.h"

namespace sm::test {
namespace {

using namespace std::chrono_literals;
using ib::wire::Method;
using ib::wire::SmInfo;
using ib::wire::SmState;
namespace attr = ib::wire::attr;

class OtherMaster : public testing::Test {
 protected:
  /// A start beside a subnet manager at the last host, which answers SMInfo with `state`; nothing:
  /// it does not answer.
  void start_beside(std::optional<SmState> state, bool force = false) {
    core::Options options;
    options.mastership.ignore_others = force;
    run_ = std::make_unique<SmOnModel>(small_tree(), ib::sim::ModelOptions{}, options);
    const auto at = Stranger::last_host(run_->model().topology());
    run_->model().set_is_sm(run_->now(), at, true);
    guid_ = run_->model().topology().port(at).guid;
    std::optional<ib::mad::Packet> question;
    run_->watch([&](const ib::mad::Packet& p) {
      if (p.mad.method() == Method::Set) ++sets_;
      const bool asks = p.mad.attribute_id() == attr::kSmInfo;
      if (asks) question = p;
      return !asks;
    });
    run_->run_for(100ms);
    ASSERT_TRUE(question);
    EXPECT_EQ(sets_, 0U) << "nothing is set before it is known who is master";
    for (int i = 0; i < 200; ++i) {
      if (state && question) answer(*std::exchange(question, std::nullopt), *state);
      run_->run_for(100ms);
    }
    if (state)
      run_->watch([this](const ib::mad::Packet& p) {
        if (p.mad.method() == Method::Set) ++sets_;
        if (p.mad.attribute_id() != attr::kSmInfo) return true;
        questions_.push_back(p);
        return false;
      });
  }
  /// Questions are answered, each after some time.
  void answer_for(ib::Duration time) {
    for (const ib::Instant end = run_->now() + time; run_->now() < end; run_->run_for(100ms))
      for (auto& question : std::exchange(questions_, {})) {
        if (counts_) act_count_ += step_;
        answer(std::move(question), SmState::Master);
      }
  }
  static ib::Guid own_guid() {
    const auto tree = small_tree();
    return tree.port(SmOnModel::first_host(tree)).guid;
  }
  std::ptrdiff_t warnings() const {
    return std::ranges::count_if(run_->log(), [](const std::string& line) {
      return line.find("answers and does nothing") != std::string::npos;
    });
  }
  void answer(ib::mad::Packet packet, SmState state) {
    SmInfo info;
    info.act_count = act_count_;
    info.guid = claims_.value_or(guid_);
    info.priority = 3;
    info.sm_state = state;
    packet.mad.set<&ib::wire::MadHeader::method>(Method::GetResp);
    ib::wire::set_body(packet.mad, info);
    run_->sm().on_packet(run_->now(), packet);
  }

  std::unique_ptr<SmOnModel> run_;
  ib::Guid guid_;
  std::optional<ib::Guid> claims_;  // that it says is its own
  unsigned sets_{0};
  std::vector<ib::mad::Packet> questions_;
  std::uint32_t act_count_{5}, step_{1};
  bool counts_{true};
};

TEST_F(OtherMaster, IsLeftAlone) {
  start_beside(SmState::Master);
  EXPECT_EQ(sets_, 0U);
  EXPECT_EQ(run_->reports(), 0U);
  const auto& mastership = run_->sm().mastership();
  EXPECT_EQ(mastership.state(), SmState::Standby);
  EXPECT_THAT(mastership.status().why,
              testing::AllOf(testing::HasSubstr("another subnet manager is master"),
                             testing::HasSubstr(to_string(guid_)),
                             testing::HasSubstr("MASTER, priority 3")));
}

TEST_F(OtherMaster, IsOverruledWhereTheOperatorSaysSo) {
  start_beside(SmState::Master, true);
  EXPECT_GT(sets_, 0U);
  EXPECT_TRUE(run_->last().up());
}

TEST_F(OtherMaster, AStandbyOrOneThatDoesNotAnswerHoldsNobodyUp) {
  for (const auto state : {std::optional(SmState::Standby), std::optional<SmState>()}) {
    sets_ = 0;
    start_beside(state);
    EXPECT_TRUE(run_->sm().mastership().is_master());
    EXPECT_TRUE(run_->last().up());
  }
}

/// ActCount is a heartbeat. What hangs is named once, and again when it hangs again; nobody becomes
/// a second master for that.
TEST_F(OtherMaster, ThatAnswersAndDoesNothingIsNamed) {
  start_beside(SmState::Master);
  answer_for(10min);
  EXPECT_EQ(warnings(), 0);
  counts_ = false;
  answer_for(4min);
  EXPECT_EQ(warnings(), 0);
  answer_for(10min);
  EXPECT_EQ(warnings(), 1);
  counts_ = true;
  answer_for(1min);
  counts_ = false;
  answer_for(6min);
  EXPECT_EQ(warnings(), 2);
  EXPECT_FALSE(run_->sm().mastership().is_master());
  EXPECT_EQ(sets_, 0U);
}

/// It was master of what it reached for a moment, and told a switch other things.
TEST_F(OtherMaster, WhatOneThatStartedHasToldSwitchesIsPutRight) {
  run_ = std::make_unique<SmOnModel>(small_tree());
  ASSERT_TRUE(run_->run_until_reports(1));
  run_->run_for(1s);
  const auto& f = run_->model().topology();
  const auto at = Stranger::last_host(f);
  guid_ = f.port(at).guid;
  Stranger stranger(*run_, at);
  const ib::fabric::NodeIndex n = f.port(at).peer.node;
  const ib::Lid lid = run_->model().port_info({n, 0}).lid;
  const ib::Lid cut_off = run_->model().port_info({f.port(run_->at()).peer.node, 0}).lid;
  auto info = run_->model().port_info({n, 0});
  info.master_sm_lid = stranger.lid();
  info.port_state = ib::wire::PortState::NoChange;
  info.port_physical_state = ib::wire::PhysState::NoChange;
  stranger.set(lid, attr::kPortInfo, 0, info);
  ib::wire::LinearForwardingTable table;
  for (std::uint16_t i = 0; i < 64; ++i) table.port[i] = run_->model().lft(n, ib::Lid{i});
  const std::uint8_t port = std::exchange(table.port[cut_off.value], std::uint8_t{255});
  stranger.set(lid, attr::kLinearForwarding, 0, table);
  run_->run_for(100ms);
  ASSERT_EQ(run_->model().lft(n, cut_off), 255) << "the Set took";
  ASSERT_EQ(run_->model().port_info({n, 0}).master_sm_lid, stranger.lid()) << "the Set took";

  run_->watch([this](const ib::mad::Packet& p) {
    if (p.mad.attribute_id() != attr::kSmInfo) return true;
    questions_.push_back(p);
    return false;
  });
  run_->model().set_is_sm(run_->now(), at, true);
  for (int i = 0; i < 50; ++i) {
    run_->run_for(100ms);
    for (auto& question : std::exchange(questions_, {}))
      answer(std::move(question), SmState::Standby);
  }
  EXPECT_TRUE(run_->sm().mastership().is_master());
  EXPECT_EQ(run_->model().lft(n, cut_off), port);
  EXPECT_EQ(run_->model().port_info({n, 0}).master_sm_lid, run_->model().port_info(run_->at()).lid);
}

/// It was master of what it reached while a cable was out, and nobody hears of it any more but by
/// what a host was told that had been told who this one is.
TEST_F(OtherMaster, WhomAHostNamesThatWasToldOtherwiseMayHaveToldSwitchesOtherTables) {
  run_ = std::make_unique<SmOnModel>(small_tree());
  ASSERT_TRUE(run_->run_until_reports(1));
  run_->run_for(15s);
  const auto& f = run_->model().topology();
  Stranger stranger(*run_, Stranger::last_host(f));
  const ib::fabric::PortRef told{stranger.at().node - 1, 1};
  const ib::fabric::NodeIndex n = f.port(run_->at()).peer.node;
  ASSERT_NE(f.port(told).peer.node, n);
  const ib::Lid switch_lid = run_->model().port_info({n, 0}).lid;
  const ib::Lid lid = run_->model().port_info(told).lid,
                own = run_->model().port_info(run_->at()).lid;
  const auto is_told = [&] {
    auto info = run_->model().port_info(told);
    info.master_sm_lid = stranger.lid();
    info.port_state = ib::wire::PortState::NoChange;
    info.port_physical_state = ib::wire::PhysState::NoChange;
    stranger.set(lid, attr::kPortInfo, 0, info);
    ib::wire::LinearForwardingTable table;
    for (std::uint16_t i = 0; i < 64; ++i) table.port[i] = run_->model().lft(n, ib::Lid{i});
    table.port[lid.value] = 255;
    stranger.set(switch_lid, attr::kLinearForwarding, 0, table);
    run_->run_for(100ms);
    ASSERT_EQ(run_->model().lft(n, lid), 255) << "the Set took";
    ASSERT_EQ(run_->model().port_info(told).master_sm_lid, stranger.lid()) << "the Set took";
    ASSERT_TRUE(run_->model().link_down(run_->now(), told));
    ASSERT_TRUE(run_->model().link_up(run_->now(), told));
  };
  const std::uint8_t port = run_->model().lft(n, lid);
  const auto before = run_->sm().counters();
  is_told();
  run_->run_for(2s);
  EXPECT_EQ(run_->model().lft(n, lid), port);
  EXPECT_EQ(run_->model().port_info(told).master_sm_lid, own);
  EXPECT_EQ(run_->sm().counters().full_sweeps, before.full_sweeps + 1);
  // Who can write that to a host does not have all of the fabric read as often as it likes.
  is_told();
  run_->run_for(2s);
  EXPECT_EQ(run_->model().port_info(told).master_sm_lid, own);
  EXPECT_EQ(run_->sm().counters().full_sweeps, before.full_sweeps + 1);
  run_->run_for(10s);
  EXPECT_EQ(run_->model().lft(n, lid), port);
  EXPECT_EQ(run_->sm().counters().full_sweeps, before.full_sweeps + 2);
}

/// Likewise where the LID of that one was ours, which ports name: they hold LIDs that they were not
/// given here. Of those that a sweep of a part does not look at our own does.
TEST_F(OtherMaster, ThatHadOurLidGaveLidsThatTellOfIt) {
  for (const bool our_own : {false, true}) {
    SCOPED_TRACE(our_own);
    run_ = std::make_unique<SmOnModel>(small_tree());
    ASSERT_TRUE(run_->run_until_reports(1));
    run_->run_for(15s);
    const auto& f = run_->model().topology();
    Stranger stranger(*run_, Stranger::last_host(f));
    const ib::fabric::PortRef told{stranger.at().node - 1, 1}, given = our_own ? run_->at() : told;
    const ib::fabric::NodeIndex n = f.port(run_->at()).peer.node;
    ASSERT_NE(f.port(told).peer.node, n);
    const ib::Lid lid = run_->model().port_info(told).lid, own = run_->model().port_info(given).lid;
    ib::wire::LinearForwardingTable table;
    for (std::uint16_t i = 0; i < 64; ++i) table.port[i] = run_->model().lft(n, ib::Lid{i});
    const std::uint8_t port = std::exchange(table.port[lid.value], std::uint8_t{255});
    stranger.set(run_->model().port_info({n, 0}).lid, attr::kLinearForwarding, 0, table);
    const auto give = [&] {
      auto info = run_->model().port_info(given);
      info.lid = ib::Lid{500};
      info.port_state = ib::wire::PortState::NoChange;
      info.port_physical_state = ib::wire::PhysState::NoChange;
      stranger.set(own, attr::kPortInfo, 0, info);
      run_->run_for(10ms);
      ASSERT_EQ(run_->model().port_info(given).lid, ib::Lid{500}) << "the Set took";
    };
    if (!our_own) give();
    const auto before = run_->sm().counters();
    ASSERT_TRUE(run_->model().link_down(run_->now(), told));
    ASSERT_TRUE(run_->model().link_up(run_->now(), told));
    while (run_->sm().counters().traps == before.traps) run_->run_for(1ms);
    if (our_own) give();
    ASSERT_EQ(run_->model().lft(n, lid), 255) << "the Set took";
    ASSERT_EQ(run_->sm().counters().partial_sweeps, before.partial_sweeps);
    run_->run_for(2s);
    EXPECT_EQ(run_->model().lft(n, lid), port);
    EXPECT_EQ(run_->model().port_info(given).lid, own);
    EXPECT_EQ(run_->sm().counters().partial_sweeps, before.partial_sweeps + 1);
    EXPECT_EQ(run_->sm().counters().full_sweeps, before.full_sweeps + 1);
  }
}

/// It started while the way there was out, and was master after its switch had been read.
TEST_F(OtherMaster, ThatProgrammedASwitchDuringTheFirstSweepIsLookedForBeforeAnythingIsSet) {
  run_ = std::make_unique<SmOnModel>(small_tree());
  run_->hold_plans();
  run_->run_for(100ms);
  ASSERT_TRUE(run_->is_planning());
  Stranger stranger(*run_, Stranger::last_host(run_->model().topology()));
  const auto at = run_->model().topology().port(stranger.at()).peer.node;
  auto info = run_->model().switch_info(at);
  ASSERT_TRUE(info.port_state_change);
  info.linear_fdb_top = 63;
  stranger.set(ib::mad::DirectedRoute{{stranger.at().port}}, attr::kSwitchInfo, 0, info);
  run_->run_for(10ms);
  ASSERT_EQ(run_->model().switch_info(at).linear_fdb_top, 63) << "the Set took";
  run_->watch([&](const ib::mad::Packet& p) {
    if (p.mad.method() == Method::Set && run_->sm().counters().full_sweeps == 1) ++sets_;
    return true;
  });
  run_->make_held_plan();
  ASSERT_TRUE(run_->run_until_reports(1));
  EXPECT_EQ(sets_, 0U);
  EXPECT_EQ(run_->sm().counters().full_sweeps, 2U);
  EXPECT_TRUE(run_->last().up());
}

/// A plan took long, and our own link was down meanwhile: another one may have told switches other
/// tables, and have cleared what they said.
TEST_F(OtherMaster, ThatProgrammedSwitchesWhileWeWereCutOffIsLookedForBeforeTablesAreWritten) {
  run_ = std::make_unique<SmOnModel>(small_tree());
  ASSERT_TRUE(run_->run_until_reports(1));
  run_->run_for(15s);
  const auto& f = run_->model().topology();
  const ib::fabric::NodeIndex leaf = f.port(Stranger::last_host(f)).peer.node;
  ib::fabric::PortRef link;
  for (unsigned p = 1; p <= f.node(leaf).num_ports; ++p)
    if (const ib::fabric::PortRef at{leaf, static_cast<std::uint8_t>(p)};
        f.port(at).peer && f.node(f.port(at).peer.node).is_switch())
      link = at;
  run_->hold_plans();
  ASSERT_TRUE(run_->model().link_down(run_->now(), link));
  run_->run_for(2s);
  ASSERT_TRUE(run_->is_planning());
  ASSERT_TRUE(run_->model().link_down(run_->now(), run_->at()));
  ASSERT_TRUE(run_->model().link_up(run_->now(), run_->at()));
  while (run_->model().port_info(run_->at()).port_state != ib::wire::PortState::Initialize)
    run_->run_for(1ms);
  std::size_t tables = 0;
  const auto sweeps = [&] {
    const auto& counters = run_->sm().counters();
    return counters.full_sweeps + counters.partial_sweeps;
  };
  run_->watch([&, before = sweeps()](const ib::mad::Packet& p) {
    if (p.mad.attribute_id() != attr::kLinearForwarding) return true;
    if (sweeps() != before)
      ++tables;
    else if (p.mad.method() == Method::Set)
      ++sets_;
    return true;
  });
  run_->make_held_plan();
  run_->run_for(2s);
  EXPECT_EQ(sets_, 0U);
  EXPECT_GT(tables, 0U) << "they are read, and written after another sweep";
  EXPECT_TRUE(run_->last().up());
}

/// Likewise where a sweep missed the host meanwhile, which had been told otherwise before.
TEST_F(OtherMaster, WhomAHostNamesThatWasCutOffMayHaveToldSwitchesOtherTables) {
  run_ = std::make_unique<SmOnModel>(small_tree());
  const auto& f = run_->model().topology();
  Stranger stranger(*run_, Stranger::last_host(f));
  const ib::fabric::PortRef told{stranger.at().node - 1, 1};
  const ib::fabric::NodeIndex n = f.port(run_->at()).peer.node, leaf = f.port(told).peer.node;
  ASSERT_EQ(f.port(stranger.at()).peer.node, leaf);
  ASSERT_NE(leaf, n);
  // Entries of the part that is cut off are in another block than those of the rest.
  store::Contents contents;
  std::uint16_t next = 100;
  std::vector<ib::fabric::PortRef> uplinks;
  contents.lids.push_back({f.port(leaf, 0).guid, ib::Lid{next++}, 0});
  for (unsigned p = 1; p <= f.node(leaf).num_ports; ++p) {
    const ib::fabric::PortRef at{leaf, static_cast<std::uint8_t>(p)}, far = f.port(at).peer;
    if (!far) continue;
    if (f.node(far.node).is_switch())
      uplinks.push_back(at);
    else
      contents.lids.push_back({f.port(far).guid, ib::Lid{next++}, 0});
  }
  run_->boot_with(contents);
  ASSERT_TRUE(run_->run_until_reports(1));
  run_->run_for(15s);
  const ib::Lid lid = run_->model().port_info(told).lid,
                there = run_->model().port_info(run_->at()).lid;
  ASSERT_GE(lid.value, 100);
  ASSERT_LT(there.value, 64);
  for (const auto at : uplinks) ASSERT_TRUE(run_->model().link_down(run_->now(), at));
  run_->run_for(2s);
  auto info = run_->model().port_info(told);
  info.master_sm_lid = stranger.lid();
  info.port_state = ib::wire::PortState::NoChange;
  info.port_physical_state = ib::wire::PhysState::NoChange;
  stranger.set(lid, attr::kPortInfo, 0, info);
  run_->run_for(100ms);
  ASSERT_EQ(run_->model().port_info(told).master_sm_lid, stranger.lid()) << "the Set took";
  for (const auto at : uplinks) ASSERT_TRUE(run_->model().link_up(run_->now(), at));
  while (run_->model().port_info(uplinks.front()).port_state == ib::wire::PortState::Down)
    run_->run_for(1ms);
  ib::wire::LinearForwardingTable table;
  for (std::uint16_t i = 0; i < 64; ++i) table.port[i] = run_->model().lft(n, ib::Lid{i});
  const std::uint8_t port = table.port[there.value];
  table.port[there.value] = 255;
  const ib::fabric::NodeIndex spine = f.port(uplinks.front()).peer.node;
  ib::mad::DirectedRoute route{{stranger.at().port, uplinks.front().port}};
  for (unsigned p = 1; p <= f.node(spine).num_ports; ++p)
    if (f.port(spine, p).peer.node == n && route.hops.size() == 2)
      route = route.extended(static_cast<std::uint8_t>(p));
  auto request = ib::mad::smp_request(0, 0, route, Method::Set, attr::kLinearForwarding, 0);
  ib::wire::set_body(request.mad, table);
  stranger.send(request.address, request.mad);
  run_->run_for(10ms);
  ASSERT_EQ(run_->model().lft(n, there), 255) << "the Set took";
  run_->run_for(5s);
  EXPECT_EQ(run_->model().lft(n, there), port);
}

/// Of a part that was cut off, where a host was rebooted since and names nobody any more.
TEST_F(OtherMaster, ThatAHostNamesMayHaveAnsweredThoseWhoNameNobody) {
  run_ = std::make_unique<SmOnModel>(small_tree());
  ASSERT_TRUE(run_->run_until_reports(1));
  run_->run_for(15s);
  const auto& f = run_->model().topology();
  Stranger stranger(*run_, Stranger::last_host(f));
  const ib::fabric::PortRef told{stranger.at().node - 1, 1};
  const ib::fabric::NodeIndex leaf = f.port(told).peer.node;
  std::vector<ib::fabric::PortRef> uplinks;
  for (unsigned p = 1; p <= f.node(leaf).num_ports; ++p)
    if (const ib::fabric::PortRef at{leaf, static_cast<std::uint8_t>(p)};
        f.port(at).peer && f.node(f.port(at).peer.node).is_switch())
      uplinks.push_back(at);
  for (const auto at : uplinks) ASSERT_TRUE(run_->model().link_down(run_->now(), at));
  run_->run_for(2s);
  auto info = run_->model().port_info(told);
  info.master_sm_lid = stranger.lid();
  info.port_state = ib::wire::PortState::NoChange;
  info.port_physical_state = ib::wire::PhysState::NoChange;
  stranger.set(info.lid, attr::kPortInfo, 0, info);
  run_->run_for(100ms);
  ASSERT_EQ(run_->model().port_info(told).master_sm_lid, stranger.lid()) << "the Set took";
  ASSERT_TRUE(run_->model().reboot(run_->now(), stranger.at().node));
  run_->run_for(1s);
  for (const auto at : uplinks) ASSERT_TRUE(run_->model().link_up(run_->now(), at));
  run_->run_for(5s);
  EXPECT_THAT(run_->kept().clients_in_doubt,
              testing::IsSupersetOf({f.port(told).guid, f.port(stranger.at()).guid}));
}

/// It swept between the trap and the sweep that the trap called for: switches do not say any more
/// that a link came back.
TEST_F(OtherMaster, ThatClearsWhatSwitchesSayBeforeTheyAreSweptHidesNoLink) {
  run_ = std::make_unique<SmOnModel>(small_tree());
  ASSERT_TRUE(run_->run_until_reports(1));
  run_->run_for(15s);
  const auto& f = run_->model().topology();
  Stranger stranger(*run_, Stranger::last_host(f));
  ib::fabric::PortRef link;
  const ib::fabric::NodeIndex leaf = f.port(stranger.at()).peer.node;
  for (unsigned p = 1; p <= f.node(leaf).num_ports; ++p)
    if (const ib::fabric::PortRef at{leaf, static_cast<std::uint8_t>(p)};
        f.port(at).peer && f.node(f.port(at).peer.node).is_switch())
      link = at;
  ASSERT_TRUE(link);
  const ib::fabric::PortRef far = f.port(link).peer;
  ASSERT_TRUE(run_->model().link_down(run_->now(), link));
  run_->run_for(2s);
  ASSERT_TRUE(run_->model().link_up(run_->now(), link));
  const auto traps = run_->sm().counters().traps;
  while (run_->sm().counters().traps < traps + 2) run_->run_for(1ms);
  run_->run_for(10ms);  // the look that follows
  const auto before = run_->reports();
  for (const ib::fabric::NodeIndex n : {link.node, far.node}) {
    ASSERT_TRUE(run_->model().switch_info(n).port_state_change);
    stranger.set(run_->model().port_info({n, 0}).lid, attr::kSwitchInfo, 0,
                 run_->model().switch_info(n));
  }
  run_->run_for(10ms);
  for (const ib::fabric::NodeIndex n : {link.node, far.node})
    ASSERT_FALSE(run_->model().switch_info(n).port_state_change) << "the Set took";
  ASSERT_EQ(run_->reports(), before);
  ASSERT_TRUE(run_->run_until_reports(before + 1));
  EXPECT_TRUE(run_->last().up());
  EXPECT_EQ(run_->not_active().size(), 0U);
}

/// Likewise what a light sweep has heard that does not end, since a sweep of another part is due.
TEST_F(OtherMaster, ThatClearsWhatALightSweepHeardThatWasLeftHidesNoLink) {
  core::Options options;
  options.act_on_traps = false;
  run_ = std::make_unique<SmOnModel>(small_tree(), ib::sim::ModelOptions{}, options);
  ASSERT_TRUE(run_->run_until_reports(1));
  run_->run_for(15s);
  const auto& f = run_->model().topology();
  Stranger stranger(*run_, Stranger::last_host(f));
  const ib::fabric::PortRef host{stranger.at().node - 1, 1}, near = f.port(host).peer;
  ASSERT_TRUE(run_->model().link_down(run_->now(), host));
  ASSERT_TRUE(run_->model().link_up(run_->now(), host));
  // The nearest switch does not answer, so the light sweep goes on.
  unsigned heard = 0;
  run_->watch([&](const ib::mad::Packet& packet) {
    return packet.mad.attribute_id() != attr::kSwitchInfo ||
           packet.mad.get<&ib::wire::SmpHeader::hop_count>() > 1;
  });
  run_->listen([&](const ib::mad::Packet& packet) {
    heard += packet.mad.attribute_id() == attr::kSwitchInfo &&
             ib::wire::body<ib::wire::SwitchInfo>(packet.mad).port_state_change;
  });
  run_->sm().light_sweep_now(run_->now());
  run_->run_for(10ms);
  ASSERT_EQ(heard, 1U);
  run_->watch(SmOnModel::Watch{});
  stranger.set(run_->model().port_info({near.node, 0}).lid, attr::kSwitchInfo, 0,
               run_->model().switch_info(near.node));
  run_->run_for(1ms);
  ASSERT_FALSE(run_->model().switch_info(near.node).port_state_change) << "the Set took";
  const auto before = run_->reports();
  run_->sm().on_untold_clients(run_->now(), {f.port(stranger.at()).guid});
  ASSERT_TRUE(run_->run_until_reports(before + 1));
  EXPECT_TRUE(run_->last().up());
  EXPECT_EQ(run_->not_active().size(), 0U);
}

/// It cleared what a switch says before anybody asked: one that can tell the states of its ports
/// tells of the link by the next light sweep.
TEST_F(OtherMaster, ThatClearsWhatSwitchesSayHidesNoLinkOfAStateTable) {
  core::Options options;
  options.act_on_traps = false;
  run_ = std::make_unique<SmOnModel>(small_tree(), ib::sim::ModelOptions{}, options);
  const auto& f = run_->model().topology();
  Stranger stranger(*run_, Stranger::last_host(f));
  const ib::fabric::PortRef host{stranger.at().node - 1, 1}, near = f.port(host).peer;
  ASSERT_TRUE(run_->model().set_trait(run_->now(), near.node, {}, "port_state_table", "1"));
  ASSERT_TRUE(run_->run_until_reports(1));
  run_->run_for(15s);
  ASSERT_TRUE(run_->model().link_down(run_->now(), host));
  ASSERT_TRUE(run_->model().link_up(run_->now(), host));
  run_->run_for(1s);
  stranger.set(run_->model().port_info({near.node, 0}).lid, attr::kSwitchInfo, 0,
               run_->model().switch_info(near.node));
  run_->run_for(1ms);
  ASSERT_FALSE(run_->model().switch_info(near.node).port_state_change) << "the Set took";
  const auto before = run_->sm().counters();
  run_->sm().light_sweep_now(run_->now());
  run_->run_for(1s);
  EXPECT_EQ(run_->not_active().size(), 0U);
  EXPECT_EQ(run_->sm().counters().partial_sweeps, before.partial_sweeps + 1);
  EXPECT_EQ(run_->sm().counters().full_sweeps, before.full_sweeps);
}

/// While a sweep that reads back is under way another one is heard, and it is swept once more.
TEST_F(OtherMaster, ThatIsHeardDuringAnOperatorsSweepTakesNothingFromIt) {
  run_ = std::make_unique<SmOnModel>(small_tree());
  ASSERT_TRUE(run_->run_until_reports(1));
  run_->run_for(1s);
  const auto& f = run_->model().topology();
  Stranger stranger(*run_, Stranger::last_host(f));
  const ib::fabric::NodeIndex n = f.port(stranger.at()).peer.node;
  const auto port = run_->model().lft(n, stranger.lid());
  ib::wire::LinearForwardingTable nowhere;
  nowhere.port.fill(255);
  stranger.set(run_->model().port_info({n, 0}).lid, attr::kLinearForwarding, 0, nowhere);
  run_->run_for(1s);
  ASSERT_EQ(run_->model().lft(n, stranger.lid()), 255) << "the Set took";

  run_->watch([this](const ib::mad::Packet& p) {
    if (p.mad.attribute_id() != attr::kSmInfo || p.mad.method() != Method::Get) return true;
    questions_.push_back(p);
    return false;
  });
  auto faults = run_->model().faults();
  faults.delay = 1ms;
  run_->model().set_faults(faults);
  const auto full = run_->sm().counters().full_sweeps;
  const auto reports = run_->reports();
  run_->sm().sweep_now(run_->now(), core::Reason::Operator);
  auto request = ib::mad::smp_request(0, 0, run_->model().port_info(run_->at()).lid, Method::Get,
                                      attr::kSmInfo, 0);
  request.mad.set<&ib::wire::MadHeader::tid>(ib::Tid{0x77});
  run_->sm().on_packet(run_->now(), {ib::mad::smi_address(stranger.lid()), request.mad, {}});
  run_->run_for(1ms);
  ASSERT_EQ(questions_.size(), 1U) << "who asks there";
  guid_ = ib::Guid{0x1234};
  answer(std::exchange(questions_, {}).front(), SmState::Master);
  ASSERT_TRUE(run_->run_until_reports(static_cast<unsigned>(reports + 1)));
  EXPECT_EQ(run_->sm().counters().full_sweeps, full + 2);
  EXPECT_EQ(run_->model().lft(n, stranger.lid()), port);
}

/// As after a restart, or as a liar has it.
TEST_F(OtherMaster, WhoseActCountGoesBackwardsIsAsAnyOther) {
  start_beside(SmState::Master);
  step_ = ~0U;
  answer_for(10min);
  EXPECT_EQ(warnings(), 0);
  EXPECT_FALSE(run_->sm().mastership().is_master());
  EXPECT_EQ(sets_, 0U);
}

/// Each answer is as that of one that started since, and a sweep takes longer than such a start
/// calls for the next one.
TEST_F(OtherMaster, ThatStartsAgainAndAgainKeepsNobodyFromBeingTold) {
  core::Options options;
  options.transactor.timeout_start = options.transactor.timeout_floor = 2s;
  options.transactor.timeout_ceiling = 2s;
  run_ = std::make_unique<SmOnModel>(small_tree(), ib::sim::ModelOptions{}, options);
  ASSERT_TRUE(run_->run_until_reports(1));
  const auto at = Stranger::last_host(run_->model().topology());
  guid_ = run_->model().topology().port(at).guid;
  run_->watch([this](const ib::mad::Packet& p) {
    if (p.mad.attribute_id() != attr::kSmInfo) return true;
    questions_.push_back(p);
    return false;
  });
  auto faults = run_->model().faults();
  faults.delay = 400ms;
  run_->model().set_faults(faults);
  run_->model().set_is_sm(run_->now(), at, true);
  const auto before = run_->reports();
  act_count_ = 1'000'000;
  for (const ib::Instant end = run_->now() + 5min; run_->now() < end; run_->run_for(100ms))
    for (auto& question : std::exchange(questions_, {})) {
      --act_count_;
      answer(std::move(question), SmState::Standby);
    }
  EXPECT_LT(act_count_, 1'000'000 - 10) << "it was asked in each";
  EXPECT_GT(run_->reports(), before + 3);
}

/// A GUID of somebody else's ranks nobody: what says so is named, once, and counts for nothing.
TEST_F(OtherMaster, ThatSaysItsGuidIsOursIsNamedAndLeftOutOfTheElection) {
  for (const bool is_ours : {true, false}) {
    sets_ = 0;
    claims_ = is_ours ? own_guid() : ib::Guid{0x1234};
    start_beside(SmState::Master);
    answer_for(2min);
    EXPECT_TRUE(run_->sm().mastership().is_master());
    EXPECT_TRUE(run_->last().up());
    EXPECT_EQ(std::ranges::count_if(run_->log(),
                                    [&](const std::string& line) {
                                      return line.find("left out of the election") != line.npos &&
                                             line.find(to_string(guid_)) != line.npos &&
                                             (line.find("which is ours") != line.npos) == is_ours;
                                    }),
              1);
  }
}

}  // namespace
}  // namespace sm::test
