// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/reroute/unknown_ways.h"

#include <algorithm>
#include <bitset>
#include <map>
#include <span>

namespace ib::route {
namespace {

using fabric::SwitchIndex;
using Write = Transition::Write;

class Walk {
 public:
  Walk(const fabric::CompactGraph& graph, const UnknownWays& unknown,
       const tables::LinearTables& after, std::span<const Write> held)
      : graph_(graph), after_(after), unknown_(graph.switch_count()) {
    for (const auto& [at, port] : unknown) unknown_[at].set(port);
    for (const Write& write : held) held_[{write.at, write.block}] = &write;
  }

  bool is_unknown(SwitchIndex s, std::uint8_t port) const { return unknown_[s].test(port); }

  /// Whether a packet to `lid` that leaves `s` by `port` comes to an end over known links, and does
  /// not meet `s` again.
  bool ends(SwitchIndex s, std::uint8_t port, Lid lid) const {
    SwitchIndex at = s;
    for (std::size_t hops = 0; hops <= graph_.switch_count(); ++hops) {
      if (is_unknown(at, port)) return false;
      at = far(at, port);
      if (at == fabric::kNoSwitch) return true;
      if (at == s) return false;
      port = entry(at, lid);
    }
    return false;
  }

 private:
  std::uint8_t entry(SwitchIndex s, Lid lid) const {
    const auto block = static_cast<std::uint16_t>(lid.value / kBlockSize);
    const auto write = held_.find({s, block});
    return write == held_.end() ? after_.at(s, lid) : write->second->ports[lid.value % kBlockSize];
  }
  SwitchIndex far(SwitchIndex s, std::uint8_t port) const {
    const auto arcs = graph_.arcs(s);
    const auto arc = std::ranges::lower_bound(arcs, port, {}, &fabric::Arc::out_port);
    return arc != arcs.end() && arc->out_port == port ? arc->to : fabric::kNoSwitch;
  }

  const fabric::CompactGraph& graph_;
  const tables::LinearTables& after_;
  std::vector<std::bitset<256>> unknown_;  // by switch, then by port
  std::map<std::pair<SwitchIndex, std::uint16_t>, const Write*> held_;
};

}  // namespace

std::vector<Write> leave_unknown_ways(const fabric::CompactGraph& graph, const UnknownWays& unknown,
                                      const tables::LinearTables& after, std::vector<Write>& held) {
  std::vector<Write> first;
  if (unknown.empty()) return first;
  const Walk walk(graph, unknown, after, held);
  for (const Write& write : held) {
    const Write wanted = block_of(after, write.at, write.block);
    Write changed = write;
    for (std::size_t i = 0; i < kBlockSize; ++i) {
      if (write.ports[i] == wanted.ports[i] || !walk.is_unknown(write.at, write.ports[i])) continue;
      const Lid lid{static_cast<std::uint16_t>(write.block * kBlockSize + i)};
      changed.ports[i] =
          walk.ends(write.at, wanted.ports[i], lid) ? wanted.ports[i] : tables::kNoPort;
    }
    if (changed.ports != write.ports) first.push_back(changed);
  }
  std::size_t next = 0;
  for (Write& write : held)
    if (next < first.size() && first[next].at == write.at && first[next].block == write.block)
      write = first[next++];
  return first;
}

}  // namespace ib::route
