// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/routes/verify.h"

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "libdiag/routes/names.h"

namespace ib::routes {
namespace {

using fabric::SwitchIndex;
constexpr std::uint32_t kNoArc = 0xFFFFFFFF;
constexpr unsigned kHopsMax = 64;
constexpr std::size_t kLidsPerBlock = 64;

/// What every walk needs, made once.
struct Terrain {
  const fabric::CompactGraph& graph;
  std::vector<std::uint32_t> arc_by_port;  // [switch * stride + port]
  std::size_t stride;
  std::vector<SwitchIndex> to;       // by arc
  std::vector<SwitchIndex> from;     // by arc
  std::vector<std::uint8_t> rank;    // of an arc among those of its switch
  std::vector<std::uint32_t> own;    // sources by switch: its CA and router ports that have a LID
  std::vector<SwitchIndex> sources;  // switches with such ports
  std::vector<fabric::Destination> destinations;  // ascending, one a LID
  std::size_t words;                              // 64-bit words for a bit per arc of a switch

  explicit Terrain(const fabric::CompactGraph& g)
      : graph(g), stride(g.max_ports() + std::size_t{1}), own(g.switch_count(), 0), words(1) {
    arc_by_port.assign(graph.switch_count() * stride, kNoArc);
    to.resize(graph.arc_count());
    from.resize(graph.arc_count());
    rank.resize(graph.arc_count());
    for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
      const auto arcs = graph.arcs(s);
      words = std::max(words, (arcs.size() + 63) / 64);
      for (std::size_t i = 0; i < arcs.size(); ++i) {
        const std::size_t arc = graph.arc_index(s, i);
        arc_by_port[s * stride + arcs[i].out_port] = static_cast<std::uint32_t>(arc);
        to[arc] = arcs[i].to;
        from[arc] = s;
        rank[arc] = static_cast<std::uint8_t>(i);
      }
    }
    for (const auto& destination : graph.destinations()) {
      if (destination.leaf >= graph.switch_count()) continue;
      const bool sibling = !destinations.empty() &&
                           destinations.back().end_port == destination.end_port &&
                           destinations.back().leaf == destination.leaf;
      if (!destination.is_switch() && !sibling) ++own[destination.leaf];
      if (!destinations.empty() && destinations.back().lid == destination.lid)
        destinations.back() = destination;  // a duplicate LID: the last holder counts
      else
        destinations.push_back(destination);
    }
    for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
      if (own[s] != 0) sources.push_back(s);
  }

  /// The arc that `port` of s is, if another switch is behind it.
  std::uint32_t arc(SwitchIndex s, std::uint8_t port) const {
    return port != 0 && port < stride ? arc_by_port[s * stride + port] : kNoArc;
  }
  std::uint8_t out_port(std::size_t arc) const { return graph.arcs(from[arc])[rank[arc]].out_port; }
};

/// Sums that threads make apart; adding them up gives the same in any order.
struct Tally {
  std::uint64_t unreachable{}, loops{}, must_failures{};
  std::vector<std::uint64_t> load;  // by arc
  std::vector<std::uint64_t> next;  // by arc: bits of the arcs taken after it
  std::vector<Lid> bad_lids;

  explicit Tally(const Terrain& terrain)
      : load(terrain.to.size(), 0), next(terrain.to.size() * terrain.words, 0) {}

  void depend(const Terrain& terrain, std::uint32_t before, std::uint32_t after) {
    next[before * terrain.words + terrain.rank[after] / 64] |= std::uint64_t{1}
                                                               << (terrain.rank[after] % 64);
  }
  void add(const Tally& other) {
    unreachable += other.unreachable;
    loops += other.loops;
    must_failures += other.must_failures;
    for (std::size_t i = 0; i < load.size(); ++i) load[i] += other.load[i];
    for (std::size_t i = 0; i < next.size(); ++i) next[i] |= other.next[i];
    bad_lids.insert(bad_lids.end(), other.bad_lids.begin(), other.bad_lids.end());
  }
};

/// Follows all sources to one LID at a time. As every switch has one exit for a LID, walks that
/// meet stay together: each switch is visited once, and sources are added up from the far end.
class LidWalker {
 public:
  explicit LidWalker(const Terrain& terrain) : terrain_(terrain), tally(terrain) {
    const std::size_t n = terrain.graph.switch_count();
    visit_.assign(n, 0);
    state_.resize(n);
    depth_.resize(n);
    weight_.resize(n);
    out_.resize(n);
  }

