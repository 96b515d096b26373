// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// One layer being filled: turns come in as long as no cycle closes.
#pragma once

#include "libdiag/route/deadlock/turns.h"

namespace ib::route {

class Layer {
 public:
  explicit Layer(const Turns& turns)
      : turns_(&turns), graph_(turns.channels()), state_(turns.size(), State::Unknown) {}
  Layer(const Turns& turns, const Dependencies& start, std::span<const Channel> order)
      : turns_(&turns), graph_(start, order), state_(turns.size(), State::Unknown) {
    for (Channel a = 0; a < turns.channels().size(); ++a)
      start.for_next(a, [&](Channel b) { state_[turns.number(a, b)] = State::Taken; });
  }

  /// All turns or none. What closes a cycle once does so for good, since nothing that was added is
  /// ever taken out: each turn alone is looked at in earnest only once.
  bool add(std::span<const Turn> turns);

  /// The same for the time being: `added` gets, behind what it has, the turns that are new here.
  bool try_add(std::span<const Turn> turns, std::vector<Turn>& added);
  /// Takes out what try_add added last.
  void take_out(std::span<const Turn> added);

  /// Channels looked at so far.
  std::uint64_t work() const { return graph_.work(); }

  std::size_t pairs{0};

 private:
  enum class State : std::uint8_t { Unknown, Taken, Refused };
  const Turns* turns_;
  AcyclicDependencies graph_;
  std::vector<State> state_;
  std::vector<Turn> added_;
};

}  // namespace ib::route
