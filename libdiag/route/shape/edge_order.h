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

  explicit EdgeOrder(std::size_t nodes) : position_(nodes), node_at_(nodes), seen_(nodes, 0) {
    std::iota(position_.begin(), position_.end(), 0U);
    std::iota(node_at_.begin(), node_at_.end(), 0U);
  }
  /// Starts from an order; what is missing in `nodes` keeps its place, which must be behind.
  void start_from(std::span<const Node> nodes) {
    for (std::uint32_t i = 0; i < nodes.size(); ++i) put(nodes[i], i);
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

  void put(Node n, std::uint32_t position) {
    position_[n] = position;
    node_at_[position] = n;
  }

  /// What leads to a goes before what b leads to, each side in the order it had.
  void mend() {
    places_of(behind_, behind_places_);
    places_of(ahead_, ahead_places_);
    nodes_.clear();
    for (const auto* side : {&behind_places_, &ahead_places_})
      for (const std::uint32_t place : *side) nodes_.push_back(node_at_[place]);
    slots_.resize(nodes_.size());
    std::merge(behind_places_.begin(), behind_places_.end(), ahead_places_.begin(),
               ahead_places_.end(), slots_.begin());
    for (std::size_t i = 0; i < slots_.size(); ++i) put(nodes_[i], slots_[i]);
  }
  void places_of(const std::vector<Node>& nodes, std::vector<std::uint32_t>& places) const {
    places.clear();
    for (const Node n : nodes) places.push_back(position_[n]);
    std::sort(places.begin(), places.end());
  }

  std::vector<std::uint32_t> position_;  // by node
  std::vector<Node> node_at_;            // by position
  std::vector<std::uint8_t> seen_;       // by node
  // Of the edge that is being admitted.
  std::vector<Node> ahead_, behind_, nodes_;
  std::vector<std::uint32_t> ahead_places_, behind_places_, slots_;
  std::uint64_t work_{0};
};

}  // namespace ib::route
