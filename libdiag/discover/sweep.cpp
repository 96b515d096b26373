// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/discover/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "libdiag/discover/quirks.h"
#include "libdiag/discover/sweep_impl.h"
#include "libdiag/discover/vendor_port_info.h"
#include "libdiag/wire/rates.h"

namespace ib::discover {
namespace {

using fabric::kNoNode;
using fabric::NodeIndex;
using fabric::PortRef;

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  a ^= (b + 1) * 0x9E3779B97F4A7C15ULL;
  return a ^ (a >> 29);
}

/// The specification allows two hours; nobody waits longer than a second for an SMA.
Duration resp_time(std::uint8_t value) {
  return std::chrono::nanoseconds(std::int64_t{4096} << std::min<unsigned>(value, 18));
}

}  // namespace

// ---- asking

void Sweep::Impl::ask_port(PortRef at, bool extended) {
  ask(extended ? Ask::PortInfoExt : Ask::PortInfo, at,
      at.port | (extended ? wire::kPortInfoSmSupportsExtendedSpeeds : 0));
}

void Sweep::Impl::probe(Ask what, PortRef at) {
  const std::size_t hops = seen.nodes[at.node].route.hops.size();
  if (hops >= std::min(options.hops_max, 63U)) {
    note(Trouble::Kind::TooFar, at, {what, at},
         fmt::format("nothing beyond {} hops is looked at", hops));
    return;
  }
  ask(what, at, 0);
}

mad::Request Sweep::Impl::make_request(const Todo& t) {
  ++in_flight;
  const Key& key = t.key;
  if (key.at.node == kNoNode) return make_request(t, 1, Guid{0}, {});
  const ObservedNode& n = seen.nodes[key.at.node];
  const std::uint64_t guid = n.info.node_guid.value;
  if (key.ask != Ask::Probe && key.ask != Ask::Recheck) {
    // Who was silent to another M_Key is somebody else to the transactor.
    const std::uint64_t target = progress[key.at.node].other_key ? mix(guid, 0) : guid;
    auto request = make_request(t, target, n.info.port_guid, n.route);
    request.resp_time_hint = progress[key.at.node].hint;
    return request;
  }
  // Who is behind the port is not known, so the port stands for it.
  return make_request(t, mix(guid, key.at.port), Guid{0}, n.route.extended(key.at.port));
}

mad::Request Sweep::Impl::make_request(const Todo& t, std::uint64_t target, Guid guid,
                                       const mad::DirectedRoute& route) const {
  const bool clears = t.key.ask == Ask::ClearChange;
  auto request =
      mad::smp_request(options.cookie_base + to_cookie(t.key), target, route,
                       clears ? wire::Method::Set : wire::Method::Get, attribute_of(t.key.ask),
                       t.modifier, options.m_key ? options.m_key(guid) : 0);
  // As it was read: PortStateChange, written as 1, clears (IBA 14.2.5.4).
  if (clears) wire::set_body(request.mad, *seen.nodes[t.key.at.node].switch_info);
  return request;
}

bool Sweep::Impl::readable(NodeIndex n) const {
  return !progress[n].silent && seen.nodes[n].usable && progress[n].next_port != 0 &&
         progress[n].next_port <= seen.nodes[n].info.num_ports;
}

void Sweep::Impl::scan(NodeIndex n) {
  if (progress[n].queued || progress[n].reading >= kReadingMax) return;
  progress[n].queued = true;
  scanning.push_back(n);
}

bool Sweep::Impl::idle() {
  while (!scanning.empty() && !readable(scanning.front())) {
    progress[scanning.front()].queued = false;
    scanning.pop_front();
  }
  return in_flight == 0 && todo.empty() && scanning.empty();
}

