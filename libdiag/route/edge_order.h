// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// An order that all edges of a growing graph follow (Pearce and Kelly): a new edge is held against
// it, and only the stretch that it contradicts is searched and mended. Who owns the edges says how
// to go along them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace ib::route {

class EdgeOrder {
 public:
  using Node = std::uint32_t;

  explicit EdgeOrder(std::size_t nodes) : position_(nodes), seen_(nodes, false) {
    std::iota(position_.begin(), position_.end(), 0U);
  }
  /// Starts from an order; what is missing in `nodes` keeps its place, which must be behind.
  void start_from(std::span<const Node> nodes) {
    for (std::uint32_t i = 0; i < nodes.size(); ++i) position_[nodes[i]] = i;
  }

  /// An edge goes from a smaller to a larger number.
  std::uint32_t position(Node n) const { return position_[n]; }
  /// Nodes that searches have met so far: what all this cost.
  std::uint64_t work() const { return work_; }

  /// Makes room for an edge from a to b. False, and nothing changes, when b already leads to a.
  /// `next(n, f)` calls f for everything n leads to, `before(n, f)` for everything that leads to n.
  template <class Next, class Before>
  bool admit(Node a, Node b, Next next, Before before) {
    if (a == b) return false;
    if (position_[a] < position_[b]) return true;
    bool closes = false;
    spread(ahead_, b, closes, next, [&](Node n) {
      closes = closes || n == a;
      return position_[n] < position_[a];
    });
    if (!closes)
      spread(behind_, a, closes, before, [&](Node n) { return position_[n] > position_[b]; });
    for (const Node n : ahead_) seen_[n] = false;
    if (closes) return false;
    for (const Node n : behind_) seen_[n] = false;
    mend();
    return true;
  }

 private:
  /// Everything that edges lead to from `start` and that is within the stretch; until `stop`.
  template <class Edges, class Within>
  void spread(std::vector<Node>& found, Node start, const bool& stop, Edges edges, Within within) {
    found.assign(1, start);
    seen_[start] = true;
    for (std::size_t i = 0; i < found.size() && !stop; ++i)
      edges(found[i], [&](Node n) {
        if (!within(n) || seen_[n]) return;
        seen_[n] = true;
        found.push_back(n);
      });
    work_ += found.size();
  }

  /// What leads to a goes before what b leads to, each side in the order it had.
  void mend() {
    const auto earlier = [&](Node x, Node y) { return position_[x] < position_[y]; };
    std::sort(behind_.begin(), behind_.end(), earlier);
    std::sort(ahead_.begin(), ahead_.end(), earlier);
    behind_.insert(behind_.end(), ahead_.begin(), ahead_.end());
    slots_.clear();
    for (const Node n : behind_) slots_.push_back(position_[n]);
    std::sort(slots_.begin(), slots_.end());
    for (std::size_t i = 0; i < slots_.size(); ++i) position_[behind_[i]] = slots_[i];
  }

  std::vector<std::uint32_t> position_;
  std::vector<bool> seen_;
  std::vector<Node> ahead_, behind_;
  std::vector<std::uint32_t> slots_;
  std::uint64_t work_{0};
};

}  // namespace ib::route
