// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Fabrics made up from a few numbers: trees, tori, meshes, HyperX, dragonflies and others, whole or
// with parts missing, and look-alikes of real installations with their damage. The same words give
// the same fabric on every machine: names, GUIDs and LIDs included.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libdiag/base/result.h"
#include "libdiag/fabric/fabric.h"

namespace ib::fabric {

/// What every kind understands.
struct GenerateCommon {
  wire::LinkWidth width{wire::LinkWidth::W4x};
  wire::LinkSpeed speed{wire::LinkSpeed::Edr};
  std::uint64_t seed{1};
  double missing_hosts_percent{0};
  double missing_links_percent{0};     // between switches; never cuts the fabric in two
  double missing_switches_percent{0};  // what is cut off by it goes too
  bool lids{true};                     // 1, 2, 3... in node order; otherwise none
};

/// Fat tree of two or three levels. Zeros mean "what a full tree of this radix has".
struct FatTree {
  unsigned radix{36};  // ports of a switch
  unsigned levels{2};
  unsigned hosts_per_leaf{0};
  unsigned leaves{0};          // in all (2 levels) or in a pod (3 levels)
  unsigned spines{0};          // tops of a 2-level tree; cores of a 3-level tree
  unsigned pods{0};            // 3 levels
  double oversubscription{1};  // hosts to uplinks of a leaf, where hosts_per_leaf is 0
  // Above the leaves, on ports beyond the radix:
  unsigned middle_hosts{0};  // on every switch between leaves and cores (3 levels)
  unsigned top_hosts{0};     // on every spine (2 levels) or core (3 levels)
};
struct Grid {  // torus or mesh
  std::vector<unsigned> sizes{4, 4};
  bool wrap{true};
  unsigned hosts{1};   // per switch
  unsigned cables{1};  // parallel, between neighbours
};
struct Hypercube {
  unsigned dimensions{3};
  unsigned hosts{1};
  unsigned cables{1};
};
struct HyperX {
  std::vector<unsigned> sizes{4, 4};
  unsigned hosts{4};
  unsigned cables{1};
};
struct DragonflyPlus {
  unsigned groups{5}, leaves{4}, spines{4}, hosts{4};  // leaves and spines per group
  unsigned cables{4};                                  // between each two groups
};
struct Dragonfly {
  unsigned groups{9}, routers{4}, hosts{2};  // routers per group, all joined
  unsigned global{2};                        // global ports of a router
};
struct RandomGraph {
  unsigned switches{32}, links{64}, hosts{4};
};
struct Kautz {
  unsigned degree{2}, diameter{3}, hosts{2}, cables{1};
};

Result<Fabric> generate(const FatTree& kind, const GenerateCommon& common = {});
Result<Fabric> generate(const Grid& kind, const GenerateCommon& common = {});
Result<Fabric> generate(const Hypercube& kind, const GenerateCommon& common = {});
Result<Fabric> generate(const HyperX& kind, const GenerateCommon& common = {});
Result<Fabric> generate(const DragonflyPlus& kind, const GenerateCommon& common = {});
Result<Fabric> generate(const Dragonfly& kind, const GenerateCommon& common = {});
Result<Fabric> generate(const RandomGraph& kind, const GenerateCommon& common = {});
Result<Fabric> generate(const Kautz& kind, const GenerateCommon& common = {});

/// 79 leaves and three directors of 45 chips each, QDR: dead cables, missing hosts, uneven numbers
/// of cables from a leaf to a line card, hosts on leaves and on line cards.
Result<Fabric> generate_janus_like(std::uint64_t seed = 1);
/// 31 leaves, 9 spines, doubled NDR cables of which some are missing, an aggregation node on every
/// switch.
Result<Fabric> generate_superpod_like(std::uint64_t seed = 1);
/// Two switches of different age, FDR to HDR, cables from a switch to itself.
Result<Fabric> generate_lab_like();

/// `fat-tree --levels 3 --radix 36 ...`: words as a command line has them, the kind first.
Result<Fabric> generate(std::span<const std::string> words);
/// What generate(words) understands, for --help.
std::string_view generate_usage();

}  // namespace ib::fabric
