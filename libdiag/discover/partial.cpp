// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A partial sweep: the known fabric is what it starts from. A place that changed is asked again,
// and whatever hangs at a port that is not as it was; then who hung there before, and so on until
// nothing is open. Cables of ports that stayed ACTIVE are taken for what they were: unplugging one
// takes its ports down.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <utility>

#include "libdiag/discover/sweep_impl.h"

namespace ib::discover {
namespace {

using fabric::NodeIndex;
using fabric::PortRef;
using wire::PortState;

constexpr std::size_t kCostMin = 64;  // what is too little to be worth a thought
constexpr std::size_t kPartOfWhole = 3;

/// What a node costs that is asked everything.
std::size_t cost_of(const wire::NodeInfo& info) {
  return info.node_type == wire::NodeType::Switch ? info.num_ports + std::size_t{4} : 3U;
}

}  // namespace

void Sweep::Impl::begin_partial() {
  const PartialSweep& given = *options.partial;
  seen = *given.known;
  seen.complete = false;
  seen.troubles.clear();
  part = std::make_unique<Part>();
  part->look.assign(seen.nodes.size(), Look::Known);
  part->read_ports.assign(seen.nodes.size(), false);
  part->fresh.assign(seen.ports.size(), false);
  claim.resize(seen.ports.size());
  progress.resize(seen.nodes.size());
  port_guids.reserve(seen.nodes.size());
  std::size_t whole = 0;
  for (NodeIndex n = 0; n < seen.nodes.size(); ++n) {
    ObservedNode& node = seen.nodes[n];
    node.changed = false;
    progress[n].next_port = static_cast<std::uint16_t>(node.info.num_ports + 1U);
    whole += cost_of(node.info);
    for (unsigned p = 0; p <= node.info.num_ports; ++p) {
      const PortRef at{n, static_cast<std::uint8_t>(p)};
      const fabric::Port& port = seen.fabric.port(at);
      claim[seen.port_index(at)] = port.peer;
      if (port.guid.value != 0) port_guids.emplace(port.guid, at);
    }
  }
  part->cost_max = std::max(kCostMin, whole / kPartOfWhole);
  // Whose cables are not in the fabric is known by its route alone.
  for (NodeIndex n = 0; n < seen.nodes.size(); ++n) {
    if (seen.nodes[n].usable || seen.nodes[n].route.hops.empty()) continue;
    PortRef at = seen.local_port;
    const auto& hops = seen.nodes[n].route.hops;
    for (std::size_t i = 0; at && i < hops.size(); ++i) {
      at.port = hops[i];
      if (i + 1 < hops.size())
        at = at.port <= seen.nodes[at.node].info.num_ports ? claim[seen.port_index(at)] : PortRef{};
    }
    const PortRef entry{n, seen.nodes[n].info.local_port_num.value};
    if (!at || at.port > seen.nodes[at.node].info.num_ports || claim[seen.port_index(at)]) continue;
    claim[seen.port_index(at)] = entry;
    claim[seen.port_index(entry)] = at;
  }
  // What somebody told it no switch shows.
  if (seen.nodes[seen.local_port.node].usable) ask_port(seen.local_port, false);
  for (const PartialSweep::Place& place : given.places) {
    if (const auto n = seen.fabric.find_node(place.node))
      examine(*n, place.read_ports);
    else
      want_whole(fmt::format("{} is not known", to_string(place.node)));
  }
  // A node that no cable is known to lead to would be left out without a question.
  find_routes();
  for (const PartialSweep::Place& place : given.places)
    if (const auto n = seen.fabric.find_node(place.node); n && !is_reached(*n))
      want_whole(fmt::format("no cable is known to lead to {}", to_string(place.node)));
  settle_partial();
}

void Sweep::Impl::want_whole(std::string why) {
  if (part->why_whole.empty()) part->why_whole = std::move(why);
  todo.clear();
  scanning.clear();
  finished = in_flight == 0;
}

// ---- whom to ask, and by which way

/// It is asked, or was.
bool Sweep::Impl::is_open(NodeIndex n) const {
  return part->look[n] != Look::Known && part->look[n] != Look::Same;
}

void Sweep::Impl::wait(NodeIndex n) {
  part->look[n] = Look::Waiting;
  part->waiting.push_back(n);
}

void Sweep::Impl::examine(NodeIndex n, bool read_ports) {
  part->read_ports[n] = part->read_ports[n] || read_ports;
  if (is_open(n)) return;
  wait(n);
  part->cost += cost_of(seen.nodes[n].info);
  if (part->cost > part->cost_max) want_whole("too much of the fabric changed at once");
}

/// Breadth first, by the cables that are known by now.
void Sweep::Impl::find_routes() {
  if (!std::exchange(part->routes_stale, false)) return;
  // Who was found by one of its neighbours is where it was all the same.
  ObservedNode& local = seen.nodes[seen.local_port.node];
  local.route = {};
  if (local.info.node_type != wire::NodeType::Switch) {
    local.info.local_port_num.value = seen.local_port.port;
    local.info.port_guid = seen.fabric.port(seen.local_port).guid;
  }
  std::vector<bool> reached(seen.nodes.size(), false);
  part->via.assign(seen.nodes.size(), PortRef{});
  std::deque<NodeIndex> queue{seen.local_port.node};
  reached[seen.local_port.node] = true;
  while (!queue.empty()) {
    const NodeIndex n = queue.front();
    queue.pop_front();
    const bool is_switch = seen.nodes[n].info.node_type == wire::NodeType::Switch;
    if (!seen.nodes[n].usable || (!is_switch && n != seen.local_port.node)) continue;
    const unsigned first = is_switch ? 1 : seen.local_port.port;
    const unsigned last = is_switch ? seen.nodes[n].info.num_ports : seen.local_port.port;
    for (unsigned p = first; p <= last; ++p) {
      const PortRef at{n, static_cast<std::uint8_t>(p)};
      const PortRef to = claim[seen.port_index(at)];
      if (!to || reached[to.node]) continue;
      reached[to.node] = true;
      part->via[to.node] = at;
      ObservedNode& node = seen.nodes[to.node];
      node.route = seen.nodes[n].route.extended(at.port);
      node.info.local_port_num.value = to.port;
      if (node.info.node_type != wire::NodeType::Switch)
        node.info.port_guid = seen.fabric.port(to).guid;
      queue.push_back(to.node);
    }
  }
}

void Sweep::Impl::enter(NodeIndex n) {
  part->look[n] = Look::Entering;
  if (n == seen.local_port.node) return ask_local();
  if (seen.nodes[n].info.node_type == wire::NodeType::Switch)
    return probe(Ask::Probe, part->via[n]);
  for (unsigned p = 1; p <= seen.nodes[n].info.num_ports; ++p) {
    const PortRef near = claim[seen.port_index({n, static_cast<std::uint8_t>(p)})];
    if (near && is_reached(near.node)) probe(Ask::Probe, near);
  }
}

bool Sweep::Impl::next_wave() {
  find_routes();
  std::size_t nearest = std::numeric_limits<std::size_t>::max();
  const auto hops = [&](NodeIndex n) { return seen.nodes[n].route.hops.size(); };
  std::erase_if(part->waiting, [&](NodeIndex n) { return part->look[n] != Look::Waiting; });
  for (const NodeIndex n : part->waiting)
    if (is_reached(n)) nearest = std::min(nearest, hops(n));
  for (const NodeIndex n : part->waiting)
    if (is_reached(n) && hops(n) == nearest) enter(n);
  return !idle();
}

// ---- answers

void Sweep::Impl::lose(PortRef from) {
  const PortRef far = std::exchange(claim[seen.port_index(from)], PortRef{});
  if (!far) return;
  part->routes_stale = true;
  const std::size_t back = seen.port_index(far);
  // That it was up shows that the cable went after it was read.
  const bool was_read = part->look[far.node] == Look::Read && seen.port(far).known &&
                        seen.port(far).state() != PortState::Down;
  if (claim[back] == from) {
    if (part->fresh[back] || was_read || far == seen.local_port)
      return want_whole(fmt::format("the cable at {} went while it was looked at", place(far)));
    claim[back] = {};
  }
  if (part->look[far.node] == Look::Entering)
    wait(far.node);  // other cables may lead there
  else if (seen.nodes[far.node].info.node_type == wire::NodeType::Switch)
    examine(far.node, true);
}

void Sweep::Impl::on_neighbour(PortRef from, const wire::NodeInfo& info) {
  const std::uint8_t port = info.local_port_num.value;
  const bool is_switch = info.node_type == wire::NodeType::Switch;
  const auto known = seen.fabric.find_node(info.node_guid);
  const auto holder = port_guids.find(info.port_guid);
  const auto clash = [&] {
    want_whole(fmt::format("duplicate GUID {}", to_string(info.node_guid)));
  };
  if (!known) {
    if (from) examine(from.node, true);
    if (holder != port_guids.end() || !from) return clash();
    lose(from);
    part->routes_stale = true;
    part->fresh[seen.port_index(from)] = true;
    return add_node(from, info, is_switch ? std::uint8_t{0} : port);
  }
  const NodeIndex n = *known;
  const wire::NodeInfo& was = seen.nodes[n].info;
  const PortRef to{n, port};
  if (was.node_type != info.node_type || was.num_ports != info.num_ports ||
      was.device_id != info.device_id || was.vendor_id != info.vendor_id ||
      (holder != port_guids.end() && holder->second.node != n))
    return clash();
  if (!from) return read_again(n, from, info);

  PortRef& claimed = claim[seen.port_index(from)];
  PortRef& back = claim[seen.port_index(to)];
  const bool same = claimed == to && back == from;
  if (!same) {
    if (claimed && claimed != to) lose(from);
    if (back && back != from) {
      if (part->fresh[seen.port_index(back)]) return clash();
      claim[seen.port_index(back)] = {};
      if (seen.nodes[back.node].info.node_type == wire::NodeType::Switch) examine(back.node, true);
    }
    claimed = to;
    back = from;
    part->routes_stale = true;
  }
  part->fresh[seen.port_index(from)] = true;
  if (!same) examine(from.node, true);
  const bool waits = part->look[n] == Look::Waiting || part->look[n] == Look::Entering;
  const bool is_doubtful = !is_switch && options.partial->may_have_rebooted &&
                           options.partial->may_have_rebooted(info.node_guid);
  if (!waits && same && stayed_up(from) && !is_doubtful) return;
  if (waits || !is_switch)
    read_again(n, from, info);
  else
    examine(n, true);
}

/// The port was ACTIVE and is: nothing was unplugged there, unless it was and ibsm did not notice.
bool Sweep::Impl::stayed_up(PortRef at) const {
  if (!was_known(at.node)) return false;
  const ObservedPort* was = options.partial->known->known_port(at);
  const ObservedPort* is = seen.known_port(at);
  return was != nullptr && was->state() == PortState::Active && is != nullptr &&
         is->state() >= PortState::Armed;
}

void Sweep::Impl::read_again(NodeIndex n, PortRef from, const wire::NodeInfo& info) {
  ObservedNode& node = seen.nodes[n];
  const std::uint8_t port = info.local_port_num.value;
  const bool was_new = part->look[n] == Look::New;
  const bool is_switch = info.node_type == wire::NodeType::Switch;
  if (!was_new) part->look[n] = is_switch ? Look::Answered : Look::Read;
  node.info = info;
  node.usable = true;
  if (from) node.route = seen.nodes[from.node].route.extended(from.port);
  part->routes_stale = true;
  fabric::Node& out = seen.fabric.node(n);
  out.system_image_guid = info.system_image_guid;
  out.revision = info.revision;
  if (!was_new) {
    progress[n] = {};
    progress[n].next_port = static_cast<std::uint16_t>(info.num_ports + 1U);
  }
  if (is_switch) return ask(Ask::SwitchInfo, {n, 0}, 0);
  const PortRef end{n, port};
  port_guids.emplace(info.port_guid, end);
  seen.fabric.port(end).guid = info.port_guid;
  seen.fabric.port(end).present = true;
  seen.port(end).known = seen.port(end).extended = seen.port(end).fdr10 = false;
  seen.port(end).special = SpecialPort::None;
  if (options.descriptions && !was_new) ask(Ask::Description, {n, 0}, 0);
  ask_port(end, false);
}

bool Sweep::Impl::is_same_switch(NodeIndex n, const wire::SwitchInfo& info) {
  const auto& was = options.partial->known->nodes[n].switch_info;
  const Guid guid = seen.nodes[n].info.node_guid;
  if (was_in_order(n) && !part->read_ports[n] && !info.port_state_change && was &&
      was->linear_fdb_top == info.linear_fdb_top &&
      !(options.partial->is_unsure && options.partial->is_unsure(guid))) {
    part->look[n] = Look::Same;
    return true;
  }
  part->look[n] = Look::Read;
  for (unsigned p = 0; p <= seen.nodes[n].info.num_ports; ++p) {
    ObservedPort& port = seen.port({n, static_cast<std::uint8_t>(p)});
    port.known = port.extended = port.fdr10 = false;
    port.special = SpecialPort::None;
  }
  progress[n].next_port = 0;
  if (options.descriptions) ask(Ask::Description, {n, 0}, 0);
  return false;
}

void Sweep::Impl::on_known_switch_port(PortRef at, const wire::PortInfo& info) {
  if (info.port_state == PortState::Down) return lose(at);
  const Guid guid = seen.nodes[at.node].info.node_guid;
  if (options.is_held && options.is_held(guid, at.port)) return;
  const PortRef peer = options.partial->known->fabric.port(at).peer;
  const bool is_sure = !options.partial->is_unsure || !options.partial->is_unsure(guid);
  if (is_sure && peer && claim[seen.port_index(at)] == peer && stayed_up(at)) return;
  probe(Ask::Probe, at);
}

Trouble* Sweep::Impl::on_partial_failure(Key key, Trouble::Kind kind, std::string what) {
  const PortRef at = key.at;
  if (key.ask != Ask::Probe || at.node == fabric::kNoNode || at == seen.local_port) {
    want_whole(at.node == fabric::kNoNode ? "the local port does not answer"
                                          : fmt::format("{}: {}", node_label(at.node), what));
    return nullptr;
  }
  const bool read = part->look[at.node] == Look::Read || part->look[at.node] == Look::New;
  const PortRef far = claim[seen.port_index(at)];
  // A switch that is silent behind a cable that is plugged in: whether it is by all its cables, and
  // what lies behind it, is asked of all at once.
  if (far && read && seen.nodes[far.node].info.node_type == wire::NodeType::Switch) {
    want_whole(fmt::format("{} does not answer", node_label(far.node)));
    return nullptr;
  }
  if (far) {
    // Other cables may lead there.
    claim[seen.port_index(at)] = {};
    if (claim[seen.port_index(far)] == at && !part->fresh[seen.port_index(far)])
      claim[seen.port_index(far)] = {};
    part->routes_stale = true;
    if (part->look[far.node] == Look::Entering) {
      wait(far.node);
    } else if (seen.nodes[far.node].info.node_type == wire::NodeType::Switch) {
      examine(far.node, true);
    }
  }
  if (read) return &note(kind, at, key, std::move(what));
  // Nobody has looked whether a cable is plugged in there.
  examine(at.node, true);
  return nullptr;
}

// ---- the end

bool Sweep::Impl::claims_agree() const {
  for (NodeIndex n = 0; n < seen.nodes.size(); ++n) {
    for (unsigned p = 0; p <= seen.nodes[n].info.num_ports; ++p) {
      const PortRef a{n, static_cast<std::uint8_t>(p)};
      const PortRef b = claim[seen.port_index(a)];
      if (!b) continue;
      if (claim[seen.port_index(b)] != a || a == b) return false;
      const ObservedPort* port = seen.known_port(a);
      if (port != nullptr && port->state() == PortState::Down) return false;
    }
  }
  return true;
}

/// Of what was in trouble before, what this sweep did not look at. All are where ways lead now: a
/// node may have been found first by a cable that is gone.
void Sweep::Impl::carry_troubles_over() {
  auto found = std::exchange(seen.troubles, {});
  const auto is_through_port = [](const Trouble& t) {
    return t.behind && t.attribute == wire::attr::kNodeInfo;
  };
  const auto place = [&](Trouble& t, NodeIndex n) {
    const auto& route = seen.nodes[n].route;
    t.route = is_through_port(t) ? route.extended(t.behind.port) : route;
    if (!is_through_port(t)) t.behind = part->via[n];
  };
  const auto is_over = [&](const Trouble& t, NodeIndex n) {
    if (is_through_port(t)) return static_cast<bool>(claim[seen.port_index(t.behind)]);
    if (t.attribute != wire::attr::kPortInfo || !seen.nodes[n].usable) return false;
    // Of a CA or router a port is known by who leads to it, and nobody does any more.
    const PortRef at{n, t.port};
    return seen.nodes[n].info.node_type != wire::NodeType::Switch && at != seen.local_port &&
           !claim[seen.port_index(at)];
  };
  for (const Trouble& t : options.partial->troubles) {
    const auto n =
        is_through_port(t) ? std::optional(t.behind.node) : seen.fabric.find_node(t.node_guid);
    if (!n || !is_reached(*n)) continue;
    const Look look = part->look[*n];
    if (look == Look::Read || look == Look::New) continue;
    if (is_over(t, *n)) continue;
    place(seen.troubles.emplace_back(t), *n);
  }
  for (Trouble& t : found) {
    const auto n = is_through_port(t) ? std::nullopt : seen.fabric.find_node(t.node_guid);
    if (n && is_reached(*n)) place(t, *n);
    seen.troubles.push_back(std::move(t));
  }
}

void Sweep::Impl::settle_partial() {
  if (!part->why_whole.empty()) {
    finished = in_flight == 0;
    return;
  }
  if (next_wave()) return;
  if (!part->why_whole.empty() || finished) return;
  if (!claims_agree()) return want_whole("the two ends of a cable do not agree");
  find_routes();
  // Of who was quarantined one cable is known, and there may be others.
  for (NodeIndex n = 0; n < options.partial->known->nodes.size(); ++n)
    if (!is_reached(n) && !options.partial->known->nodes[n].usable)
      return want_whole(fmt::format("the one known way to {} is gone", node_label(n)));
  carry_troubles_over();

  const fabric::Fabric& known = options.partial->known->fabric;
  std::vector<NodeIndex> order;
  bool sorted = true;
  for (NodeIndex n = 0; n < seen.nodes.size(); ++n) {
    const bool is_switch = seen.nodes[n].info.node_type == wire::NodeType::Switch;
    for (unsigned p = 0; p <= seen.nodes[n].info.num_ports; ++p) {
      const PortRef at{n, static_cast<std::uint8_t>(p)};
      const PortRef now = claim[seen.port_index(at)];
      if (seen.fabric.port(at).peer && seen.fabric.port(at).peer != now) seen.fabric.disconnect(at);
      // Of a CA or router a port is known by who leads to it.
      if (is_switch || now || !was_known(n) || !known.port(at).peer) continue;
      seen.port(at) = {};
      seen.fabric.port(at) = {};
    }
    if (!is_reached(n)) continue;
    order.push_back(n);
    if (part->look[n] == Look::Read || part->look[n] == Look::New)
      part->asked_anew.push_back(seen.nodes[n].info.node_guid);
  }
  connect();
  std::ranges::sort(order, {}, [&](NodeIndex n) { return seen.fabric.node(n).guid; });
  for (std::size_t i = 0; i < order.size(); ++i) sorted = sorted && order[i] == i;
  std::erase_if(seen.troubles,
                [&](const Trouble& t) { return t.behind && !is_reached(t.behind.node); });
  sort_troubles();
  if (!sorted || order.size() != seen.nodes.size()) keep_nodes(seen, order);
  seen.fabric.reindex();
  claim = {};
  progress = {};
  port_guids = {};
  seen.complete = true;
  finished = true;
}

}  // namespace ib::discover