std::vector<mad::Request> Sweep::Impl::take_requests() {
  std::vector<mad::Request> out;
  // Nobody would take the answers to what was asked after it was given up.
  if (part && !part->why_whole.empty()) return out;
  while (!todo.empty() && in_flight < kInFlightMax && out.size() < kAtOnce) {
    out.push_back(make_request(todo.front()));
    todo.pop_front();
  }
  while (!scanning.empty() && in_flight < kInFlightMax && out.size() < kAtOnce) {
    const NodeIndex n = scanning.front();
    scanning.pop_front();
    Progress& p = progress[n];
    p.queued = false;
    if (!readable(n) || p.reading >= kReadingMax) continue;
    const PortRef at{n, static_cast<std::uint8_t>(p.next_port++)};
    ++p.reading;
    const bool extended = (seen.port({n, 0}).get<&wire::PortInfo::capability_mask>() &
                           wire::port_cap::kExtendedSpeeds) != 0;
    out.push_back(
        make_request({{extended ? Ask::PortInfoExt : Ask::PortInfo, at},
                      at.port | (extended ? wire::kPortInfoSmSupportsExtendedSpeeds : 0)}));
    scan(n);
  }
  return out;
}

// ---- troubles

Trouble& Sweep::Impl::note(Trouble::Kind kind, PortRef behind, Key key, std::string what) {
  Trouble t;
  t.kind = kind;
  t.attribute = attribute_of(key.ask);
  const bool through_port = key.ask == Ask::Probe || key.ask == Ask::Recheck;
  if (key.at.node != kNoNode) {
    const ObservedNode& n = seen.nodes[key.at.node];
    t.route = through_port ? n.route.extended(key.at.port) : n.route;
    if (!through_port) {
      t.node_guid = n.info.node_guid;
      t.description = seen.fabric.node(key.at.node).name();
      t.port = key.at.port;
    }
  }
  t.behind = behind;
  if (through_port) {
    t.message = behind ? fmt::format("node behind {} (route {}): {}", place(behind),
                                     mad::to_string(t.route), what)
                       : fmt::format("local port: {}", what);
  } else {
    t.message =
        fmt::format("{} (route {}): {}", node_label(key.at.node), mad::to_string(t.route), what);
  }
  t.what = std::move(what);
  seen.troubles.push_back(std::move(t));
  return seen.troubles.back();
}

PortRef Sweep::Impl::entry_of(NodeIndex n) const {
  const std::uint8_t p = seen.nodes[n].info.local_port_num.value;
  return claim[seen.port_index({n, p})];
}

void Sweep::Impl::quarantine(NodeIndex n, Trouble::Kind kind, Key key, std::string what) {
  if (!seen.nodes[n].usable && kind == Trouble::Kind::Garbage) return;  // one line is enough
  seen.nodes[n].usable = false;
  note(kind, entry_of(n), key, std::move(what));
}

// ---- answers

void Sweep::Impl::on_completion(const mad::Completion& c) {
  const Key key = from_cookie((c.cookie - options.cookie_base) & kCookieMask);
  --in_flight;
  if (part && !part->why_whole.empty()) {
    finished = in_flight == 0;
    return;
  }
  if (is_port_scan(key)) {
    --progress[key.at.node].reading;
    scan(key.at.node);
  }
  std::string wrong;
  Trouble::Kind kind = Trouble::Kind::Silent;
  if (!c.reply) {
    kind =
        c.reply.error().kind == ErrorKind::Refused ? Trouble::Kind::Refused : Trouble::Kind::Silent;
    wrong = fmt::format("no answer to Get({})", attribute_name(attribute_of(key.ask)));
    if (c.attempts > 0) wrong += fmt::format(" after {} attempts", c.attempts);
  } else if (const wire::Mad& mad = c.reply->mad; mad.status() != 0) {
    kind = Trouble::Kind::Refused;
    wrong = fmt::format("Get({}) answered with status 0x{:04x}",
                        attribute_name(attribute_of(key.ask)), mad.status());
  } else if (mad.attribute_id() != attribute_of(key.ask) || mad.method() != wire::Method::GetResp) {
    kind = Trouble::Kind::Garbage;
    wrong = fmt::format("answer to Get({}) has AttributeID 0x{:04x}, method 0x{:02x}",
                        attribute_name(attribute_of(key.ask)), mad.attribute_id(),
                        static_cast<unsigned>(mad.method()));
  }
  if (wrong.empty()) {
    on_answer(key, c.reply->mad);
  } else {
    on_failure(key, kind, std::move(wrong));
  }
  if (idle() && !finished) settle();
}

