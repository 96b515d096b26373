// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Alias GUIDs on their way to the devices: written once, taken back, written again after a restart
// of the device; and what is not touched.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sm/device/tables/kinds.h"
#include "tests/sim/sm_on_model.h"
#include "tests/sim/small_tree.h"

namespace {

using namespace std::chrono_literals;
using ib::Guid;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using ib::wire::Method;
using sm::plan::PortAliases;
using sm::test::small_tree;
using sm::test::SmOnModel;

class AliasGuids : public ::testing::Test {
 protected:
  AliasGuids() {
    run_.watch([this](const ib::mad::Packet& packet) {
      const auto& mad = packet.mad;
      sets_ += mad.attribute_id() == ib::wire::attr::kGuidInfo && mad.method() == Method::Set;
      return true;
    });
    EXPECT_TRUE(run_.run_until_reports(1));
    EXPECT_TRUE(run_.last().up());
    const auto& f = run_.model().topology();
    for (NodeIndex n = 0; n < f.nodes().size(); ++n)
      if (f.node(n).type == ib::wire::NodeType::ChannelAdapter) hosts_.push_back({n, 1});
  }

  Guid guid(std::size_t host) { return run_.model().topology().port(hosts_[host]).guid; }
  std::vector<Guid> table(std::size_t host) { return run_.model().guids(hosts_[host]); }
  Guid entry(std::size_t host, std::size_t index) {
    const auto all = table(host);
    return index < all.size() ? all[index] : Guid{};
  }
  void set(const PortAliases& aliases) {
    run_.sm().set_aliases(run_.now(), aliases);
    run_.run_for(1s);
  }
  /// Set(GUIDInfo) since the last call.
  int sets() { return std::exchange(sets_, 0); }

