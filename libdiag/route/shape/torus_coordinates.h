// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Where the switches of a torus or mesh of up to three dimensions stand, found from the links alone
// or as torus-2QoS.conf says, with links and switches missing.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "libdiag/base/result.h"
#include "libdiag/fabric/graph.h"
#include "libdiag/route/options.h"

namespace ib::route {

/// What switches are called where they are refused.
class SwitchNames {
 public:
  /// By GUID alone.
  explicit SwitchNames(const fabric::CompactGraph& graph) : graph_(graph) {}
  /// By name and GUID.
  SwitchNames(const fabric::Fabric& fabric, const fabric::CompactGraph& graph)
      : fabric_(&fabric), graph_(graph) {}
  std::string operator()(fabric::SwitchIndex s) const;

 private:
  const fabric::Fabric* fabric_{nullptr};
  const fabric::CompactGraph& graph_;
};

/// Links of a switch graph sorted into directions: parallel ones, as opposite sides of squares are,
/// belong together. A ring of four is two directions of two here, since the graph is the same.
struct LinkDirections {
  struct Link {
    fabric::SwitchIndex a, b;  // a < b; parallel cables are one link
    int direction;             // -1: in no square, so nothing tells
  };
  std::vector<Link> links;
  std::vector<std::vector<std::uint32_t>> of_switch;  // links by switch
  unsigned count{0};                                  // directions

  fabric::SwitchIndex far(std::uint32_t link, fabric::SwitchIndex s) const {
    return links[link].a == s ? links[link].b : links[link].a;
  }
};
Result<LinkDirections> find_directions(const fabric::CompactGraph& graph, const SwitchNames& named);

struct TorusCoordinates {
  struct Axis {
    unsigned radix{1};
    bool wraps{false};  // a link from radix-1 to 0 belongs there; never for a radix under 3
  };
  using Place = std::array<unsigned, 3>;

  std::array<Axis, 3> axes;
  std::vector<std::optional<Place>> of_switch;  // none: a switch without any link
  std::vector<fabric::SwitchIndex> at_place;    // by index(); kNoSwitch where one is missing

  std::size_t index(const Place& p) const {
    return (std::size_t{p[0]} * axes[1].radix + p[1]) * axes[2].radix + p[2];
  }
  fabric::SwitchIndex at(const Place& p) const { return at_place[index(p)]; }
};

/// What to take two directions of two places for, where no configuration says: the graph is the
/// same. Two lines of two share loads better, a ring of four can be gone round the other way.
enum class Squares { Lines, Rings };

/// Without a configuration axes are in the order of the lowest ports they use, and the switch of
/// the smallest GUID is the origin.
Result<TorusCoordinates> find_torus(const fabric::CompactGraph& graph,
                                    const std::optional<TorusConfig>& config, Squares squares,
                                    const SwitchNames& named);
inline Result<TorusCoordinates> find_torus(const fabric::CompactGraph& graph,
                                           const std::optional<TorusConfig>& config,
                                           Squares squares = Squares::Lines) {
  return find_torus(graph, config, squares, SwitchNames(graph));
}

}  // namespace ib::route