bool Sweep::Impl::is_port_scan(Key key) const {
  if (key.ask != Ask::PortInfo && key.ask != Ask::PortInfoExt) return false;
  return key.at.port != 0 && seen.nodes[key.at.node].info.node_type == wire::NodeType::Switch &&
         progress[key.at.node].reading > 0;
}

bool Sweep::Impl::ask_with_other_key(Key key) {
  Progress& at = progress[key.at.node];
  const Guid port = seen.nodes[key.at.node].info.port_guid;
  if (at.silent || !options.other_m_key) return false;
  if (!at.other_key && !options.other_m_key(port)) return false;
  at.other_key = true;
  const std::uint32_t bit = 1U << static_cast<unsigned>(key.ask);
  if ((at.asked_again & bit) != 0) return false;
  at.asked_again |= bit;
  if (key.ask == Ask::PortInfo || key.ask == Ask::PortInfoExt) {
    ask_port(key.at, key.ask == Ask::PortInfoExt);
  } else {
    ask(key.ask, key.at, 0);
  }
  return true;
}

void Sweep::Impl::on_failure(Key key, Trouble::Kind kind, std::string what) {
  if (part && (key.ask == Ask::Probe || (was_in_order(key.at.node) && key.ask != Ask::PortInfoExt &&
                                         key.ask != Ask::VendorPortInfo)))
    return static_cast<void>(on_partial_failure(key, kind, std::move(what)));
  const bool of_node = key.at.node != kNoNode && key.ask != Ask::Probe && key.ask != Ask::Recheck &&
                       key.ask != Ask::VendorPortInfo && key.ask != Ask::ClearChange;
  if (of_node && kind == Trouble::Kind::Silent) {
    if (ask_with_other_key(key)) return;
    // It answered before and does not now. One line, and no further question.
    if (!std::exchange(progress[key.at.node].silent, true))
      quarantine(key.at.node, kind, key, std::move(what));
    return;
  }
  switch (key.ask) {
    case Ask::Probe:
      note(kind, key.at.node == kNoNode ? PortRef{} : key.at, key, std::move(what));
      break;
    case Ask::Description:
      note(kind, entry_of(key.at.node), key, std::move(what));
      break;
    case Ask::SwitchInfo:
      quarantine(key.at.node, kind, key, std::move(what));
      break;
    case Ask::ClearChange:
      // It answers Gets, and may be asked on.
      ask_port({key.at.node, 0}, false);
      break;
    case Ask::PortInfo:
      if (seen.nodes[key.at.node].info.node_type == wire::NodeType::Switch && key.at.port != 0 &&
          kind != Trouble::Kind::Garbage) {
        note(kind, entry_of(key.at.node), key, fmt::format("port {}: {}", key.at.port, what));
      } else {
        quarantine(key.at.node, kind, key, fmt::format("port {}: {}", key.at.port, what));
      }
      break;
    case Ask::PortInfoExt:
      // The device said that it knows extended speeds and does not answer to them: its plain
      // answer is kept, or asked for.
      if (!seen.port(key.at).known) ask_port(key.at, false);
      break;
    case Ask::VendorPortInfo:
    case Ask::Recheck:
    case Ask::RecheckPort:
      break;
  }
}

