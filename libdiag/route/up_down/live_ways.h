// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Ways that follow links: which arcs lead to which target, kept while links between the same
// switches come and go, at the price of what changes. What they say at any time is what the rule
// says about the links there are then. They choose nothing: that is reroute.h.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "libdiag/fabric/graph.h"
#include "libdiag/route/up_down/up_down.h"
#include "libdiag/tables/least_hops.h"

namespace ib::route {

/// The links of a graph, some of which are down. Arcs are told by CompactGraph::arc_index.
struct LiveLinks {
  fabric::CompactGraph graph;
  std::vector<std::uint8_t> alive;
  std::vector<fabric::SwitchIndex> from;
  std::vector<std::uint32_t> reverse;      // the same link from its other end
  std::vector<std::uint32_t> lost, found;  // since they were followed last

  const fabric::Arc& arc(std::uint32_t index) const { return graph.arcs(0).data()[index]; }
  std::uint32_t first(fabric::SwitchIndex s) const {
    return static_cast<std::uint32_t>(graph.arc_index(s, 0));
  }
};

class LiveWays {
 public:
  /// A switch that may have lost candidates of a target, or got a way where it had none. It may be
  /// named twice.
  struct Change {
    fabric::SwitchIndex at{};
    std::uint16_t target{};  // of the batch
    bool way{};              // there is one
    std::uint32_t level{};   // grows along every way; 0 at the target
  };

  virtual ~LiveWays() = default;
  /// Begins with a batch of the targets while all links are alive. Batches may be begun, and
  /// followed, side by side.
  virtual tables::LeastHops begin(std::size_t batch) = 0;
  struct Followed {
    std::uint64_t whole{};    // targets that must be looked at as a whole: candidates are untouched
    std::uint64_t redrawn{};  // others whose candidates may not just be fewer than before
  };
  /// Follows links that were lost and found. `arcs`: the candidates of the batch.
  virtual Followed follow(std::size_t batch, const LiveLinks& links,
                          std::vector<std::uint64_t>& arcs, std::vector<Change>& changes) = 0;
  /// The level of a switch for a target, unless that is looked at as a whole; kFar: no way.
  virtual std::uint32_t level(std::size_t batch, std::size_t target,
                              fabric::SwitchIndex at) const = 0;
  static constexpr std::uint32_t kFar = 0xFFFFFFFF;
};

/// Of tables::least_hops(); `lengths` by arc of `graph`, or empty.
std::unique_ptr<LiveWays> follow_least_hops(const fabric::CompactGraph& graph,
                                            std::vector<std::uint8_t> lengths,
                                            std::span<const fabric::SwitchIndex> targets);

/// Of up_down_hops().
std::unique_ptr<LiveWays> follow_up_down(const fabric::CompactGraph& graph, UpDownOrder order,
                                         std::span<const fabric::SwitchIndex> targets);

}  // namespace ib::route
