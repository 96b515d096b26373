// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/deadlock/turn_vls.h"

#include <algorithm>
#include <tuple>

#include "libdiag/route/deadlock/layer.h"
#include "libdiag/route/deadlock/part_ways.h"

namespace ib::route {
namespace {

using fabric::SwitchIndex;
using Node = std::uint32_t;  // a channel on a VL

constexpr unsigned kSlsMax = 15;
constexpr std::uint8_t kNone = 0xFF;
/// VLs a path may try before it is said not to fit under an SL.
constexpr unsigned kTriesMax = 256;
/// Paths with more links between switches than this have too many turns to try.
constexpr std::size_t kLongestPath = 6;
/// Channels that may be looked at with one number of VLs before it is given up.
constexpr std::uint64_t kWorkMax = 20'000'000;

/// A graph that never closes a cycle. The edge added last can be taken back.
class AcyclicGraph {
 public:
  explicit AcyclicGraph(std::size_t nodes) : next_(nodes), before_(nodes), order_(nodes) {}

  bool contains(Node a, Node b) const {
    return std::find(next_[a].begin(), next_[a].end(), b) != next_[a].end();
  }
  /// False, and nothing changes, when b already leads to a. Precondition: !contains(a, b).
  bool add(Node a, Node b) {
    const auto along = [](const auto& edges) {
      return [&edges](Node n, auto function) {
        std::for_each(edges[n].begin(), edges[n].end(), function);
      };
    };
    if (!order_.admit(a, b, along(next_), along(before_))) return false;
    next_[a].push_back(b);
    before_[b].push_back(a);
    return true;
  }
  void undo(Node a, Node b) {
    next_[a].pop_back();
    before_[b].pop_back();
  }
  std::uint64_t work() const { return order_.work(); }

 private:
  std::vector<std::vector<Node>> next_, before_;
  EdgeOrder order_;
};

using Path = std::vector<Channel>;

/// Follows tables in channels.
class TableWalker {
 public:
  TableWalker(const fabric::CompactGraph& graph, const Channels& channels,
              const tables::LinearTables& lfts)
      : channels_(channels), lfts_(lfts), by_port_(graph.switch_count() * 256, kNoChannel) {
    for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
      for (std::size_t i = 0; i < graph.arcs(s).size(); ++i)
        by_port_[s * 256 + graph.arcs(s)[i].out_port] = channels.of_arc(graph.arc_index(s, i));
  }

  /// The channel that s sends the LID by; kNoChannel when it has no entry.
  Channel next(SwitchIndex s, Lid lid) const { return by_port_[s * 256 + lfts_.at(s, lid)]; }

  /// Empty when the LID is not reached: tables of before may go round in circles by links of now.
  Path walk(SwitchIndex from, SwitchIndex to, Lid lid) const {
    Path path;
    const std::size_t switches = by_port_.size() / 256;
    for (SwitchIndex s = from; s != to; s = channels_.to(path.back())) {
      const Channel channel = next(s, lid);
      if (channel == kNoChannel || path.size() == switches) return {};
      path.push_back(channel);
    }
    return path;
  }