void Sweep::Impl::on_answer(Key key, const wire::Mad& mad) {
  switch (key.ask) {
    case Ask::Probe:
      on_node_info(key, wire::body<wire::NodeInfo>(mad));
      break;
    case Ask::Description: {
      const auto text = wire::body<wire::NodeDescription>(mad).text;
      seen.fabric.node(key.at.node)
          .description.assign(text.begin(), std::find(text.begin(), text.end(), '\0'));
      break;
    }
    case Ask::SwitchInfo:
    case Ask::ClearChange:
      on_switch_info(key, wire::body<wire::SwitchInfo>(mad));
      break;
    case Ask::PortInfo:
    case Ask::PortInfoExt:
      on_port_info(key, mad.data());
      break;
    case Ask::VendorPortInfo:
      on_vendor_port_info(key, mad);
      break;
    case Ask::Recheck: {
      const auto info = wire::body<wire::NodeInfo>(mad);
      const auto n = seen.fabric.find_node(info.node_guid);
      rechecked[key.at] = n ? PortRef{*n, info.local_port_num.value} : PortRef{};
      break;
    }
    case Ask::RecheckPort:
      recheck_down[key.at] = wire::body<wire::PortInfo>(mad).port_state == wire::PortState::Down;
      break;
  }
}

void Sweep::Impl::on_node_info(Key key, const wire::NodeInfo& info, bool last) {
  const PortRef from = key.at.node == kNoNode ? PortRef{} : key.at;
  std::string wrong = implausible(info);
  if (wrong.empty() && from && info.local_port_num.value == 0)
    wrong = "LocalPortNum is 0 for a request that came by a cable";
  if (!wrong.empty()) {
    Trouble* t = part ? on_partial_failure(key, Trouble::Kind::Garbage, wrong)
                      : &note(Trouble::Kind::Garbage, from, key, wrong);
    if (t != nullptr) t->node_guid = info.node_guid;
    return;
  }
  if (part) return on_neighbour(from, info);
  const std::uint8_t port = info.local_port_num.value;
  const auto known = seen.fabric.find_node(info.node_guid);
  if (!known && !last && from && info.node_type != wire::NodeType::Switch &&
      options.stood_elsewhere &&
      options.stood_elsewhere(info.node_guid, seen.nodes[from.node].info.node_guid, from.port)) {
    newcomers.emplace_back(key, info);
    return;
  }
  if (!known) {
    const std::uint8_t guid_port = info.node_type == wire::NodeType::Switch ? 0 : port;
    if (const auto holder = port_guids.find(info.port_guid); holder != port_guids.end()) {
      duplicate(key, info, holder->second.node, Shared::PortGuid);
      return;
    }
    add_node(from, info, guid_port);
    return;
  }
  const NodeIndex n = *known;
  const wire::NodeInfo& first = seen.nodes[n].info;
  if (first.node_type != info.node_type || first.num_ports != info.num_ports ||
      first.device_id != info.device_id || first.vendor_id != info.vendor_id ||
      (first.node_type == wire::NodeType::Switch && first.port_guid != info.port_guid)) {
    duplicate(key, info, n, Shared::NodeGuid);
    return;
  }
  if (from) claim[seen.port_index(from)] = {n, port};
  if (first.node_type == wire::NodeType::Switch) return;
  PortRef& entry = claim[seen.port_index({n, port})];
  if (entry) return;  // seen by this port before: settle() decides what that means
  // A GUID that an earlier port of the same CA has is that of another plane of one end port.
  if (const auto holder = port_guids.find(info.port_guid);
      holder != port_guids.end() && holder->second.node != n) {
    if (from) claim[seen.port_index(from)] = {};
    duplicate(key, info, holder->second.node, Shared::PortGuid);
    return;
  }
  // A further port of a CA or router that is known already.
  entry = from;
  port_guids.emplace(info.port_guid, PortRef{n, port});
  seen.fabric.port(n, port).guid = info.port_guid;
  seen.fabric.port(n, port).present = true;
  ask_port({n, port}, false);
}

