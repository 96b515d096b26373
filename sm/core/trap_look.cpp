// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/core/trap_look.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "sm/core/port_states.h"

namespace sm::core {
namespace {

using ib::Guid;
using ib::Instant;
using ib::discover::Observed;
using ib::fabric::PortRef;
using ib::mad::Cookie;
using ib::wire::Method;
using ib::wire::PortInfo;
namespace attr = ib::wire::attr;

constexpr HoldDownLimits kLimits{8, std::chrono::seconds(10), std::chrono::seconds(1),
                                 std::chrono::seconds(10)};
// Readings of all ports of a switch that nothing but a trap calls for, of all switches together.
constexpr HoldDownLimits kReadings{64, std::chrono::seconds(10), std::chrono::seconds(1),
                                   std::chrono::seconds(10)};
constexpr ib::Duration kPatience = std::chrono::milliseconds(100);  // the answers of one look
// Nothing that a CA says of itself is urgent; what a host does to itself as often as it likes costs
// a sweep a second, however many hosts do.
constexpr ib::Duration kSeldom = std::chrono::seconds(1);
constexpr Guid kStrangers{0};

/// Of a CA's or router's port, what a sweep would see otherwise than before.
bool differs(const ib::discover::ObservedPort& before, const PortInfo& info) {
  const PortInfo was = before.info();
  return info.port_state != was.port_state || info.lid != was.lid ||
         info.capability_mask != was.capability_mask ||
         info.capability_mask2 != was.capability_mask2 ||
         info.link_width_active != was.link_width_active ||
         info.link_speed_active != was.link_speed_active ||
         info.link_speed_ext_active != was.link_speed_ext_active ||
         info.link_speed_ext_active2 != was.link_speed_ext_active2;
}

std::string text_of(const ib::wire::Mad& answer) {
  const auto text = ib::wire::body<ib::wire::NodeDescription>(answer).text;
  return {text.begin(), std::find(text.begin(), text.end(), '\0')};
}

}  // namespace

TrapLook::TrapLook(ib::mad::Cookie owner, ib::Duration pause)
    : owner_(owner), pause_(pause), readings_(kReadings) {}

// ---- traps

TrapLook::Sender& TrapLook::sender_of(Instant now, Guid port_guid) {
  if (const auto it = senders_.find(port_guid); it != senders_.end()) return it->second;
  std::erase_if(senders_, [&](const auto& entry) {
    return entry.second.wanted.empty() && entry.second.not_before <= now &&
           entry.second.ports_not_before <= now && entry.second.hold.is_over(now);
  });
  return senders_.emplace(port_guid, Sender{HoldDown(kLimits), {}, {}, false, {}, {}, {}})
      .first->second;
}

void TrapLook::on_trap(Instant now, ib::Lid from, const ib::wire::Notice& notice,
                       const Observed& seen, bool sweeping) {
  const TrapClaim claim = claim_of(notice, from, seen);
  if (claim.kind == Kind::Nothing) return;
  const bool is_stranger = claim.kind == Kind::Stranger;
  const Guid guid = is_stranger ? kStrangers : seen.fabric.port(claim.sender).guid;
  Sender& sender = sender_of(now, guid);
  sender.lid = from;
  if (sender.hold.is_held(now)) return;
  if (is_stranger) light_sweep_wanted_ = true;
  if (is_stranger || claim.kind == Kind::Forged) return strike(now, guid, sender);
  if (sender.wanted.empty()) sender.since = now;
  sender.wanted.insert(claim.kind);
  sender.during_sweep |= sweeping;
}

void TrapLook::strike(Instant now, Guid guid, Sender& sender) {
  if (!sender.hold.strike(now)) return;
  sender.wanted.clear();
  const std::string whose =
      guid == kStrangers
          ? fmt::format("come from LIDs that no port is known to have (LID {})", sender.lid.value)
          : fmt::format("from LID {} name nothing that changed", sender.lid.value);
  logs_.push_back(
      {ib::LogLevel::Warning, "trap",
       fmt::format("traps {}: they are not looked at for {} s", whose,
                   std::chrono::duration_cast<std::chrono::seconds>(sender.hold.pause()).count()),
       ib::LogCause{"trap", sender.lid}});
}

bool TrapLook::waiting() const {
  return std::ranges::any_of(senders_, [](const auto& s) { return !s.second.wanted.empty(); });
}

std::size_t TrapLook::switches_waiting() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      senders_, [](const auto& s) { return s.second.wanted.contains(Kind::LinkState); }));
}

