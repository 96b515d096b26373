// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tests/matrix/cases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <sstream>

#include "libdiag/fabric/generate.h"

namespace ib::matrix {
namespace {

using fabric::NodeIndex;
using fabric::PortRef;

/// Removes whole switches or single cables, whichever a seed points at; what is cut off stays cut
/// off.
void remove_links(fabric::Fabric& fabric, unsigned percent, std::mt19937_64& random) {
  std::vector<PortRef> cables;
  for (NodeIndex n = 0; n < fabric.nodes().size(); ++n)
    for (unsigned p = 1; p <= fabric.node(n).num_ports; ++p) {
      const PortRef here{n, static_cast<std::uint8_t>(p)};
      const PortRef far = fabric.port(here).peer;
      if (far && here < far && fabric.node(n).is_switch() && fabric.node(far.node).is_switch())
        cables.push_back(here);
    }
  const std::size_t gone = (cables.size() * percent + 99) / 100;
  for (std::size_t i = 0; i < gone; ++i) {
    std::swap(cables[i], cables[i + random() % (cables.size() - i)]);
    fabric.disconnect(cables[i]);
  }
}

void remove_switch(fabric::Fabric& fabric, std::mt19937_64& random) {
  std::vector<NodeIndex> switches;
  for (NodeIndex n = 0; n < fabric.nodes().size(); ++n)
    if (fabric.node(n).is_switch()) switches.push_back(n);
  const NodeIndex gone = switches[random() % switches.size()];
  for (unsigned p = 0; p <= fabric.node(gone).num_ports; ++p) {
    const PortRef here{gone, static_cast<std::uint8_t>(p)};
    if (fabric.port(here).peer) fabric.disconnect(here);
    fabric.port(here).lid = kNoLid;
  }
  // Nobody reaches CAs without a cable: their LIDs are out of use.
  for (NodeIndex n = 0; n < fabric.nodes().size(); ++n)
    for (unsigned p = 1; p <= fabric.node(n).num_ports && !fabric.node(n).is_switch(); ++p)
      if (!fabric.port(n, p).peer) fabric.port(n, p).lid = kNoLid;
  fabric.reindex();
}

}  // namespace

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all{
      {"fat_tree_2",
       true,
       {"fat-tree --radix 8", "fat-tree --radix 36", "fat-tree --radix 16 --oversubscription 3"}},
      {"fat_tree_3",
       true,
       {"fat-tree --levels 3 --radix 6", "fat-tree --levels 3 --radix 12",
        "fat-tree --levels 3 --radix 24"}},
      {"slim_tree_3",
       true,
       {"fat-tree --levels 3 --radix 8 --pods 3 --oversubscription 3",
        "fat-tree --levels 3 --radix 16 --pods 5 --oversubscription 3"}},
      {"ring", false, {"torus 5 --hosts 2", "torus 12 --hosts 3"}},
      {"torus_2d",
       false,
       {"torus 4x4 --hosts 2", "torus 6x5 --hosts 3 --cables 2", "torus 8x8 --hosts 4"}},
      {"torus_3d",
       false,
       {"torus 3x4x3 --hosts 1", "torus 5x5x5 --hosts 2", "torus 8x8x8 --hosts 4"}},
      {"mesh", false, {"mesh 4x4 --hosts 2", "mesh 4x4x4 --hosts 2"}},
      {"hypercube", false, {"hypercube 4 --hosts 2", "hypercube 7 --hosts 2"}},
      {"hyperx", false, {"hyperx 4x3 --hosts 3", "hyperx 12x8 --hosts 7"}},
      {"dragonfly",
       false,
       {"dragonfly", "dragonfly --groups 15 --routers 12 --hosts 6 --global 6"}},
      {"dragonfly_plus",
       false,
       {"dragonfly-plus", "dragonfly-plus --groups 9 --leaves 8 --spines 8 --hosts 8 --cables 8"}},
      {"random",
       false,
       {"random --switches 20 --links 40 --hosts 3",
        "random --switches 125 --links 1000 --hosts 8"}},
      {"kautz", false, {"kautz", "kautz --degree 5 --diameter 3 --hosts 7 --cables 2"}},
      {"janus_like", true, {"janus-like"}},
      {"superpod_like", true, {"superpod-like"}},
      {"lab_like", true, {"lab-like"}},
  };
  return all;
}

const std::vector<Damage>& damages() {
  static const std::vector<Damage> all{
      {"whole"}, {"links_1", 1}, {"links_5", 5}, {"links_10", 10}, {"switch", 0, true}};
  return all;
}

fabric::Fabric damaged(fabric::Fabric fabric, const Damage& damage, unsigned seed) {
  std::mt19937_64 random(seed);
  if (damage.links_percent != 0) remove_links(fabric, damage.links_percent, random);
  if (damage.without_a_switch) remove_switch(fabric, random);
  return fabric;
}

fabric::Fabric make(const std::string& words, const Damage& damage, unsigned seed) {
  std::istringstream in(words);
  std::vector<std::string> list;
  for (std::string word; in >> word;) list.push_back(word);
  if (list[0] != "lab-like") {
    list.push_back("--seed");
    list.push_back(std::to_string(seed));
  }
  auto made = fabric::generate(list);
  if (!made) {
    ADD_FAILURE() << words << ": " << made.error().message;
    return {};
  }
  return damaged(std::move(*made), damage, seed);
}

}  // namespace ib::matrix