void Sweep::Impl::add_node(PortRef from, const wire::NodeInfo& info, std::uint8_t guid_port) {
  fabric::Node node;
  node.type = info.node_type;
  node.guid = info.node_guid;
  node.system_image_guid = info.system_image_guid;
  node.vendor_id = info.vendor_id;
  node.device_id = info.device_id;
  node.revision = info.revision;
  node.num_ports = info.num_ports;
  if (options.names) options.names->name(node);
  const NodeIndex n = seen.fabric.add_node(std::move(node));
  ObservedNode seen_node;
  seen_node.info = info;
  if (from) seen_node.route = seen.nodes[from.node].route.extended(from.port);
  seen.nodes.push_back(std::move(seen_node));
  seen.ports.resize(seen.fabric.node(n).first_port + info.num_ports + std::size_t{1});
  claim.resize(seen.ports.size());
  progress.emplace_back();
  if (part) {
    part->look.push_back(Look::New);
    part->read_ports.push_back(false);
    part->fresh.resize(seen.ports.size());
  }
  const std::uint8_t port = info.local_port_num.value;
  if (from) {
    claim[seen.port_index(from)] = {n, port};
    claim[seen.port_index({n, port})] = from;
  } else {
    const bool is_switch = info.node_type == wire::NodeType::Switch;
    seen.local_port = {n, is_switch ? std::uint8_t{0} : port};
    seen.fabric.initiated_from_node = info.node_guid;
    seen.fabric.initiated_from_port = info.port_guid;
  }
  port_guids.emplace(info.port_guid, PortRef{n, guid_port});
  seen.fabric.port(n, guid_port).guid = info.port_guid;
  seen.fabric.port(n, guid_port).present = true;
  if (options.descriptions) ask(Ask::Description, {n, 0}, 0);
  if (info.node_type == wire::NodeType::Switch) {
    ask(Ask::SwitchInfo, {n, 0}, 0);
  } else {
    ask_port({n, port}, false);
  }
}

void Sweep::Impl::on_switch_info(Key key, const wire::SwitchInfo& info) {
  const NodeIndex n = key.at.node;
  if (auto wrong = implausible(info, seen.nodes[n].info); !wrong.empty()) {
    if (was_in_order(n)) return want_whole(fmt::format("{}: {}", node_label(n), wrong));
    quarantine(n, Trouble::Kind::Garbage, key, std::move(wrong));
    return;
  }
  ObservedNode& node = seen.nodes[n];
  node.switch_info = corrected(info, node.info.vendor_id);
  node.changed = node.changed || info.port_state_change;
  seen.fabric.node(n).enhanced_port0 = info.enhanced_port0;
  if (was_known(n) && key.ask == Ask::SwitchInfo && is_same_switch(n, info)) return;
  // What changes once it is cleared says so again: a port is read after that or not at all.
  if (key.ask == Ask::SwitchInfo && info.port_state_change && options.clears_changes_of &&
      options.clears_changes_of(node.info.node_guid)) {
    ask(Ask::ClearChange, {n, 0}, 0);
  } else {
    ask_port({n, 0}, false);
  }
}

void Sweep::Impl::on_port_info(Key key, const std::byte* bytes) {
  const NodeIndex n = key.at.node;
  const wire::NodeInfo& node = seen.nodes[n].info;
  const bool is_switch = node.node_type == wire::NodeType::Switch;
  const auto info = wire::decode<wire::PortInfo>(bytes);
  if (auto wrong = implausible(info, node, key.at.port); !wrong.empty()) {
    if (was_in_order(n)) return want_whole(fmt::format("{}: {}", place(key.at), wrong));
    // One strange port is left alone, and not the node with it; who answers for a port that it
    // does not have is not believed at all.
    const bool other_ports = node.num_ports > 1 && info.local_port_num.value <= node.num_ports;
    auto what = fmt::format("port {}: {}", key.at.port, wrong);
    if (other_ports) {
      note(Trouble::Kind::Garbage, entry_of(n), key, what + "; the port is left alone");
    } else {
      quarantine(n, Trouble::Kind::Garbage, key, std::move(what));
    }
    return;
  }
  const bool end_port = !is_switch || key.at.port == 0;
  if (end_port && doubts_m_key(key, info)) return;
  seen.update_port(key.at, bytes, info);
  seen.port(key.at).extended = key.ask == Ask::PortInfoExt;
  const bool knows_extended = (info.capability_mask & wire::port_cap::kExtendedSpeeds) != 0;
  if (end_port) progress[n].hint = resp_time(info.resp_time_value);
  if (is_switch && key.at.port == 0) {
    if (progress[n].next_port == 0) {
      progress[n].next_port = 1;
      scan(n);
    }
    return;
  }
  if (!is_switch && knows_extended && key.ask == Ask::PortInfo && !seen.port(key.at).extended) {
    ask_port(key.at, true);
  } else if (options.fdr10 && is_to_tell_vendor_port_info(node, key.at.port, info)) {
    ask(Ask::VendorPortInfo, key.at, key.at.port);
  }
  if (was_known(n)) {
    if (is_switch) on_known_switch_port(key.at, info);
    return;
  }
  // The local CA's own port is the first hop; a CA further away forwards nothing. Its link may have
  // come up between two questions about it.
  const bool local_ca = !is_switch && key.at == seen.local_port && !local_probed;
  if ((is_switch || local_ca) && info.port_state != wire::PortState::Down && seen.nodes[n].usable &&
      !claim[seen.port_index(key.at)] &&
      !(options.is_held && options.is_held(node.node_guid, key.at.port))) {
    local_probed = local_probed || local_ca;
    probe(Ask::Probe, key.at);
  }
}

