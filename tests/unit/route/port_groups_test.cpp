// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Groups of ports that switches may choose among, and their proof, held against a judge that tries
// every choice.
#include "libdiag/route/adaptive/port_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "libdiag/fabric/generate.h"

namespace ib::route {
namespace {

using fabric::CompactGraph;
using fabric::SwitchIndex;
using tables::ChoiceFault;
using tables::LinearTables;
using tables::PortGroups;
using tables::PortMask;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Routed {
  fabric::Fabric fabric;
  CompactGraph graph;
  Routes routes;

  Routed(fabric::Fabric f, const char* engine, unsigned vls = 1)
      : fabric(std::move(f)), graph(fabric) {
    Request request{&fabric, &graph, {}, nullptr};
    request.vls = vls;
    auto made = find_engine(engine)->compute(request);
    if (made)
      routes = *std::move(made);
    else
      ADD_FAILURE() << made.error().message;
  }
  Request request() const { return {&fabric, &graph, {}, nullptr}; }
  PortGroups tree() const {
    auto groups = shortest_ways(request(), routes.engine, nullptr, routes.lfts);
    EXPECT_TRUE(groups) << groups.error().message;
    return groups ? *groups : PortGroups();
  }
  PortGroups lag() const { return parallel_links(graph, routes.lfts); }
  std::vector<ChoiceFault> faults(const PortGroups& groups) const {
    return tables::faulty_choices(fabric, graph, routes.lfts, groups);
  }
  std::optional<ChoiceFault> circle(const PortGroups& groups) const {
    return tables::credit_loop_of_choices(fabric, graph, routes.lfts, groups, routes.virtual_lanes,
                                          kNoLid);
  }
  std::size_t choosing(const PortGroups& groups) const {
    std::size_t count = 0;
    for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
      for (const auto& to : graph.destinations()) count += groups.find(s, to.lid) != nullptr;
    return count;
  }
};

fabric::Fabric fat_tree(unsigned radix, unsigned levels, double missing = 0,
                        std::uint64_t seed = 1) {
  fabric::FatTree kind;
  kind.radix = radix;
  kind.levels = levels;
  fabric::GenerateCommon common;
  common.seed = seed;
  common.missing_links_percent = missing;
  return fabric::generate(kind, common).value();
}

// ---- the judge

/// Arcs by which packets to `to` may leave switch s.
std::vector<fabric::Arc> arcs_of(const Routed& r, const PortGroups& groups,
                                 const fabric::Destination& to, SwitchIndex s) {
  std::vector<fabric::Arc> out;
  if (s == to.leaf) return out;
  const PortMask* group = groups.find(s, to.lid);
  for (const auto& arc : r.graph.arcs(s))
    if (group != nullptr ? group->test(arc.out_port) : arc.out_port == r.routes.lfts.at(s, to.lid))
      out.push_back(arc);
  return out;
}

template <class Node, class Next>
bool has_circle(const std::set<Node>& nodes, Next next) {
  std::map<Node, int> colour;
  const auto visit = [&](auto&& self, const Node& n) -> bool {
    colour[n] = 1;
    for (const Node& m : next(n)) {
      if (colour[m] == 1) return true;
      if (colour[m] == 0 && self(self, m)) return true;
    }
    colour[n] = 2;
    return false;
  };
  for (const Node& n : nodes)
    if (colour[n] == 0 && visit(visit, n)) return true;
  return false;
}

bool judge_loops(const Routed& r, const PortGroups& groups) {
  std::set<SwitchIndex> all;
  for (SwitchIndex s = 0; s < r.graph.switch_count(); ++s) all.insert(s);
  for (const auto& to : r.graph.destinations())
    if (has_circle<SwitchIndex>(all, [&](SwitchIndex s) {
          std::vector<SwitchIndex> next;
          for (const auto& arc : arcs_of(r, groups, to, s)) next.push_back(arc.to);
          return next;
        }))
      return true;
  return false;
}

/// Packets of one VL wait for each other in a circle.
bool judge_waits(const Routed& r, const PortGroups& groups) {
  using Channel = std::pair<SwitchIndex, std::uint8_t>;
  std::map<Channel, std::set<Channel>> waits;
  std::set<Channel> channels;
  for (const auto& to : r.graph.destinations()) {
    if (to.is_switch()) continue;
    std::set<SwitchIndex> sending;
    const auto follow = [&](auto&& self, SwitchIndex s) -> void {
      if (!sending.insert(s).second) return;
      for (const auto& arc : arcs_of(r, groups, to, s)) {
        channels.insert({s, arc.out_port});
        for (const auto& after : arcs_of(r, groups, to, arc.to))
          waits[{s, arc.out_port}].insert({arc.to, after.out_port});
        self(self, arc.to);
      }
    };
    for (SwitchIndex s = 0; s < r.graph.switch_count(); ++s)
      if (r.graph.end_ports()[s] > 0) follow(follow, s);
  }
  return has_circle<Channel>(channels, [&](const Channel& c) { return waits[c]; });
}

// ---- tests

TEST(ShortestWays, OfAFatTreeAllLinksUpAreOneGroup) {
  const Routed r(fat_tree(8, 2), "updn");
  const PortGroups groups = r.tree();
  EXPECT_THAT(r.faults(groups), IsEmpty());
  EXPECT_EQ(r.circle(groups), std::nullopt);
  for (SwitchIndex s = 0; s < r.graph.switch_count(); ++s) {
    const bool leaf = r.graph.attached()[s] > 0;
    ASSERT_EQ(groups.groups(s).size(), leaf ? 1U : 0U);
    for (const auto& to : r.graph.destinations())
      EXPECT_EQ(groups.find(s, to.lid) != nullptr, leaf && !to.is_switch() && to.leaf != s);
    for (const auto& arc : r.graph.arcs(s))
      EXPECT_TRUE(!leaf || groups.groups(s).front().test(arc.out_port));
  }
}

TEST(ShortestWays, AreProvedOnDamagedTreesToo) {
  for (const char* engine : {"updn", "ftree", "dnup"})
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      SCOPED_TRACE(std::string(engine) + " " + std::to_string(seed));
      const Routed r(fat_tree(8, 3, 10, seed), engine);
      const PortGroups groups = r.tree();
      EXPECT_GT(r.choosing(groups), 100U);
      EXPECT_THAT(r.faults(groups), IsEmpty());
      EXPECT_FALSE(r.circle(groups).has_value());
      EXPECT_FALSE(judge_loops(r, groups));
      EXPECT_FALSE(judge_waits(r, groups));
    }
}

TEST(ShortestWays, OfAnEngineWithoutATreeThereAreNone) {
  const Routed r(fabric::generate(fabric::Grid{{4, 4}}).value(), "dor");
  const auto groups = shortest_ways(r.request(), "dor", nullptr, r.routes.lfts);
  ASSERT_FALSE(groups);
  EXPECT_THAT(groups.error().message, HasSubstr("routing engine dor has no tree"));
}

TEST(ShortestWays, OfATorusCloseACircle) {
  const Routed r(fabric::generate(fabric::Grid{{5, 5}}).value(), "minhop");
  const PortGroups groups = r.tree();
  EXPECT_THAT(r.faults(groups), IsEmpty());
  const auto circle = r.circle(groups);
  ASSERT_TRUE(circle.has_value());
  EXPECT_EQ(circle->kind, ChoiceFault::Kind::CreditLoop);
  EXPECT_THAT(circle->message, HasSubstr("credit loop through "));
}

TEST(ParallelLinks, ToTheNextSwitchAreOneGroup) {
  fabric::Grid mesh{{3, 3}, false};
  mesh.cables = 3;
  const Routed r(fabric::generate(mesh).value(), "dor");
  const PortGroups groups = r.lag();
  EXPECT_GT(r.choosing(groups), 0U);
  for (SwitchIndex s = 0; s < r.graph.switch_count(); ++s)
    for (const PortMask& ports : groups.groups(s)) {
      std::set<SwitchIndex> ends;
      std::size_t links = 0;
      for (const auto& arc : r.graph.arcs(s))
        if (ports.test(arc.out_port)) ends.insert(arc.to), ++links;
      EXPECT_EQ(ends.size(), 1U);
      EXPECT_EQ(links, 3U);
    }
  EXPECT_THAT(r.faults(groups), IsEmpty());
  EXPECT_FALSE(r.circle(groups).has_value());
}

TEST(ParallelLinks, AreProvedWithTheVlsOfTheRoutes) {
  fabric::Grid torus{{4, 5}, true};
  torus.cables = 2;
  for (const char* engine : {"lash", "torus-2QoS", "dfsssp"}) {
    SCOPED_TRACE(engine);
    const Routed r(fabric::generate(torus).value(), engine, 8);
    const PortGroups groups = r.lag();
    EXPECT_GT(r.choosing(groups), 0U);
    EXPECT_THAT(r.faults(groups), IsEmpty());
    EXPECT_TRUE(judge_waits(r, groups)) << "one VL is not enough";
    if (const auto circle = r.circle(groups)) {
      // dfsssp looks at single cables: two of a bundle may be on different sides of its cut.
      EXPECT_STREQ(engine, "dfsssp") << circle->message;
    }
  }
}

TEST(PortGroupsProof, SaysWhatIsWrong) {
  const Routed r(fat_tree(8, 2), "updn");
  const auto& to =
      *std::ranges::find_if(r.graph.destinations(), [](const auto& d) { return !d.is_switch(); });
  const SwitchIndex other = to.leaf == 0 ? 1 : 0;
  const auto message = [&](auto change) {
    PortMask ports;
    ports.set(r.routes.lfts.at(other, to.lid));
    change(ports);
    PortGroups groups(r.graph.switch_count(), r.graph.max_lid());
    groups.set(other, to.lid, groups.number_of(other, ports));
    const auto faults = r.faults(groups);
    return faults.size() == 1 ? faults.front().message : std::to_string(faults.size());
  };
  EXPECT_EQ(message([](PortMask&) {}), "0");
  EXPECT_THAT(message([&](PortMask& p) { p.clear(r.routes.lfts.at(other, to.lid)), p.set(1); }),
              HasSubstr("is not in its group"));
  EXPECT_THAT(message([](PortMask& p) { p.set(200); }), HasSubstr("leads to no switch"));
}

/// Groups that are right get ports that may be wrong: the proof and the judge agree on each.
TEST(PortGroupsProof, AgreesWithTheJudgeAboutPlantedPorts) {
  std::mt19937 random(7);
  int loops = 0, waits = 0, right = 0;
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(round);
    const Routed r(fat_tree(4, 3, 10, static_cast<std::uint64_t>(round)), "updn");
    PortGroups groups = r.tree();
    for (int planted = 0; planted < 1 + round % 3; ++planted) {
      const auto s = static_cast<SwitchIndex>(random() % r.graph.switch_count());
      const auto& to = r.graph.destinations()[random() % r.graph.destinations().size()];
      const auto arcs = r.graph.arcs(s);
      if (arcs.empty() || to.is_switch() || s == to.leaf) continue;
      if (r.routes.lfts.at(s, to.lid) == tables::kNoPort) continue;
      PortMask ports;
      if (const PortMask* group = groups.find(s, to.lid))
        ports = *group;
      else
        ports.set(r.routes.lfts.at(s, to.lid));
      ports.set(arcs[random() % arcs.size()].out_port);
      groups.set(s, to.lid, groups.number_of(s, ports));
    }
    const auto faults = r.faults(groups);
    const bool lost = std::ranges::any_of(
        faults, [](const auto& f) { return f.kind == ChoiceFault::Kind::Lost; });
    const bool loop = std::ranges::any_of(
        faults, [](const auto& f) { return f.kind == ChoiceFault::Kind::Loop; });
    EXPECT_TRUE(lost || loop == judge_loops(r, groups));
    if (!faults.empty()) {
      ++loops;
      continue;
    }
    const bool circle = r.circle(groups).has_value();
    EXPECT_EQ(circle, judge_waits(r, groups));
    ++(circle ? waits : right);
  }
  EXPECT_GT(loops, 5);
  EXPECT_GT(waits + right, 5);
}

}  // namespace
}  // namespace ib::route