  SmOnModel run_{small_tree()};
  std::vector<PortRef> hosts_;
  int sets_{0};
};

TEST_F(AliasGuids, NothingIsSetForNone) {
  run_.run_for(30s);
  EXPECT_EQ(sets(), 0);
}

TEST_F(AliasGuids, ReachThePortAtOnceAndOnlyOnce) {
  set({{guid(1), {{1, Guid{0xA1}}, {3, Guid{0xA3}}}}, {guid(2), {{7, Guid{0xB7}}}}});
  EXPECT_EQ(entry(1, 0), guid(1));
  EXPECT_EQ(entry(1, 1), Guid{0xA1});
  EXPECT_EQ(entry(1, 2), Guid{});
  EXPECT_EQ(entry(1, 3), Guid{0xA3});
  EXPECT_EQ(entry(2, 7), Guid{0xB7});
  EXPECT_EQ(entry(3, 1), Guid{}) << "others are left alone";
  EXPECT_EQ(sets(), 2);
  run_.sm().sweep_now(run_.now(), sm::core::Reason::Operator);
  run_.run_for(30s);
  EXPECT_EQ(sets(), 0);
}

TEST_F(AliasGuids, WhatChangesIsWrittenAndWhatIsGoneIsCleared) {
  set({{guid(1), {{1, Guid{0xA1}}, {2, Guid{0xA2}}}}});
  set({{guid(1), {{2, Guid{0xA4}}}}});
  EXPECT_EQ(entry(1, 1), Guid{});
  EXPECT_EQ(entry(1, 2), Guid{0xA4});
  set({});
  EXPECT_EQ(entry(1, 2), Guid{});
  EXPECT_EQ(entry(1, 0), guid(1));
  EXPECT_EQ(sets(), 3);
}

TEST_F(AliasGuids, AreWrittenAgainAfterAReboot) {
  set({{guid(1), {{1, Guid{0xA1}}}}});
  ASSERT_TRUE(run_.model().reboot(run_.now(), hosts_[1].node));
  EXPECT_EQ(entry(1, 1), Guid{});
  run_.run_for(30s);
  EXPECT_EQ(entry(1, 1), Guid{0xA1});
}

TEST_F(AliasGuids, ALinkThatOnlyBouncedIsReadAndLeftAlone) {
  set({{guid(1), {{1, Guid{0xA1}}}}});
  sets();
  ASSERT_TRUE(run_.model().link_down(run_.now(), hosts_[1]));
  run_.run_for(5s);
  ASSERT_TRUE(run_.model().link_up(run_.now(), hosts_[1]));
  run_.run_for(30s);
  EXPECT_EQ(entry(1, 1), Guid{0xA1});
  EXPECT_EQ(sets(), 0);
}

TEST_F(AliasGuids, WhatWasTakenBackMeanwhileIsClearedOnReturn) {
  set({{guid(1), {{1, Guid{0xA1}}}}});
  ASSERT_TRUE(run_.model().link_down(run_.now(), hosts_[1]));
  run_.run_for(30s);
  set({});
  EXPECT_EQ(entry(1, 1), Guid{0xA1}) << "out of reach";
  ASSERT_TRUE(run_.model().link_up(run_.now(), hosts_[1]));
  run_.run_for(30s);
  EXPECT_EQ(entry(1, 1), Guid{});
}

TEST_F(AliasGuids, ARestartedManagerReadsAndFindsThemRight) {
  const PortAliases aliases{{guid(1), {{1, Guid{0xA1}}}}};
  set(aliases);
  sets();
  run_.boot();
  run_.sm().set_aliases(run_.now(), aliases);
  ASSERT_TRUE(run_.run_until_reports(1));
  run_.run_for(5s);
  EXPECT_EQ(sets(), 0);
  EXPECT_EQ(entry(1, 1), Guid{0xA1});
}

/// Taken back, kept, answered, and dead before the port heard of it.
TEST_F(AliasGuids, WhatWasTakenBackJustBeforeACrashIsCleared) {
  const Guid theirs{0xC0FFEE};
  set({{guid(1), {{1, Guid{0xA1}}}}, {guid(2), {{5, theirs}}}});
  sets();
  // Of the second port nothing is in the store: somebody else's, as far as the next one knows.
  sm::store::Batch batch;
  batch.aliases = {{guid(1), 1, Guid{0xA1}}};
  run_.keep(batch);
  batch.aliases = {{guid(1), 1, Guid{}}};
  run_.keep(batch);
  run_.boot();
  ASSERT_TRUE(run_.run_until_reports(1));
  run_.run_for(5s);
  EXPECT_EQ(entry(1, 1), Guid{});
  EXPECT_EQ(entry(1, 0), guid(1));
  EXPECT_EQ(entry(2, 5), theirs);
  EXPECT_EQ(sets(), 1);
}

/// What the ports answered is told, with the revision of what they were asked for; so places that
/// were given back need not be remembered for ever.
TEST_F(AliasGuids, WhatPortsHoldIsTold) {
  const auto told = [&](std::size_t host) {
    const auto device_state = run_.sm().device_state();
    const auto& fabric = run_.model().topology();
    const auto* block = device_state->tables->held(
        sm::device::kGuidInfo, fabric.node(hosts_[host].node).guid, {hosts_[host].port, 0, 0});
    if (block == nullptr) return Guid{0xBAD};
    return ib::wire::decode<ib::wire::GuidInfo>(block->data()).guid[1];
  };
  run_.sm().set_aliases(run_.now(), {{guid(1), {{1, Guid{0xA1}}}}}, 7);
  EXPECT_NE(run_.sm().device_state()->aliases_revision, 7U) << "not yet";
  run_.run_for(1s);
  EXPECT_EQ(run_.sm().device_state()->aliases_revision, 7U);
  EXPECT_EQ(told(1), Guid{0xA1});
  EXPECT_EQ(told(2), Guid{}) << "was read and has none";
  ASSERT_TRUE(run_.model().link_down(run_.now(), hosts_[1]));
  run_.run_for(30s);
  run_.sm().set_aliases(run_.now(), {}, 8);
  run_.run_for(1s);
  EXPECT_EQ(run_.sm().device_state()->aliases_revision, 8U);
  EXPECT_EQ(told(1), Guid{0xBAD}) << "out of reach";
  ASSERT_TRUE(run_.model().link_up(run_.now(), hosts_[1]));
  run_.run_for(30s);
  EXPECT_EQ(told(1), Guid{});
  EXPECT_EQ(entry(1, 1), Guid{});
  // The same aliases under another number, as where one came and went meanwhile.
  run_.sm().set_aliases(run_.now(), {}, 10);
  run_.run_for(1s);
  EXPECT_EQ(run_.sm().device_state()->aliases_revision, 10U);
}

TEST_F(AliasGuids, SurviveLoss) {
  ib::sim::Faults faults;
  faults.loss_percent = 20;
  run_.model().set_faults(faults);
  PortAliases aliases;
  for (std::size_t h = 1; h < hosts_.size(); ++h) aliases[guid(h)][1] = Guid{0xA00 + h};
  set(aliases);
  run_.run_for(120s);
  for (std::size_t h = 1; h < hosts_.size(); ++h) EXPECT_EQ(entry(h, 1), Guid{0xA00 + h}) << h;
}

TEST_F(AliasGuids, EntriesBeyondTheTableAreNotAsked) {
  const auto capacity = run_.model().port_info(hosts_[1]).guid_cap;
  set({{guid(1),
        {{0, Guid{0xA0}},
         {static_cast<std::uint16_t>(capacity), Guid{0xAF}},
         {std::uint16_t{2040}, Guid{0xB0}}}}});
  EXPECT_EQ(sets(), 0);
  EXPECT_EQ(entry(1, 0), guid(1));
}

}  // namespace
