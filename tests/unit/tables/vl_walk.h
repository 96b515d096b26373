// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A judge of routes on VLs that knows nothing but what devices and hosts are told: it sends every
// pair of hosts, on every SL they may use, hop by hop through tables that the test hands over as
// functions, and keeps every (link, VL) that a packet waits for while it holds another one. It
// shares no code with the engines' or with verify().
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "libdiag/fabric/graph.h"

namespace ib::tables::test {

struct VlWalkTables {
  const fabric::Fabric& fabric;
  /// The port by which a switch forwards a LID.
  std::function<std::uint8_t(fabric::NodeIndex at, Lid lid)> forward;
  /// The VL that an SL has on its way out of a switch.
  std::function<std::uint8_t(fabric::NodeIndex at, std::uint8_t in, std::uint8_t out, Sl sl)> vl;
  /// Every SL by which packets go from a host port to a LID of another.
  std::function<std::set<std::uint8_t>(fabric::PortRef from, fabric::PortRef to)> sls;
};

struct VlWalkFindings {
  std::uint64_t flows{};       // (host port, host port, SL)
  std::uint64_t lost{};        // of these: dropped by VL 15, or not there after 64 hops
  bool cycle{};                // of (link between switches, VL)
  std::set<std::uint8_t> vls;  // of links between switches
};

class VlWalk {
 public:
  explicit VlWalk(const VlWalkTables& tables) : tables_(tables) {
    std::vector<fabric::PortRef> hosts;
    const auto& f = tables_.fabric;
    for (fabric::NodeIndex n = 0; n < f.nodes().size(); ++n)
      for (unsigned p = 1; p <= f.node(n).num_ports && !f.node(n).is_switch(); ++p)
        if (f.port(n, p).peer) hosts.push_back({n, static_cast<std::uint8_t>(p)});
    for (const auto from : hosts)
      for (const auto to : hosts)
        if (from != to)
          for (const std::uint8_t sl : tables_.sls(from, to)) walk(from, to, Sl{sl});
    found_.cycle = has_cycle();
  }
  const VlWalkFindings& findings() const { return found_; }

 private:
  using Channel = std::tuple<fabric::NodeIndex, std::uint8_t, std::uint8_t>;  // switch, port, VL

  void walk(fabric::PortRef from, fabric::PortRef to, Sl sl) {
    ++found_.flows;
    const auto& f = tables_.fabric;
    const Lid lid = f.port(to).lid;
    fabric::PortRef at = f.port(from).peer;  // where the packet comes in
    const Channel* held = nullptr;
    for (unsigned hops = 0; hops < 64 && f.node(at.node).is_switch(); ++hops) {
      const std::uint8_t out = tables_.forward(at.node, lid);
      if (out == 0 || out > f.node(at.node).num_ports) break;
      const fabric::PortRef next = f.port(at.node, out).peer;
      const std::uint8_t vl = tables_.vl(at.node, at.port, out, sl);
      if (!next || vl == 15) break;
      if (f.node(next.node).is_switch()) {
        const auto place = waits_.try_emplace({at.node, out, vl}).first;
        if (held != nullptr) waits_.at(*held).insert(place->first);
        held = &place->first;
        found_.vls.insert(vl);
      }
      at = next;
    }
    if (at != to) ++found_.lost;
  }

  /// Takes away what waits for nothing until nothing is left, or only cycles and what leads there.
  bool has_cycle() const {
    std::map<Channel, std::size_t> waits_for;
    std::map<Channel, std::vector<Channel>> waited_by;
    std::vector<Channel> ready;
    for (const auto& [channel, others] : waits_) {
      waits_for[channel] = others.size();
      if (others.empty()) ready.push_back(channel);
      for (const Channel& other : others) waited_by[other].push_back(channel);
    }
    std::size_t done = 0;
    for (; done < ready.size(); ++done) {
      const auto behind = waited_by.find(ready[done]);
      if (behind == waited_by.end()) continue;
      for (const Channel& channel : behind->second)
        if (--waits_for[channel] == 0) ready.push_back(channel);
    }
    return done < waits_.size();
  }

  const VlWalkTables& tables_;
  std::map<Channel, std::set<Channel>> waits_;
  VlWalkFindings found_;
};

}  // namespace ib::tables::test
