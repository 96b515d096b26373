// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// torus-2QoS: x, then y, then z, each the shorter way round its ring. SL bits 0 to 2 say which
// datelines (between places radix-1 and 0) a path crosses, bit 3 which of two levels of service it
// has; a link along axis d makes VL bit 0 out of SL bit d, so that no ring closes on one VL. A
// broken ring is gone round the other way, which cannot close it either. Beside a missing switch
// packets turn early, and the turn back, which the order of axes forbids, sets VL bit 1 for one
// hop. Whether that was enough is checked on the routes that came out.
#include <algorithm>
#include <bit>
#include <numeric>

#include "libdiag/route/engines/engines.h"
#include "libdiag/route/shape/channels.h"
#include "libdiag/route/shape/torus_coordinates.h"
#include "libdiag/route/spread/spread.h"
#include "libdiag/tables/least_hops.h"

namespace ib::route {
namespace {

using fabric::CompactGraph;
using fabric::SwitchIndex;
using Place = TorusCoordinates::Place;

constexpr unsigned kAxes = 3;
constexpr unsigned kHostSide = kAxes;  // stands for the axis of a link to or from an end port

/// Which way along an axis.
enum class Way { Down, Up };
constexpr Way opposite(Way way) { return way == Way::Up ? Way::Down : Way::Up; }

/// VLs of links between switches, out of SL and turn.
class VlRule {
 public:
  explicit VlRule(unsigned vls) : dateline_(vls >= 2), turn_(vls >= 4), level_(vls >= 8) {}
  std::uint8_t vl(unsigned sl, unsigned in_axis, unsigned out_axis) const {
    unsigned vl = 0;
    if (out_axis == kHostSide) return level_ && sl >= 8 ? 1 : 0;
    if (dateline_) vl |= (sl >> out_axis) & 1;
    if (turn_ && in_axis != kHostSide && in_axis > out_axis) vl |= 2;
    if (level_ && sl >= 8) vl |= 4;
    return static_cast<std::uint8_t>(vl);
  }
  tables::SlToVlRow row(unsigned in_axis, unsigned out_axis) const {
    tables::SlToVlRow row;
    for (unsigned sl = 0; sl < row.vl.size(); ++sl) row.vl[sl] = vl(sl, in_axis, out_axis);
    return row;
  }
  std::uint8_t vls_used() const { return level_ ? 8 : turn_ ? 4 : dateline_ ? 2 : 1; }

 private:
  bool dateline_, turn_, level_;
};

/// The torus with its links: who is next where, and how far one gets.
class Torus {
 public:
  Torus(const CompactGraph& graph, TorusCoordinates coordinates)
      : graph_(graph), where_(std::move(coordinates)), next_(graph.switch_count()) {
    for (auto& ways : next_)
      for (auto& axis : ways) axis.fill(fabric::kNoSwitch);
    for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
      for (const auto& arc : graph.arcs(s)) {
        const unsigned axis = axis_of(s, arc.to);
        next_[s][axis][static_cast<std::size_t>(way_of_link(s, arc.to, axis))] = arc.to;
      }
    measure_rings();
  }

  const CompactGraph& graph() const { return graph_; }
  const TorusCoordinates& where() const { return where_; }
  bool has(SwitchIndex s) const { return where_.of_switch[s].has_value(); }
  const Place& place(SwitchIndex s) const { return *where_.of_switch[s]; }
  unsigned axis_of(SwitchIndex s, SwitchIndex neighbour) const {
    unsigned axis = 0;
    while (place(s)[axis] == place(neighbour)[axis]) ++axis;
    return axis;
  }
  SwitchIndex next(SwitchIndex s, unsigned axis, Way way) const {
    return next_[s][axis][static_cast<std::size_t>(way)];
  }
  /// The next place up or down is across the dateline.
  bool at_dateline(SwitchIndex s, unsigned axis, Way way) const {
    return place(s)[axis] == (way == Way::Up ? where_.axes[axis].radix - 1 : 0);
  }
  /// The ring of s along the axis is whole.
  bool closed(SwitchIndex s, unsigned axis) const {
    return steps_[s][axis][1] >= where_.axes[axis].radix;
  }

