// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/core/light_sweep.h"

#include <fmt/format.h>

#include <utility>

#include "libdiag/discover/sweep.h"
#include "libdiag/fabric/labels.h"

namespace sm::core {
namespace {

using ib::discover::Observed;
using ib::discover::Trouble;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;

constexpr unsigned kSwitch = 1;     // SwitchInfo of a switch
constexpr unsigned kNeighbour = 2;  // PortInfo of the port that leads to a silent switch
constexpr unsigned kTrouble = 3;    // what somebody behind a port did not answer as he should
constexpr unsigned kEndPort = 4;    // PortInfo of the peer, in a fabric without switches
constexpr unsigned kKept = 5;       // NodeInfo of a node that is in the fabric as it was known
constexpr unsigned kWho = 6;        // NodeInfo of somebody who answers the question of kTrouble
constexpr unsigned kStates = 7;     // SwitchPortStateTable of a switch, a block

/// Who answered NodeInfo and nothing after it would answer that again: the question is the one that
/// went wrong.
bool may_be_over(const Trouble& t) {
  switch (t.kind) {
    case Trouble::Kind::Silent:
    case Trouble::Kind::Refused:
    case Trouble::Kind::Garbage:
      return static_cast<bool>(t.behind);
    case Trouble::Kind::DuplicateGuid:
    case Trouble::Kind::Moved:
    case Trouble::Kind::TooFar:
      return false;
  }
  return false;
}

/// An answer that the sweep would take as it stands.
bool is_in_order(const Observed& observed, const Trouble& t, const ib::wire::Mad& mad) {
  namespace attr = ib::wire::attr;
  if (mad.status() != 0 || mad.method() != ib::wire::Method::GetResp ||
      mad.attribute_id() != t.attribute)
    return false;
  const auto node = observed.fabric.find_node(t.node_guid);
  const auto node_info = node ? observed.nodes[*node].info : ib::wire::NodeInfo{};
  switch (t.attribute) {
    case attr::kNodeInfo: {
      const auto info = ib::wire::body<ib::wire::NodeInfo>(mad);
      const auto& near = observed.nodes[t.behind.node].info;
      // A cable that leads back to its own port stays what it is.
      return ib::discover::implausible(info).empty() && info.local_port_num.value != 0 &&
             (info.node_guid != near.node_guid || info.local_port_num.value != t.behind.port);
    }
    case attr::kSwitchInfo:
      return ib::discover::implausible(ib::wire::body<ib::wire::SwitchInfo>(mad), node_info)
          .empty();
    case attr::kPortInfo:
      return !node ||
             ib::discover::implausible(ib::wire::body<ib::wire::PortInfo>(mad), node_info, t.port)
                 .empty();
    default:
      return true;
  }
}

}  // namespace

LightSweep::LightSweep(const Observed& observed, const std::vector<bool>& managed,
                       std::set<ib::Guid> silent, const std::vector<ib::Guid>& kept,
                       const Flapping& flapping, PortStates& states, ib::mad::Cookie cookie_base)
    : observed_(observed),
      flapping_(flapping),
      states_(states),
      cookie_base_(cookie_base),
      silent_(std::move(silent)) {
  namespace attr = ib::wire::attr;
  bool any_switch = false;
  for (NodeIndex n = 0; n < observed.nodes.size(); ++n) {
    const auto& node = observed.nodes[n];
    if (!managed[n] || node.info.node_type != ib::wire::NodeType::Switch) continue;
    any_switch = true;
    ask(kSwitch, {n, 0}, attr::kSwitchInfo, node.route, node.info.node_guid.value, 0);
    for (unsigned block = 0; block < port_state_blocks(observed, n); ++block)
      ask(kStates, {n, static_cast<std::uint8_t>(block)}, attr::kSwitchPortStateTable, node.route,
          node.info.node_guid.value, block);
  }
  for (const Trouble& t : observed.troubles) {
    if (!may_be_over(t) || !troubles_.emplace(t.behind, t).second) continue;
    ask(kTrouble, t.behind, t.attribute, t.route,
        observed.nodes[t.behind.node].info.node_guid.value * 31 + t.behind.port,
        t.attribute == attr::kPortInfo ? t.port : 0);
  }
  for (const ib::Guid guid : kept) {
    const auto n = observed.fabric.find_node(guid);
    if (!n || observed.nodes[*n].info.node_type == ib::wire::NodeType::Switch) continue;
    ask(kKept, {*n, 0}, attr::kNodeInfo, observed.nodes[*n].route, guid.value, 0);
  }
  if (!any_switch) {
    const PortRef local = observed.local_port;
    ask(kEndPort, local, attr::kPortInfo, {}, 1, local.port);
  }
  started_ = true;
}

void LightSweep::ask(unsigned kind, PortRef at, std::uint16_t attribute,
                     const ib::mad::DirectedRoute& route, std::uint64_t target,
                     std::uint32_t modifier) {
  const ib::mad::Cookie cookie = static_cast<ib::mad::Cookie>(kind) << 40 |
                                 static_cast<ib::mad::Cookie>(at.port) << 32 | at.node;
  queue_.push_back(ib::mad::smp_request(cookie_base_ + cookie, target, route, ib::wire::Method::Get,
                                        attribute, modifier));
}

std::vector<SweepScope::Place> LightSweep::places() const {
  return anywhere_ ? std::vector<SweepScope::Place>{} : places_;
}

void LightSweep::note_change(const std::vector<SweepScope::Place>& places, std::string line) {
  places_.insert(places_.end(), places.begin(), places.end());
  changes_.push_back(std::move(line));
}

std::vector<ib::mad::Request> LightSweep::take_requests() {
  for (const ib::mad::Request& request : queue_) in_flight_.insert(request.cookie);
  return std::exchange(queue_, {});
}

void LightSweep::on_completion(ib::Instant, const ib::mad::Completion& completion) {
  in_flight_.erase(completion.cookie);
  const ib::mad::Cookie c = completion.cookie - cookie_base_;
  const PortRef at{static_cast<NodeIndex>(c & 0xFFFFFFFF),
                   static_cast<std::uint8_t>((c >> 32) & 0xFF)};
  const ib::wire::Mad* reply = completion.reply ? &completion.reply->mad : nullptr;
  const ib::wire::Mad* good = reply != nullptr && reply->status() == 0 ? reply : nullptr;
  switch (static_cast<unsigned>((c >> 40) & 0xFF)) {
    case kSwitch:
      return on_switch(at, good);
    case kStates:
      return on_states(at, good);
    case kNeighbour:
      return on_neighbour(at, good);
    case kTrouble:
      return on_trouble(at, reply);
    case kKept:
      return on_kept(at, good);
    case kEndPort:
      return on_end_port(at, good);
    case kWho:
      return on_who(at, good);
    default:
      return;
  }
}

std::string LightSweep::name(PortRef at) const {
  return ib::fabric::node_label(observed_.fabric.node(at.node));
}

void LightSweep::on_switch(PortRef at, const ib::wire::Mad* answer) {
  const auto& node = observed_.nodes[at.node];
  if (answer == nullptr) {
    if (node.route.hops.empty()) {
      anywhere_ = true;
      changes_.push_back(fmt::format("switch {} does not answer", name(at)));
      return;
    }
    // Is the cable to it down, or is it merely slow? Its neighbour knows.
    ib::mad::DirectedRoute before = node.route;
    const std::uint8_t port = before.hops.back();
    before.hops.pop_back();
    ask(kNeighbour, at, ib::wire::attr::kPortInfo, before, node.info.node_guid.value * 17 + 1,
        port);
    return;
  }
  if (silent_.erase(node.info.node_guid) > 0)
    notes_.push_back(fmt::format("switch {} answers again", name(at)));
  const auto info = ib::wire::body<ib::wire::SwitchInfo>(*answer);
  if (info.port_state_change) {
    // Which another master may have cleared when the switch is asked again.
    note_change({{node.info.node_guid, true}},
                fmt::format("switch {}: a port changed its state", name(at)));
  } else if (node.switch_info && info.linear_fdb_top != node.switch_info->linear_fdb_top) {
    note_change({{node.info.node_guid, true}},
                fmt::format("switch {}: LinearFDBTop is {}, {} was set", name(at),
                            info.linear_fdb_top, node.switch_info->linear_fdb_top));
  } else if (!changed_.contains(node.info.node_guid)) {
    unchanged_.push_back(node.info.node_guid);
  }
}

/// Who does not answer is asked for SwitchInfo, too.
void LightSweep::on_states(PortRef at, const ib::wire::Mad* answer) {
  if (answer == nullptr) return;
  const ib::Guid guid = observed_.nodes[at.node].info.node_guid;
  const auto port = port_with_other_state(observed_, at.node, at.port, *answer, flapping_);
  if (!port) return states_.on_agreed(guid, at.port);
  if (!states_.calls_for_sweep(guid, at.port, *answer)) return;
  changed_.insert(guid);
  std::erase(unchanged_, guid);
  note_change({{guid, true}},
              fmt::format("switch {}: port {} is in another state than it was", name(at), *port));
}

void LightSweep::on_neighbour(PortRef at, const ib::wire::Mad* answer) {
  if (answer == nullptr) {
    anywhere_ = true;
    changes_.push_back(fmt::format("switch {} and its neighbour do not answer", name(at)));
  } else if (ib::wire::body<ib::wire::PortInfo>(*answer).port_state == ib::wire::PortState::Down) {
    note_change(places_on_the_way(observed_, at.node),
                fmt::format("the cable to switch {} is down", name(at)));
  } else if (silent_.insert(observed_.nodes[at.node].info.node_guid).second) {
    // It may well forward what it was told to: no reason to sweep, and one to tell, once.
    notes_.push_back(
        fmt::format("switch {} does not answer, though the cable to it is up; its tables are kept "
                    "until a full sweep",
                    name(at)));
  }
}

void LightSweep::on_trouble(PortRef at, const ib::wire::Mad* reply) {
  const Trouble& t = troubles_.at(at);
  if (reply == nullptr) return;
  const ib::Guid near = observed_.nodes[at.node].info.node_guid;
  if (!is_in_order(observed_, t, *reply)) {
    // What he said of himself may have been nonsense, and the question with it.
    if (t.attribute != ib::wire::attr::kNodeInfo)
      ask(kWho, at, ib::wire::attr::kNodeInfo, t.route, near.value * 31 + at.port, 0);
    return;
  }
  // Who never said who he is is looked for behind the port.
  const bool is_known = observed_.fabric.find_node(t.node_guid).has_value();
  note_change({{is_known ? t.node_guid : near, true}},
              fmt::format("the node behind {} port {} answers now", name(at), at.port));
}

void LightSweep::on_who(PortRef at, const ib::wire::Mad* answer) {
  const Trouble& t = troubles_.at(at);
  const auto info =
      answer != nullptr ? ib::wire::body<ib::wire::NodeInfo>(*answer) : ib::wire::NodeInfo{};
  if (answer == nullptr || !ib::discover::implausible(info).empty() ||
      info.node_guid == t.node_guid)
    return;
  std::vector<SweepScope::Place> places{{observed_.nodes[at.node].info.node_guid, true}};
  if (observed_.fabric.find_node(t.node_guid)) places.push_back({t.node_guid, true});
  note_change(places,
              fmt::format("the node behind {} port {} says that it is {}, and was {}", name(at),
                          at.port, to_string(info.node_guid), to_string(t.node_guid)));
}

void LightSweep::on_kept(PortRef at, const ib::wire::Mad* answer) {
  const ib::Guid guid = observed_.nodes[at.node].info.node_guid;
  if (answer != nullptr && ib::wire::body<ib::wire::NodeInfo>(*answer).node_guid == guid)
    note_change({{guid, false}}, fmt::format("node {} answers again", name(at)));
}

void LightSweep::on_end_port(PortRef at, const ib::wire::Mad* answer) {
  const auto info =
      answer != nullptr ? ib::wire::body<ib::wire::PortInfo>(*answer) : ib::wire::PortInfo{};
  if (info.port_state == observed_.port(at).state()) return;
  anywhere_ = true;
  changes_.emplace_back("the local port changed its state");
}

}  // namespace sm::core
