// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Loads of links, counted leaf by leaf, against paths walked one by one.
#include "libdiag/tables/loads.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "libdiag/fabric/generate.h"
#include "libdiag/route/engine.h"

namespace ib::tables {
namespace {

using fabric::SwitchIndex;

/// Every host to every LID of a host behind another switch, as far as entries lead.
std::vector<std::uint64_t> loads_of_paths(const fabric::CompactGraph& graph,
                                          const LinearTables& tables) {
  std::vector<std::uint64_t> loads(graph.arc_count(), 0);
  for (const auto& to : graph.destinations()) {
    if (!to.is_host) continue;
    for (SwitchIndex from = 0; from < graph.switch_count(); ++from)
      for (SwitchIndex s = from; s != to.leaf;) {
        const auto arcs = graph.arcs(s);
        const auto arc = std::ranges::find(arcs, tables.at(s, to.lid), &fabric::Arc::out_port);
        if (arc == arcs.end()) break;
        loads[graph.arc_index(s, static_cast<std::size_t>(arc - arcs.begin()))] +=
            graph.attached()[from];
        s = arc->to;
      }
  }
  return loads;
}

fabric::Fabric with_lmc(fabric::Fabric fabric, std::uint8_t lmc) {
  std::uint16_t next = 1;
  for (fabric::NodeIndex n = 0; n < fabric.nodes().size(); ++n) {
    const bool is_switch = fabric.node(n).is_switch();
    auto& port = fabric.port(n, is_switch ? 0 : 1);
    next = static_cast<std::uint16_t>((next + (1U << lmc) - 1U) >> lmc << lmc);
    port.lid = Lid{next};
    port.lmc = is_switch ? std::uint8_t{0} : lmc;
    next = static_cast<std::uint16_t>(next + (1U << lmc));
  }
  return fabric;
}

TEST(Loads, AreThoseOfPathsWalkedOneByOne) {
  fabric::GenerateCommon damaged;
  damaged.missing_links_percent = 6;
  damaged.missing_hosts_percent = 20;
  fabric::FatTree tree;
  tree.levels = 3;
  tree.radix = 8;
  tree.top_hosts = 1;
  for (const std::uint8_t lmc : {std::uint8_t{0}, std::uint8_t{1}})
    for (const auto& made :
         {fabric::generate(tree, damaged), fabric::generate(fabric::Grid{{4, 5}, true, 2}, damaged),
          fabric::generate(fabric::RandomGraph{12, 20, 2}, damaged)}) {
      const auto fabric = with_lmc(made.value(), lmc);
      const fabric::CompactGraph graph(fabric);
      // By an order of switches ways are longer than they need be, here and there.
      for (const char* engine : {"minhop", "updn"}) {
        auto lfts = route::find_engine(engine)->compute({&fabric, &graph, {}, nullptr})->lfts;
        EXPECT_EQ(loads_by_arc(graph, lfts), loads_of_paths(graph, lfts)) << engine;
        lfts.set(0, graph.destinations().back().lid, kNoPort);
        EXPECT_EQ(loads_by_arc(graph, lfts), loads_of_paths(graph, lfts)) << engine;
      }
    }
}

}  // namespace
}  // namespace ib::tables