  /// Whether the way from p to q along an axis goes over the dateline on an undamaged torus: the
  /// same both ways, since replies use the request's SL. Where both ways round are equally long
  /// that depends on the places still equal on the way there and back, to spread the load.
  bool crosses(const Place& p, const Place& q, unsigned axis) const {
    const unsigned n = where_.axes[axis].radix;
    if (!where_.axes[axis].wraps) return false;
    const auto [low, high] = std::minmax(p[axis], q[axis]);
    const unsigned direct = high - low;
    if (2 * direct != n) return 2 * direct > n;
    unsigned sum = low;
    for (unsigned later = axis + 1; later < kAxes; ++later) sum += p[later] + q[later];
    return sum % 2 == 1;
  }

  /// The switch after s on the way to `goal`; none when all ways on are broken.
  SwitchIndex step(SwitchIndex s, SwitchIndex goal) const {
    const Place &p = place(s), &q = place(goal);
    for (unsigned axis = 0; axis < kAxes; ++axis) {
      if (p[axis] == q[axis]) continue;
      const Way way = (p[axis] < q[axis]) != crosses(p, q, axis) ? Way::Up : Way::Down;
      Place turn = p;
      turn[axis] = q[axis];
      if (where_.at(turn) == fabric::kNoSwitch) {
        if (next(s, axis, way) != fabric::kNoSwitch) return next(s, axis, way);
        continue;
      }
      for (const Way w : {way, opposite(way)})
        if (distance(p[axis], q[axis], axis, w) <= steps_[s][axis][static_cast<std::size_t>(w)])
          return next(s, axis, w);
    }
    return fabric::kNoSwitch;
  }

 private:
  /// From the lower place to the higher is up, but for links over the dateline.
  Way way_of_link(SwitchIndex s, SwitchIndex to, unsigned axis) const {
    const unsigned a = place(s)[axis], b = place(to)[axis];
    const bool next_to = a + 1 == b || b + 1 == a;
    return (a < b) == next_to ? Way::Up : Way::Down;
  }

  unsigned distance(unsigned from, unsigned to, unsigned axis, Way way) const {
    const unsigned n = where_.axes[axis].radix;
    return way == Way::Up ? (to + n - from) % n : (from + n - to) % n;
  }

  /// How many steps links lead on along every axis, both ways; the radix or more: all round.
  void measure_rings() {
    steps_.resize(graph_.switch_count());
    for (SwitchIndex s = 0; s < graph_.switch_count(); ++s)
      for (unsigned axis = 0; axis < kAxes; ++axis)
        for (const Way way : {Way::Down, Way::Up}) {
          unsigned steps = 0;
          for (SwitchIndex at = s; steps < where_.axes[axis].radix; ++steps) {
            at = next(at, axis, way);
            if (at == fabric::kNoSwitch) break;
          }
          steps_[s][axis][static_cast<std::size_t>(way)] = steps;
        }
  }

  const CompactGraph& graph_;
  TorusCoordinates where_;
  std::vector<std::array<std::array<SwitchIndex, 2>, kAxes>> next_;  // by axis and Way
  std::vector<std::array<std::array<unsigned, 2>, kAxes>> steps_;
};

/// What waits for what, by channel and the lower two bits of its VL. A switch of a torus has at
/// most six neighbours, so what a channel may depend on fits one word.
class Waiting {
 public:
  static constexpr unsigned kVls = 4;

  explicit Waiting(const CompactGraph& graph)
      : channels_(graph), next_(channels_.size() * kVls, 0) {}

