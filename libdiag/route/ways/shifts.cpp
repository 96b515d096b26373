// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/ways/shifts.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace ib::route {
namespace {

using fabric::SwitchIndex;
constexpr std::uint32_t kNoArc = 0xFFFFFFFF;

/// A CA in the computation: its first LID.
struct End {
  SwitchIndex leaf{};
  Lid lid{};
  std::size_t batch{}, bit{};  // of its target
  std::uint64_t place{};
};

/// One order of the CAs and the packets each of its shifts puts on each arc.
struct Order {
  std::vector<std::uint32_t> at;      // the end at a position
  std::vector<std::uint32_t> place;   // of each end
  std::vector<std::uint8_t> packets;  // by arc and shift
  unsigned worst{};
  bool stuck{false};
};

class Calmer {
 public:
  Calmer(const Request& request, const Targets& targets, const TreePlaces& places,
         std::span<const tables::LeastHops> hops, tables::LinearTables& tables,
         const CalmShiftsOptions& options)
      : graph_(*request.graph),
        hops_(hops),
        tables_(tables),
        previous_(request.options.honour_previous ? request.previous : nullptr),
        options_(options),
        by_port_(graph_.switch_count() * 256, kNoArc),
        to_(graph_.arc_count()),
        load_(graph_.arc_count(), 0),
        ends_of_(graph_.switch_count()) {
    for (SwitchIndex s = 0; s < graph_.switch_count(); ++s)
      for (std::size_t i = 0; i < graph_.arcs(s).size(); ++i) {
        const std::size_t arc = graph_.arc_index(s, i);
        to_[arc] = graph_.arcs(s)[i].to;
        by_port_[s * 256 + graph_.arcs(s)[i].out_port] = static_cast<std::uint32_t>(arc);
      }
    for (std::size_t i = 0; i < targets.batch_count(); ++i)
      for (std::size_t b = 0; b < targets.batch(i).size(); ++b) {
        const Target& target = targets.batch(i)[b];
        for (std::size_t c = target.first_column; c < target.last_column; ++c) {
          const auto& column = targets.columns()[c];
          if (column.offset == 0) ends_.push_back({target.leaf, column.lid, i, b, places.place[c]});
        }
      }
    for (std::uint32_t e = 0; e < ends_.size(); ++e) ends_of_[ends_[e].leaf].push_back(e);
  }

  void run() {
    if (ends_.size() < 2 || ends_.size() > options_.ends_max || !add_orders()) return;
    while (looks_ < options_.looks_max &&
           std::any_of(orders_.begin(), orders_.end(), [](const Order& o) { return !o.stuck; }))
      for (Order& order : orders_)
        if (!order.stuck && looks_ < options_.looks_max) lower(order);
  }

 private:
  template <typename Visit>
  void walk(std::uint32_t first, const End& to, Visit visit) const {
    for (std::uint32_t a = first; a != kNoArc; a = arc(to_[a], to)) {
      visit(a);
      if (to_[a] == to.leaf) return;
    }
  }
  std::uint32_t arc(SwitchIndex s, const End& to) const {
    return by_port_[s * 256 + tables_.at(s, to.lid)];
  }
  std::size_t shift(const Order& order, std::uint32_t from, std::uint32_t to) const {
    const std::size_t n = ends_.size();
    return (order.place[to] + n - order.place[from]) % n;
  }

  void add_order(std::vector<std::uint32_t> at) {
    Order order;
    order.at = std::move(at);
    order.place.resize(order.at.size());
    for (std::uint32_t i = 0; i < order.at.size(); ++i) order.place[order.at[i]] = i;
    order.packets.assign(graph_.arc_count() * ends_.size(), 0);
    orders_.push_back(std::move(order));
  }

  /// False when some CA cannot be reached: then there are no shifts of all.
  bool add_orders() {
    std::vector<std::uint32_t> by_place(ends_.size()), by_lid;
    std::iota(by_place.begin(), by_place.end(), 0U);
    by_lid = by_place;
    std::stable_sort(by_place.begin(), by_place.end(),
                     [&](auto a, auto b) { return ends_[a].place < ends_[b].place; });
    std::sort(by_lid.begin(), by_lid.end(),
              [&](auto a, auto b) { return ends_[a].lid < ends_[b].lid; });
    add_order(by_place);
    if (by_lid != by_place) add_order(by_lid);
    for (std::uint32_t to = 0; to < ends_.size(); ++to)
      for (SwitchIndex s = 0; s < graph_.switch_count(); ++s) {
        if (ends_of_[s].empty() || s == ends_[to].leaf) continue;
        if (arc(s, ends_[to]) == kNoArc) return false;
        walk(arc(s, ends_[to]), ends_[to], [&](std::uint32_t a) { add(a, s, to, 1); });
      }
    most_load_ = *std::max_element(load_.begin(), load_.end());
    for (Order& order : orders_)
      order.worst = *std::max_element(order.packets.begin(), order.packets.end());
    return true;
  }

  /// What the ends at s send to `to` comes over arc a, or no longer does.
  void add(std::uint32_t a, SwitchIndex s, std::uint32_t to, int plus) {
    load_[a] += static_cast<std::uint64_t>(plus * static_cast<int>(ends_of_[s].size()));
    for (Order& order : orders_)
      for (const std::uint32_t from : ends_of_[s]) {
        auto& packets = order.packets[a * ends_.size() + shift(order, from, to)];
        packets = static_cast<std::uint8_t>(packets + plus);
      }
  }

