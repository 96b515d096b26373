// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/deadlock/layer.h"

namespace ib::route {

bool Layer::add(std::span<const Turn> turns) {
  added_.clear();
  for (const Turn t : turns) {
    if (state_[t] == State::Refused) return false;
    if (state_[t] == State::Unknown) added_.push_back(t);
  }
  for (std::size_t i = 0; i < added_.size(); ++i) {
    const auto [a, b] = turns_->dependency(added_[i]);
    if (graph_.add(a, b)) continue;
    for (std::size_t j = 0; j < i; ++j) {
      const auto [x, y] = turns_->dependency(added_[j]);
      graph_.remove(x, y);
    }
    // Without the turns before it, it may yet do.
    if (i == 0 || !graph_.add(a, b))
      state_[added_[i]] = State::Refused;
    else
      graph_.remove(a, b);
    return false;
  }
  for (const Turn t : added_) state_[t] = State::Taken;
  return true;
}

bool Layer::try_add(std::span<const Turn> turns, std::vector<Turn>& added) {
  const std::size_t before = added.size();
  for (const Turn t : turns) {
    if (state_[t] == State::Taken) continue;
    const auto [a, b] = turns_->dependency(t);
    if (state_[t] == State::Unknown && graph_.add(a, b)) {
      state_[t] = State::Taken;
      added.push_back(t);
      continue;
    }
    take_out(std::span(added).subspan(before));
    added.resize(before);
    return false;
  }
  return true;
}

void Layer::take_out(std::span<const Turn> added) {
  for (const Turn t : added) {
    const auto [a, b] = turns_->dependency(t);
    graph_.remove(a, b);
    state_[t] = State::Unknown;
  }
}

}  // namespace ib::route
