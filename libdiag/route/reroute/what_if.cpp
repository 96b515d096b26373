// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/reroute/what_if.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "libdiag/base/text.h"
#include "libdiag/fabric/names.h"
#include "libdiag/tables/names.h"
#include "libdiag/wire/rates.h"

namespace ib::route {
namespace {

using fabric::Fabric;
using fabric::NodeIndex;
using fabric::PortRef;
using tables::counted;
using tables::node_name;

/// A word of --without, found.
struct Part {
  NodeIndex node{};
  std::uint8_t port{0};  // 0: the switch as a whole
};

Result<Part> find_part(const Fabric& fabric, const std::string& word) {
  const auto wrong = [&](const std::string& why, ErrorKind kind = ErrorKind::Usage) {
    return fail(kind, fmt::format("cannot take '{}' away: {}", printable(word), why));
  };
  const auto found = fabric::find_node_and_port(fabric, word);
  if (!found) return wrong(found.error().message, found.error().kind);
  const std::string name = node_name(fabric, found->node);
  if (!found->port) {
    if (!fabric.node(found->node).is_switch())
      return wrong(name +
                   " is a host; name a switch, or a link of the host by one of its ports, '" +
                   printable(word) + ":1'");
    return Part{found->node, 0};
  }
  if (*found->port == 0) return wrong("port 0 of " + name + " is the switch itself, not a link");
  if (!fabric.port(found->node, *found->port).peer)
    return wrong(fmt::format("port {} of {} has no cable", *found->port, name));
  return Part{found->node, *found->port};
}

/// Cables between two switches, each once.
std::vector<PortRef> switch_links(const Fabric& fabric) {
  std::vector<PortRef> links;
  for (NodeIndex n = 0; n < fabric.nodes().size(); ++n) {
    if (!fabric.node(n).is_switch()) continue;
    for (unsigned p = 1; p <= fabric.node(n).num_ports; ++p) {
      const PortRef here{n, static_cast<std::uint8_t>(p)};
      const PortRef far = fabric.port(here).peer;
      if (far && far.node != n && here < far && fabric.node(far.node).is_switch())
        links.push_back(here);
    }
  }
  return links;
}

unsigned cables(const Fabric& fabric, NodeIndex n) {
  const auto ports = fabric.ports(n);
  return static_cast<unsigned>(
      std::count_if(ports.begin(), ports.end(), [](const auto& port) { return bool(port.peer); }));
}

/// `fabric` less the nodes that are gone; these have no cables any more.
Fabric rebuilt(const Fabric& fabric, const std::vector<bool>& gone) {
  Fabric result;
  result.initiated_from_node = fabric.initiated_from_node;
  result.initiated_from_port = fabric.initiated_from_port;
  std::vector<NodeIndex> place(fabric.nodes().size(), fabric::kNoNode);
  for (NodeIndex n = 0; n < fabric.nodes().size(); ++n)
    if (!gone[n]) place[n] = result.add_node(fabric.node(n));
  for (NodeIndex n = 0; n < fabric.nodes().size(); ++n) {
    if (gone[n]) continue;
    for (unsigned p = 0; p <= fabric.node(n).num_ports; ++p) {
      auto& port = result.port(place[n], p) = fabric.port(n, p);
      if (port.peer) port.peer.node = place[port.peer.node];
    }
  }
  result.reindex();
  return result;
}

class Remover {
 public:
  explicit Remover(Fabric& fabric)
      : fabric_(fabric), gone_(fabric.nodes().size(), false), lost_(fabric.nodes().size(), false) {}

  void take(const Part& part) {
    if (part.port != 0) {
      const PortRef here{part.node, part.port};
      const PortRef far = fabric_.port(here).peer;
      if (!far) return;  // went with its switch, or was named by both ends
      taken_.notes.push_back(fmt::format("without the link from {} port {} to {} port {}",
                                         node_name(fabric_, here.node), here.port,
                                         node_name(fabric_, far.node), far.port));
      cut(here);
      return;
    }
    if (gone_[part.node]) return;
    gone_[part.node] = true;
    ++taken_.switches;
    const std::size_t before = taken_.links;
    for (unsigned p = 1; p <= fabric_.node(part.node).num_ports; ++p)
      cut({part.node, static_cast<std::uint8_t>(p)});
    taken_.notes.push_back(fmt::format("without the switch {} and its {}",
                                       node_name(fabric_, part.node),
                                       counted(taken_.links - before, "link", "links")));
  }

