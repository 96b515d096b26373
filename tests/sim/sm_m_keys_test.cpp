// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// M_Keys of ports: given, kept, changed and taken back; ports that have somebody else's; and
// devices of which real ones differ from the model's other ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/sm_on_model.h"
#include "tests/sim/small_tree.h"

namespace sm::test {
namespace {

using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using std::chrono::seconds;
using testing::Contains;
using testing::HasSubstr;

constexpr std::uint64_t kKey = 0x1122334455667788, kOther = 0x99AABBCCDDEEFF00;

core::Options with_key(std::uint64_t key, std::uint8_t protection, std::uint16_t lease = 0) {
  core::Options options;
  options.m_keys.key = key;
  options.plan.m_key = plan::MKeyWant{key, lease, protection};
  return options;
}

std::vector<PortRef> end_ports(const ib::fabric::Fabric& fabric) {
  std::vector<PortRef> out;
  for (NodeIndex n = 0; n < fabric.nodes().size(); ++n)
    out.push_back({n, static_cast<std::uint8_t>(fabric.node(n).is_switch() ? 0 : 1)});
  return out;
}

class MKeysOnModel : public testing::Test {
 protected:
  void expect_all_hold(std::uint64_t key, unsigned protection) {
    for (const PortRef port : end_ports(run.model().topology())) {
      const auto info = run.model().port_info(port);
      EXPECT_EQ(info.m_key, key) << "node " << port.node;
      EXPECT_EQ(info.m_key_protect_bits, protection) << "node " << port.node;
      EXPECT_EQ(info.m_key_violations, 0U) << "node " << port.node;
    }
  }
  void expect_key_of_all(std::uint64_t key) {
    for (const PortRef port : end_ports(run.model().topology())) {
      EXPECT_EQ(run.model().port_info(port).m_key, key) << "node " << port.node;
      EXPECT_TRUE(run.sm().m_keys().known().contains(guid_of(port))) << "node " << port.node;
    }
  }
  ib::Guid guid_of(PortRef port) { return run.model().guids(port).front(); }
  void bring_up() {
    ASSERT_TRUE(run.run_until_reports(1));
    EXPECT_TRUE(run.last().up()) << testing::PrintToString(run.last().lines);
  }
  void sweep() {
    const std::size_t before = run.reports();
    run.sm().sweep_now(run.now(), core::Reason::Operator);
    ASSERT_TRUE(run.run_until_reports(before + 1));
    EXPECT_TRUE(run.last().up()) << testing::PrintToString(run.last().lines);
  }

