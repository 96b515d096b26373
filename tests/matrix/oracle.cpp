// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tests/matrix/oracle.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <queue>
#include <set>
#include <unordered_map>
#include <unordered_set>

namespace ib::matrix {
namespace {

using fabric::SwitchIndex;
constexpr unsigned kFar = 0xFFFF;

std::vector<unsigned> hops_from(const fabric::CompactGraph& graph, SwitchIndex from) {
  std::vector<unsigned> hops(graph.switch_count(), kFar);
  std::queue<SwitchIndex> queue({from});
  hops[from] = 0;
  for (; !queue.empty(); queue.pop())
    for (const auto& arc : graph.arcs(queue.front()))
      if (hops[arc.to] == kFar) {
        hops[arc.to] = hops[queue.front()] + 1;
        queue.push(arc.to);
      }
  return hops;
}

/// A link in one direction on one VL, as a number below 2^32.
using Channel = std::uint64_t;
Channel channel_of(SwitchIndex s, std::uint8_t port, std::uint8_t vl) {
  return (std::uint64_t{s} << 8 | port) << 4 | vl;
}
/// Pairs (channel << 32 | the channel taken after it).
using Dependencies = std::unordered_set<std::uint64_t>;

/// Takes away channels nothing leads to until none is left, or only cycles are.
bool has_cycle(const Dependencies& dependencies) {
  std::unordered_map<Channel, std::vector<Channel>> after;
  std::unordered_map<Channel, std::size_t> waiting;
  for (const std::uint64_t pair : dependencies) {
    const Channel before = pair >> 32, next = pair & 0xFFFFFFFF;
    after[before].push_back(next);
    waiting.try_emplace(before, 0);
    ++waiting[next];
  }
  std::vector<Channel> ready;
  for (const auto& [channel, count] : waiting)
    if (count == 0) ready.push_back(channel);
  std::size_t done = 0;
  for (; done < ready.size(); ++done)
    if (const auto at = after.find(ready[done]); at != after.end())
      for (const Channel next : at->second)
        if (--waiting[next] == 0) ready.push_back(next);
  return done < waiting.size();
}

/// Ports of each switch that CAs and routers with a LID hang on.
std::vector<std::set<std::uint8_t>> host_ports(const fabric::CompactGraph& graph) {
  std::vector<std::set<std::uint8_t>> ports(graph.switch_count());
  for (const auto& d : graph.destinations())
    if (!d.is_switch()) ports[d.leaf].insert(d.port);
  return ports;
}

}  // namespace

bool connected(const fabric::CompactGraph& graph) {
  const auto hosts = host_ports(graph);
  std::optional<std::vector<unsigned>> hops;
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
    if (hosts[s].empty()) continue;
    if (!hops) hops = hops_from(graph, s);
    if ((*hops)[s] == kFar) return false;
  }
  return true;
}

Opinion judge(const fabric::CompactGraph& graph, const route::Routes& routes) {
  const auto hosts = host_ports(graph);
  std::vector<std::vector<unsigned>> hops;
  std::vector<std::array<fabric::Arc, 256>> arcs(graph.switch_count());
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
    hops.push_back(hops_from(graph, s));
    for (const auto& arc : graph.arcs(s)) arcs[s][arc.out_port] = arc;
  }
  const auto& sls = routes.virtual_lanes.sls;
  const auto& sl_to_vl = routes.virtual_lanes.sl_to_vl;
  Opinion opinion;
  const auto complain = [&](std::string text) {
    if (opinion.example.empty()) opinion.example = std::move(text);
  };
  Dependencies dependencies;
  for (const auto& d : graph.destinations()) {
    if (d.is_switch()) {
      for (SwitchIndex source = 0; source < graph.switch_count(); ++source) {
        if (hosts[source].empty() || hops[source][d.leaf] == kFar) continue;
        SwitchIndex s = source;
        for (unsigned length = 0; length <= 64 && s != d.leaf && s != fabric::kNoSwitch; ++length)
          s = arcs[s][routes.lfts.at(s, d.lid)].to;
        opinion.switches_unreached += s == d.leaf ? 0 : 1;
      }
      continue;
    }
    for (SwitchIndex source = 0; source < graph.switch_count(); ++source) {
      if (hosts[source].empty() || hops[source][d.leaf] == kFar) continue;
      ++opinion.pairs;
      const Sl sl = sls.at(source, d.leaf);
      if (sl != sls.at(d.leaf, source)) {
        ++opinion.asymmetric_sls;
        complain(fmt::format("{} and {} use SL {} and {}", to_string(graph.guid(source)),
                             to_string(graph.guid(d.leaf)), sl.value,
                             sls.at(d.leaf, source).value));
      }
      // The VL of the first hop may differ by the port a host hangs on; from the second it cannot.
      const std::set<std::uint8_t> inputs =
          sl_to_vl.uniform() ? std::set<std::uint8_t>{*hosts[source].begin()} : hosts[source];
      bool arrives = false;
      unsigned length = 0;
      for (const std::uint8_t host : inputs) {
        SwitchIndex s = source;
        std::uint8_t in = host;
        std::optional<Channel> before;
        for (length = 0; length <= 64 && s != d.leaf; ++length) {
          const std::uint8_t port = routes.lfts.at(s, d.lid);
          const fabric::Arc& arc = arcs[s][port];
          if (arc.to == fabric::kNoSwitch) break;
          const std::uint8_t vl = sl_to_vl.vl(s, in, port, sl);
          const Channel channel = channel_of(s, port, vl);
          if (vl >= routes.vls_used) {
            opinion.dead_vls = true;
            complain(fmt::format("{} port {} uses VL {} of {}", to_string(graph.guid(s)), port, vl,
                                 routes.vls_used));
          }
          if (before) dependencies.insert(*before << 32 | channel);
          before = channel;
          s = arc.to;
          in = arc.in_port;
        }
        arrives = s == d.leaf && routes.lfts.at(s, d.lid) == d.port;
      }
      if (!arrives) {
        ++opinion.unreachable;
        complain(fmt::format("LID {} is not reached from {}", d.lid.value,
                             to_string(graph.guid(source))));
      } else if (length > hops[source][d.leaf]) {
        ++opinion.not_least;
      }
    }
  }
  opinion.credit_loop = has_cycle(dependencies);
  if (opinion.credit_loop) complain("the dependency graph has a cycle");
  return opinion;
}

}  // namespace ib::matrix