  Channel channel(SwitchIndex s, SwitchIndex to) const {
    Channel c = channels_.first(s);
    while (channels_.to(c) != to) ++c;
    return c;
  }
  void insert(Channel a, unsigned a_vl, Channel b, unsigned b_vl) {
    next_[a * kVls + a_vl] |= std::uint32_t{1} << (channels_.out_rank(b) * kVls + b_vl);
  }
  /// A switch on a cycle, if there is one.
  std::optional<SwitchIndex> cycle() const {
    std::vector<std::uint32_t> waiting(next_.size(), 0);
    for (std::uint32_t v = 0; v < next_.size(); ++v) over_next(v, [&](auto n) { ++waiting[n]; });
    std::vector<std::uint32_t> ready;
    for (std::uint32_t v = 0; v < next_.size(); ++v)
      if (waiting[v] == 0) ready.push_back(v);
    for (std::size_t i = 0; i < ready.size(); ++i)
      over_next(ready[i], [&](auto n) {
        if (--waiting[n] == 0) ready.push_back(n);
      });
    // What is left over has one before it that is left over too: going back must close.
    std::vector<std::uint32_t> before(next_.size(), kNone);
    std::uint32_t at = kNone;
    for (std::uint32_t v = 0; v < next_.size(); ++v) {
      if (waiting[v] == 0) continue;
      at = v;
      over_next(v, [&](auto n) { before[n] = v; });
    }
    if (at == kNone) return std::nullopt;
    for (std::size_t steps = 0; steps < next_.size(); ++steps) at = before[at];
    return channels_.from(at / kVls);
  }

 private:
  static constexpr std::uint32_t kNone = ~0U;

  template <class Function>
  void over_next(std::uint32_t v, Function function) const {
    const Channel first = channels_.first(channels_.to(v / kVls));
    for (std::uint32_t bits = next_[v]; bits != 0; bits &= bits - 1) {
      const auto bit = static_cast<unsigned>(std::countr_zero(bits));
      function((first + bit / kVls) * kVls + bit % kVls);
    }
  }

  Channels channels_;
  std::vector<std::uint32_t> next_;
};

class Engine2Qos {
 public:
  Engine2Qos(const Request& request, TorusCoordinates coordinates)
      : request_(request),
        graph_(*request.graph),
        named_(*request.fabric, graph_),
        torus_(graph_, std::move(coordinates)),
        rule_(request.vls),
        waiting_(graph_) {}

  Result<Routes> run() {
    const Targets targets(request_);
    std::vector<tables::LeastHops> hops(targets.batch_count());
    for (std::size_t i = 0; i < hops.size(); ++i) {
      hops[i].arcs.assign(graph_.arc_count(), 0);
      hops[i].at.emplace_back(graph_.switch_count(), 0);
      const auto batch = targets.batch(i);
      for (std::size_t b = 0; b < batch.size(); ++b)
        if (auto led = lead_to(batch[b].leaf, b, hops[i]); !led) return tl::unexpected(led.error());
    }
    if (const auto loop = waiting_.cycle()) return refuse_loop(*loop);

    Routes result;
    result.engine = "torus-2QoS";
    result.lfts = spread(request_, targets, hops);
    if (request_.options.torus) deal_in_port_order(targets, result.lfts);
    result.virtual_lanes = make_virtual_lanes();
    result.vls_used = rule_.vls_used();
    result.promises_deadlock_freedom = true;
    if (auto rule = multicast_tree())
      result.multicast = std::move(*rule);
    else
      result.notes.push_back("multicast: not proved, no spanning tree keeps to the order of axes");
    describe(result.notes);
    return result;
  }

 private:
  unsigned sl(SwitchIndex a, SwitchIndex b) const {
    unsigned sl = 0;
    for (unsigned axis = 0; axis < kAxes; ++axis)
      if (torus_.crosses(torus_.place(a), torus_.place(b), axis)) sl |= 1U << axis;
    return sl;
  }