Instant TrapLook::due() const {
  Instant due = ib::kNever;
  for (const auto& [guid, sender] : senders_)
    if (!sender.wanted.empty() && !looks_.contains(guid)) due = std::min(due, sender.not_before);
  for (const auto& [guid, look] : looks_) due = std::min(due, look.until);
  return due;
}

// ---- looks

std::vector<Cookie> TrapLook::on_time(Instant now, const Observed& seen, Flapping& flapping) {
  std::vector<Cookie> unanswered;
  for (auto it = looks_.begin(); it != looks_.end();) {
    const auto look = it++;
    if (look->second.until > now) continue;
    for (const auto& [cookie, what] : look->second.asked) unanswered.push_back(cookie);
    look->second.failed = true;
    end(now, look, seen, flapping);
  }
  for (auto& [guid, sender] : senders_)
    if (!sender.wanted.empty() && sender.not_before <= now && !looks_.contains(guid))
      begin(now, guid, sender, seen);
  return unanswered;
}

void TrapLook::begin(Instant now, Guid guid, Sender& sender, const Observed& seen) {
  const auto wanted = std::exchange(sender.wanted, {});
  const bool during_sweep = std::exchange(sender.during_sweep, false);
  const auto at = seen.fabric.find_port_guid(guid);
  if (!at) return;  // the sweep that came between did not find it
  Look& look = looks_[guid];
  look.at = *at;
  look.wanted = wanted;
  look.since = sender.since;
  look.until = now + kPatience;
  look.during_sweep = during_sweep && seen.fabric.node(at->node).is_switch();
  for (const Kind kind : wanted) {
    if (kind == Kind::LinkState) ask(look, Ask::SwitchInfo, 0, seen);
    if (kind == Kind::PortInfo) ask(look, Ask::PortInfo, at->port, seen);
    if (kind == Kind::Description) ask(look, Ask::Description, 0, seen);
    if (kind == Kind::SystemImage) ask(look, Ask::NodeInfo, 0, seen);
  }
}

void TrapLook::ask(Look& look, Ask what, std::uint8_t port, const Observed& seen,
                   const std::byte* to_set) {
  constexpr std::array<std::uint16_t, 7> kAttributes{
      attr::kSwitchInfo, attr::kSwitchInfo,      attr::kPortInfo, attr::kSwitchPortStateTable,
      attr::kPortInfo,   attr::kNodeDescription, attr::kNodeInfo};
  const auto& node = seen.nodes[look.at.node];
  std::uint32_t modifier = port;
  if ((what == Ask::SwitchPort || what == Ask::PortInfo) &&
      seen.port({look.at.node, port}).extended)
    modifier |= ib::wire::kPortInfoSmSupportsExtendedSpeeds;
  const Cookie cookie = owner_ | ++last_cookie_;
  look.asked.emplace(cookie, std::pair{what, port});
  auto& request = queue_.emplace_back(ib::mad::smp_request(
      cookie, node.info.node_guid.value, node.route, to_set != nullptr ? Method::Set : Method::Get,
      kAttributes[static_cast<std::size_t>(what)], modifier));
  if (to_set != nullptr) std::memcpy(request.mad.data(), to_set, ib::wire::kSmpDataBytes);
}