  SmOnModel run{small_tree()};
};

TEST_F(MKeysOnModel, AreGivenToEveryEndPortAndNothingIsSentTwice) {
  for (const std::uint8_t protection : {std::uint8_t{1}, std::uint8_t{2}, std::uint8_t{3}}) {
    SCOPED_TRACE(int{protection});
    run.boot_as(with_key(kKey, protection));
    bring_up();
    expect_all_hold(kKey, protection);
    sweep();
    EXPECT_EQ(run.last().sets, 0U);
    expect_all_hold(kKey, protection);
    // After a restart, with nothing remembered.
    run.boot_without_memory();
    bring_up();
    expect_all_hold(kKey, protection);
  }
}

TEST_F(MKeysOnModel, AreKeptWhereNothingIsSaid) {
  run.boot_as(with_key(kKey, 0));
  bring_up();
  // Without the option the key is read, and used.
  run.boot_as({});
  bring_up();
  EXPECT_EQ(run.last().sets, 0U);
  expect_all_hold(kKey, 0);
  EXPECT_EQ(run.sm().m_keys().known().size(), end_ports(run.model().topology()).size());
}

TEST_F(MKeysOnModel, ThoseThatWereGivenBeforeAreKnownFromTheFile) {
  std::uint64_t key = kKey;
  for (const std::uint8_t protection : {std::uint8_t{1}, std::uint8_t{2}, std::uint8_t{3}}) {
    SCOPED_TRACE(int{protection});
    run.boot_as(with_key(key, protection));
    bring_up();
    key = ~key;  // at 2 and 3 even NodeInfo has no answer with another one
    auto options = with_key(key, protection);
    options.m_keys.of_ports = run.sm().m_keys().known();
    run.boot_as(options);
    bring_up();
    for (const PortRef port : end_ports(run.model().topology()))
      EXPECT_EQ(run.model().port_info(port).m_key, key) << "node " << port.node;
    sweep();
    EXPECT_EQ(run.last().sets, 0U);
  }
}

TEST_F(MKeysOnModel, AFileThatIsOlderThanThePortsIsOvercome) {
  for (const std::uint8_t protection : {std::uint8_t{1}, std::uint8_t{2}}) {
    SCOPED_TRACE(int{protection});
    run.boot_as(with_key(kKey, protection));
    bring_up();
    auto options = with_key(kKey, protection);
    for (const auto& [port, key] : run.sm().m_keys().known())
      options.m_keys.of_ports[port] = kOther;
    run.boot_as(options);
    run.run_for(seconds(60));
    ASSERT_GT(run.reports(), 0U);
    EXPECT_TRUE(run.last().up()) << testing::PrintToString(run.last().lines);
    expect_key_of_all(kKey);
    for (const auto& [port, key] : run.sm().m_keys().known()) EXPECT_EQ(key, kKey);
  }
}

TEST_F(MKeysOnModel, AnOwnPortThatAnswersNobodyWithoutAnotherKeyIsNamedUntilItAnswers) {
  run.boot_as(with_key(kKey, 2));
  bring_up();
  run.boot_as(with_key(kOther, 1));
  const std::size_t before = run.reports();
  run.run_for(seconds(30));
  EXPECT_EQ(run.reports(), before) << "nothing was found, and nothing is told of";
  EXPECT_THAT(run.log(), Contains(HasSubstr("own port does not answer SMPs, and nothing can be "
                                            "found")));
  run.boot_as(with_key(kKey, 2));
  bring_up();
  expect_key_of_all(kKey);
}

TEST_F(MKeysOnModel, PortsThatHideAnotherKeyAreNamed) {
  run.boot_as(with_key(kKey, 1));
  bring_up();
  run.boot_as(with_key(kOther, 1));
  ASSERT_TRUE(run.run_until_reports(1));
  EXPECT_THAT(run.log(), Contains(HasSubstr("protected by an M_Key that this subnet manager does "
                                            "not have")));
}

TEST_F(MKeysOnModel, APortIsOpenedAgain) {
  run.boot_as(with_key(kKey, 2));
  bring_up();
  auto options = with_key(kKey, 0);
  options.plan.m_key->key = 0;
  run.boot_as(options);
  bring_up();
  expect_all_hold(0, 0);
}

TEST_F(MKeysOnModel, ATrapFromAPortWithAKeyIsRepressed) {
  run.boot_as(with_key(kKey, 1));
  bring_up();
  const auto ports = end_ports(run.model().topology());
  const auto before = run.sm().counters().traps;
  run.model().set_is_sm(run.now(), ports.back(), true);
  run.run_for(seconds(30));
  EXPECT_EQ(run.sm().counters().traps, before + 1) << "it was repeated";
}

TEST_F(MKeysOnModel, ALeaseDoesNotRunOutWhereSomebodyTriesKeys) {
  run.boot_as(with_key(kKey, 1, 3));
  bring_up();
  const PortRef victim = end_ports(run.model().topology()).back();
  auto packet = ib::mad::smp_request(0, 0, run.model().port_info(victim).lid, ib::wire::Method::Set,
                                     ib::wire::attr::kPortInfo, 1, kOther);
  run.model().send(run.now(), victim, true, {packet.address, packet.mad, {}});
  run.run_for(seconds(10));
  EXPECT_EQ(run.model().port_info(victim).m_key_protect_bits, 1);
  EXPECT_EQ(run.model().port_info(victim).m_key, kKey);
}

// ---- other things that real devices do

TEST_F(MKeysOnModel, AnEnhancedPort0GetsTheMtuThatItCan) {
  const auto& fabric = run.model().topology();
  PortRef port0;
  for (NodeIndex n = 0; n < fabric.nodes().size(); ++n)
    if (fabric.node(n).is_switch() && fabric.node(n).enhanced_port0) port0 = {n, 0};
  ASSERT_NE(port0.node, ib::fabric::kNoNode);
  ASSERT_TRUE(run.model().set_trait(run.now(), port0.node, std::uint8_t{0}, "neighbor_mtu", "256"));
  run.boot_as({});
  bring_up();
  EXPECT_EQ(run.model().port_info(port0).neighbor_mtu, run.model().port_info(port0).mtu_cap);
}

TEST_F(MKeysOnModel, OurOwnTrapComesWithoutALid) {
  ASSERT_TRUE(run.model().set_trait(run.now(), run.at().node, {}, "traps_without_lid", "1"));
  run.boot_as({});
  bring_up();
  const auto reports = run.reports();
  const auto traps = run.sm().counters().traps;
  run.model().set_is_sm(run.now(), run.at(), true);
  run.model().set_is_sm(run.now(), run.at(), false);
  run.run_for(seconds(30));
  EXPECT_GT(run.sm().counters().traps, traps);
  EXPECT_LE(run.sm().counters().traps, traps + 2) << "it was not repressed";
  EXPECT_EQ(run.reports(), reports) << "no sweep for what we did ourselves";
}

}  // namespace
}  // namespace sm::test
