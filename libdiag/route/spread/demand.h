// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Who, while LIDs are spread, has to know how many sources come by: switches with a choice, and
// those before links whose load decides somebody's choice. It hangs on candidates alone, so it is
// found before anything is chosen, and nothing else is handed on.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "libdiag/route/spread/spread.h"

namespace ib::route {

class Demand {
 public:
  /// `hops` by batch of targets.
  Demand(const fabric::CompactGraph& graph, const Targets& targets,
         std::span<const tables::LeastHops> hops);

  /// The arc is one of several candidates for something; only loads of such arcs ever decide.
  bool contested(std::size_t arc) const { return contested_[arc] != 0; }
  /// By switch: targets of a batch, as bits, for which somebody behind it wants to know how much it
  /// sends there. Only where the batch has targets with columns.
  const std::uint64_t* passes_on(std::size_t batch) const { return passes_on_[batch].data(); }
  /// Targets for which switches at this level hand something on.
  std::uint64_t asked_at(std::size_t batch, std::size_t level) const {
    return asked_[batch].empty() ? 0 : asked_[batch][level];
  }

 private:
  void find_contested();
  std::uint64_t loaded_targets(std::size_t batch) const;
  void find_what_passes_on(std::size_t batch);

  const fabric::CompactGraph& graph_;
  const Targets& targets_;
  std::span<const tables::LeastHops> hops_;
  std::vector<std::uint8_t> contested_;                // by arc
  std::vector<std::vector<std::uint64_t>> passes_on_;  // by batch and switch
  std::vector<std::vector<std::uint64_t>> asked_;      // by batch and level: any of passes_on_
};

}  // namespace ib::route
