// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/up_down/load_floor.h"

#include <gtest/gtest.h>

#include <random>

#include "libdiag/fabric/generate.h"
#include "libdiag/tables/verify.h"

namespace ib::route {
namespace {

using fabric::SwitchIndex;

/// A fabric whose links come and go, with what keeps up with them.
class FollowedFloor {
 public:
  explicit FollowedFloor(fabric::Fabric fabric)
      : fabric_(std::move(fabric)),
        links_{fabric::CompactGraph(fabric_), {}, {}, {}, {}, {}},
        targets_({&fabric_, &links_.graph, {}, nullptr}),
        costs_(links_.graph.arc_count(), 1) {
    links_.alive.assign(costs_.size(), 1);
    for (SwitchIndex s = 0; s < links_.graph.switch_count(); ++s)
      for (const auto& arc : links_.graph.arcs(s)) {
        links_.from.push_back(s);
        const auto back = links_.graph.arcs(arc.to);
        const auto at = std::ranges::find(back, arc.in_port, &fabric::Arc::out_port);
        links_.reverse.push_back(links_.first(arc.to) +
                                 static_cast<std::uint32_t>(at - back.begin()));
      }
    floor.begin(links_, targets_, costs_);
  }

  /// Takes a cable away, or brings it back; returns what LoadFloor says to that.
  bool toggle(std::uint32_t a) {
    links_.lost.clear();
    links_.found.clear();
    const fabric::CompactGraph& graph = links_.graph;
    const fabric::PortRef here{graph.node_of(links_.from[a]), links_.arc(a).out_port};
    const fabric::PortRef there{graph.node_of(links_.arc(a).to), links_.arc(a).in_port};
    const bool is = links_.alive[a] != 0;
    if (is)
      fabric_.disconnect(here);
    else
      fabric_.connect(here, there, wire::LinkWidth::W4x, wire::LinkSpeed::Edr);
    for (const std::uint32_t arc : {a, links_.reverse[a]}) {
      links_.alive[arc] = is ? 0 : 1;
      (is ? links_.lost : links_.found).push_back(arc);
    }
    return floor.follow(links_, costs_);
  }
  std::uint32_t arcs() const { return static_cast<std::uint32_t>(costs_.size()); }
  const fabric::Fabric& fabric() const { return fabric_; }

  LoadFloor floor;

 private:
  fabric::Fabric fabric_;
  LiveLinks links_;
  Targets targets_;
  std::vector<std::uint32_t> costs_;
};

TEST(LoadFloor, IsWhatHostsSendOverTheLinksOfTheirLeaf) {
  fabric::FatTree kind;
  kind.radix = 8;
  FollowedFloor tree(fabric::generate(kind).value());  // 8 leaves with 4 hosts and 4 uplinks
  EXPECT_DOUBLE_EQ(tree.floor.load(), 4 * 28 / 4.0);
  std::uint32_t uplink = 0;
  const fabric::CompactGraph graph(tree.fabric());
  for (SwitchIndex s = 0; graph.attached()[s] == 0; ++s)
    uplink += static_cast<std::uint32_t>(graph.arcs(s).size());
  EXPECT_FALSE(tree.toggle(uplink));
  EXPECT_DOUBLE_EQ(tree.floor.load(), 4 * 28 / 3.0);
  EXPECT_FALSE(tree.toggle(uplink));
  EXPECT_DOUBLE_EQ(tree.floor.load(), 4 * 28 / 4.0);
}

TEST(LoadFloor, SaysTheSameHoweverItGotThereAndSaysWhenPartsAreJoined) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    FollowedFloor net(fabric::generate(fabric::RandomGraph{16, 20, 2}).value());
    std::mt19937_64 random(seed);
    std::uint32_t count = 1;  // of pieces
    for (int step = 0; step < 60; ++step) {
      const bool joins = net.toggle(static_cast<std::uint32_t>(random() % net.arcs()));
      const fabric::CompactGraph graph(net.fabric());
      const auto pieces = fabric::pieces_of(graph);
      EXPECT_EQ(joins, pieces.count < count);
      count = pieces.count;
      FollowedFloor again(net.fabric());
      EXPECT_DOUBLE_EQ(net.floor.load(), again.floor.load());
      for (SwitchIndex a = 0; a < graph.switch_count(); ++a)
        EXPECT_EQ(net.floor.joined(0, a), pieces.of[0] == pieces.of[a]);
    }
  }
}

TEST(LoadFloor, NoEngineGoesBelowIt) {
  for (const char* name : {"minhop", "updn", "sssp"}) {
    FollowedFloor net(fabric::generate(fabric::Grid{{3, 4}, true, 3}).value());
    const fabric::CompactGraph graph(net.fabric());
    const auto routes = find_engine(name)->compute({&net.fabric(), &graph, {}, nullptr}).value();
    EXPECT_GE(static_cast<double>(tables::verify(net.fabric(), graph, routes.lfts).load_max),
              net.floor.load());
  }
}

}  // namespace
}  // namespace ib::route