 private:
  const Channels& channels_;
  const tables::LinearTables& lfts_;
  std::vector<Channel> by_port_;
};

/// Of the paths between all switches with hosts, or with the others as one of the two ends.
Dependencies dependencies_of(const fabric::CompactGraph& graph, const Channels& channels,
                             const TableWalker& walker, Ends ends) {
  Dependencies dependencies(channels);
  std::vector<bool> hosts(graph.switch_count(), false);
  for (const auto& d : graph.destinations())
    if (!d.is_switch()) hosts[d.leaf] = true;
  std::vector<std::uint32_t> seen(graph.switch_count(), 0);
  std::uint32_t stamp = 0;
  for (const auto& d : graph.destinations()) {
    if (d.is_switch() && (ends == Ends::Hosts || hosts[d.leaf])) continue;
    ++stamp;
    for (SwitchIndex start = 0; start < graph.switch_count(); ++start) {
      if (!hosts[start] && (ends == Ends::Hosts || d.is_switch())) continue;
      Channel before = kNoChannel;
      for (SwitchIndex s = start; s != d.leaf;) {
        const Channel channel = walker.next(s, d.lid);
        if (channel == kNoChannel) break;
        if (before != kNoChannel) dependencies.insert(before, channel);
        if (seen[s] == stamp) break;  // the rest of the way is known
        seen[s] = stamp;
        before = channel;
        s = channels.to(channel);
      }
    }
  }
  return dependencies;
}

/// Where hosts need one VL: the paths between CAs and switches that have none on the first VL on
/// which they close no cycle either.
TurnVls others_beside(const fabric::CompactGraph& graph, const Channels& channels,
                      const TableWalker& walker, const Dependencies& of_hosts, unsigned vls_max) {
  std::vector<std::vector<Lid>> lids(graph.switch_count());
  std::vector<bool> hosts(graph.switch_count(), false);
  for (const auto& d : graph.destinations())
    if (!d.is_switch()) hosts[d.leaf] = true;
  for (const auto& d : graph.destinations())
    if (d.is_switch() != hosts[d.leaf]) lids[d.leaf].push_back(d.lid);
  const Turns turns(channels);
  std::vector<Layer> layers;
  layers.emplace_back(turns, of_hosts, of_hosts.order());
  TurnVls result;
  tables::PathSls sls(graph.switch_count(), Sl{0});
  std::vector<Turn> taken;
  const auto walk = [&](SwitchIndex from, SwitchIndex to) {
    for (const Lid lid : lids[to]) {
      const Path path = walker.walk(from, to, lid);
      for (std::size_t i = 1; i < path.size(); ++i)
        taken.push_back(turns.number(path[i - 1], path[i]));
    }
  };
  for (SwitchIndex a = 0; a < graph.switch_count(); ++a)
    for (SwitchIndex b = 0; b < graph.switch_count() && !hosts[a]; ++b) {
      if (!hosts[b]) continue;
      taken.clear();
      walk(a, b);
      walk(b, a);
      std::size_t vl = 0;
      while (vl < layers.size() && !layers[vl].add(taken)) ++vl;
      if (vl == layers.size() && vl < vls_max) {
        layers.emplace_back(turns);
        if (!layers.back().add(taken)) layers.pop_back();
      }
      if (vl == layers.size())
        ++result.left_out;
      else
        sls.set(a, b, Sl{static_cast<std::uint8_t>(vl)});
    }
  result.vls = static_cast<unsigned>(layers.size());
  if (result.vls > 1)
    result.virtual_lanes = {std::move(sls), tables::SlToVl(tables::SlToVlRow::modulo(result.vls))};
  return result;
}

/// Two switches, and every path between them in both directions.
struct Pair {
  SwitchIndex a{}, b{};
  bool hosts{true};         // on both of them
  bool moved{false};        // some path is another than before
  std::vector<Path> paths;  // of two channels and more: others wait for nothing
  std::size_t longest{};
};

/// Those with hosts on both switches, and behind them those with hosts on one. Where a path of the
/// former is too long, that pair alone. `former`: the tables of before; null: there are none.
std::vector<Pair> all_pairs(const fabric::CompactGraph& graph, const TableWalker& walker,
                            const TableWalker* former) {
  std::vector<std::vector<Lid>> lids(graph.switch_count());
  std::vector<bool> hosts(graph.switch_count(), false);
  for (const auto& d : graph.destinations())
    if (!d.is_switch()) lids[d.leaf].push_back(d.lid), hosts[d.leaf] = true;
  for (const auto& d : graph.destinations())
    if (d.is_switch() && !hosts[d.leaf]) lids[d.leaf].push_back(d.lid);
  std::vector<Pair> pairs;
  for (SwitchIndex a = 0; a < graph.switch_count(); ++a) {
    for (SwitchIndex b = a + 1; b < graph.switch_count() && !lids[a].empty(); ++b) {
      if (!hosts[a] && !hosts[b]) continue;
      Pair pair{a, b, hosts[a] && hosts[b], former == nullptr, {}, 0};
      const auto add = [&](SwitchIndex from, SwitchIndex to) {
        for (const Lid lid : lids[to])
          if (auto path = walker.walk(from, to, lid); path.size() > 1) {
            if (!pair.moved) pair.moved = path != former->walk(from, to, lid);
            pair.paths.push_back(std::move(path));
          }
      };
      if (lids[b].empty()) continue;
      add(a, b);
      add(b, a);
      if (pair.paths.empty()) continue;
      std::sort(pair.paths.begin(), pair.paths.end());
      pair.paths.erase(std::unique(pair.paths.begin(), pair.paths.end()), pair.paths.end());
      for (const Path& path : pair.paths) pair.longest = std::max(pair.longest, path.size());
      if (pair.hosts && pair.longest > kLongestPath) return {std::move(pair)};
      pairs.push_back(std::move(pair));
    }
  }
  std::stable_sort(pairs.begin(), pairs.end(), [](const Pair& x, const Pair& y) {
    return std::tuple(!x.hosts, y.longest) < std::tuple(!y.hosts, x.longest);
  });
  return pairs;
}

/// One attempt with a fixed number of VLs.
class Attempt {
 public:
  /// `former`: rows whose VLs are tried first; null: there are none.
  Attempt(const fabric::CompactGraph& graph, const Channels& channels, unsigned data_vls,
          const tables::SlToVl* former)
      : channels_(channels),
        vls_(data_vls),
        former_(former),
        graph_(channels.size() * data_vls),
        in_(channels.size()),
        out_(channels.size()) {
    for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
      ranks_ = std::max<std::size_t>(ranks_, channels.first(s + 1) - channels.first(s));
      for (std::size_t i = 0; i < graph.arcs(s).size(); ++i) {
        const Channel channel = channels.of_arc(graph.arc_index(s, i));
        in_[channel] = graph.arcs(s)[i].in_port;
        out_[channel] = graph.arcs(s)[i].out_port;
      }
    }
  }

