// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/events/recognised.h"

#include <map>
#include <set>
#include <string>

#include "libdiag/fabric/same_port.h"

namespace sm::events {
namespace {

using ib::fabric::Fabric;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using ib::fabric::same_port;

template <class Do>
void each_cable_of(const Fabric& fabric, NodeIndex n, Do&& run) {
  for (unsigned p = 1; p <= fabric.node(n).num_ports; ++p) {
    const PortRef at{n, static_cast<std::uint8_t>(p)};
    if (const PortRef peer = fabric.port(at).peer) run(at, peer);
  }
}

/// Two cables whose ends were exchanged: a - c and b - d are a - d and b - c now.
void swapped(const Fabric& before, const Fabric& now, std::vector<Event>& out) {
  const auto was_at = [&](PortRef port) {
    const PortRef old = same_port(now, port, before);
    return old ? same_port(before, before.port(old).peer, now) : PortRef{};
  };
  for (NodeIndex n = 0; n < now.nodes().size(); ++n)
    each_cable_of(now, n, [&](PortRef a, PortRef d) {
      const PortRef c = was_at(a), b = was_at(d);
      if (!b || !c || c == d || now.port(b).peer != c) return;
      // Each of the four ports finds the pair; the first of them tells.
      if (a > b || a > c || a > d) return;
      out.push_back(make(Kind::CablesSwapped,
                         {ib::report::port_shape(now, a), ib::report::port_shape(now, b),
                          ib::report::port_shape(now, c), ib::report::port_shape(now, d)}));
    });
}

/// Newcomers most of whose cables led to one that is gone. Gives both.
std::set<ib::Guid> replaced(const Fabric& before, const Fabric& now, std::vector<Event>& out) {
  std::set<ib::Guid> both;
  for (NodeIndex n = 0; n < now.nodes().size(); ++n) {
    const auto& node = now.node(n);
    if (before.find_node(node.guid)) continue;
    std::map<NodeIndex, std::size_t> there_before;
    std::size_t cables = 0;
    PortRef place;
    each_cable_of(now, n, [&](PortRef, PortRef peer) {
      ++cables;
      if (!place) place = peer;
      const PortRef old = same_port(now, peer, before);
      if (const PortRef was = old ? before.port(old).peer : PortRef{}) ++there_before[was.node];
    });
    for (const auto& [old, count] : there_before) {
      const auto& was = before.node(old);
      if (2 * count <= cables || was.type != node.type || now.find_node(was.guid) ||
          !both.insert(was.guid).second)
        continue;
      both.insert(node.guid);
      out.push_back(
          make(Kind::NodeReplaced, {ib::report::node_shape(was), ib::report::node_shape(node),
                                    ib::report::port_shape(now, place)}));
    }
  }
  return both;
}

/// Nodes of `whole` that `rest` has not and that hang together, a switch among them. Who was
/// replaced, or replaces somebody, is of no part.
void parts(const Fabric& whole, const Fabric& rest, Kind kind, const std::set<ib::Guid>& replaced,
           std::vector<Event>& out) {
  std::vector<bool> done(whole.nodes().size(), false);
  const auto is_of_a_part = [&](NodeIndex n) {
    const ib::Guid guid = whole.node(n).guid;
    return !done[n] && !rest.find_node(guid) && !replaced.contains(guid);
  };
  for (NodeIndex first = 0; first < done.size(); ++first) {
    if (!is_of_a_part(first)) continue;
    std::vector<NodeIndex> part{first};
    done[first] = true;
    std::uint64_t switches = 0;
    PortRef place;
    for (std::size_t i = 0; i < part.size(); ++i) {
      switches += whole.node(part[i]).is_switch() ? 1U : 0U;
      each_cable_of(whole, part[i], [&](PortRef, PortRef peer) {
        if (is_of_a_part(peer.node)) {
          done[peer.node] = true;
          part.push_back(peer.node);
        } else if (!place && rest.find_node(whole.node(peer.node).guid)) {
          place = peer;
        }
      });
    }
    if (switches == 0 || part.size() < 2 || !place) continue;
    out.push_back(make(kind, {switches, std::uint64_t{part.size()} - switches,
                              ib::report::port_shape(whole, place)}));
  }
}

}  // namespace

std::vector<Event> recognised(const Fabric& before, const Fabric& now) {
  std::vector<Event> out;
  swapped(before, now, out);
  const auto replacements = replaced(before, now, out);
  parts(before, now, Kind::PartLeft, replacements, out);
  parts(now, before, Kind::PartJoined, replacements, out);
  return out;
}

}  // namespace sm::events
