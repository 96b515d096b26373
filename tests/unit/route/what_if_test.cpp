// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/reroute/what_if.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libdiag/fabric/generate.h"
#include "libdiag/fabric/topology_text.h"

namespace ib::route {
namespace {

using fabric::Fabric;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using wire::NodeType;

/// 8 leaves with 4 hosts each and 4 spines.
Fabric eight_leaves() {
  fabric::FatTree kind;
  kind.radix = 8;
  return fabric::generate(kind, {}).value();
}
fabric::NodeIndex nth(const Fabric& f, NodeType type, std::size_t i) {
  for (fabric::NodeIndex n = 0; n < f.nodes().size(); ++n)
    if (f.node(n).type == type && i-- == 0) return n;
  return fabric::kNoNode;
}
std::string guid(const Fabric& f, NodeType type, std::size_t i) {
  return to_string(f.node(nth(f, type, i)).guid);
}
std::string complaint(const std::string& word, ErrorKind kind = ErrorKind::Usage) {
  Fabric f = eight_leaves();
  const auto taken = take_away(f, {{word}});
  EXPECT_FALSE(taken.has_value());
  EXPECT_EQ(topology_text(f), topology_text(eight_leaves()));
  if (taken) return {};
  EXPECT_EQ(taken.error().kind, kind);
  return taken.error().message;
}

TEST(WhatIf, ASwitchGoesWithItsLinksAndTheHostsThatHungFromItAlone) {
  Fabric f = eight_leaves();
  fabric::NodeIndex leaf = 0;
  while (!f.node(leaf).is_switch() || f.node(f.port(leaf, 1).peer.node).is_switch()) ++leaf;
  const std::size_t nodes = f.nodes().size();
  const std::string name = f.node(leaf).description;
  const Guid gone = f.node(leaf).guid;
  const auto taken = take_away(f, {{name}});
  ASSERT_TRUE(taken) << taken.error().message;
  EXPECT_EQ(taken->switches, 1U);
  EXPECT_EQ(taken->links, 8U);
  EXPECT_EQ(taken->hosts, 4U);
  EXPECT_EQ(f.nodes().size(), nodes - 5);
  EXPECT_FALSE(f.find_node(gone));
  // What is left is a fabric as good as any: it can be written and read again.
  EXPECT_EQ(topology_text(fabric::read_topology(topology_text(f), "x").value()), topology_text(f));
  ASSERT_EQ(taken->notes.size(), 2U);
  EXPECT_THAT(taken->notes[0], HasSubstr("without the switch '" + name + "'"));
  EXPECT_THAT(taken->notes[0], HasSubstr("and its 8 links"));
  EXPECT_THAT(taken->notes[1], HasSubstr("4 hosts are left without a link: "));
}

TEST(WhatIf, ALinkIsNamedByEitherEndAndGoesOnce) {
  Fabric f = eight_leaves();
  const auto host = nth(f, NodeType::ChannelAdapter, 0);
  const auto far = f.port(host, 1).peer;
  const std::string one = to_string(f.node(host).guid) + ":1";
  const std::string other = f.node(far.node).description + ":" + std::to_string(far.port);
  const auto taken = take_away(f, {{one, other}});
  ASSERT_TRUE(taken) << taken.error().message;
  EXPECT_EQ(taken->links, 1U);
  EXPECT_EQ(taken->hosts, 1U);
  EXPECT_EQ(f.count(NodeType::ChannelAdapter), 31U);
}

TEST(WhatIf, DamageTakesAShareOfTheLinksBetweenSwitchesBySeed) {
  Fabric a = eight_leaves(), b = eight_leaves(), c = eight_leaves();
  const auto taken = take_away(a, {{}, 25, 1});
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->links, 8U);  // of 32
  EXPECT_EQ(taken->hosts, 0U);
  EXPECT_THAT(taken->notes, ElementsAre("without 8 of 32 links between switches (25 per cent, "
                                        "seed 1)"));
  ASSERT_TRUE(take_away(b, {{}, 25, 1}));
  ASSERT_TRUE(take_away(c, {{}, 25, 2}));
  EXPECT_EQ(topology_text(a), topology_text(b));
  EXPECT_NE(topology_text(a), topology_text(c));
  Fabric d = eight_leaves();
  EXPECT_EQ(take_away(d, {{}, 0.01, 1})->links, 1U);  // damage is never nothing
  EXPECT_EQ(take_away(d, {{}, 100, 1})->links, 31U);
}

TEST(WhatIf, WordsThatMeanNothingOrTooMuchAreRefusedAndNothingGoes) {
  EXPECT_EQ(complaint("leaf-99", ErrorKind::NotFound),
            "cannot take 'leaf-99' away: no node is named 'leaf-99'");
  const Fabric f = eight_leaves();
  const std::string host = guid(f, NodeType::ChannelAdapter, 0);
  EXPECT_THAT(complaint(host),
              HasSubstr("is a host; name a switch, or a link of the host by one of "
                        "its ports, '" +
                        host + ":1'"));
  EXPECT_THAT(complaint(host + ":7"), HasSubstr("expected a port of"));
  const std::string sw = guid(f, NodeType::Switch, 0);
  EXPECT_THAT(complaint(sw + ":0"), HasSubstr("is the switch itself, not a link"));

  Fabric twins = eight_leaves();
  for (const std::size_t i : {0U, 1U})
    twins.node(nth(twins, NodeType::Switch, i)).description = "x";
  const auto taken = take_away(twins, {{"x"}});
  ASSERT_FALSE(taken);
  EXPECT_THAT(taken.error().message, HasSubstr(guid(twins, NodeType::Switch, 1)));

  Fabric bare = eight_leaves();
  ASSERT_TRUE(take_away(bare, {{sw + ":1"}}));
  const auto again = take_away(bare, {{sw + ":1"}});
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().message, HasSubstr("has no cable"));

  Fabric empty;
  EXPECT_FALSE(take_away(empty, {{}, 5, 1}));
  EXPECT_TRUE(take_away(empty, {}));
}

}  // namespace
}  // namespace ib::route