  /// `column[s]` is the port of switch s for the LID.
  void walk(const fabric::Destination& destination, const std::uint8_t* column, bool must) {
    std::uint64_t bad = 0;
    if (resolve(destination, column)) {
      for (SwitchIndex s : terrain_.sources) bad += state_[s] == State::Lost;
      accumulate(destination);
    } else {
      bad = walk_each(destination, column);
    }
    tally.unreachable += bad;
    if (must) tally.must_failures += bad;
    if (bad != 0) tally.bad_lids.push_back(destination.lid);
  }

 private:
  enum class State : std::uint8_t { Walking, Arrives, Lost };

  /// Visits every switch that sources meet. False when a walk loops or is too long to tell.
  bool resolve(const fabric::Destination& destination, const std::uint8_t* column) {
    ++stamp_;
    order_.clear();
    for (SwitchIndex source : terrain_.sources) {
      if (visit_[source] == stamp_) continue;
      path_.clear();
      State end = State::Lost;
      std::uint32_t depth = 0;
      for (SwitchIndex s = source;;) {
        if (visit_[s] == stamp_) {
          if (state_[s] == State::Walking) return false;
          end = state_[s];
          depth = depth_[s] + 1U;
          break;
        }
        visit_[s] = stamp_;
        state_[s] = State::Walking;
        weight_[s] = terrain_.own[s];
        out_[s] = kNoArc;
        path_.push_back(s);
        if (s == destination.leaf) {
          end = column[s] == destination.port ? State::Arrives : State::Lost;
          break;
        }
        out_[s] = terrain_.arc(s, column[s]);
        if (out_[s] == kNoArc) break;
        s = terrain_.to[out_[s]];
      }
      for (auto at = path_.rbegin(); at != path_.rend(); ++at, ++depth) {
        state_[*at] = end;
        depth_[*at] = depth;
        order_.push_back(*at);
      }
      if (depth > kHopsMax + 1) return false;
    }
    return true;
  }

  void accumulate(const fabric::Destination& destination) {
    for (auto at = order_.rbegin(); at != order_.rend(); ++at) {
      const std::uint32_t arc = out_[*at];
      if (arc == kNoArc) continue;
      const SwitchIndex next = terrain_.to[arc];
      weight_[next] += weight_[*at];
      if (!destination.is_switch()) tally.load[arc] += weight_[*at];
      if (out_[next] != kNoArc) tally.depend(terrain_, arc, out_[next]);
    }
  }

  /// The slow way, source by source, for LIDs with a loop.
  std::uint64_t walk_each(const fabric::Destination& destination, const std::uint8_t* column) {
    std::uint64_t bad = 0;
    for (SwitchIndex source : terrain_.sources) {
      SwitchIndex s = source;
      std::uint32_t before = kNoArc;
      bool ended = false;
      for (unsigned hop = 0; hop <= kHopsMax; ++hop) {
        const std::uint32_t arc = s == destination.leaf ? kNoArc : terrain_.arc(s, column[s]);
        if (arc == kNoArc) {
          bad += s != destination.leaf || column[s] != destination.port;
          ended = true;
          break;
        }
        if (!destination.is_switch()) tally.load[arc] += terrain_.own[source];
        if (before != kNoArc) tally.depend(terrain_, before, arc);
        before = arc;
        s = terrain_.to[arc];
      }
      if (!ended) {
        ++bad;
        ++tally.loops;
      }
    }
    return bad;
  }

  const Terrain& terrain_;
  std::uint32_t stamp_{0};
  std::vector<std::uint32_t> visit_;
  std::vector<State> state_;
  std::vector<std::uint32_t> depth_, weight_, out_;
  std::vector<SwitchIndex> path_, order_;  // order_: each switch after the one it leads to

