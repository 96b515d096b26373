// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What Linux lets a program have under way: since 6.17 an agent has 128 unanswered SMPs on the
// wire, or 16 questions to subnet administration, and the rest of them waits.
#include <gtest/gtest.h>

#include <vector>

#include "libdiag/fabric/generate.h"
#include "libdiag/sim/host_port.h"
#include "sm/core/subnet_manager.h"
#include "tests/scenario/manager.h"

namespace scenario {
namespace {

using ib::fabric::NodeIndex;

std::vector<NodeIndex> hosts(const ib::fabric::Fabric& f) {
  std::vector<NodeIndex> out;
  for (NodeIndex n = 0; n < f.nodes().size(); ++n)
    if (!f.node(n).is_switch()) out.push_back(n);
  return out;
}

/// How long the first sweep takes when `silent` hosts of 162 do not answer.
double bring_up(std::size_t silent) {
  ib::fabric::FatTree tree;
  tree.radix = 18;
  ib::fabric::GenerateCommon common;
  common.lids = false;
  ib::sim::World world(*ib::fabric::generate(tree, common));
  const auto all = hosts(world.model().topology());
  for (std::size_t i = 1; i <= silent; ++i)
    world.model().set_behaviour(all[2 * i], ib::sim::Behaviour::Silent);
  sm::store::Contents kept;
  Manager manager(world, {all.front(), 1}, {}, kept);
  EXPECT_TRUE(world.run_until([&] { return manager.reports() > 0; }, std::chrono::seconds(120)));
  EXPECT_EQ(manager.last().unmanaged, silent);
  return std::chrono::duration<double>(manager.last().took).count();
}

TEST(KernelLimits, HostsThatAreSilentDelayNobody) {
  // One transaction's time-out, one pause because everybody asked was silent at once, and one
  // time-out in the kernel, behind questions to silent hosts.
  EXPECT_LE(bring_up(70), bring_up(0) + 1.35 + 0.2 + 0.2);
}

}  // namespace
}  // namespace scenario