  /// Routes of all switches to `leaf` as bit b of `hops`, with their dependencies.
  Result<void> lead_to(SwitchIndex leaf, std::size_t b, tables::LeastHops& hops) {
    const std::uint64_t bit = std::uint64_t{1} << b;
    hops.at[0][leaf] |= bit;
    if (!torus_.has(leaf)) return {};
    constexpr unsigned kNotYet = ~0U;
    std::vector<unsigned> level(graph_.switch_count(), kNotYet);
    std::vector<SwitchIndex> next(graph_.switch_count(), fabric::kNoSwitch), walk;
    level[leaf] = 0;
    for (SwitchIndex s = 0; s < graph_.switch_count(); ++s) {
      if (!torus_.has(s)) continue;
      walk.clear();
      for (SwitchIndex at = s; level[at] == kNotYet; at = next[at]) {
        next[at] = torus_.step(at, leaf);
        if (next[at] == fabric::kNoSwitch || walk.size() == graph_.switch_count())
          return fail(ErrorKind::NotFound, "torus-2QoS finds no way from " + named_(at) + " to " +
                                               named_(leaf) + " past what is missing");
        walk.push_back(at);
      }
      for (; !walk.empty(); walk.pop_back()) level[walk.back()] = level[next[walk.back()]] + 1;
      if (s == leaf) continue;
      while (hops.at.size() <= level[s]) hops.at.emplace_back(graph_.switch_count(), 0);
      hops.at[level[s]][s] |= bit;
      const auto arcs = graph_.arcs(s);
      for (std::size_t i = 0; i < arcs.size(); ++i)
        if (arcs[i].to == next[s]) hops.arcs[graph_.arc_index(s, i)] |= bit;
    }
    if (graph_.end_ports()[leaf] == 0) return {};
    for (SwitchIndex s = 0; s < graph_.switch_count(); ++s)
      if (s != leaf && graph_.end_ports()[s] != 0 && torus_.has(s)) depend(s, leaf, next);
    return {};
  }

  void depend(SwitchIndex source, SwitchIndex leaf, const std::vector<SwitchIndex>& next) {
    const unsigned path_sl = sl(source, leaf);
    Channel held = kNoChannel;
    unsigned held_vl = 0, in_axis = kHostSide;
    for (SwitchIndex at = source; at != leaf; at = next[at]) {
      const unsigned axis = torus_.axis_of(at, next[at]);
      const unsigned vl = rule_.vl(path_sl, in_axis, axis);
      const Channel wanted = waiting_.channel(at, next[at]);
      if (held != kNoChannel) waiting_.insert(held, held_vl, wanted, vl);
      held = wanted, held_vl = vl, in_axis = axis;
    }
  }

  tl::unexpected<Error> refuse_loop(SwitchIndex s) const {
    const std::string where = named_(s);
    if (request_.vls < 4)
      return fail(ErrorKind::NotFound,
                  "torus-2QoS needs 4 data VLs (2 while no switch is missing): with " +
                      std::to_string(request_.vls) + " there is a credit loop through " + where);
    return fail(
        ErrorKind::NotFound,
        "more is missing than torus-2QoS can route round: a credit loop remains through " + where);
  }

  tables::VirtualLanes make_virtual_lanes() const {
    tables::VirtualLanes virtual_lanes;
    virtual_lanes.sls = tables::PathSls(graph_.switch_count(), Sl{0});
    virtual_lanes.sl_to_vl = tables::SlToVl(graph_, rule_.row(kHostSide, kHostSide));
    for (SwitchIndex a = 0; a < graph_.switch_count(); ++a) {
      if (!torus_.has(a)) continue;
      for (SwitchIndex b = a + 1; b < graph_.switch_count(); ++b)
        if (torus_.has(b)) virtual_lanes.sls.set(a, b, Sl{static_cast<std::uint8_t>(sl(a, b))});
      std::vector<unsigned> axis(graph_.num_ports(a) + std::size_t{1}, kHostSide);
      for (const auto& arc : graph_.arcs(a)) axis[arc.out_port] = torus_.axis_of(a, arc.to);
      for (const auto& arc : graph_.arcs(a))
        for (std::size_t in = 0; in < axis.size(); ++in)
          virtual_lanes.sl_to_vl.set(a, static_cast<std::uint8_t>(in), arc.out_port,
                                     rule_.row(axis[in], axis[arc.out_port]));
    }
    return virtual_lanes;
  }