 public:
  Tally tally;
};

/// Calls function(n) for every channel n that traffic takes after `channel`.
template <class Function>
void for_next(const Terrain& terrain, const Tally& tally, std::size_t channel, Function function) {
  const SwitchIndex at = terrain.to[channel];
  for (std::size_t word = 0; word < terrain.words; ++word)
    for (std::uint64_t bits = tally.next[channel * terrain.words + word]; bits != 0;
         bits &= bits - 1)
      function(static_cast<std::uint32_t>(
          terrain.graph.arc_index(at, word * 64 + static_cast<unsigned>(std::countr_zero(bits)))));
}

/// Channels that Kahn's order of the dependency graph leaves over, ascending.
std::vector<std::uint32_t> cyclic_channels(const Terrain& terrain, const Tally& tally) {
  const std::size_t channels = terrain.to.size();
  std::vector<std::uint32_t> waiting(channels, 0), ready;
  for (std::size_t c = 0; c < channels; ++c)
    for_next(terrain, tally, c, [&](auto n) { ++waiting[n]; });
  for (std::size_t c = 0; c < channels; ++c)
    if (waiting[c] == 0) ready.push_back(static_cast<std::uint32_t>(c));
  for (std::size_t i = 0; i < ready.size(); ++i)
    for_next(terrain, tally, ready[i], [&](auto n) {
      if (--waiting[n] == 0) ready.push_back(n);
    });
  std::vector<std::uint32_t> left;
  for (std::size_t c = 0; c < channels; ++c)
    if (waiting[c] != 0) left.push_back(static_cast<std::uint32_t>(c));
  return left;
}

/// One cycle among them, as a finding. Every channel left over has one before it that is left over
/// too, so going backwards must close.
Finding credit_loop(const fabric::Fabric& fabric, const Terrain& terrain, const Tally& tally,
                    const std::vector<std::uint32_t>& left, bool must) {
  const std::set<std::uint32_t> cyclic(left.begin(), left.end());
  std::map<std::uint32_t, std::uint32_t> before;
  for (std::uint32_t c : left)
    for_next(terrain, tally, c, [&](auto n) {
      if (cyclic.contains(n)) before.emplace(n, c);
    });
  std::map<std::uint32_t, std::size_t> seen;
  std::vector<std::uint32_t> trail;
  std::uint32_t channel = left.front();
  for (; !seen.contains(channel); channel = before.at(channel)) {
    seen.emplace(channel, trail.size());
    trail.push_back(channel);
  }
  trail.erase(trail.begin(), trail.begin() + static_cast<std::ptrdiff_t>(seen.at(channel)));
  std::reverse(trail.begin(), trail.end());

  Finding finding{Finding::Kind::CreditLoop, must, kNoLid, {}, {}};
  finding.message = fmt::format("credit loop through {} links: ", trail.size());
  for (std::uint32_t c : trail) {
    const std::uint8_t port = terrain.out_port(c);
    finding.hops.emplace_back(terrain.from[c], port);
    finding.message +=
        fmt::format("{} port {} -> ", switch_name(fabric, terrain.graph, terrain.from[c]), port);
  }
  finding.message += switch_name(fabric, terrain.graph, terrain.from[trail.front()]);
  return finding;
}

/// Why the walk from `source` does not arrive; nullopt when it does.
std::optional<Finding> explain(const fabric::Fabric& fabric, const Terrain& terrain,
                               const LinearTables& tables, const fabric::Destination& destination,
                               SwitchIndex source, bool must) {
  const auto& graph = terrain.graph;
  Finding finding{Finding::Kind::Unreachable, must, destination.lid, {}, {}};
  const std::string target = fmt::format("LID {} ({})", destination.lid.value,
                                         node_name(fabric, destination.end_port.node));
  SwitchIndex s = source;
  for (unsigned hop = 0; hop <= kHopsMax; ++hop) {
    const std::uint8_t port = tables.at(s, destination.lid);
    finding.hops.emplace_back(s, port);
    const std::string here = switch_name(fabric, graph, s);
    if (s == destination.leaf) {
      if (port == destination.port) return std::nullopt;
      finding.message =
          port == kNoPort
              ? fmt::format("{} is not delivered: {} has no entry", target, here)
              : fmt::format("{} is not delivered: {} sends it out of port {} instead of {}", target,
                            here, port, destination.port);
      return finding;
    }
    const std::uint32_t arc = terrain.arc(s, port);
    if (arc != kNoArc) {
      s = terrain.to[arc];
      continue;
    }
    const std::string from =
        fmt::format("{} is not reached from {}: ", target, switch_name(fabric, graph, source));
    const auto node = graph.node_of(s);
    if (port == kNoPort) {
      finding.message = from + fmt::format("{} has no entry", here);
    } else if (port == 0) {
      finding.message = from + fmt::format("{} takes it for its own", here);
    } else if (port > graph.num_ports(s)) {
      finding.message = from + fmt::format("{} has no port {}", here, port);
    } else if (const auto peer = fabric.port(node, port).peer; peer) {
      finding.message =
          from + fmt::format("{} port {} leads to {}", here, port, node_name(fabric, peer.node));
    } else {
      finding.message = from + fmt::format("{} port {} has no link", here, port);
    }
    return finding;
  }

  // A loop: from the last hop back to where that switch was met before.
  finding.kind = Finding::Kind::Loop;
  std::size_t start = finding.hops.size();
  for (std::size_t i = 0; i < finding.hops.size() && start == finding.hops.size(); ++i)
    if (finding.hops[i].first == s) start = i;
  if (start == finding.hops.size()) {
    finding.message = fmt::format("{} is more than {} hops from {}", target, kHopsMax,
                                  switch_name(fabric, graph, source));
    return finding;
  }
  finding.message = fmt::format("{} loops from {}: ", target, switch_name(fabric, graph, source));
  std::size_t i = start;
  do {
    finding.message +=
        fmt::format("{} port {} -> ", switch_name(fabric, graph, finding.hops[i].first),
                    finding.hops[i].second);
    ++i;
  } while (i < finding.hops.size() && finding.hops[i].first != s);
  finding.hops.resize(i);
  finding.message += switch_name(fabric, graph, s);
  return finding;
}

}  // namespace

