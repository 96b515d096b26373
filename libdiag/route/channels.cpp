// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/channels.h"

#include <numeric>

namespace ib::route {

using fabric::SwitchIndex;

Channels::Channels(const fabric::CompactGraph& graph, Parallel parallel) {
  const std::size_t switches = graph.switch_count();
  std::vector<Channel> channel_to(switches, kNoChannel);  // of the switch at hand
  of_arc_.reserve(graph.arc_count());
  std::size_t most = 0;
  for (SwitchIndex s = 0; s < switches; ++s) {
    first_.push_back(static_cast<Channel>(size()));
    for (const auto& arc : graph.arcs(s)) {
      Channel& known = channel_to[arc.to];
      if (known == kNoChannel || parallel == Parallel::Apart) {
        known = static_cast<Channel>(size());
        from_.push_back(s);
        to_.push_back(arc.to);
      }
      of_arc_.push_back(known);
    }
    for (const auto& arc : graph.arcs(s)) channel_to[arc.to] = kNoChannel;
    most = std::max(most, size() - first_.back());
  }
  first_.push_back(static_cast<Channel>(size()));

  first_into_.assign(switches + 1, 0);
  for (const SwitchIndex s : to_) ++first_into_[s + 1];
  for (const std::uint32_t degree : first_into_) most = std::max<std::size_t>(most, degree);
  std::partial_sum(first_into_.begin(), first_into_.end(), first_into_.begin());
  into_.resize(size());
  in_rank_.resize(size());
  std::vector<std::uint32_t> filled(switches, 0);
  for (Channel c = 0; c < size(); ++c) {
    in_rank_[c] = filled[to_[c]]++;
    into_[first_into_[to_[c]] + in_rank_[c]] = c;
  }
  words_ = std::max<std::size_t>(1, (most + 63) / 64);
}

std::vector<Channel> Dependencies::order() const {
  const std::size_t channels = channels_->size();
  std::vector<std::uint32_t> waiting(channels, 0);
  for (Channel c = 0; c < channels; ++c) for_next(c, [&](Channel n) { ++waiting[n]; });
  std::vector<Channel> ready;
  ready.reserve(channels);
  for (Channel c = 0; c < channels; ++c)
    if (waiting[c] == 0) ready.push_back(c);
  for (std::size_t i = 0; i < ready.size(); ++i)
    for_next(ready[i], [&](Channel n) {
      if (--waiting[n] == 0) ready.push_back(n);
    });
  return ready;
}

std::vector<Channel> Dependencies::cycle() const {
  std::vector<bool> ordered(channels_->size(), false);
  for (const Channel c : order()) ordered[c] = true;
  // Every channel left over has one before it that is left over too, so going back must close.
  std::vector<Channel> before(channels_->size(), kNoChannel);
  Channel at = kNoChannel;
  for (Channel c = 0; c < ordered.size(); ++c) {
    if (ordered[c]) continue;
    if (at == kNoChannel) at = c;
    for_next(c, [&](Channel n) {
      if (!ordered[n] && before[n] == kNoChannel) before[n] = c;
    });
  }
  if (at == kNoChannel) return {};
  std::vector<bool> met(ordered.size(), false);
  for (; !met[at]; at = before[at]) met[at] = true;
  std::vector<Channel> cycle{at};
  for (Channel c = before[at]; c != at; c = before[c]) cycle.push_back(c);
  std::reverse(cycle.begin(), cycle.end());
  return cycle;
}

AcyclicDependencies::AcyclicDependencies(const Channels& channels)
    : next_(channels),
      before_(channels.size() * channels.words(), 0),
      position_(channels.size()),
      seen_(channels.size(), false) {
  std::iota(position_.begin(), position_.end(), 0U);
}

AcyclicDependencies::AcyclicDependencies(const Dependencies& start, std::span<const Channel> order)
    : AcyclicDependencies(start.channels()) {
  next_ = start;
  for (std::uint32_t i = 0; i < order.size(); ++i) position_[order[i]] = i;
  const Channels& all = channels();
  for (Channel c = 0; c < all.size(); ++c)
    next_.for_next(c, [&](Channel n) {
      before_[n * all.words() + all.in_rank(c) / 64] |= std::uint64_t{1} << (all.in_rank(c) % 64);
    });
}

bool AcyclicDependencies::add(Channel a, Channel b) {
  if (next_.contains(a, b)) return true;
  if (a == b) return false;
  if (position_[a] > position_[b]) {
    forward_.clear();
    backward_.clear();
    const bool open = reach_forward(b, a);
    work_ += forward_.size();
    if (!open) {
      for (const Channel c : forward_) seen_[c] = false;
      return false;
    }
    reach_backward(a, position_[b]);
    work_ += backward_.size();
    mend();
  }
  next_.insert(a, b);
  const std::uint32_t rank = channels().in_rank(a);
  before_[b * channels().words() + rank / 64] |= std::uint64_t{1} << (rank % 64);
  return true;
}

void AcyclicDependencies::remove(Channel a, Channel b) {
  next_.erase(a, b);
  const std::uint32_t rank = channels().in_rank(a);
  before_[b * channels().words() + rank / 64] &= ~(std::uint64_t{1} << (rank % 64));
}

bool AcyclicDependencies::add_all(std::span<const Dependency> dependencies) {
  std::vector<Dependency> added;
  for (const auto& [a, b] : dependencies) {
    if (contains(a, b)) continue;
    if (add(a, b)) {
      added.emplace_back(a, b);
      continue;
    }
    for (const auto& [x, y] : added) remove(x, y);
    return false;
  }
  return true;
}

/// Collects what `start` leads to and stands before `goal`; false when it leads to `goal` itself.
bool AcyclicDependencies::reach_forward(Channel start, Channel goal) {
  const std::uint32_t highest = position_[goal];
  bool met = false;
  seen_[start] = true;
  forward_.push_back(start);
  for (std::size_t i = 0; i < forward_.size() && !met; ++i)
    next_.for_next(forward_[i], [&](Channel n) {
      if (n == goal) met = true;
      if (seen_[n] || position_[n] >= highest) return;
      seen_[n] = true;
      forward_.push_back(n);
    });
  return !met;
}

/// Collects what leads to `start` and stands after `lowest`.
void AcyclicDependencies::reach_backward(Channel start, std::uint32_t lowest) {
  const Channels& all = channels();
  seen_[start] = true;
  backward_.push_back(start);
  for (std::size_t i = 0; i < backward_.size(); ++i) {
    const Channel c = backward_[i];
    const auto into = all.into(all.from(c));
    for (std::size_t w = 0; w < all.words(); ++w)
      for (std::uint64_t bits = before_[c * all.words() + w]; bits != 0; bits &= bits - 1) {
        const Channel p = into[w * 64 + static_cast<unsigned>(std::countr_zero(bits))];
        if (seen_[p] || position_[p] <= lowest) continue;
        seen_[p] = true;
        backward_.push_back(p);
      }
  }
}

/// Gives the places of all collected channels first to those that lead to the new dependency, then
/// to those it leads to, each group in the order it had.
void AcyclicDependencies::mend() {
  const auto by_position = [&](Channel x, Channel y) { return position_[x] < position_[y]; };
  std::sort(backward_.begin(), backward_.end(), by_position);
  std::sort(forward_.begin(), forward_.end(), by_position);
  slots_.clear();
  for (const auto* group : {&backward_, &forward_})
    for (const Channel c : *group) {
      slots_.push_back(position_[c]);
      seen_[c] = false;
    }
  std::sort(slots_.begin(), slots_.end());
  std::size_t i = 0;
  for (const auto* group : {&backward_, &forward_})
    for (const Channel c : *group) position_[c] = slots_[i++];
}

}  // namespace ib::route