  /// Whether the pair fits under an SL, or with the former VLs of its turns even.
  enum class Turning { AsBefore, Freely };
  bool place(const Pair& pair, Sl sl, Turning turning) {
    while (vl_.size() <= sl.value) vl_.emplace_back(channels_.size() * ranks_, kNone);
    turning_ = turning;
    const bool placed = place(pair, unsigned{sl.value});
    turning_ = Turning::Freely;
    return placed;
  }
  /// The first SL under which the pair fits; nullopt when there is none.
  std::optional<unsigned> place(const Pair& pair) {
    for (unsigned sl = 0; sl < kSlsMax && !spent(); ++sl) {
      if (sl == vl_.size()) vl_.emplace_back(channels_.size() * ranks_, kNone);
      if (place(pair, sl)) return sl;
    }
    return std::nullopt;
  }

  bool spent() const { return graph_.work() >= kWorkMax; }

  /// The VL in which packets of an SL enter the first link.
  unsigned entry(unsigned sl) const { return sl % vls_; }
  /// kNone where no path of this SL takes the turn.
  std::uint8_t vl(unsigned sl, Channel a, Channel b) const {
    return sl < vl_.size() ? vl_[sl][turn(a, b)] : kNone;
  }

 private:
  std::size_t turn(Channel a, Channel b) const { return a * ranks_ + channels_.out_rank(b); }
  Node node(Channel channel, unsigned vl) const { return static_cast<Node>(channel * vls_ + vl); }

  bool place(const Pair& pair, unsigned sl) {
    edges_.clear();
    turns_.clear();
    for (const Path& path : pair.paths) {
      tries_ = 0;
      sl_ = sl;
      if (place(path, 1, entry(sl), vl_[sl])) continue;
      undo(0, 0, vl_[sl]);
      return false;
    }
    return true;
  }

  /// VLs for the channels of a path from number i on, given the VL of the one before.
  bool place(const Path& path, std::size_t i, unsigned before, std::vector<std::uint8_t>& vl) {
    if (i == path.size()) return true;
    std::uint8_t& mine = vl[turn(path[i - 1], path[i])];
    if (mine != kNone) return step(path, i, before, mine, vl);
    // The last link is where to climb: nothing follows. Before it VLs are kept while they can.
    unsigned first = i + 1 == path.size() ? std::min(before + 1, vls_ - 1) : before;
    if (former_ != nullptr)
      first = former_->vl(channels_.to(path[i - 1]), in_[path[i - 1]], out_[path[i]],
                          Sl{static_cast<std::uint8_t>(sl_)}) %
              vls_;
    const unsigned most = turning_ == Turning::AsBefore ? 1 : vls_;
    for (unsigned n = 0; n < most; ++n) {
      const unsigned candidate = (first + n) % vls_;
      if (++tries_ > kTriesMax) return false;
      mine = static_cast<std::uint8_t>(candidate);
      turns_.push_back(turn(path[i - 1], path[i]));
      if (step(path, i, before, candidate, vl)) return true;
      mine = kNone;
      turns_.pop_back();
    }
    return false;
  }