Verdict verify(const fabric::Fabric& fabric, const fabric::CompactGraph& graph,
               const LinearTables& tables, const VerifyOptions& options) {
  const Terrain terrain(graph);
  const auto& destinations = terrain.destinations;
  auto must = [&](const fabric::Destination& d) {
    return !d.is_switch() || d.lid == options.sm_lid;
  };

  // Tables are rows of switches; a walk wants columns. Blocks of LIDs are turned round once.
  struct Worker {
    LidWalker walker;
    std::vector<std::uint8_t> columns;
  };
  const std::size_t switches = graph.switch_count();
  tbb::enumerable_thread_specific<Worker> workers([&] {
    return Worker{LidWalker(terrain), std::vector<std::uint8_t>(switches * kLidsPerBlock)};
  });
  const std::size_t blocks = graph.max_lid().value / kLidsPerBlock + 1;
  tbb::parallel_for(std::size_t{0}, blocks, [&](std::size_t block) {
    const auto first_lid = static_cast<std::uint16_t>(block * kLidsPerBlock);
    auto at = std::lower_bound(destinations.begin(), destinations.end(), Lid{first_lid},
                               [](const auto& d, Lid lid) { return d.lid < lid; });
    if (at == destinations.end() || at->lid.value >= first_lid + kLidsPerBlock) return;
    Worker& worker = workers.local();
    for (SwitchIndex s = 0; s < switches; ++s) {
      for (std::size_t i = 0; i < kLidsPerBlock; ++i)
        worker.columns[i * switches + s] =
            tables.at(s, Lid{static_cast<std::uint16_t>(first_lid + i)});
    }
    for (; at != destinations.end() && at->lid.value < first_lid + kLidsPerBlock; ++at)
      worker.walker.walk(*at, &worker.columns[(at->lid.value - first_lid) * switches], must(*at));
  });
  Tally tally(terrain);
  for (const Worker& worker : workers) tally.add(worker.walker.tally);

  Verdict verdict;
  verdict.pairs = std::uint64_t{destinations.size()} * terrain.sources.size();
  verdict.unreachable = tally.unreachable;
  verdict.loops = tally.loops;
  verdict.must_failures = tally.must_failures;
  const auto cyclic = cyclic_channels(terrain, tally);
  verdict.credit_loop_channels = cyclic.size();
  if (options.credit_loops_are_must) verdict.must_failures += cyclic.size();
  if (options.loads) {
    std::uint64_t used = 0, sum = 0;
    for (std::uint64_t load : tally.load) {
      verdict.load_max = std::max(verdict.load_max, load);
      sum += load;
      used += load != 0;
    }
    if (used != 0) verdict.load_mean = static_cast<double>(sum) / static_cast<double>(used);
  }

  // Findings: what must hold before what should, then by LID; one for each place where a LID fails.
  if (!cyclic.empty() && options.findings_max > 0)
    verdict.findings.push_back(
        credit_loop(fabric, terrain, tally, cyclic, options.credit_loops_are_must));
  std::sort(tally.bad_lids.begin(), tally.bad_lids.end());
  for (bool grade : {true, false}) {
    for (Lid lid : tally.bad_lids) {
      if (verdict.findings.size() >= options.findings_max) return verdict;
      const auto& d = *std::lower_bound(destinations.begin(), destinations.end(), lid,
                                        [](const auto& x, Lid l) { return x.lid < l; });
      if (must(d) != grade) continue;
      std::vector<SwitchIndex> places;
      for (SwitchIndex source : terrain.sources) {
        auto finding = explain(fabric, terrain, tables, d, source, grade);
        if (!finding) continue;
        const SwitchIndex place = finding->hops.back().first;
        if (std::find(places.begin(), places.end(), place) != places.end()) continue;
        places.push_back(place);
        verdict.findings.push_back(std::move(*finding));
        if (verdict.findings.size() >= options.findings_max) return verdict;
      }
    }
  }
  return verdict;
}

}  // namespace ib::routes
