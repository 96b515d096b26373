// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/core/kept_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "libdiag/base/text.h"

namespace sm::core {
namespace {

using ib::Guid;
using ib::Instant;
using ib::discover::Observed;
using ib::discover::Trouble;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using ib::wire::PortState;

constexpr ib::Duration kPatience = std::chrono::seconds(2);

/// Puts nodes of `before` into `found`, one after the other from the links that lead there.
class Transplant {
 public:
  Transplant(Observed& found, const Observed& before, const std::vector<bool>& managed)
      : found_(found), before_(before), managed_(managed) {}

  /// The node of this GUID and what only it leads to; those that were put in. None, where no link
  /// that carries data leads to it.
  std::vector<Guid> put_in(Guid guid) {
    std::vector<Guid> done;
    std::vector<NodeIndex> queue{*before_.fabric.find_node(guid)};
    for (std::size_t i = 0; i < queue.size(); ++i) {
      const NodeIndex old = queue[i];
      if (is_heard(old) || !is_the_same(old)) continue;
      const auto entry = entry_of(old);
      if (!entry) continue;
      put_in(old, *entry);
      done.push_back(before_.fabric.node(old).guid);
      for (const auto& port : before_.fabric.ports(old))
        if (port.peer && managed_[port.peer.node]) queue.push_back(port.peer.node);
    }
    return done;
  }

 private:
  /// It answered this sweep, or was put in.
  bool is_heard(NodeIndex old) const {
    const auto n = found_.fabric.find_node(before_.fabric.node(old).guid);
    return n && found_.nodes[*n].usable;
  }
  /// What was heard of it this time, if anything, is of the same node.
  bool is_the_same(NodeIndex old) const {
    const auto n = found_.fabric.find_node(before_.fabric.node(old).guid);
    return !n || found_.fabric.node(*n).num_ports == before_.fabric.node(old).num_ports;
  }
  /// The same port in `found`, of a node that is heard.
  std::optional<PortRef> place_of(PortRef old) const {
    const auto n = found_.fabric.find_node(before_.fabric.node(old.node).guid);
    if (!n || !found_.nodes[*n].usable) return std::nullopt;
    return PortRef{*n, old.port};
  }
  bool carries_data(PortRef p) const {
    const auto* port = found_.known_port(p);
    return port != nullptr && port->state() == PortState::Active && !found_.fabric.port(p).peer;
  }
  /// Its port by which somebody who is heard leads to it.
  std::optional<std::uint8_t> entry_of(NodeIndex old) const {
    for (unsigned p = 0; p <= before_.fabric.node(old).num_ports; ++p) {
      const PortRef peer = before_.fabric.port(old, p).peer;
      const auto* was = before_.known_port({old, static_cast<std::uint8_t>(p)});
      if (!peer || !before_.fabric.node(peer.node).is_switch()) continue;
      if (was == nullptr || was->state() != PortState::Active) continue;
      if (const auto at = place_of(peer); at && carries_data(*at))
        return static_cast<std::uint8_t>(p);
    }
    return std::nullopt;
  }

  void put_in(NodeIndex old, std::uint8_t entry) {
    const auto& was = before_.fabric.node(old);
    auto n = found_.fabric.find_node(was.guid);
    if (!n) {
      n = found_.fabric.add_node(was);
      found_.nodes.emplace_back();
      found_.ports.resize(found_.fabric.port_count());
    }
    const auto first_port = found_.fabric.node(*n).first_port;
    found_.fabric.node(*n) = was;
    found_.fabric.node(*n).first_port = first_port;
    found_.nodes[*n] = before_.nodes[old];
    const PortRef by = *place_of(before_.fabric.port(old, entry).peer);
    found_.nodes[*n].route = found_.nodes[by.node].route.extended(by.port);
    found_.nodes[*n].info.local_port_num.value = entry;
    for (unsigned p = 0; p <= was.num_ports; ++p) {
      const PortRef from{old, static_cast<std::uint8_t>(p)}, to{*n, from.port};
      // It may have said who it is before it fell silent.
      found_.fabric.disconnect(to);
      found_.port(to) = before_.port(from);
      found_.fabric.port(to) = before_.fabric.port(from);
      found_.fabric.port(to).peer = {};
    }
    for (unsigned p = 0; p <= was.num_ports; ++p) {
      const auto& port = before_.fabric.port(old, p);
      const PortRef here{*n, static_cast<std::uint8_t>(p)};
      if (!port.peer || !carries_data(here)) continue;
      const auto there = place_of(port.peer);
      if (there && carries_data(*there))
        found_.fabric.connect(here, *there, port.width, port.speed);
    }
  }

