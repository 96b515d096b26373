// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Channels and their dependencies: what can wait for what. A channel is a directed link between
// switches; a packet that holds one and wants the next makes the first depend on the second. Routes
// on one VL cannot deadlock while that graph has no cycle (Dally and Seitz).
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "libdiag/fabric/graph.h"
#include "libdiag/route/shape/edge_order.h"

namespace ib::route {

using Channel = std::uint32_t;
inline constexpr Channel kNoChannel = 0xFFFFFFFF;
/// The first channel is held while the second is wanted; it leaves the switch the first enters.
using Dependency = std::pair<Channel, Channel>;

/// What cables between the same two switches are.
enum class Parallel {
  OneChannel,  // stricter than need be, and smaller: whatever spreads over the cables is covered
  Apart,       // an arc a channel: Channel equals CompactGraph::arc_index
};

/// The channels of a graph, numbered by the switch they leave, then by the first port.
class Channels {
 public:
  explicit Channels(const fabric::CompactGraph& graph, Parallel parallel = Parallel::OneChannel);

  std::size_t size() const { return from_.size(); }
  std::size_t switch_count() const { return first_.size() - 1; }
  fabric::SwitchIndex from(Channel c) const { return from_[c]; }
  fabric::SwitchIndex to(Channel c) const { return to_[c]; }
  /// By CompactGraph::arc_index.
  Channel of_arc(std::size_t arc) const { return of_arc_[arc]; }
  /// Channels out of s are first(s) up to, not including, first(s + 1).
  Channel first(fabric::SwitchIndex s) const { return first_[s]; }
  /// Channels into s, ascending.
  std::span<const Channel> into(fabric::SwitchIndex s) const {
    return {into_.data() + first_into_[s], into_.data() + first_into_[s + 1]};
  }
  std::uint32_t out_rank(Channel c) const { return c - first_[from_[c]]; }
  std::uint32_t in_rank(Channel c) const { return in_rank_[c]; }
  /// 64-bit words that hold a bit for every channel out of, or into, any switch.
  std::size_t words() const { return words_; }

 private:
  std::vector<fabric::SwitchIndex> from_, to_;
  std::vector<Channel> of_arc_, first_, into_;
  std::vector<std::uint32_t> first_into_, in_rank_;
  std::size_t words_{1};
};

/// Dependencies between channels, as bits.
class Dependencies {
 public:
  explicit Dependencies(const Channels& channels)
      : channels_(&channels), next_(channels.size() * channels.words(), 0) {}

  const Channels& channels() const { return *channels_; }
  bool contains(Channel a, Channel b) const {
    const std::uint32_t rank = channels_->out_rank(b);
    return (next_[a * channels_->words() + rank / 64] >> (rank % 64)) & 1;
  }
  void insert(Channel a, Channel b) {
    const std::uint32_t rank = channels_->out_rank(b);
    next_[a * channels_->words() + rank / 64] |= std::uint64_t{1} << (rank % 64);
  }
  void erase(Channel a, Channel b) {
    const std::uint32_t rank = channels_->out_rank(b);
    next_[a * channels_->words() + rank / 64] &= ~(std::uint64_t{1} << (rank % 64));
  }
  /// Bits, by out_rank, of the channels that a depends on: 64 of them from 64 * word on.
  std::uint64_t next_bits(Channel a, std::size_t word) const {
    return next_[a * channels_->words() + word];
  }
  void merge(const Dependencies& other) {
    for (std::size_t i = 0; i < next_.size(); ++i) next_[i] |= other.next_[i];
  }
  void clear() { std::fill(next_.begin(), next_.end(), 0); }

  /// Calls function(b) for every b that a depends on.
  template <class Function>
  void for_next(Channel a, Function function) const;
  /// The channels in an order in which every dependency goes forwards. What lies on or behind a
  /// cycle is missing; it is complete exactly when there is none.
  std::vector<Channel> order() const;
  /// The channels of one cycle, each followed by one it depends on; empty when there is none.
  std::vector<Channel> cycle() const;
  /// By channel: the same number for all that lie on cycles together (a strongly connected part),
  /// kNoChannel for those on none. A dependency is on a cycle when both its ends have one number.
  std::vector<Channel> knots() const;

 private:
  const Channels* channels_;
  std::vector<std::uint64_t> next_;
};

/// Dependencies that never close a cycle: each is held against an order of the channels as it
/// comes.
class AcyclicDependencies {
 public:
  explicit AcyclicDependencies(const Channels& channels);
  /// Starts from dependencies without a cycle; `order` is their Dependencies::order().
  AcyclicDependencies(const Dependencies& start, std::span<const Channel> order);

  const Channels& channels() const { return next_.channels(); }
  const Dependencies& graph() const { return next_; }
  bool contains(Channel a, Channel b) const { return next_.contains(a, b); }
  /// False, and nothing changes, when b already leads to a.
  bool add(Channel a, Channel b);
  void remove(Channel a, Channel b);
  /// Where c stands: a dependency goes from a smaller to a larger number.
  std::uint32_t position(Channel c) const { return order_.position(c); }
  /// Channels that searches have met so far: what all this cost.
  std::uint64_t work() const { return order_.work(); }

 private:
  /// What a search has met, whole words of channels at a time: bits by out_rank of the channels out
  /// of a switch, or by in_rank of those into it.
  class Met {
   public:
    explicit Met(const Channels& channels)
        : words_(channels.switch_count() * channels.words(), 0) {}
    /// Those of `bits` that are new.
    std::uint64_t take(std::size_t word, std::uint64_t bits) {
      bits &= ~words_[word];
      if (bits == 0) return 0;
      if (words_[word] == 0) touched_.push_back(word);
      words_[word] |= bits;
      return bits;
    }
    void forget() {
      for (const std::size_t word : touched_) words_[word] = 0;
      touched_.clear();
    }

   private:
    std::vector<std::uint64_t> words_;
    std::vector<std::size_t> touched_;
  };

  Dependencies next_;
  std::vector<std::uint64_t> before_;  // by channel: bits by in_rank of what depends on it
  EdgeOrder order_;
  Met met_ahead_, met_behind_;
};

template <class Function>
void Dependencies::for_next(Channel a, Function function) const {
  const std::size_t words = channels_->words();
  const Channel first = channels_->first(channels_->to(a));
  for (std::size_t w = 0; w < words; ++w)
    for (std::uint64_t bits = next_[a * words + w]; bits != 0; bits &= bits - 1)
      function(
          static_cast<Channel>(first + w * 64 + static_cast<unsigned>(std::countr_zero(bits))));
}

}  // namespace ib::route
