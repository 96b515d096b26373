// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/fabric/generate.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "libdiag/fabric/topology_builder.h"

namespace ib::fabric {
namespace {

using Id = TopologyBuilder::Id;

constexpr unsigned kNodesMax = TopologyBuilder::kNodesMax, kPortsMax = 254;

std::string numbered(const char* stem, unsigned index) {
  char name[48];
  std::snprintf(name, sizeof name, "%s-%03u", stem, index + 1);
  return name;
}

std::string numbered(const char* stem, unsigned group, unsigned index) {
  char name[48];
  std::snprintf(name, sizeof name, "%s-%02u-%02u", stem, group + 1, index + 1);
  return name;
}

tl::unexpected<Error> refuse(std::string why) { return fail(ErrorKind::Usage, std::move(why)); }
tl::unexpected<Error> needs_too_many(unsigned ports) {
  return refuse("a switch would need " + std::to_string(ports) + " ports; there are at most " +
                std::to_string(kPortsMax));
}

/// Coordinates in a grid, the last dimension fastest.
class Coordinates {
 public:
  explicit Coordinates(std::vector<unsigned> sizes) : sizes_(std::move(sizes)) {}
  std::size_t count() const {
    std::size_t n = 1;
    for (const unsigned size : sizes_) n = std::min<std::size_t>(n * size, kNodesMax + 1);
    return n;
  }
  std::vector<unsigned> of(std::size_t index) const {
    std::vector<unsigned> at(sizes_.size());
    for (std::size_t d = sizes_.size(); d-- > 0; index /= sizes_[d]) {
      at[d] = static_cast<unsigned>(index % sizes_[d]);
    }
    return at;
  }
  Id index(const std::vector<unsigned>& at) const {
    std::size_t index = 0;
    for (std::size_t d = 0; d < sizes_.size(); ++d) index = index * sizes_[d] + at[d];
    return static_cast<Id>(index);
  }
  std::string name(std::size_t index) const {
    std::string name = "sw";
    for (const unsigned c : of(index)) name += '-' + std::to_string(c);
    return name;
  }
  std::size_t dimensions() const { return sizes_.size(); }
  unsigned size(std::size_t d) const { return sizes_[d]; }

