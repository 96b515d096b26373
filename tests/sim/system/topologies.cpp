// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tests/sim/system/topologies.h"

#include <fmt/format.h>

#include <algorithm>

#include "libdiag/fabric/generate.h"

namespace soak {
namespace {

using namespace ib::fabric;

/// Draws numbers of which `size` per cent is left.
class Sizes {
 public:
  Sizes(Dice& dice, unsigned size) : dice_(dice), size_(size) {}
  unsigned from(unsigned low, unsigned high) {
    const unsigned drawn = dice_.from(low, high);
    return low + (drawn - low) * size_ / 100;
  }
  Dice& dice() { return dice_; }

 private:
  Dice& dice_;
  unsigned size_;
};

struct Row {
  const char* name;
  bool is_tree;
  ib::Result<Fabric> (*make)(Sizes&, const GenerateCommon&);
};

constexpr Row kRows[] = {
    {"two-level fat tree", true,
     [](Sizes& s, const GenerateCommon& common) {
       FatTree tree;
       tree.leaves = s.from(1, 7);
       tree.hosts_per_leaf = s.from(2, 6);
       tree.spines = s.from(1, 4);
       tree.radix = tree.hosts_per_leaf + tree.spines + 8;
       return generate(tree, common);
     }},
    {"three-level fat tree", true,
     [](Sizes& s, const GenerateCommon& common) {
       FatTree tree;
       tree.radix = 4;
       tree.levels = 3;
       tree.pods = s.from(2, 4);
       return generate(tree, common);
     }},
    {"torus", false,
     [](Sizes& s, const GenerateCommon& common) {
       return generate(Grid{{s.from(3, 5), s.from(3, 4)}, true, s.from(1, 2), 1}, common);
     }},
    {"3-d torus", false,
     [](Sizes& s, const GenerateCommon& common) {
       return generate(Grid{{3, 3, s.from(2, 3)}, true, 1, 1}, common);
     }},
    {"mesh", false,
     [](Sizes& s, const GenerateCommon& common) {
       return generate(Grid{{s.from(2, 5), s.from(2, 4)}, false, s.from(1, 3), s.from(1, 2)},
                       common);
     }},
    {"hypercube", false,
     [](Sizes& s, const GenerateCommon& common) {
       return generate(Hypercube{s.from(1, 4), s.from(1, 2), s.from(1, 2)}, common);
     }},
    {"HyperX", false,
     [](Sizes& s, const GenerateCommon& common) {
       return generate(HyperX{{s.from(2, 4), s.from(2, 3)}, s.from(1, 4), 1}, common);
     }},
    {"Dragonfly+", false,
     [](Sizes& s, const GenerateCommon& common) {
       return generate(DragonflyPlus{s.from(2, 3), s.from(1, 2), 2, s.from(2, 5), 2}, common);
     }},
    {"Dragonfly", false,
     [](Sizes& s, const GenerateCommon& common) {
       return generate(Dragonfly{s.from(2, 5), s.from(2, 4), s.from(1, 2), 1}, common);
     }},
    {"random graph", false,
     [](Sizes& s, const GenerateCommon& common) {
       const unsigned switches = s.from(2, 14);
       const unsigned pairs = switches * (switches - 1) / 2;
       return generate(
           RandomGraph{switches, std::min(pairs, switches - 1 + s.from(0, 12)), s.from(1, 3)},
           common);
     }},
    {"Kautz graph", false,
     [](Sizes& s, const GenerateCommon& common) {
       return generate(Kautz{2, s.from(1, 3), s.from(1, 3), 1}, common);
     }},
};

}  // namespace

Topology draw_topology(Dice& dice, unsigned size) {
  GenerateCommon common;
  common.lids = false;
  common.seed = dice.next();
  if (dice.chance(30)) common.missing_links_percent = dice.from(1, 15);
  if (dice.chance(20)) common.missing_hosts_percent = dice.from(1, 20);
  const std::uint64_t state = dice.next();
  for (unsigned attempt = 0;; ++attempt) {
    Dice own(state + attempt);
    const Row& row = kRows[own.below(std::size(kRows))];
    Sizes sizes(own, size);
    auto made = row.make(sizes, common);
    // A subnet manager, and a host for it to serve.
    if (!made || made->nodes().size() - made->count(ib::wire::NodeType::Switch) < 2) continue;
    const auto switches = made->count(ib::wire::NodeType::Switch);
    const auto words = fmt::format("{} of {} switches and {} hosts", row.name, switches,
                                   made->nodes().size() - switches);
    return {*std::move(made), words, row.is_tree};
  }
}

}  // namespace soak