  bool step(const Path& path, std::size_t i, unsigned before, unsigned now,
            std::vector<std::uint8_t>& vl) {
    const Node a = node(path[i - 1], before), b = node(path[i], now);
    const std::size_t edges = edges_.size(), turns = turns_.size();
    if (!graph_.contains(a, b)) {
      if (!graph_.add(a, b)) return false;
      edges_.emplace_back(a, b);
    }
    if (place(path, i + 1, now, vl)) return true;
    undo(edges, turns, vl);
    return false;
  }

  void undo(std::size_t edges, std::size_t turns, std::vector<std::uint8_t>& vl) {
    for (; edges_.size() > edges; edges_.pop_back())
      graph_.undo(edges_.back().first, edges_.back().second);
    for (; turns_.size() > turns; turns_.pop_back()) vl[turns_.back()] = kNone;
  }

  const Channels& channels_;
  unsigned vls_;
  const tables::SlToVl* former_;
  std::size_t ranks_{1};
  AcyclicGraph graph_;
  std::vector<std::uint8_t> in_, out_;         // by channel: ports of one of its cables
  std::vector<std::vector<std::uint8_t>> vl_;  // by SL, by turn
  // Of the pair at hand, newest last.
  std::vector<std::pair<Node, Node>> edges_;
  std::vector<std::size_t> turns_;
  unsigned sl_{}, tries_{};
  Turning turning_{Turning::Freely};
};

tables::VirtualLanes tables_of(const fabric::CompactGraph& graph, const Channels& channels,
                               const Attempt& attempt, const tables::PathSls& sls,
                               unsigned sl_count) {
  tables::SlToVlRow entry;
  for (unsigned sl = 0; sl < entry.vl.size(); ++sl)
    entry.vl[sl] = static_cast<std::uint8_t>(attempt.entry(sl));
  tables::VirtualLanes virtual_lanes{sls, tables::SlToVl(graph, entry)};
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
    for (std::size_t i = 0; i < graph.arcs(s).size(); ++i) {
      const auto& in = graph.arcs(s)[i];
      for (std::size_t j = 0; j < graph.arcs(in.to).size(); ++j) {
        tables::SlToVlRow row = entry;
        for (unsigned sl = 0; sl < sl_count; ++sl)
          if (const std::uint8_t vl = attempt.vl(sl, channels.of_arc(graph.arc_index(s, i)),
                                                 channels.of_arc(graph.arc_index(in.to, j)));
              vl != kNone)
            row.vl[sl] = vl;
        if (row != entry)
          virtual_lanes.sl_to_vl.set(in.to, in.in_port, graph.arcs(in.to)[j].out_port, row);
      }
    }
  }
  return virtual_lanes;
}

/// VLs in which packets enter by these rows.
unsigned vls_of(const tables::SlToVl& rows) {
  const auto& entry = rows.injection().vl;
  return *std::max_element(entry.begin(), entry.begin() + kSlsMax) + 1U;
}

/// All pairs with a given number of VLs.
struct Placement {
  Placement(const fabric::CompactGraph& graph, const Channels& channels,
            const std::vector<Pair>& pairs, unsigned data_vls, const FormerVls& former)
      : attempt(graph, channels, data_vls, former.sl_to_vl),
        sls(graph.switch_count(), Sl{0}),
        placed(graph.switch_count(), Sl{0}),
        former_sls(former.sls),
        vls(data_vls) {
    std::vector<const Pair*> others;
    others.reserve(pairs.size());
    for (const Pair& pair : pairs) others.push_back(&pair);
    const auto keep = [&](Attempt::Turning turning, bool with_moved) {
      std::erase_if(others, [&](const Pair* pair) {
        if (pair->moved && !with_moved) return false;
        const Sl sl = former.sls->at(pair->a, pair->b);
        if (sl.value >= kSlsMax || !attempt.place(*pair, sl, turning)) return false;
        take(*pair, sl.value);
        return true;
      });
    };
    if (former.sls != nullptr && former.sl_to_vl != nullptr) {
      keep(Attempt::Turning::AsBefore, false);
      keep(Attempt::Turning::AsBefore, true);
    }
    if (former.sls != nullptr) keep(Attempt::Turning::Freely, true);
    for (const Pair* pair : others) {
      if (const auto sl = attempt.place(*pair)) {
        take(*pair, *sl);
      } else if (pair->hosts) {
        stuck = pair->a;
        return;
      } else {
        ++left_out;
      }
    }
  }
  void take(const Pair& pair, unsigned sl) {
    sls.set(pair.a, pair.b, Sl{static_cast<std::uint8_t>(sl)});
    placed.set(pair.a, pair.b, Sl{1});
    sl_count = std::max(sl_count, sl + 1);
  }
  TurnVls result(const fabric::CompactGraph& graph, const Channels& channels) const {
    return {tables_of(graph, channels, attempt, sl_count == 1 ? tables::PathSls() : sls, sl_count),
            vls, left_out, ways_parted};
  }