 private:
  std::vector<unsigned> sizes_;
};

/// Switches of a regular graph first (so that Id = coordinate index), hosts last.
void attach_everywhere(TopologyBuilder& b, std::size_t switches, unsigned hosts) {
  for (Id s = 0; s < switches; ++s) b.attach_hosts(s, hosts);
}

Result<Fabric> two_levels(const FatTree& t, unsigned hosts, const GenerateCommon& common) {
  TopologyBuilder b(common);
  const unsigned uplinks = t.radix - hosts;
  const unsigned spines = t.spines != 0 ? t.spines : std::max(1U, uplinks);
  const unsigned leaves = t.leaves != 0 ? t.leaves : std::max(1U, t.radix * spines / uplinks);
  if (leaves > kNodesMax || spines > kNodesMax) return refuse("more switches than can be");
  std::vector<Id> leaf, spine;
  for (unsigned i = 0; i < leaves; ++i) leaf.push_back(b.add_switch(numbered("leaf", i), t.radix));
  for (unsigned i = 0; i < spines; ++i) {
    spine.push_back(b.add_switch(numbered("spine", i), t.radix + t.top_hosts));
  }
  for (const Id l : leaf) b.attach_hosts(l, hosts);
  // Every leaf starts with the next spine, so that a number that does not divide spreads.
  for (unsigned i = 0; i < leaves; ++i) {
    const unsigned first = uplinks % spines == 0 ? 0 : i * uplinks;
    for (unsigned u = 0; u < uplinks; ++u) b.connect(leaf[i], spine[(first + u) % spines]);
  }
  for (const Id s : spine) b.attach_hosts(s, t.top_hosts);
  return b.finish();
}

Result<Fabric> three_levels(const FatTree& t, unsigned hosts, const GenerateCommon& common) {
  TopologyBuilder b(common);
  const unsigned leaf_uplinks = t.radix - hosts;
  const unsigned leaves = t.leaves != 0 ? t.leaves : t.radix / 2;  // in a pod
  if (leaves >= t.radix) return refuse("a pod must have fewer leaves than a switch has ports");
  const unsigned middles = leaf_uplinks;
  const unsigned middle_uplinks = t.radix - leaves;
  const unsigned pods = t.pods != 0 ? t.pods : t.radix;
  const unsigned cores = t.spines != 0 ? t.spines : middles * middle_uplinks;
  if (pods > 1000 || cores > kNodesMax) return refuse("more switches than can be");
  std::vector<Id> leaf, middle, core;
  for (unsigned p = 0; p < pods; ++p) {
    for (unsigned i = 0; i < leaves; ++i) {
      leaf.push_back(b.add_switch(numbered("leaf", p, i), t.radix));
    }
  }
  for (unsigned p = 0; p < pods; ++p) {
    for (unsigned i = 0; i < middles; ++i) {
      middle.push_back(b.add_switch(numbered("spine", p, i), t.radix + t.middle_hosts));
    }
  }
  for (unsigned i = 0; i < cores; ++i)
    core.push_back(b.add_switch(numbered("core", i), t.radix + t.top_hosts));
  for (const Id l : leaf) b.attach_hosts(l, hosts);
  for (unsigned p = 0; p < pods; ++p) {
    for (unsigned l = 0; l < leaves; ++l) {
      for (unsigned m = 0; m < middles; ++m) {
        b.connect(leaf[p * leaves + l], middle[p * middles + m]);
      }
    }
    for (unsigned m = 0; m < middles; ++m) {
      for (unsigned u = 0; u < middle_uplinks; ++u) {
        b.connect(middle[p * middles + m], core[(m * middle_uplinks + u) % cores]);
      }
    }
  }
  for (const Id s : middle) b.attach_hosts(s, t.middle_hosts);
  for (const Id s : core) b.attach_hosts(s, t.top_hosts);
  return b.finish();
}

/// Each pair of groups gets `cables` cables, on the gateway of each group that has had the fewest.
void join_groups(TopologyBuilder& b, const std::vector<std::vector<Id>>& gateways,
                 unsigned cables) {
  std::vector<std::size_t> turn(gateways.size(), 0);
  for (std::size_t g = 0; g < gateways.size(); ++g) {
    for (std::size_t h = g + 1; h < gateways.size(); ++h) {
      for (unsigned c = 0; c < cables; ++c) {
        b.connect(gateways[g][turn[g]++ % gateways[g].size()],
                  gateways[h][turn[h]++ % gateways[h].size()]);
      }
    }
  }
}

}  // namespace

Result<Fabric> generate(const FatTree& t, const GenerateCommon& common) {
  if (t.radix < 2 || t.radix > 254) return refuse("the radix must be 2 to 254");
  if (t.levels != 2 && t.levels != 3) return refuse("a fat tree has 2 or 3 levels here");
  if (t.levels == 2 && t.middle_hosts != 0)
    return refuse("a tree of 2 levels has no switches between leaves and spines for hosts");
  unsigned hosts = t.hosts_per_leaf;
  if (hosts == 0) {
    if (!(t.oversubscription > 0)) return refuse("over-subscription must be greater than 0");
    hosts =
        static_cast<unsigned>(std::lround(t.radix * t.oversubscription / (1 + t.oversubscription)));
  }
  if (hosts == 0 || hosts >= t.radix) {
    return refuse("a leaf of " + std::to_string(t.radix) + " ports cannot have " +
                  std::to_string(hosts) + " hosts and an uplink");
  }
  return t.levels == 2 ? two_levels(t, hosts, common) : three_levels(t, hosts, common);
}

Result<Fabric> generate(const Grid& t, const GenerateCommon& common) {
  const Coordinates at(t.sizes);
  if (at.count() > kNodesMax || at.count() == 0) return refuse("the sizes give no usable grid");
  const auto ports = static_cast<unsigned>(t.hosts + std::size_t{2} * t.cables * at.dimensions());
  if (ports > kPortsMax) return needs_too_many(ports);
  TopologyBuilder b(common);
  for (std::size_t i = 0; i < at.count(); ++i) b.add_switch(at.name(i), std::max(1U, ports));
  attach_everywhere(b, at.count(), t.hosts);
  for (std::size_t i = 0; i < at.count(); ++i) {
    for (std::size_t d = 0; d < at.dimensions(); ++d) {
      auto far = at.of(i);
      const bool last = far[d] + 1 == at.size(d);
      // A ring of one has no cable, a ring of two one bundle, not two.
      if (last && (!t.wrap || at.size(d) <= 2)) continue;
      far[d] = last ? 0 : far[d] + 1;
      b.connect(static_cast<Id>(i), at.index(far), t.cables);
    }
  }
  return b.finish();
}

Result<Fabric> generate(const Hypercube& t, const GenerateCommon& common) {
  if (t.dimensions < 1 || t.dimensions > 14) return refuse("a hypercube has 1 to 14 dimensions");
  Grid grid;
  grid.sizes.assign(t.dimensions, 2);
  grid.wrap = false;
  grid.hosts = t.hosts;
  grid.cables = t.cables;
  return generate(grid, common);
}

Result<Fabric> generate(const HyperX& t, const GenerateCommon& common) {
  const Coordinates at(t.sizes);
  if (at.count() > kNodesMax || at.count() == 0) return refuse("the sizes give no usable HyperX");
  TopologyBuilder b(common);
  unsigned ports = t.hosts;
  for (const unsigned size : t.sizes) ports += (size - 1) * t.cables;
  if (ports > kPortsMax) return needs_too_many(ports);
  for (std::size_t i = 0; i < at.count(); ++i) b.add_switch(at.name(i), std::max(1U, ports));
  attach_everywhere(b, at.count(), t.hosts);
  for (std::size_t i = 0; i < at.count(); ++i) {
    for (std::size_t d = 0; d < at.dimensions(); ++d) {
      auto far = at.of(i);
      while (++far[d] < at.size(d)) b.connect(static_cast<Id>(i), at.index(far), t.cables);
    }
  }
  return b.finish();
}

Result<Fabric> generate(const DragonflyPlus& t, const GenerateCommon& common) {
  if (t.groups < 1 || t.leaves < 1 || t.spines < 1 || t.groups > 1000) {
    return refuse("a Dragonfly+ needs groups (at most 1000), leaves and spines");
  }
  TopologyBuilder b(common);
  const unsigned global = ((t.groups - 1) * t.cables + t.spines - 1) / t.spines;
  std::vector<std::vector<Id>> leaf(t.groups), spine(t.groups);
  for (unsigned g = 0; g < t.groups; ++g) {
    for (unsigned i = 0; i < t.leaves; ++i) {
      leaf[g].push_back(b.add_switch(numbered("leaf", g, i), t.hosts + t.spines));
    }
    for (unsigned i = 0; i < t.spines; ++i) {
      spine[g].push_back(b.add_switch(numbered("spine", g, i), t.leaves + global));
    }
  }
  for (const auto& group : leaf) {
    for (const Id l : group) b.attach_hosts(l, t.hosts);
  }
  for (unsigned g = 0; g < t.groups; ++g) {
    for (const Id l : leaf[g]) {
      for (const Id s : spine[g]) b.connect(l, s);
    }
  }
  join_groups(b, spine, t.cables);
  return b.finish();
}

Result<Fabric> generate(const Dragonfly& t, const GenerateCommon& common) {
  if (t.groups < 1 || t.routers < 1 || t.groups > 1000) {
    return refuse("a Dragonfly needs groups (at most 1000) and routers");
  }
  const unsigned pairs = t.groups - 1;
  if (pairs > 0 && t.routers * t.global < pairs) {
    return refuse("groups of " + std::to_string(t.routers) + " routers with " +
                  std::to_string(t.global) + " global ports cannot reach " + std::to_string(pairs) +
                  " other groups");
  }
  TopologyBuilder b(common);
  std::vector<std::vector<Id>> router(t.groups);
  for (unsigned g = 0; g < t.groups; ++g) {
    for (unsigned i = 0; i < t.routers; ++i) {
      router[g].push_back(
          b.add_switch(numbered("router", g, i), t.hosts + t.routers - 1 + t.global));
    }
  }
  for (const auto& group : router) {
    for (const Id r : group) b.attach_hosts(r, t.hosts);
  }
  for (const auto& group : router) {
    for (std::size_t i = 0; i < group.size(); ++i) {
      for (std::size_t j = i + 1; j < group.size(); ++j) b.connect(group[i], group[j]);
    }
  }
  join_groups(b, router, pairs == 0 ? 0 : t.routers * t.global / pairs);
  return b.finish();
}

Result<Fabric> generate(const RandomGraph& t, const GenerateCommon& common) {
  if (t.switches < 1 || t.switches > kNodesMax || t.links + 1 < t.switches) {
    return refuse("a connected random graph needs at least one link less than switches");
  }
  // A random tree first, then any pair; parallel cables happen, a switch to itself does not.
  Dice dice(common.seed ^ 0x52616E646F6DULL);
  std::vector<std::pair<Id, Id>> links;
  for (Id s = 1; s < t.switches; ++s) links.emplace_back(s, static_cast<Id>(dice.roll(s)));
  while (t.switches > 1 && links.size() < t.links) {
    const auto a = static_cast<Id>(dice.roll(t.switches));
    const auto b = static_cast<Id>(dice.roll(t.switches));
    if (a != b) links.emplace_back(a, b);
  }
  std::vector<unsigned> degree(t.switches, t.hosts);
  for (const auto& [a, b] : links) ++degree[a], ++degree[b];
  const unsigned ports = std::max(36U, *std::max_element(degree.begin(), degree.end()));
  TopologyBuilder b(common);
  for (unsigned i = 0; i < t.switches; ++i) b.add_switch(numbered("sw", i), ports);
  attach_everywhere(b, t.switches, t.hosts);
  for (const auto& [from, to] : links) b.connect(from, to);
  return b.finish();
}

Result<Fabric> generate(const Kautz& t, const GenerateCommon& common) {
  if (t.degree < 1 || t.diameter < 1) return refuse("a Kautz graph has degree and diameter");
  // Words of `diameter` letters out of degree + 1, no letter twice in a row. A word leads to those
  // that drop its first letter and add one. As digits: first letter, then the choice among the
  // rest.
  std::size_t words = t.degree + 1;
  for (unsigned i = 1; i < t.diameter; ++i) {
    words = std::min<std::size_t>(words * t.degree, kNodesMax + 1);
  }
  if (words > kNodesMax) return refuse("this Kautz graph has more switches than can be");
  const auto letters = [&](std::size_t word) {
    std::vector<unsigned> digits(t.diameter);
    for (std::size_t i = t.diameter; i-- > 1; word /= t.degree) {
      digits[i] = static_cast<unsigned>(word % t.degree);
    }
    digits[0] = static_cast<unsigned>(word);
    for (std::size_t i = 1; i < t.diameter; ++i) {
      if (digits[i] >= digits[i - 1]) ++digits[i];
    }
    return digits;
  };
  const auto number = [&](const std::vector<unsigned>& w) {
    std::size_t word = w[0];
    for (std::size_t i = 1; i < w.size(); ++i) {
      word = word * t.degree + (w[i] > w[i - 1] ? w[i] - 1 : w[i]);
    }
    return static_cast<Id>(word);
  };
  TopologyBuilder b(common);
  for (std::size_t i = 0; i < words; ++i) {
    std::string name = "sw-";
    for (const unsigned letter : letters(i)) {
      if (t.degree > 9 && name.back() != '-') name += '-';
      name += std::to_string(letter);
    }
    b.add_switch(name, t.hosts + 2 * t.degree * t.cables);
  }
  attach_everywhere(b, words, t.hosts);
  for (std::size_t i = 0; i < words; ++i) {
    const auto from = letters(i);
    for (unsigned letter = 0; letter <= t.degree; ++letter) {
      if (letter == from.back()) continue;
      std::vector<unsigned> to(from.begin() + 1, from.end());
      to.push_back(letter);
      b.connect(static_cast<Id>(i), number(to), t.cables);
    }
  }
  return b.finish();
}

}  // namespace ib::fabric
