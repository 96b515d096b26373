// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/shape/channels.h"

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

/// Tarjan's strongly connected components, without recursion.
std::vector<Channel> Dependencies::knots() const {
  const std::size_t channels = channels_->size();
  constexpr std::uint32_t kUnseen = 0xFFFFFFFF;
  struct Frame {
    Channel at;
    std::vector<Channel> next;
  };
  std::vector<Channel> knot(channels, kNoChannel), open;
  std::vector<std::uint32_t> number(channels, kUnseen), low(channels);
  std::vector<bool> closed(channels, false);
  for (const Channel c : order()) closed[c] = true;  // on no cycle
  std::vector<Frame> stack;
  std::uint32_t numbers = 0;
  const auto enter = [&](Channel c) {
    number[c] = low[c] = numbers++;
    open.push_back(c);
    stack.push_back({c, {}});
    for_next(c, [&](Channel n) { stack.back().next.push_back(n); });
  };
  for (Channel root = 0; root < channels; ++root) {
    if (closed[root] || number[root] != kUnseen) continue;
    enter(root);
    while (!stack.empty()) {
      const Channel c = stack.back().at;
      if (!stack.back().next.empty()) {
        const Channel n = stack.back().next.back();
        stack.back().next.pop_back();
        if (number[n] == kUnseen)
          enter(n);
        else if (!closed[n])
          low[c] = std::min(low[c], number[n]);
        continue;
      }
      const bool alone = open.back() == c;
      for (bool more = low[c] == number[c]; more;) {
        const Channel member = open.back();
        open.pop_back();
        closed[member] = true;
        if (!alone) knot[member] = c;
        more = member != c;
      }
      stack.pop_back();
      if (!stack.empty()) low[stack.back().at] = std::min(low[stack.back().at], low[c]);
    }
  }
  return knot;
}

AcyclicDependencies::AcyclicDependencies(const Channels& channels)
    : next_(channels),
      before_(channels.size() * channels.words(), 0),
      order_(channels.size()),
      met_ahead_(channels),
      met_behind_(channels) {}

AcyclicDependencies::AcyclicDependencies(const Dependencies& start, std::span<const Channel> order)
    : AcyclicDependencies(start.channels()) {
  next_ = start;
  order_.start_from(order);
  const Channels& all = channels();
  for (Channel c = 0; c < all.size(); ++c)
    next_.for_next(c, [&](Channel n) {
      before_[n * all.words() + all.in_rank(c) / 64] |= std::uint64_t{1} << (all.in_rank(c) % 64);
    });
}

bool AcyclicDependencies::add(Channel a, Channel b) {
  if (next_.contains(a, b)) return true;
  if (order_.position(a) >= order_.position(b)) {
    const Channels& all = channels();
    // Each channel is shown to the search once, however many lead to it.
    const auto next = [&](Channel c, auto function) {
      const fabric::SwitchIndex s = all.to(c);
      for (std::size_t w = 0; w < all.words(); ++w)
        for (std::uint64_t bits = met_ahead_.take(s * all.words() + w, next_.next_bits(c, w));
             bits != 0; bits &= bits - 1)
          function(static_cast<Channel>(all.first(s) + w * 64 +
                                        static_cast<unsigned>(std::countr_zero(bits))));
    };
    const auto before = [&](Channel c, auto function) {
      const fabric::SwitchIndex s = all.from(c);
      const auto into = all.into(s);
      for (std::size_t w = 0; w < all.words(); ++w)
        for (std::uint64_t bits =
                 met_behind_.take(s * all.words() + w, before_[c * all.words() + w]);
             bits != 0; bits &= bits - 1)
          function(into[w * 64 + static_cast<unsigned>(std::countr_zero(bits))]);
    };
    const bool admitted = order_.admit(a, b, next, before);
    met_ahead_.forget();
    met_behind_.forget();
    if (!admitted) return false;
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

}  // namespace ib::route