  /// Parallel links are dealt to the end ports of a switch in the order of port_order: what its
  /// ports got in their own order goes to the ports as listed. Loads stay what they are.
  void deal_in_port_order(const Targets& targets, tables::LinearTables& tables) const {
    const auto& order = request_.options.torus->port_order;
    if (order.empty()) return;
    std::array<std::size_t, 256> rank;
    rank.fill(order.size());
    for (std::size_t i = order.size(); i-- > 0;) rank[order[i]] = i;
    for (const Target& target : targets.all()) {
      const auto columns =
          targets.columns().subspan(target.first_column, target.last_column - target.first_column);
      std::vector<Lid> lids;
      std::vector<std::pair<std::size_t, Lid>> listed;
      for (const auto& column : columns) {
        lids.push_back(column.lid);
        listed.emplace_back(rank[column.port], column.lid);
      }
      std::stable_sort(listed.begin(), listed.end(),
                       [](const auto& x, const auto& y) { return x.first < y.first; });
      for (SwitchIndex s = 0; s < graph_.switch_count(); ++s) {
        if (s == target.leaf) continue;
        std::vector<std::uint8_t> dealt;
        dealt.reserve(lids.size());
        for (const Lid lid : lids) dealt.push_back(tables.at(s, lid));
        for (std::size_t i = 0; i < listed.size(); ++i) tables.set(s, listed[i].second, dealt[i]);
      }
    }
  }

  // ---- multicast ----

  /// How a tree gets to what lies behind something missing.
  enum class Past { OverDateline, ByTurns };

  /// A tree from a root along x, from there along y, from all those along z, that closes no cycle
  /// with the unicast routes. Past what is missing it either goes over the dateline of a ring that
  /// is broken anyway, or takes further turns; which of them does is checked.
  std::optional<MulticastRule> multicast_tree() const {
    std::vector<SwitchIndex> roots;
    for (SwitchIndex s = 0; s < graph_.switch_count(); ++s)
      if (torus_.has(s)) roots.push_back(s);
    const auto off_centre = [&](SwitchIndex s) {
      unsigned sum = 0;
      for (unsigned axis = 0; axis < kAxes; ++axis) {
        const unsigned twice = 2 * torus_.place(s)[axis] + 1;
        const unsigned n = torus_.where().axes[axis].radix;
        sum += twice > n ? twice - n : n - twice;
      }
      return sum;
    };
    std::stable_sort(roots.begin(), roots.end(),
                     [&](SwitchIndex a, SwitchIndex b) { return off_centre(a) < off_centre(b); });
    constexpr unsigned kTriesMax = 1000;  // of the costly check
    unsigned tries = 0;
    for (const SwitchIndex root : roots) {
      for (const Past past : {Past::OverDateline, Past::ByTurns}) {
        const auto tree = grow(root, past);
        if (tree.size() != roots.size()) continue;
        if (auto rule = proved(tree)) return rule;
        if (++tries == kTriesMax) return std::nullopt;
      }
    }
    return std::nullopt;
  }

  /// Switches in the order they joined the tree, with their parents.
  std::vector<std::pair<SwitchIndex, SwitchIndex>> grow(SwitchIndex root, Past past) const {
    std::vector<std::pair<SwitchIndex, SwitchIndex>> tree{{root, fabric::kNoSwitch}};
    std::vector<bool> in_tree(graph_.switch_count(), false);
    in_tree[root] = true;
    const auto along = [&](unsigned axis) {
      const std::size_t stems = tree.size();
      for (std::size_t i = 0; i < stems; ++i)
        for (const Way way : {Way::Up, Way::Down})
          for (SwitchIndex at = tree[i].first;;) {
            const SwitchIndex next = torus_.next(at, axis, way);
            const bool stop = torus_.at_dateline(at, axis, way) &&
                              (past == Past::ByTurns || torus_.closed(at, axis));
            if (next == fabric::kNoSwitch || stop || in_tree[next]) break;
            in_tree[next] = true;
            tree.emplace_back(next, at);
            at = next;
          }
      return tree.size() > stems;
    };
    for (unsigned axis = 0; axis < kAxes; ++axis) along(axis);
    if (past == Past::ByTurns)
      while (along(0) || along(1) || along(2)) {
      }
    return tree;
  }

