// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <gtest/gtest.h>

#include <set>

#include "libdiag/fabric/generate.h"
#include "sm/plan/multicast.h"

namespace {

using ib::fabric::CompactGraph;
using ib::fabric::Fabric;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using ib::fabric::SwitchIndex;
using Masks = std::map<SwitchIndex, ib::routes::PortMask>;

std::vector<PortRef> host_ports(const Fabric& f) {
  std::vector<PortRef> out;
  for (NodeIndex n = 0; n < f.nodes().size(); ++n)
    if (!f.node(n).is_switch() && f.port(n, 1).peer) out.push_back({n, 1});
  return out;
}

/// Copies a packet along the masks as switches do: not back out of the port it came in by. How
/// often each host gets it; fails on a loop.
std::map<PortRef, int> deliver(const Fabric& f, const CompactGraph& g, const Masks& masks,
                               PortRef from) {
  std::map<PortRef, int> got;
  std::vector<PortRef> arriving{f.port(from).peer};
  for (std::size_t i = 0; i < arriving.size(); ++i) {
    EXPECT_LT(arriving.size(), 10000U) << "a loop";
    if (arriving.size() >= 10000U) return got;
    const PortRef in = arriving[i];
    const auto mask = masks.find(g.switch_of(in.node));
    if (mask == masks.end()) continue;
    for (unsigned p = 1; p <= f.node(in.node).num_ports; ++p) {
      if (p == in.port || !mask->second.test(p)) continue;
      const PortRef to = f.port(in.node, p).peer;
      if (f.node(to.node).is_switch()) {
        arriving.push_back(to);
      } else {
        ++got[to];
      }
    }
  }
  return got;
}

TEST(MulticastTree, EveryMemberGetsOneCopyFromEveryOther) {
  ib::fabric::Grid torus;
  torus.sizes = {3, 3};
  torus.hosts = 2;
  const Fabric f = *ib::fabric::generate(torus);
  const CompactGraph g(f);
  const auto all = host_ports(f);
  sm::plan::MlidGroup group;
  group.mlid = ib::Lid{0xC000};
  std::set<PortRef> receivers;
  for (std::size_t i = 0; i < all.size(); i += 3) {
    group.receivers.push_back(f.port(all[i]).guid);
    receivers.insert(all[i]);
  }
  group.senders.push_back(f.port(all[1]).guid);
  const Masks masks = multicast_tree(f, g, group);
  for (const PortRef from : all) {
    if (!receivers.contains(from) && from != all[1]) continue;
    const auto got = deliver(f, g, masks, from);
    for (const PortRef to : all)
      EXPECT_EQ(got.contains(to) ? got.at(to) : 0, receivers.contains(to) && to != from ? 1 : 0)
          << from.node << " to " << to.node;
  }
}

TEST(MulticastTree, MembersOfOneSwitchNeedNoOther) {
  const Fabric f = *ib::fabric::generate(ib::fabric::Grid{});
  const CompactGraph g(f);
  sm::plan::MlidGroup group;
  group.receivers = {f.port(host_ports(f)[0]).guid};
  EXPECT_EQ(multicast_tree(f, g, group).size(), 1U);
}

TEST(MulticastTree, NobodyToReceiveMeansNoEntry) {
  const Fabric f = *ib::fabric::generate(ib::fabric::Grid{});
  const CompactGraph g(f);
  sm::plan::MlidGroup group;
  group.senders = {f.port(host_ports(f)[0]).guid};
  group.receivers = {ib::Guid{0xDEAD}};  // left the fabric
  EXPECT_TRUE(multicast_tree(f, g, group).empty());
}

}  // namespace
