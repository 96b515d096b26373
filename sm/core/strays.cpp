// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/core/strays.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "sm/core/is_active.h"

namespace sm::core {
namespace {

using ib::discover::Observed;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using ib::mad::DirectedRoute;
using ib::wire::PortState;

/// What is at the other end of a cable; GUID 0: nothing.
std::pair<ib::Guid, std::uint8_t> far_end(const Observed& in, PortRef at) {
  const PortRef far = in.fabric.port(at).peer;
  return far ? std::pair(in.fabric.node(far.node).guid, far.port)
             : std::pair(ib::Guid{}, std::uint8_t{0});
}

/// Where requests may have gone while cables were moved. Two sweeps show how a cable was before and
/// how it is after, not what was plugged where between: whatever is at a port that lost its link
/// may have been at any other one that did.
class Detours {
 public:
  Detours(const Observed& before, const Observed& found)
      : before_(before), found_(found), changed_(found.ports.size(), false) {
    for (NodeIndex n = 0; n < found.nodes.size(); ++n) compare(n);
    std::ranges::sort(at_changed_);
    const auto twice = std::ranges::unique(at_changed_);
    at_changed_.erase(twice.begin(), twice.end());
  }
  /// Some port has another neighbour than it had.
  bool any() const { return moved_; }

  /// Who may have been at the end of this route.
  const std::vector<NodeIndex>& ends(const DirectedRoute& route) {
    const auto known = ends_.find(route);
    if (known != ends_.end()) return known->second;
    std::vector<NodeIndex> out;
    if (route.hops.empty()) {
      out.push_back(found_.local_port.node);
    } else {
      DirectedRoute shorter = route;
      shorter.hops.pop_back();
      for (const NodeIndex n : ends(shorter)) leave(n, route.hops.back(), out);
      std::ranges::sort(out);
      const auto twice = std::ranges::unique(out);
      out.erase(twice.begin(), twice.end());
    }
    return ends_.emplace(route, std::move(out)).first->second;
  }

 private:
  void compare(NodeIndex n) {
    const auto& node = found_.fabric.node(n);
    const auto was = before_.fabric.find_node(node.guid);
    for (unsigned p = 1; p <= node.num_ports; ++p) {
      const PortRef at{n, static_cast<std::uint8_t>(p)};
      const bool existed = was && p <= before_.fabric.node(*was).num_ports;
      const PortRef at_before = existed ? PortRef{*was, at.port} : PortRef{};
      const auto old_end = existed ? far_end(before_, at_before) : decltype(far_end(found_, at)){};
      const auto end = far_end(found_, at);
      if (old_end == end &&
          (end.first.value == 0 || !is_active(before_, at_before) || is_active(found_, at)))
        continue;
      changed_[found_.port_index(at)] = true;
      at_changed_.push_back(n);
      moved_ = moved_ || (old_end != end && old_end.first.value != 0 && end.first.value != 0);
    }
  }
  void leave(NodeIndex n, std::uint8_t port, std::vector<NodeIndex>& out) const {
    const auto& node = found_.fabric.node(n);
    if (port == 0 || port > node.num_ports || (!node.is_switch() && n != found_.local_port.node))
      return;
    const PortRef at{n, port};
    if (const PortRef far = found_.fabric.port(at).peer) out.push_back(far.node);
    if (changed_[found_.port_index(at)])
      out.insert(out.end(), at_changed_.begin(), at_changed_.end());
  }

  const Observed& before_;
  const Observed& found_;
  std::vector<bool> changed_;          // by port index of found_
  std::vector<NodeIndex> at_changed_;  // nodes of those
  bool moved_{false};
  std::map<DirectedRoute, std::vector<NodeIndex>> ends_;
};

/// A CA is asked by each of its ports.
std::vector<DirectedRoute> routes_to(const Observed& seen, NodeIndex n) {
  std::vector<DirectedRoute> routes{seen.nodes[n].route};
  if (seen.fabric.node(n).is_switch()) return routes;
  for (unsigned p = 1; p <= seen.fabric.node(n).num_ports; ++p)
    if (const PortRef near = seen.fabric.port(n, p).peer; near && n != seen.local_port.node)
      routes.push_back(seen.nodes[near.node].route.extended(near.port));
  return routes;
}

void find_doubtful(const std::unordered_set<ib::Guid>& asked, const Observed& before,
                   const Observed& found, std::set<ib::Guid>& doubtful) {
  if (asked.empty()) return;
  Detours detours(before, found);
  if (!detours.any()) return;
  const auto doubt = [&](ib::Guid guid) {
    // Who is silent now may be found again, or stay as it was known (KeptNodes).
    if (before.fabric.find_node(guid)) doubtful.insert(guid);
  };
  for (const ib::Guid guid : asked) {
    const auto n = before.fabric.find_node(guid);
    if (!n) continue;
    for (const DirectedRoute& route : routes_to(before, *n))
      for (const NodeIndex end : detours.ends(route)) {
        const ib::Guid other = found.fabric.node(end).guid;
        if (other == guid) continue;
        doubt(guid);
        doubt(other);
      }
  }
}

bool has_all(const Observed& seen, const std::unordered_set<ib::Guid>& nodes) {
  return std::ranges::all_of(
      nodes, [&](ib::Guid guid) { return seen.fabric.find_node(guid).has_value(); });
}

}  // namespace

std::set<ib::Guid> Strays::between(const Observed& before, const Observed& found) const {
  std::set<ib::Guid> doubtful;
  find_doubtful(asked_, before, found, doubtful);
  if (earlier_) find_doubtful(earlier_->asked, *earlier_->before, found, doubtful);
  return doubtful;
}

void Strays::on_unchanged(const Observed& seen) {
  const bool is_alone = seen.nodes.size() == 1;
  if (!is_alone) earlier_.reset();
  asked_.clear();
}

void Strays::on_swept(std::shared_ptr<const Observed> before, const Observed& found) {
  if (earlier_ && has_all(found, earlier_->asked)) earlier_.reset();
  if (!earlier_ && !has_all(found, asked_)) earlier_.emplace(Earlier{asked_, std::move(before)});
  asked_.clear();
}

}  // namespace sm::core