bool Sweep::Impl::doubts_m_key(Key key, const wire::PortInfo& info) {
  const auto first = new_m_keys.find(key.at);
  if (first == new_m_keys.end()) {
    const std::uint64_t known = options.m_key ? options.m_key(seen.fabric.port(key.at).guid) : 0;
    if (info.m_key == 0 || info.m_key == known) return false;
    new_m_keys.emplace(key.at, info.m_key);
    ask_port(key.at, key.ask == Ask::PortInfoExt);
    return true;
  }
  if (first->second == info.m_key) return false;
  const NodeIndex n = key.at.node;
  auto what = fmt::format("port {}: M_Key is another one than a moment before", key.at.port);
  if (was_in_order(n))
    want_whole(fmt::format("{}: {}", node_label(n), what));
  else
    quarantine(n, Trouble::Kind::Garbage, key, std::move(what));
  return true;
}

void Sweep::Impl::on_vendor_port_info(Key key, const wire::Mad& mad) {
  if ((wire::body<wire::MlnxExtendedPortInfo>(mad).link_speed_active & 1) != 0) {
    seen.port(key.at).fdr10 = true;
    seen.fabric.port(key.at).speed = wire::LinkSpeed::Fdr10;
  }
  seen.port(key.at).special = special_port(wire::body<wire::MlnxSpecialPort>(mad));
}

void Sweep::Impl::duplicate(Key key, const wire::NodeInfo& info, NodeIndex holder, Shared shared) {
  for (const Trouble& t : seen.troubles)
    if (t.kind == Trouble::Kind::DuplicateGuid && t.node_guid == info.node_guid) return;
  Trouble& t = note(Trouble::Kind::DuplicateGuid, key.at, key, {});
  t.node_guid = info.node_guid;
  t.other_route = seen.nodes[holder].route;
  duplicates.push_back({seen.troubles.size() - 1, holder, shared, info, {}, {}});
}

Sweep::Sweep(SweepOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Sweep::~Sweep() = default;

std::vector<mad::Request> Sweep::take_requests() { return impl_->take_requests(); }
void Sweep::on_completion(Instant, const mad::Completion& completion) {
  impl_->on_completion(completion);
}
const std::string& Sweep::why_whole() const {
  static const std::string kAddsUp;
  return impl_->part ? impl_->part->why_whole : kAddsUp;
}
const std::vector<Guid>& Sweep::asked_anew() const {
  static const std::vector<Guid> kNobody;
  return impl_->part ? impl_->part->asked_anew : kNobody;
}
bool Sweep::done() const { return impl_->finished; }
const Observed& Sweep::observed() const { return impl_->seen; }
Observed Sweep::take_observed() { return std::move(impl_->seen); }

}  // namespace ib::discover