  void damage(double percent, std::uint64_t seed) {
    std::vector<PortRef> links = switch_links(fabric_);
    const std::size_t all = links.size();
    const auto share = std::lround(static_cast<double>(all) * percent / 100);
    const std::size_t wanted =
        std::min(all, std::max<std::size_t>(1, static_cast<std::size_t>(share)));
    std::mt19937_64 random(seed);
    for (std::size_t i = 0; i < wanted; ++i) {
      std::swap(links[i], links[i + random() % (all - i)]);
      cut(links[i]);
    }
    taken_.notes.push_back(fmt::format("without {} of {} between switches ({} per cent, seed {})",
                                       wanted, counted(all, "link", "links"), percent, seed));
  }

  Taken finish() {
    std::string names;
    for (NodeIndex n = 0; n < fabric_.nodes().size(); ++n) {
      if (!lost_[n] || fabric_.node(n).is_switch() || cables(fabric_, n) != 0) continue;
      gone_[n] = true;
      if (++taken_.hosts <= kNamedMax) names += (names.empty() ? "" : ", ") + node_name(fabric_, n);
    }
    if (taken_.hosts != 0)
      taken_.notes.push_back(fmt::format("{} left without a link: {}{}",
                                         counted(taken_.hosts, "host is", "hosts are"), names,
                                         taken_.hosts > kNamedMax ? ", ..." : ""));
    fabric_ = rebuilt(fabric_, gone_);
    return std::move(taken_);
  }

 private:
  static constexpr std::size_t kNamedMax = 4;

  void cut(PortRef end) {
    const PortRef far = fabric_.port(end).peer;
    if (!far) return;
    lost_[end.node] = lost_[far.node] = true;
    ++taken_.links;
    fabric_.disconnect(end);
  }

  Fabric& fabric_;
  std::vector<bool> gone_, lost_;
  Taken taken_;
};

}  // namespace

Result<double> read_share(std::string_view text) {
  const std::string digits(text.substr(0, text.find('%')));
  const bool whole = digits.size() == text.size() || digits.size() + 1 == text.size();
  if (!whole || !range_complaint(digits, 0, 100).empty())
    return fail(ErrorKind::Usage,
                fmt::format("expected a share of the links from 0% to 100%, got '{}'",
                            printable(std::string(text))));
  return std::stod(digits);
}

Result<Taken> take_away(Fabric& fabric, const WhatIf& what_if) {
  std::vector<Part> parts;
  for (const std::string& word : what_if.without) {
    auto part = find_part(fabric, word);
    if (!part) return tl::unexpected<Error>(std::move(part.error()));
    parts.push_back(*part);
  }
  if (what_if.empty()) return Taken{};
  if (what_if.damage_percent != 0 && switch_links(fabric).empty())
    return fail(ErrorKind::Usage, "cannot damage links between switches: there are none");
  Remover remover(fabric);
  for (const Part& part : parts) remover.take(part);
  if (what_if.damage_percent != 0) remover.damage(what_if.damage_percent, what_if.seed);
  return remover.finish();
}

std::vector<std::string> take_links_without_vls(Fabric& fabric) {
  std::vector<std::string> notes;
  for (NodeIndex n = 0; n < fabric.nodes().size(); ++n)
    for (unsigned p = 1; p <= fabric.node(n).num_ports; ++p) {
      const PortRef here{n, static_cast<std::uint8_t>(p)};
      const PortRef far = fabric.port(here).peer;
      const std::uint8_t code = fabric.port(here).vl_cap;
      if (!far || code == 0 || wire::data_vls(code) != 0) continue;
      notes.push_back(fmt::format(
          "without the link from {} port {} to {} port {}: VLCap {} of the former is no data VL",
          node_name(fabric, here.node), here.port, node_name(fabric, far.node), far.port, code));
      fabric.disconnect(here);
    }
  return notes;
}

}  // namespace ib::route
