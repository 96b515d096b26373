// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/config/chain_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sm::config {
namespace {

using ib::route::ChainTopology;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Mistake {
  std::string_view text, message;
};
void PrintTo(const Mistake& mistake, std::ostream* out) { *out << mistake.text; }

template <class File>
std::vector<std::string> lines_of(const File& file) {
  std::vector<std::string> lines;
  for (const auto& d : file.diagnostics) lines.push_back(to_string(d));
  return lines;
}

ib::fabric::PortGroups two_groups() {
  return ib::fabric::PortGroups({{"ys_switches", "", {ib::fabric::GuidRangeRule{}}, {}},
                                 {"ys_hosts", "", {ib::fabric::GuidRangeRule{}}, {}}});
}
TopologyFile topologies(std::string_view text) {
  return read_topology_file(text, "t", two_groups(), "groups.conf");
}
const std::vector<ChainTopology> kOne = {{1, "ys_switches", "ys_hosts", 1}};
ChainFile steps(std::string_view text) { return read_chain_file(text, "c", kOne, "topo.conf"); }

TEST(TopologyFile, ReadsParagraphs) {
  const auto file = topologies(
      "# parts\ntopology\n id: 2\n sw-grp: ALL_SWITCHES\n hca-grp: ys_hosts\nend-topology\n"
      "topology\nid: 1\nsw-grp: YS_switches\nhca-grp: ys_hosts\nend-topology\n");
  EXPECT_THAT(lines_of(file), IsEmpty());
  ASSERT_EQ(file.topologies.size(), 2U);
  EXPECT_EQ(file.topologies[0].id, 1U);
  EXPECT_EQ(file.topologies[0].switches, "YS_switches");
  EXPECT_EQ(file.topologies[1].line, 2U);
}

class BrokenTopologies : public testing::TestWithParam<Mistake> {};
TEST_P(BrokenTopologies, AreNamedWithTheirPlace) {
  const auto file = topologies(GetParam().text);
  EXPECT_THAT(lines_of(file), ElementsAre(std::string(GetParam().message)));
  EXPECT_THAT(file.topologies, IsEmpty());
}
INSTANTIATE_TEST_SUITE_P(
    TopologyFile, BrokenTopologies,
    testing::Values(
        Mistake{"topology\nsw-grp: ALL\nhca-grp: ALL\nend-topology\n",
                "t:1:1: error: this topology has no id"},
        Mistake{"topology\nid: 1\nhca-grp: ALL\nend-topology\n",
                "t:1:1: error: this topology has no sw-grp"},
        Mistake{"topology\nid: 1\nsw-grp: ALL\nend-topology\n",
                "t:1:1: error: this topology has no hca-grp"},
        Mistake{"topology\nid: 0\nsw-grp: ALL\nhca-grp: ALL\nend-topology\n",
                "t:2:5: error: expected the ID of a topology from 1 to 4294967295, got '0'"},
        Mistake{"topology\nid: 1\nsw-grp: ys_switch\nhca-grp: ALL\nend-topology\n",
                "t:3:9: error: 'ys_switch' is no port group of groups.conf; did you mean "
                "'ys_switches'?"},
        Mistake{"topology\nid: 1\nsw-grp: ALL\nhca-grp: ALL\nend-topology\ntopology\nid: 1\n"
                "sw-grp: ALL\nhca-grp: ALL\nend-topology\n",
                "t:6:1: error: topology 1 is defined twice (first in line 1)"},
        Mistake{"topology\nid: 1\nsw-group: ALL\nsw-grp: ALL\nhca-grp: ALL\nend-topology\n",
                "t:3:1: error: unknown word 'sw-group'; here are id, sw-grp, hca-grp; did you mean "
                "'sw-grp'?"},
        Mistake{"id: 1\n", "t:1:1: error: expected 'topology', got 'id: 1'"}));

TEST(ChainFile, ReadsStepsAndOrdersThemById) {
  const auto file = steps(
      "unicast-step\nid: 3\nengine: updn\nuse: what: is left\ntopology: 1\nfallback-to: 2\n"
      "config: /etc/opensm2.cfg\nPath-bit: 1\nend-unicast-step\n"
      "unicast-step\nid: 1\nengine: minhop\nend-unicast-step\n"
      "unicast-step\nid: 2\nengine: ftree\ntopology: 1\nend-unicast-step\n");
  EXPECT_THAT(lines_of(file), IsEmpty());
  ASSERT_EQ(file.steps.size(), 3U);
  EXPECT_EQ(file.steps[0].engine, "minhop");
  EXPECT_EQ(file.steps[0].topology, 0U);
  const auto& last = file.steps[2];
  EXPECT_EQ(last.fallback_to, 2U);
  EXPECT_EQ(last.config, "/etc/opensm2.cfg");
  EXPECT_EQ(last.use, "what: is left");
  EXPECT_EQ(last.path_bit, 1U);
  EXPECT_EQ(last.line, 1U);
}

TEST(ChainFile, StepsThatNobodyFallsBackToAreIgnoredWithAWarning) {
  const auto file = steps(
      "unicast-step\nid: 1\nengine: minhop\nend-unicast-step\n"
      "unicast-step\nid: 2\nengine: ftree\nfallback-to: 9\nend-unicast-step\n"
      "unicast-step\nid: 3\nengine: updn\nfallback-to: 1\nend-unicast-step\n"
      "unicast-step\nid: 4\nengine: dnup\nfallback-to: 3\nend-unicast-step\n");
  EXPECT_THAT(lines_of(file),
              ElementsAre("c:8:14: warning: there is no step 9: step 2 is ignored",
                          "c:18:14: warning: step 3 is a fallback itself: step 4 is ignored"));
  ASSERT_EQ(file.steps.size(), 2U);
  EXPECT_EQ(file.steps[1].id, 3U);
}

class BrokenChains : public testing::TestWithParam<Mistake> {};
TEST_P(BrokenChains, AreNamedWithTheirPlace) {
  const auto file = steps(GetParam().text);
  EXPECT_THAT(lines_of(file), ElementsAre(HasSubstr(GetParam().message)));
  EXPECT_THAT(file.steps, IsEmpty());
}
INSTANTIATE_TEST_SUITE_P(
    ChainFile, BrokenChains,
    testing::Values(
        Mistake{"", "c:1:1: error: this file has no unicast-step"},
        Mistake{"unicast-step\nengine: minhop\nend-unicast-step\n",
                "c:1:1: error: this unicast-step has no id"},
        Mistake{"unicast-step\nid: 1\nend-unicast-step\n",
                "c:1:1: error: this unicast-step has no engine"},
        Mistake{"unicast-step\nid: 0\nengine: minhop\nend-unicast-step\n",
                "c:2:5: error: expected the ID of a step from 1 to 4294967295, got '0'"},
        Mistake{"unicast-step\nid: 1\nengine: chain\nend-unicast-step\n",
                "c:3:9: error: expected an engine (minhop, "},
        Mistake{"unicast-step\nid: 1\nengine: minhop\nend-unicast-step\n"
                "unicast-step\nid: 1\nengine: updn\nend-unicast-step\n",
                "c:5:1: error: unicast-step 1 is defined twice (first in line 1)"},
        Mistake{"unicast-step\nid: 1\nengine: minhop\ntopology: 1\nend-unicast-step\n",
                "c:4:11: error: step 1 is the first one and must be of topology 0, all of the "
                "fabric"},
        Mistake{"unicast-step\nid: 1\nengine: minhop\npath-bit: 1\nend-unicast-step\n",
                "c:4:11: error: step 1 is the first one, which routes all LIDs: expected path-bit "
                "0"},
        Mistake{"unicast-step\nid: 1\nengine: minhop\nend-unicast-step\n"
                "unicast-step\nid: 2\nengine: updn\nfallback-to: 1\ntopology: 1\n"
                "end-unicast-step\n",
                "c:9:11: error: step 2 takes the place of the first one and must be of topology 0"},
        Mistake{"unicast-step\nid: 1\nengine: minhop\nfallback-to: 2\nend-unicast-step\n"
                "unicast-step\nid: 2\nengine: updn\nend-unicast-step\n",
                "c:4:14: error: step 1 is the first one and cannot be a fallback"},
        Mistake{"unicast-step\nid: 1\nengine: minhop\nend-unicast-step\n"
                "unicast-step\nid: 2\nengine: updn\ntopology: 7\nend-unicast-step\n",
                "c:8:11: error: there is no topology 7 in topo.conf"}));

TEST(ChainFile, FilesThatAreNotNamedAreMissedByName) {
  const auto topology =
      read_topology_file("topology\nid: 1\nsw-grp: g\nhca-grp: ALL\nend-topology\n", "t", {}, "");
  EXPECT_THAT(lines_of(topology),
              ElementsAre("t:3:9: error: 'g' is no port group, and pgrp_policy_file names no file "
                          "of them"));
  const auto chain = read_chain_file(
      "unicast-step\nid: 1\nengine: minhop\nend-unicast-step\n"
      "unicast-step\nid: 2\nengine: updn\ntopology: 7\nend-unicast-step\n",
      "c", {}, "");
  EXPECT_THAT(lines_of(chain),
              ElementsAre("c:8:11: error: there is no topology 7: topo_policy_file names no file "
                          "of them"));
}

}  // namespace
}  // namespace sm::config
