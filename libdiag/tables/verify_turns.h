// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The channel dependency graph: a node is a channel on one VL, and leads to those that traffic
// takes right after it. Its order, its cycles. Inside libdiag/tables only.
#pragma once

#include <algorithm>
#include <bit>

#include "libdiag/tables/verify_switch_graph.h"

namespace ib::tables::check {

/// channel * VLs + VL
using Node = std::uint32_t;
struct Turn {
  Node before{}, after{};
  friend auto operator<=>(const Turn&, const Turn&) = default;
};

class Dependencies {
 public:
  Dependencies() = default;
  Dependencies(const SwitchGraph& switch_graph, unsigned vls)
      : stride_(switch_graph.stride),
        vls_(vls),
        words_((switch_graph.stride * vls + 63) / 64),
        bits_(switch_graph.channels() * vls * words_, 0) {}

  unsigned vls() const { return vls_; }
  std::size_t nodes() const { return words_ == 0 ? 0 : bits_.size() / words_; }
  Node node(Channel c, unsigned vl) const { return static_cast<Node>(c * vls_ + vl); }
  Channel channel(Node n) const { return n / vls_; }
  unsigned vl(Node n) const { return n % vls_; }

  /// Traffic on (c, vl) goes on by `port` of the next switch, on VL `next_vl`.
  void add(Channel c, unsigned vl, std::uint8_t port, unsigned next_vl) {
    const std::size_t bit = port * std::size_t{vls_} + next_vl;
    bits_[(c * std::size_t{vls_} + vl) * words_ + bit / 64] |= std::uint64_t{1} << (bit % 64);
  }
  /// 64 ports at a time. Precondition: one VL.
  void add_word(Channel c, std::size_t word, std::uint64_t ports) {
    bits_[c * words_ + word] |= ports;
  }
  /// Precondition: `after` leaves the switch that `before` leads to.
  void add(Turn turn) { word(turn) |= mask(turn); }
  void remove(Turn turn) { word(turn) &= ~mask(turn); }
  /// Precondition: one VL.
  void clear(Channel c) {
    std::fill_n(bits_.begin() + static_cast<std::ptrdiff_t>(c * words_), words_, 0);
  }
  bool has(Turn turn) const {
    return (const_cast<Dependencies*>(this)->word(turn) & mask(turn)) != 0;
  }
  void merge(const Dependencies& other) {
    for (std::size_t i = 0; i < bits_.size(); ++i) bits_[i] |= other.bits_[i];
  }
  /// What `other` has and this has not.
  void subtract_from(Dependencies& other) const {
    for (std::size_t i = 0; i < bits_.size(); ++i) other.bits_[i] &= ~bits_[i];
  }

  /// Calls function(node) for all that follow n.
  template <class Function>
  void for_next(const SwitchGraph& switch_graph, Node n, Function function) const {
    const std::uint64_t* at = bits_.data() + std::size_t{n} * words_;
    std::size_t first = 0;
    bool known = false;
    for (std::size_t i = 0; i < words_; ++i) {
      for (std::uint64_t word = at[i]; word != 0; word &= word - 1) {
        if (!known) {
          first = switch_graph.to[channel(n)] * stride_ * vls_;
          known = true;
        }
        function(static_cast<Node>(first + i * 64 + static_cast<unsigned>(std::countr_zero(word))));
      }
    }
  }
  /// Words of bits a node has; nodes out of one switch are numbered in the order of those bits,
  /// from first_out() on.
  std::size_t words() const { return words_; }
  std::uint64_t word(Node n, std::size_t i) const { return bits_[n * words_ + i]; }
  Node first_out(SwitchIndex s) const { return static_cast<Node>(s * stride_ * vls_); }

 private:
  std::size_t bit(Turn t) const { return t.after % (stride_ * vls_); }
  std::uint64_t mask(Turn t) const { return std::uint64_t{1} << (bit(t) % 64); }
  std::uint64_t& word(Turn t) { return bits_[std::size_t{t.before} * words_ + bit(t) / 64]; }

  std::size_t stride_{0};
  unsigned vls_{1};
  std::size_t words_{0};
  std::vector<std::uint64_t> bits_;
};

/// Kahn's order. `left`: nodes it does not reach, ascending: those on a cycle, and behind one.
struct Order {
  std::vector<std::uint32_t> position;  // by node
  std::vector<Node> left;
};
Order order_of(const SwitchGraph& switch_graph, const Dependencies& turns);

/// Turns that are part of some cycle, ascending, given what order_of() left over.
std::vector<Turn> turns_on_cycles(const SwitchGraph& switch_graph, const Dependencies& turns,
                                  const std::vector<Node>& left);

/// One cycle among `left`, in the order traffic takes it. Precondition: `left` is not empty.
std::vector<Node> cycle_in(const SwitchGraph& switch_graph, const Dependencies& turns,
                           const std::vector<Node>& left);

}  // namespace ib::tables::check
