// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What the most loaded link carries at least, however hosts are joined: the links of a switch carry
// what its own hosts send and get. Kept while links come and go, so that it is there at once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "libdiag/route/spread/spread.h"
#include "libdiag/route/up_down/live_ways.h"

namespace ib::route {

class LoadFloor {
 public:
  /// `costs` of a route, by arc.
  void begin(const LiveLinks& links, const Targets& targets, std::span<const std::uint32_t> costs);
  /// Follows links.lost and links.found. True: switches that no cable joined are joined.
  bool follow(const LiveLinks& links, std::span<const std::uint32_t> costs);

  double load() const;
  /// Whether cables join them.
  bool joined(fabric::SwitchIndex a, fabric::SwitchIndex b) const {
    return pieces_.of[a] == pieces_.of[b];
  }

 private:
  struct Switch {
    std::uint64_t senders{}, lids{};  // of its own hosts
    double out{}, in{};               // what its links carry while each has a load of 1
  };
  void count();
  void measure(const LiveLinks& links, std::span<const std::uint32_t> costs, fabric::SwitchIndex s);
  bool still_joined(const LiveLinks& links, fabric::SwitchIndex from, fabric::SwitchIndex to);

  fabric::Pieces pieces_;
  std::vector<Switch> switches_;
  struct Piece {
    std::uint64_t senders{}, lids{};
  };
  std::vector<Piece> sums_;                 // by piece
  std::vector<fabric::SwitchIndex> queue_;  // of a search
  std::vector<std::uint32_t> seen_;         // by switch: in which search last
  std::uint32_t search_{0};
};

}  // namespace ib::route