  /// Takes the worst shifts of one order down by one packet, or finds that it cannot.
  void lower(Order& order) {
    order.stuck = true;
    if (order.worst <= 1) return;
    const std::size_t n = ends_.size();
    bool all = true;
    for (std::uint32_t a = 0; a < graph_.arc_count(); ++a)
      for (std::size_t k = 1; k < n; ++k)
        if (order.packets[a * n + k] >= order.worst) all &= relieve(order, a, k);
    looks_ += order.packets.size() / 16;
    if (!all) return;
    --order.worst;
    order.stuck = false;
  }

  /// Moves packets of shift k away from arc a until fewer than the worst are left.
  bool relieve(const Order& order, std::uint32_t a, std::size_t k) {
    const std::size_t n = ends_.size();
    for (std::size_t i = 0; i < n; ++i) {
      if (order.packets[a * n + k] < order.worst) return true;
      if (looks_ >= options_.looks_max) return false;
      const std::uint32_t from = order.at[i], to = order.at[(i + k) % n];
      const SwitchIndex s = ends_[from].leaf;
      if (s == ends_[to].leaf) continue;
      bool passes = false;
      walk(arc(s, ends_[to]), ends_[to], [&](std::uint32_t at) { passes |= at == a; });
      looks_ += 4;
      if (passes) move(order, s, to);
    }
    return order.packets[a * n + k] < order.worst;
  }

  /// Sends what s has for `to` another way, if there is one on which nothing becomes as bad.
  void move(const Order& order, SwitchIndex s, std::uint32_t to) {
    const End& end = ends_[to];
    const std::uint32_t current = arc(s, end);
    if (is_passed(s, end) || stays(s, end.lid)) return;
    walk(current, end, [&](std::uint32_t at) { add(at, s, to, -1); });
    std::uint32_t best = current;
    std::uint64_t least = ~std::uint64_t{0};
    for (std::size_t i = 0; i < graph_.arcs(s).size(); ++i) {
      const auto first = static_cast<std::uint32_t>(graph_.arc_index(s, i));
      if (first == current || ((hops_[end.batch].arcs[first] >> end.bit) & 1) == 0) continue;
      const std::uint64_t crowd = crowd_on(order, first, s, to);
      if (crowd < least) least = crowd, best = first;
    }
    if (best != current) tables_.set(s, end.lid, port_of(s, best));
    walk(best, end, [&](std::uint32_t at) { add(at, s, to, 1); });
  }

  /// The sum of squares of what the packets would meet; all bits when a limit would be passed.
  std::uint64_t crowd_on(const Order& order, std::uint32_t first, SwitchIndex s, std::uint32_t to) {
    std::uint64_t sum = 0;
    bool too_much = false;
    walk(first, ends_[to], [&](std::uint32_t a) {
      if (too_much) return;
      too_much = load_[a] + ends_of_[s].size() > most_load_;
      for (const Order& each : orders_) {
        const unsigned limit = &each == &order ? each.worst - 1 : each.worst;
        for (const std::uint32_t from : ends_of_[s]) {
          const unsigned packets = each.packets[a * ends_.size() + shift(each, from, to)];
          too_much |= packets >= limit;
          sum += std::uint64_t{packets} * packets;
        }
      }
      looks_ += orders_.size() * ends_of_[s].size();
    });
    return too_much ? ~std::uint64_t{0} : sum;
  }

  /// True when another switch sends to `end` through s: then more than its own CAs would move.
  bool is_passed(SwitchIndex s, const End& end) const {
    const auto arcs = graph_.arcs(s);
    return std::any_of(arcs.begin(), arcs.end(), [&](const auto& neighbour) {
      const std::uint32_t back = arc(neighbour.to, end);
      return neighbour.to != end.leaf && back != kNoArc && to_[back] == s;
    });
  }
  bool stays(SwitchIndex s, Lid lid) const {
    return previous_ != nullptr && s < previous_->switch_count() &&
           previous_->at(s, lid) != tables::kNoPort && previous_->at(s, lid) == tables_.at(s, lid);
  }
  std::uint8_t port_of(SwitchIndex s, std::uint32_t a) const {
    return graph_.arcs(s)[a - graph_.arc_index(s, 0)].out_port;
  }

  const fabric::CompactGraph& graph_;
  std::span<const tables::LeastHops> hops_;
  tables::LinearTables& tables_;
  const tables::LinearTables* previous_;
  const CalmShiftsOptions& options_;
  std::vector<std::uint32_t> by_port_;
  std::vector<SwitchIndex> to_;
  std::vector<std::uint64_t> load_;  // routes of first LIDs
  std::vector<std::vector<std::uint32_t>> ends_of_;
  std::vector<End> ends_;
  std::vector<Order> orders_;
  std::uint64_t most_load_{0}, looks_{0};
};

}  // namespace

void calm_shifts(const Request& request, const Targets& targets, const TreePlaces& places,
                 std::span<const tables::LeastHops> hops, tables::LinearTables& tables,
                 const CalmShiftsOptions& options) {
  Calmer(request, targets, places, hops, tables, options).run();
}

}  // namespace ib::route