std::vector<ib::mad::Request> TrapLook::take_requests() { return std::exchange(queue_, {}); }

void TrapLook::on_completion(Instant now, const ib::mad::Completion& completion,
                             const Observed& seen, Flapping& flapping) {
  const auto it = std::ranges::find_if(
      looks_, [&](const auto& l) { return l.second.asked.contains(completion.cookie); });
  if (it == looks_.end() || !is_there_still(it, seen)) return;
  Look& look = it->second;
  const auto [what, port] = look.asked.extract(completion.cookie).mapped();
  const bool answered = completion.reply && completion.reply->mad.status() == 0;
  if (answered) {
    on_answer(now, look, what, port, completion.reply->mad, seen, flapping);
  } else if (what == Ask::PortStates && completion.reply) {
    if (port == 0) read_each_port(look, seen, flapping);  // it says that it can, and refuses
  } else {
    look.failed = true;
  }
  if (look.asked.empty()) end(now, it, seen, flapping);
}

void TrapLook::on_answer(Instant now, Look& look, Ask what, std::uint8_t port,
                         const ib::wire::Mad& answer, const Observed& seen,
                         const Flapping& flapping) {
  const auto& node = seen.nodes[look.at.node];
  switch (what) {
    case Ask::SwitchInfo: {
      auto info = ib::wire::body<ib::wire::SwitchInfo>(answer);
      look.says_change = info.port_state_change;
      // Tables that a switch has lost are no port's business.
      if (node.switch_info && info.linear_fdb_top != node.switch_info->linear_fdb_top)
        look.changed = true;
      const bool some_are_held = flapping.holds_any_of(node.info.node_guid);
      if (look.changed || (look.says_change && !some_are_held)) {
        look.changed = true;
      } else if (look.says_change) {
        // Written as 1 it clears (IBA 14.2.5.4).
        ask(look, Ask::ClearChange, 0, seen, answer.data());
      } else if (look.during_sweep || may_read_ports(now, seen.fabric.port(look.at).guid)) {
        read_ports(look, seen, flapping);
      }
      return;
    }
    case Ask::ClearChange:
      return read_ports(look, seen, flapping);
    case Ask::SwitchPort:
      look.changed |=
          ib::wire::body<PortInfo>(answer).port_state != seen.port({look.at.node, port}).state();
      return;
    case Ask::PortStates:
      look.changed |= port_with_other_state(seen, look.at.node, port, answer, flapping).has_value();
      return;
    case Ask::PortInfo:
      look.changed |= differs(seen.port(look.at), ib::wire::body<PortInfo>(answer));
      return;
    case Ask::Description:
      if (std::string text = text_of(answer); text != seen.fabric.node(look.at.node).description) {
        renamed_[node.info.node_guid] = std::move(text);
        look.renamed = true;
      }
      return;
    case Ask::NodeInfo:
      look.changed |= ib::wire::body<ib::wire::NodeInfo>(answer).system_image_guid !=
                      node.info.system_image_guid;
      return;
  }
}

/// Of a switch whose trap is all that speaks of a change.
bool TrapLook::may_read_ports(Instant now, Guid sender_guid) {
  Sender& sender = sender_of(now, sender_guid);
  if (now < sender.ports_not_before || readings_.is_held(now)) return false;
  sender.ports_not_before = now + kReadings.window;
  readings_.strike(now);
  return true;
}

void TrapLook::read_ports(Look& look, const Observed& seen, const Flapping& flapping) {
  const unsigned blocks = port_state_blocks(seen, look.at.node);
  for (unsigned block = 0; block < blocks; ++block)
    ask(look, Ask::PortStates, static_cast<std::uint8_t>(block), seen);
  if (blocks == 0) read_each_port(look, seen, flapping);
}