  std::optional<MulticastRule> proved(
      const std::vector<std::pair<SwitchIndex, SwitchIndex>>& tree) const {
    std::vector<std::vector<SwitchIndex>> joined(graph_.switch_count());
    for (const auto& [s, parent] : tree)
      if (parent != fabric::kNoSwitch) joined[s].push_back(parent), joined[parent].push_back(s);
    Waiting with_tree = waiting_;
    // Through a, s, b: on which VL the first link is held depends on where the packet came from.
    for (const auto& [s, parent] : tree)
      for (const SwitchIndex a : joined[s])
        for (const SwitchIndex b : joined[s]) {
          if (a == b) continue;
          const unsigned first = torus_.axis_of(a, s), second = torus_.axis_of(s, b);
          const unsigned vl = rule_.vl(0, first, second);
          const auto held = with_tree.channel(a, s), wanted = with_tree.channel(s, b);
          with_tree.insert(held, rule_.vl(0, kHostSide, first), wanted, vl);
          for (const SwitchIndex before : joined[a])
            if (before != s)
              with_tree.insert(held, rule_.vl(0, torus_.axis_of(before, a), first), wanted, vl);
        }
    if (with_tree.cycle()) return std::nullopt;
    MulticastRule rule;
    rule.sl = Sl{0};
    rule.parent.assign(graph_.switch_count(), fabric::kNoSwitch);
    // Switches outside the torus have no link: any numbers behind the others do.
    rule.up_order.assign(graph_.switch_count(), 0);
    auto number = static_cast<std::uint32_t>(tree.size());
    for (SwitchIndex s = 0; s < graph_.switch_count(); ++s)
      if (!torus_.has(s)) rule.up_order[s] = number++;
    number = 0;
    for (const auto& [s, parent] : tree) rule.parent[s] = parent, rule.up_order[s] = number++;
    return rule;
  }

  void describe(std::vector<std::string>& notes) const {
    const auto& axes = torus_.where().axes;
    std::string sizes;
    for (const auto& axis : axes)
      sizes += (sizes.empty() ? "" : " x ") + std::to_string(axis.radix) +
               (axis.radix > 2 && !axis.wraps ? " (mesh)" : "");
    const auto missing = std::count(torus_.where().at_place.begin(), torus_.where().at_place.end(),
                                    fabric::kNoSwitch);
    notes.push_back("a torus of " + sizes +
                    (missing == 0 ? "" : ", " + std::to_string(missing) + " switches missing"));
  }

  const Request& request_;
  const CompactGraph& graph_;
  const SwitchNames named_;
  Torus torus_;
  VlRule rule_;
  Waiting waiting_;
};

}  // namespace

Result<Routes> torus_2qos(const Request& request) {
  const auto& graph = *request.graph;
  const auto& config = request.options.torus;
  const SwitchNames named(*request.fabric, graph);
  auto coordinates = find_torus(graph, config, Squares::Lines, named);
  if (!coordinates) return tl::unexpected(coordinates.error());
  auto routes = Engine2Qos(request, std::move(*coordinates)).run();
  if (routes || config) return routes;
  // Damage in a line of two cuts it; in a ring of four there is another way round.
  auto rings = find_torus(graph, config, Squares::Rings, named);
  if (!rings) return routes;
  auto other = Engine2Qos(request, std::move(*rings)).run();
  return other ? std::move(other) : std::move(routes);
}

}  // namespace ib::route