  void part(const Channels& channels, const PartByTurns& by) {
    ways_parted = part_ways(by.request, by.targets, by.ways,
                            [&](SwitchIndex from, SwitchIndex to, std::size_t tree) {
                              return admit(channels, by, from, to, tree);
                            });
  }

  /// Under the SL that the pair has, so that it can fall back to its former way on an event.
  bool admit(const Channels& channels, const PartByTurns& by, SwitchIndex from, SwitchIndex to,
             std::size_t tree) {
    if (attempt.spent()) return false;
    Pair pair{from, to, true, true, {{}}, 0};
    const auto exits = by.ways.tree(tree);
    for (SwitchIndex s = from; s != to; s = channels.to(pair.paths.front().back()))
      pair.paths.front().push_back(channels.of_arc(by.request.graph->arc_index(s, exits[s])));
    if (pair.paths.front().size() > kLongestPath) return false;
    if (placed.at(from, to).value != 0)
      return attempt.place(pair, sls.at(from, to), Attempt::Turning::Freely);
    if (former_sls == nullptr) {
      const auto sl = attempt.place(pair);
      if (sl) take(pair, *sl);
      return sl.has_value();
    }
    const Sl sl = former_sls->at(from, to);
    const bool fits = sl.value < kSlsMax && attempt.place(pair, sl, Attempt::Turning::Freely);
    if (fits) take(pair, sl.value);
    return fits;
  }

  bool holds_all() const { return !stuck && left_out == 0; }

  Attempt attempt;
  tables::PathSls sls;
  tables::PathSls placed;             // not 0: the pair has a path that waits for something
  const tables::PathSls* former_sls;  // under which pairs stay; null: there are none
  unsigned vls, sl_count{1};
  std::size_t left_out{0}, ways_parted{0};
  std::optional<SwitchIndex> stuck;  // a path from here found no VL
};

}  // namespace

std::variant<TurnVls, NoVl> vls_by_turn(const fabric::CompactGraph& graph,
                                        const tables::LinearTables& lfts, unsigned vls_max,
                                        const FormerVls& former, const PartByTurns* part) {
  const Channels channels(graph);
  const TableWalker walker(graph, channels, lfts);
  const auto result_of = [&](Placement& placement) {
    if (part != nullptr) placement.part(channels, *part);
    return placement.result(graph, channels);
  };
  const auto of_hosts = dependencies_of(graph, channels, walker, Ends::Hosts);
  if (of_hosts.cycle().empty()) {
    if (dependencies_of(graph, channels, walker, Ends::All).cycle().empty()) return TurnVls{};
    return others_beside(graph, channels, walker, of_hosts, vls_max);
  }
  std::optional<TableWalker> walker_of_before;
  if (former.lfts != nullptr) walker_of_before.emplace(graph, channels, *former.lfts);
  const auto pairs = all_pairs(graph, walker, walker_of_before ? &*walker_of_before : nullptr);
  if (pairs.front().longest > kLongestPath) return NoVl{pairs.front().a, true};
  if (former.sl_to_vl != nullptr)
    for (unsigned vls = std::max(2U, vls_of(*former.sl_to_vl)); vls <= vls_max; ++vls)
      if (Placement placement(graph, channels, pairs, vls, former); placement.holds_all())
        return result_of(placement);
  // Where all VLs there are do not do, fewer need not be tried: such fabrics are the slow ones.
  const FormerVls sls_alone{former.sls, nullptr, nullptr};
  Placement widest(graph, channels, pairs, vls_max, sls_alone);
  if (widest.stuck) return NoVl{*widest.stuck, false};
  for (unsigned vls = 2; vls < vls_max; ++vls)
    if (Placement placement(graph, channels, pairs, vls, sls_alone);
        !placement.stuck && placement.left_out <= widest.left_out)
      return result_of(placement);
  return result_of(widest);
}

}  // namespace ib::route