  Observed& found_;
  const Observed& before_;
  const std::vector<bool>& managed_;
};

}  // namespace

bool KeptNodes::may_stay(Instant now, const SilentNode& silent_node, bool waited) const {
  if (silent_node.is_host && silent_node.sweeps <= hosts_.sweeps &&
      now - silent_node.since < hosts_.most)
    return true;
  return !waited && now - silent_node.since < kPatience;
}

void KeptNodes::keep(Instant now, Observed& found, const Observed& before,
                     const std::vector<bool>& managed, bool waited) {
  std::set<Guid> silent;
  for (const Trouble& t : found.troubles)
    if (const auto n = before.fabric.find_node(t.node_guid);
        t.kind == Trouble::Kind::Silent && n && managed[*n])
      silent.insert(t.node_guid);

  std::map<Guid, SilentNode> since;
  Transplant transplant(found, before, managed);
  for (const Guid guid : silent) {
    const auto it = since_.find(guid);
    SilentNode silent_node = it != since_.end() ? it->second : SilentNode{now, 0, false};
    ++silent_node.sweeps;
    silent_node.is_host = !before.fabric.node(*before.fabric.find_node(guid)).is_switch();
    if (!may_stay(now, silent_node, waited)) continue;
    for (const Guid kept : transplant.put_in(guid)) {
      const auto earlier = since_.find(kept);
      since.emplace(kept, earlier != since_.end() && kept != guid ? earlier->second : silent_node);
    }
  }
  if (!since.empty()) ib::discover::sort_nodes(found);
  std::erase_if(found.troubles, [&](const Trouble& t) {
    return t.kind == Trouble::Kind::Silent && since.contains(t.node_guid);
  });
  for (const auto& [guid, silent_node] : since) {
    if (since_.contains(guid)) continue;
    const auto& node = found.fabric.node(*found.fabric.find_node(guid));
    logs_.push_back(
        {ib::LogLevel::Info, "sweep",
         fmt::format("{} \"{}\" does not answer, though the link to it is up: it stays as it was "
                     "for {}, unless it answers",
                     to_string(guid), ib::printable(node.name()), promise(silent_node))});
  }
  since_ = std::move(since);
  not_before_ = {};
}

std::string KeptNodes::promise(const SilentNode& silent_node) const {
  const auto in_seconds = [](ib::Duration d) {
    return std::chrono::duration_cast<std::chrono::seconds>(d).count();
  };
  if (!silent_node.is_host || hosts_.sweeps == 0) return fmt::format("{} s", in_seconds(kPatience));
  return fmt::format("{} more sweep{} or {} s", hosts_.sweeps, hosts_.sweeps == 1 ? "" : "s",
                     in_seconds(hosts_.most));
}

Instant KeptNodes::until(const SilentNode& silent_node) const {
  return silent_node.since + (silent_node.is_host && hosts_.sweeps > 0 ? hosts_.most : kPatience);
}

std::vector<Guid> KeptNodes::nodes() const {
  std::vector<Guid> out;
  out.reserve(since_.size());
  for (const auto& [guid, silent_node] : since_) out.push_back(guid);
  return out;
}

bool KeptNodes::are_hosts() const {
  return std::ranges::all_of(since_, [](const auto& entry) { return entry.second.is_host; });
}

Instant KeptNodes::due() const {
  Instant due = ib::kNever;
  for (const auto& [guid, silent_node] : since_) due = std::min(due, until(silent_node));
  return std::max(due, not_before_);
}

std::optional<ib::LogEvent> KeptNodes::next_log() {
  if (logs_.empty()) return std::nullopt;
  auto event = std::move(logs_.front());
  logs_.pop_front();
  return event;
}

}  // namespace sm::core
