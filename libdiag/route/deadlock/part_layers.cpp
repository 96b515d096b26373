// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/deadlock/part_layers.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "libdiag/route/deadlock/part_ways.h"

namespace ib::route {
namespace {

using fabric::SwitchIndex;

// Work before it is given up: channels looked at, and so many for each pair tried in a layer.
constexpr std::uint64_t kStepsMax = 60'000'000, kStepsPerTry = 8;

class LayerDoor {
 public:
  explicit LayerDoor(FilledLayers filled)
      : filled_(filled), seen_(filled.walker.turns().size(), 0) {}

  bool admit(SwitchIndex from, SwitchIndex to) {
    if (steps_ > kStepsMax) return false;
    turns_.clear();
    ++stamp_;
    const auto add = [&](Turn t) {
      if (seen_[t] != stamp_) turns_.push_back(t);
      seen_[t] = stamp_;
    };
    filled_.walker.walk(from, to, add);
    filled_.walker.walk(to, from, add);
    // Former ways stay part of it: on an event the pair may have to fall back to them.
    const std::uint32_t pair = filled_.pairs.index(from, to);
    for (const Turn t : filled_.pairs.pair(pair).turns) add(t);
    if (takes(filled_.layer_of[pair])) {
      filled_.pairs.replace(pair, turns_);
      return true;
    }
    return !filled_.keep && move(pair);
  }

 private:
  /// What the pair leaves behind in its layer stays there, which is stricter than need be.
  bool move(std::uint32_t pair) {
    auto& layers = filled_.layers;
    order_.resize(layers.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::ranges::sort(order_, {}, [&](std::size_t l) { return std::tuple(layers[l].pairs, l); });
    std::uint8_t& mine = filled_.layer_of[pair];
    for (std::size_t i = 0; i <= order_.size(); ++i) {
      if (i == order_.size()) {
        if (layers.size() == filled_.layers_max) return false;
        layers.emplace_back(filled_.walker.turns());
      }
      const std::size_t l = i == order_.size() ? layers.size() - 1 : order_[i];
      if (l == mine || !takes(l)) {
        if (i == order_.size()) layers.pop_back();
        continue;
      }
      --layers[mine].pairs;
      ++layers[l].pairs;
      mine = static_cast<std::uint8_t>(l);
      filled_.pairs.replace(pair, turns_);
      return true;
    }
    return false;
  }

  bool takes(std::size_t l) {
    Layer& layer = filled_.layers[l];
    const std::uint64_t before = layer.work();
    const bool fits = layer.add(turns_);
    steps_ += kStepsPerTry + layer.work() - before;
    return fits;
  }

  FilledLayers filled_;
  std::vector<Turn> turns_;          // of the pair at hand
  std::vector<std::uint64_t> seen_;  // by turn, when it was last added
  std::uint64_t stamp_{0};
  std::vector<std::size_t> order_;
  std::uint64_t steps_{0};
};

}  // namespace

std::size_t part_ways_in_layers(const Request& request, const Targets& targets, Ways& ways,
                                FilledLayers filled) {
  if (targets.lids_of_a_port() < 2) return 0;
  LayerDoor door(filled);
  return part_ways(request, targets, ways, [&](SwitchIndex from, SwitchIndex to, std::size_t) {
    return door.admit(from, to);
  });
}

}  // namespace ib::route
