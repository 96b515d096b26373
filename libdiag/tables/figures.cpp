// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/tables/figures.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "libdiag/base/parallel.h"
#include "libdiag/tables/least_hops.h"
#include "libdiag/tables/loads.h"
#include "libdiag/tables/verify_loads.h"

namespace ib::tables {
namespace {

using namespace check;

struct Host {
  SwitchIndex leaf{};
  std::uint8_t port{};
  Lid lid{};  // the base LID
};

std::vector<Host> hosts_of(const SwitchGraph& switch_graph) {
  std::vector<Host> hosts;
  for (const auto& d : switch_graph.destinations)
    if (d.is_host) hosts.push_back({d.leaf, d.port, d.lid});
  std::sort(hosts.begin(), hosts.end(), [](const Host& a, const Host& b) {
    return std::tie(a.leaf, a.port, a.lid) < std::tie(b.leaf, b.port, b.lid);
  });
  hosts.erase(std::unique(hosts.begin(), hosts.end(),
                          [](const Host& a, const Host& b) {
                            return a.leaf == b.leaf && a.port == b.port;
                          }),
              hosts.end());
  return hosts;
}

/// SplitMix64: the same sequence on every machine, and a generator of its own for each sample.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15ULL;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(next() % n); }

 private:
  std::uint64_t state_;
};

std::vector<std::uint32_t> shuffled(std::size_t n, std::uint64_t seed) {
  std::vector<std::uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0U);
  Random random(seed);
  for (std::size_t i = n; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

/// Flows of one pattern over the links.
class Pattern {
 public:
  Pattern(const SwitchGraph& switch_graph, const LinearTables& tables)
      : switch_graph_(switch_graph), tables_(tables), flows_(switch_graph.channels(), 0) {}

  void clear() { std::fill(flows_.begin(), flows_.end(), 0), worst_ = 0; }
  void add(const Host& from, const Host& to) {
    follow(from, to, [&](Channel c) { worst_ = std::max(worst_, ++flows_[c]); });
  }
  std::uint32_t worst() const { return worst_; }
  /// Flows on the most loaded link of a path; at least 1, for the links of the hosts.
  std::uint32_t greatest_load(const Host& from, const Host& to) const {
    std::uint32_t most = 1;
    follow(from, to, [&](Channel c) { most = std::max(most, flows_[c]); });
    return most;
  }

 private:
  template <class Function>
  void follow(const Host& from, const Host& to, Function function) const {
    SwitchIndex s = from.leaf;
    for (unsigned hop = 0; hop < kHopsMax && s != to.leaf; ++hop) {
      const Channel c = switch_graph_.link(s, tables_.at(s, to.lid));
      if (c == kNoChannel) return;
      function(c);
      s = switch_graph_.to[c];
    }
  }

  const SwitchGraph& switch_graph_;
  const LinearTables& tables_;
  std::vector<std::uint32_t> flows_;
  std::uint32_t worst_{0};
};

/// Runs function(pattern, i) for i in 0..count in parallel.
template <class Function>
void for_patterns(const SwitchGraph& switch_graph, const LinearTables& tables, std::size_t count,
                  Function function) {
  PerWorker<Pattern> patterns([&] { return Pattern(switch_graph, tables); });
  parallel_for(std::size_t{0}, count, [&](std::size_t i) {
    Pattern& pattern = patterns.local();
    pattern.clear();
    function(pattern, i);
  });
}

Figures::Contention summary(const std::vector<std::uint32_t>& worst) {
  Figures::Contention result;
  result.patterns = worst.size();
  if (worst.empty()) return result;
  result.worst = *std::max_element(worst.begin(), worst.end());
  result.mean = static_cast<double>(std::accumulate(worst.begin(), worst.end(), std::uint64_t{0})) /
                static_cast<double>(worst.size());
  return result;
}

/// Sums over pairs of a host and a LID that is not its own.
struct Lengths {
  std::uint64_t pairs{}, hops{}, least{};
  std::uint32_t hops_max{}, extra_max{};
  void add(const Lengths& other) {
    pairs += other.pairs, hops += other.hops, least += other.least;
    hops_max = std::max(hops_max, other.hops_max);
    extra_max = std::max(extra_max, other.extra_max);
  }
};

/// Up to 64 leaves at a time, whose distances come together.
Lengths lengths_to(const SwitchGraph& switch_graph, const LinearTables& tables,
                   std::span<const SwitchIndex> leaves,
                   const std::vector<std::vector<Lid>>& lids_of) {
  const std::size_t switches = switch_graph.graph.switch_count();
  const LeastHops hops = least_hops(switch_graph.graph, leaves);
  Lengths result;
  std::vector<std::uint32_t> depth(switches), stamp(switches, 0);
  std::vector<SwitchIndex> path;
  constexpr std::uint32_t kLost = 0xFFFFFFFF;
  std::uint32_t now = 0;
  std::vector<std::uint32_t> distance(switches);
  for (std::size_t b = 0; b < leaves.size(); ++b) {
    std::fill(distance.begin(), distance.end(), 0);
    for (std::uint32_t level = 0; level < hops.at.size(); ++level)
      for (SwitchIndex s = 0; s < switches; ++s)
        if ((hops.at[level][s] >> b) & 1U) distance[s] = level;
    for (const Lid lid : lids_of[leaves[b]]) {
      ++now;
      depth[leaves[b]] = 0;
      stamp[leaves[b]] = now;
      for (const SwitchIndex source : switch_graph.sources) {
        path.clear();
        SwitchIndex s = source;
        while (stamp[s] != now && path.size() <= kHopsMax) {
          path.push_back(s);
          const Channel c = switch_graph.link(s, tables.at(s, lid));
          if (c == kNoChannel) break;
          s = switch_graph.to[c];
        }
        std::uint32_t at = stamp[s] == now ? depth[s] : kLost;
        for (auto p = path.rbegin(); p != path.rend(); ++p) {
          at = at == kLost ? kLost : at + 1;
          stamp[*p] = now;
          depth[*p] = at;
        }
        if (depth[source] == kLost || source == leaves[b]) continue;
        const std::uint64_t weight = switch_graph.hosts[source];
        result.pairs += weight;
        result.hops += weight * depth[source];
        result.least += weight * distance[source];
        result.hops_max = std::max(result.hops_max, depth[source]);
        result.extra_max = std::max(result.extra_max, depth[source] - distance[source]);
      }
    }
  }
  return result;
}

Lengths lengths_of_all(const SwitchGraph& switch_graph, const LinearTables& tables,
                       std::span<const SwitchIndex> leaves,
                       const std::vector<std::vector<Lid>>& lids_of) {
  std::vector<Lengths> parts((leaves.size() + kTargetsPerBatch - 1) / kTargetsPerBatch);
  parallel_for(std::size_t{0}, parts.size(), [&](std::size_t i) {
    const std::size_t first = i * kTargetsPerBatch;
    parts[i] = lengths_to(switch_graph, tables,
                          leaves.subspan(first, std::min(kTargetsPerBatch, leaves.size() - first)),
                          lids_of);
  });
  Lengths lengths;
  for (const Lengths& part : parts) lengths.add(part);
  return lengths;
}

/// What leaves the hosts of a switch, or reaches them, crosses its links.
std::uint64_t cut_floor(const SwitchGraph& switch_graph,
                        const std::vector<std::vector<Lid>>& lids_of) {
  std::uint64_t floor = 0;
  std::vector<std::uint64_t> hosts_in(switch_graph.pieces.count, 0),
      lids_in(switch_graph.pieces.count, 0);
  for (SwitchIndex s = 0; s < lids_of.size(); ++s) {
    hosts_in[switch_graph.pieces.of[s]] += switch_graph.hosts[s];
    lids_in[switch_graph.pieces.of[s]] += lids_of[s].size();
  }
  for (SwitchIndex s = 0; s < lids_of.size(); ++s) {
    const std::uint64_t links = switch_graph.graph.arcs(s).size();
    if (links == 0) continue;
    const std::uint64_t hosts = hosts_in[switch_graph.pieces.of[s]];
    const std::uint64_t lids = lids_in[switch_graph.pieces.of[s]];
    const std::uint64_t out = switch_graph.hosts[s] * (lids - lids_of[s].size());
    const std::uint64_t in = (hosts - switch_graph.hosts[s]) * lids_of[s].size();
    floor = std::max(floor, (std::max(out, in) + links - 1) / links);
  }
  return floor;
}

/// Precondition: two hosts at least.
Figures::Contention under_shifts(const SwitchGraph& switch_graph, const LinearTables& tables,
                                 std::span<const Host> hosts, const FiguresOptions& options) {
  const std::size_t n = hosts.size();
  const bool all = n <= options.all_shifts_up_to;
  std::vector<std::uint32_t> worst(all ? n - 1 : options.samples);
  for_patterns(switch_graph, tables, worst.size(), [&](Pattern& pattern, std::size_t i) {
    const std::size_t k = all ? i + 1 : 1 + Random(options.seed * 3 + i).below(n - 1);
    for (std::size_t h = 0; h < n; ++h) pattern.add(hosts[h], hosts[(h + k) % n]);
    worst[i] = pattern.worst();
  });
  return summary(worst);
}

/// Each host sends to another, or to itself, and each is sent to once; random samples.
Figures::Contention under_permutations(const SwitchGraph& switch_graph, const LinearTables& tables,
                                       std::span<const Host> hosts, const FiguresOptions& options) {
  const std::size_t n = hosts.size();
  std::vector<std::uint32_t> worst(options.samples, 0);
  for_patterns(switch_graph, tables, options.samples, [&](Pattern& pattern, std::size_t i) {
    const auto target = shuffled(n, options.seed * 5 + i);
    for (std::size_t h = 0; h < n; ++h) pattern.add(hosts[h], hosts[target[h]]);
    worst[i] = pattern.worst();
  });
  return summary(worst);
}

/// Of each sample: two halves of the hosts send to each other, and this is what a flow gets of a
/// link's rate in the mean.
std::vector<double> bisection_shares(const SwitchGraph& switch_graph, const LinearTables& tables,
                                     std::span<const Host> hosts, const FiguresOptions& options) {
  const std::size_t n = hosts.size();
  std::vector<double> shares(options.samples, 0);
  for_patterns(switch_graph, tables, options.samples, [&](Pattern& pattern, std::size_t i) {
    const auto order = shuffled(n, options.seed * 7 + i);
    const std::size_t half = n / 2;
    const auto for_flows = [&](auto function) {
      for (std::size_t h = 0; h < half; ++h) {
        function(hosts[order[h]], hosts[order[half + h]]);
        function(hosts[order[half + h]], hosts[order[h]]);
      }
    };
    for_flows([&](const Host& a, const Host& b) { pattern.add(a, b); });
    double sum = 0;
    for_flows([&](const Host& a, const Host& b) { sum += 1.0 / pattern.greatest_load(a, b); });
    shares[i] = sum / static_cast<double>(2 * half);
  });
  return shares;
}

double all_to_all(const WeighedLoads& loads, std::size_t hosts, std::size_t lids) {
  const double sent =
      static_cast<double>(lids) - static_cast<double>(lids) / static_cast<double>(hosts);
  return std::max(1.0, loads.max / sent);
}

/// A sample, LIDs in ascending order.
std::vector<Ways> between_switches(std::span<const SwitchIndex> leaves,
                                   const std::vector<std::vector<Lid>>& lids_of,
                                   const SwitchGraph& switch_graph, const FiguresOptions& options) {
  std::vector<Ways> ways;
  for (std::size_t i = 0; leaves.size() > 1 && i < options.path_samples; ++i) {
    Random random(options.seed * 11 + i);
    const SwitchIndex from = leaves[random.below(leaves.size())];
    const SwitchIndex to = leaves[random.below(leaves.size())];
    if (from != to && !switch_graph.apart(from, to)) ways.push_back({from, to, lids_of[to]});
  }
  return ways;
}

/// Likewise; nothing where ports have one LID.
std::vector<Ways> to_ports(std::span<const Host> hosts, std::span<const SwitchIndex> leaves,
                           const SwitchGraph& switch_graph, const FiguresOptions& options) {
  std::vector<Ways> ways;
  for (std::size_t i = 0; leaves.size() > 1 && i < options.path_samples; ++i) {
    Random random(options.seed * 13 + i);
    const Host& to = hosts[random.below(hosts.size())];
    const SwitchIndex from = leaves[random.below(leaves.size())];
    if (from == to.leaf || switch_graph.apart(from, to.leaf)) continue;
    Ways& way = ways.emplace_back(Ways{from, to.leaf, {}});
    for (const auto& d : switch_graph.destinations)
      if (d.leaf == to.leaf && d.port == to.port) way.lids.push_back(d.lid);
    if (way.lids.size() < 2) ways.pop_back();
  }
  return ways;
}

}  // namespace

Figures::Contention shift_contention(const fabric::CompactGraph& graph, const LinearTables& tables,
                                     const FiguresOptions& options) {
  const SwitchGraph switch_graph(graph, kNoLid);
  const std::vector<Host> hosts = hosts_of(switch_graph);
  if (hosts.size() < 2 || tables.switch_count() != graph.switch_count()) return {};
  return under_shifts(switch_graph, tables, hosts, options);
}

Figures figures(const fabric::Fabric& fabric, const fabric::CompactGraph& graph,
                const LinearTables& tables, const FiguresOptions& options) {
  const SwitchGraph switch_graph(graph, kNoLid);
  const std::vector<Host> hosts = hosts_of(switch_graph);
  Figures result;
  result.hosts = hosts.size();
  if (hosts.size() < 2 || tables.switch_count() != graph.switch_count()) return result;

  // Load and lengths.
  const auto by_arc = loads_by_arc(graph, tables);
  const Loads loads = summed(by_arc);
  result.load_max = loads.max;
  result.load_mean = loads.mean;
  std::vector<std::vector<Lid>> lids_of(graph.switch_count());
  std::vector<SwitchIndex> leaves;
  std::size_t lids = 0;
  for (const auto& d : switch_graph.destinations) {
    if (!d.is_host) continue;
    ++lids;
    if (lids_of[d.leaf].empty()) leaves.push_back(d.leaf);
    lids_of[d.leaf].push_back(d.lid);
  }
  const Lengths lengths = lengths_of_all(switch_graph, tables, leaves, lids_of);
  if (lengths.pairs != 0) {
    result.hops_mean = static_cast<double>(lengths.hops) / static_cast<double>(lengths.pairs);
    result.hops_least_mean =
        static_cast<double>(lengths.least) / static_cast<double>(lengths.pairs);
  }
  result.hops_max = lengths.hops_max;
  result.extra_hops_max = lengths.extra_max;
  result.load_floor = cut_floor(switch_graph, lids_of);
  if (graph.arc_count() != 0)
    result.load_floor =
        std::max(result.load_floor, (lengths.least + graph.arc_count() - 1) / graph.arc_count());

  result.weighed = weighed_loads(fabric, graph, by_arc, static_cast<double>(lengths.least));
  result.all_to_all = all_to_all(result.weighed, hosts.size(), lids);
  result.paths =
      disjoint_paths(graph, tables, between_switches(leaves, lids_of, switch_graph, options));
  result.paths_of_port =
      disjoint_paths(graph, tables, to_ports(hosts, leaves, switch_graph, options));

  // Patterns.
  result.shifts = under_shifts(switch_graph, tables, hosts, options);

  result.permutations = under_permutations(switch_graph, tables, hosts, options);

  const auto shares = bisection_shares(switch_graph, tables, hosts, options);
  if (!shares.empty()) {
    result.bisection_mean =
        std::accumulate(shares.begin(), shares.end(), 0.0) / static_cast<double>(shares.size());
    result.bisection_least = *std::min_element(shares.begin(), shares.end());
  }
  return result;
}

}  // namespace ib::tables