void TrapLook::read_each_port(Look& look, const Observed& seen, const Flapping& flapping) {
  const auto& info = seen.nodes[look.at.node].info;
  for (unsigned p = 1; p <= info.num_ports; ++p) {
    const auto port = static_cast<std::uint8_t>(p);
    if (seen.port({look.at.node, port}).known && !flapping.is_held(info.node_guid, port))
      ask(look, Ask::SwitchPort, port, seen);
  }
}

/// Another sweep may have ended since it began. Who is not there any more is looked at no more.
bool TrapLook::is_there_still(Looks::iterator it, const Observed& seen) {
  const auto at = seen.fabric.find_port_guid(it->first);
  if (at)
    it->second.at = *at;
  else
    looks_.erase(it);
  return at.has_value();
}

void TrapLook::end(Instant now, Looks::iterator it, const Observed& seen, Flapping& flapping) {
  if (!is_there_still(it, seen)) return;
  const Look& look = it->second;
  const bool is_switch = seen.fabric.node(look.at.node).is_switch();
  const bool changed = look.changed || look.failed;
  Sender& sender = sender_of(now, it->first);
  sender.not_before = now + (changed && !is_switch ? kSeldom : pause_);
  if (changed) {
    // The sweep reads them, and the trap may be repeated until its TrapRepress finds a way.
    if (is_switch) sender.ports_not_before = now + kReadings.window;
    const Instant at = look.since + (is_switch ? pause_ : kSeldom);
    sweep_wanted_ = std::min(sweep_wanted_.value_or(at), at);
    // Whatever it says by then: another master, or this look, may have cleared PortStateChange.
    places_.push_back({seen.fabric.node(look.at.node).guid, true});
    if (look.failed)
      for (const auto& place : places_on_the_way(seen, look.at.node)) places_.push_back(place);
  }
  if (look.changed || look.renamed) {
    sender.hold.forgive();
  } else if (look.says_change) {
    flapping.on_change(now, seen.nodes[look.at.node].info.node_guid);
  } else if (look.failed || !look.during_sweep) {
    strike(now, it->first, sender);
  }
  looks_.erase(it);
}

std::vector<Cookie> TrapLook::leave_looks() {
  std::vector<Cookie> asked;
  for (const auto& [guid, look] : looks_)
    for (const auto& [cookie, what] : look.asked) asked.push_back(cookie);
  looks_.clear();
  queue_.clear();
  return asked;
}

std::vector<Cookie> TrapLook::on_partial_sweep_begun() {
  for (const auto& [guid, look] : looks_) {
    const auto it = senders_.find(guid);
    if (it == senders_.end()) continue;
    Sender& sender = it->second;
    if (sender.wanted.empty()) sender.since = look.since;
    sender.wanted.insert(look.wanted.begin(), look.wanted.end());
  }
  // Senders that wait may be among those that it reads, and whose news it clears.
  for (auto& [guid, sender] : senders_) sender.during_sweep |= !sender.wanted.empty();
  return leave_looks();
}

std::vector<Cookie> TrapLook::on_sweep_begun() {
  std::vector<Cookie> asked = leave_looks();
  sweep_wanted_.reset();
  places_.clear();
  renamed_.clear();
  light_sweep_wanted_ = false;
  for (auto& [guid, sender] : senders_) {
    sender.wanted.clear();
    sender.during_sweep = false;
  }
  return asked;
}

std::optional<Instant> TrapLook::take_sweep_wanted() {
  return std::exchange(sweep_wanted_, std::nullopt);
}
std::map<Guid, std::string> TrapLook::take_renamed() { return std::exchange(renamed_, {}); }
std::vector<SweepScope::Place> TrapLook::take_places() { return std::exchange(places_, {}); }
bool TrapLook::take_light_sweep_wanted() { return std::exchange(light_sweep_wanted_, false); }

std::optional<ib::LogEvent> TrapLook::next_log() {
  if (logs_.empty()) return std::nullopt;
  auto event = std::move(logs_.front());
  logs_.pop_front();
  return event;
}

}  // namespace sm::core
