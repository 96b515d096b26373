// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A subnet manager that starts on a fabric which is as it should be reads what it needs to know
// that, and sets nothing. What devices hold and should not, it finds by what they say is in use.
#include <gtest/gtest.h>

#include <set>

#include "libdiag/fabric/generate.h"
#include "tests/sim/sm_on_model.h"
#include "tests/sim/unconfigured.h"

namespace sm::test {
namespace {

using ib::Lid;
using ib::wire::Method;
using std::chrono::seconds;
namespace attr = ib::wire::attr;

/// Leaves of 36 ports, half of them with hosts: port masks of three positions.
ib::fabric::Fabric two_levels() {
  ib::fabric::FatTree tree;
  tree.leaves = 3;
  tree.spines = 2;
  tree.hosts_per_leaf = 18;
  return unconfigured(tree);
}

std::vector<plan::MlidGroup> groups(const ib::fabric::Fabric& fabric, unsigned count) {
  std::vector<ib::Guid> hosts;
  for (ib::fabric::NodeIndex n = 0; n < fabric.nodes().size(); ++n)
    if (!fabric.node(n).is_switch()) hosts.push_back(fabric.port(n, 1).guid);
  std::vector<plan::MlidGroup> out;
  for (unsigned i = 0; i < count; ++i) {
    plan::MlidGroup group;
    group.mlid = Lid{static_cast<std::uint16_t>(ib::kLidMulticastMin.value + i)};
    for (std::size_t h = i % 5; h < hosts.size(); h += 5) group.receivers.push_back(hosts[h]);
    out.push_back(std::move(group));
  }
  return out;
}

class Restart : public testing::Test {
 protected:
  Restart() : run_(two_levels()) {
    run_.watch([this](const ib::mad::Packet& p) {
      const bool multicast = p.mad.attribute_id() == attr::kMulticastForwarding;
      const std::uint32_t modifier = p.mad.attribute_modifier();
      if (p.mad.method() == Method::Set) ++sets_;
      if (p.mad.method() == Method::Set && multicast) blocks_set_.insert(modifier & 0x1FF);
      if (p.mad.method() == Method::Get && multicast) positions_read_.insert(modifier >> 28);
      return true;
    });
  }

  /// Boots with so many groups in the store, and forgets what was counted before.
  void boot(unsigned count) {
    sets_ = 0;
    blocks_set_.clear();
    positions_read_.clear();
    run_.boot();
    run_.sm().set_groups(run_.now(), groups(run_.model().topology(), count));
    ASSERT_TRUE(run_.run_until_reports(1));
    EXPECT_TRUE(run_.last().up());
    run_.run_for(seconds(1));
  }
  /// Switches that do not say where their multicast tables end.
  void without_multicast_fdb_top() {
    run_.listen([](ib::mad::Packet& p) {
      if (p.mad.attribute_id() != attr::kPortInfo) return;
      auto info = ib::wire::body<ib::wire::PortInfo>(p.mad);
      info.capability_mask &= ~ib::wire::port_cap::kMulticastFdbTop;
      ib::wire::set_body(p.mad, info);
    });
  }

  SmOnModel run_;
  unsigned sets_{0};
  std::set<std::uint32_t> blocks_set_, positions_read_;
};

TEST_F(Restart, SetsNothingHoweverManyGroupsThereAre) {
  for (const unsigned count : {0U, 1U, 32U, 33U, 65U, 130U}) {
    boot(count);  // what it makes of the tables of the time before
    boot(count);
    EXPECT_EQ(sets_, 0U) << count << " groups";
    const std::set<std::uint32_t> every_position{0, 1, 2}, none;
    EXPECT_EQ(positions_read_, count > 0 ? every_position : none);
  }
}

TEST_F(Restart, SetsNothingWhereSwitchesDoNotKnowMulticastFdbTop) {
  without_multicast_fdb_top();
  for (const unsigned count : {0U, 33U, 65U}) {
    boot(count);
    boot(count);
    EXPECT_EQ(sets_, 0U) << count << " groups";
  }
}

TEST_F(Restart, ClearsBlocksOfGroupsThatAreGone) {
  boot(130);
  EXPECT_EQ(blocks_set_, (std::set<std::uint32_t>{0, 1, 2, 3, 4}));
  boot(40);
  EXPECT_EQ(blocks_set_, (std::set<std::uint32_t>{1, 2, 3, 4}));
  boot(40);
  EXPECT_EQ(sets_, 0U);
}

TEST_F(Restart, ReadsNoBlockAboveMulticastFdbTop) {
  boot(0);
  boot(0);
  EXPECT_TRUE(positions_read_.empty()) << "0xBFFF: none is in use";
}

}  // namespace
}  // namespace sm::test
