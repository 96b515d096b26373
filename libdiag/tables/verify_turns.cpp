// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/tables/verify_turns.h"

#include <algorithm>
#include <map>
#include <set>

namespace ib::tables::check {

Order order_of(const SwitchGraph& switch_graph, const Dependencies& turns) {
  const std::size_t nodes = turns.nodes();
  std::vector<std::uint32_t> waiting(nodes, 0);
  std::vector<Node> ready;
  ready.reserve(nodes);
  for (Node n = 0; n < nodes; ++n) turns.for_next(switch_graph, n, [&](Node m) { ++waiting[m]; });
  for (Node n = 0; n < nodes; ++n)
    if (waiting[n] == 0) ready.push_back(n);
  for (std::size_t i = 0; i < ready.size(); ++i)
    turns.for_next(switch_graph, ready[i], [&](Node m) {
      if (--waiting[m] == 0) ready.push_back(m);
    });
  Order order;
  order.position.assign(nodes, 0);
  for (std::size_t i = 0; i < ready.size(); ++i)
    order.position[ready[i]] = static_cast<std::uint32_t>(i);
  if (ready.size() != nodes)
    for (Node n = 0; n < nodes; ++n)
      if (waiting[n] != 0) order.left.push_back(n);
  return order;
}

/// Tarjan's strongly connected components, without recursion.
std::vector<Turn> turns_on_cycles(const SwitchGraph& switch_graph, const Dependencies& turns,
                                  const std::vector<Node>& left) {
  constexpr std::uint32_t kUnseen = 0xFFFFFFFF;
  std::vector<std::uint32_t> place(turns.nodes(), kUnseen);  // of a node in `left`
  for (std::uint32_t i = 0; i < left.size(); ++i) place[left[i]] = i;
  struct Frame {
    std::uint32_t node;
    std::vector<std::uint32_t> next;
  };
  std::vector<std::uint32_t> number(left.size(), kUnseen), low(left.size()),
      part(left.size(), kUnseen);
  std::vector<std::uint32_t> open;
  std::vector<Frame> stack;
  std::uint32_t numbers = 0, parts = 0;
  const auto enter = [&](std::uint32_t i) {
    number[i] = low[i] = numbers++;
    open.push_back(i);
    stack.push_back({i, {}});
    turns.for_next(switch_graph, left[i], [&](Node n) {
      if (place[n] != kUnseen) stack.back().next.push_back(place[n]);
    });
  };
  for (std::uint32_t root = 0; root < left.size(); ++root) {
    if (number[root] != kUnseen) continue;
    enter(root);
    while (!stack.empty()) {
      const std::uint32_t i = stack.back().node;
      if (!stack.back().next.empty()) {
        const std::uint32_t j = stack.back().next.back();
        stack.back().next.pop_back();
        if (number[j] == kUnseen)
          enter(j);
        else if (part[j] == kUnseen)
          low[i] = std::min(low[i], number[j]);
        continue;
      }
      if (low[i] == number[i]) {
        for (bool more = true; more; open.pop_back()) {
          part[open.back()] = parts;
          more = open.back() != i;
        }
        ++parts;
      }
      stack.pop_back();
      if (!stack.empty()) low[stack.back().node] = std::min(low[stack.back().node], low[i]);
    }
  }
  std::vector<Turn> result;
  for (std::uint32_t i = 0; i < left.size(); ++i)
    turns.for_next(switch_graph, left[i], [&](Node n) {
      if (place[n] != kUnseen && part[place[n]] == part[i]) result.push_back({left[i], n});
    });
  return result;
}

/// Every node left over has one before it that is left over too, so going backwards must close.
std::vector<Node> cycle_in(const SwitchGraph& switch_graph, const Dependencies& turns,
                           const std::vector<Node>& left) {
  const std::set<Node> cyclic(left.begin(), left.end());
  std::map<Node, Node> before;
  for (const Node n : left)
    turns.for_next(switch_graph, n, [&](Node m) {
      if (cyclic.contains(m)) before.emplace(m, n);
    });
  std::map<Node, std::size_t> seen;
  std::vector<Node> trail;
  Node node = left.front();
  for (; !seen.contains(node); node = before.at(node)) {
    seen.emplace(node, trail.size());
    trail.push_back(node);
  }
  trail.erase(trail.begin(), trail.begin() + static_cast<std::ptrdiff_t>(seen.at(node)));
  std::reverse(trail.begin(), trail.end());
  return trail;
}

}  // namespace ib::tables::check
