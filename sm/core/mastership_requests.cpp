// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What others ask of Mastership: SMInfo, by who asks for it, and control packets.
#include <fmt/format.h>

#include <algorithm>

#include "sm/core/mastership.h"
#include "sm/core/unsolicited.h"

namespace sm::core {

using ib::Guid;
using ib::Instant;
using ib::LogLevel;
using ib::mad::Completion;
using ib::mad::Cookie;
using ib::wire::Method;
using ib::wire::PortInfo;
using ib::wire::SmInfo;
using ib::wire::SmState;
namespace attr = ib::wire::attr;

namespace {

constexpr std::uint64_t kKeyEverybodyKnows = 1;  // opensm's default, in every manual
constexpr std::size_t kProofsMost = 16;
constexpr std::size_t kAskedByMost = 16;
/// A master asks back who asks it and is not known, and sweeps if that is another master: so often
/// at most.
constexpr ib::Duration kAskBackPause = std::chrono::seconds(1);
constexpr ib::Duration kStrangerPause = std::chrono::seconds(10);
constexpr ib::Duration kHandoverRepeated = std::chrono::seconds(3);  // as long as it is unanswered

}  // namespace

// ---- what others ask

std::optional<ib::mad::Packet> Mastership::answer(Instant now, const ib::mad::Packet& request,
                                                  const ib::discover::Observed& seen) {
  const bool about_us = request.mad.attribute_id() == attr::kSmInfo;
  if (about_us) ++answers_;
  if (about_us && request.mad.method() == Method::Set) {
    if (waits_for_sender(now, request, seen)) return std::nullopt;
    const SmInfo before = shown_info(false);  // an answer says what we are when it is given
    const bool granted = grant(now, request, seen);
    if (!granted) ++refused_;
    return answer_request(request, granted ? shown_info(true) : before, granted);
  }
  if (about_us && request.mad.method() == Method::Get) {
    look_for_stranger(now, request, seen);
    if (state() == SmState::Discovering && asked_by_.size() < kAskedByMost)
      asked_by_.push_back(request);
    const auto proofs = std::ranges::count_if(
        asked_, [](const auto& entry) { return entry.second.kind == Kind::Proof; });
    if (needs_proof(request) && static_cast<std::size_t>(proofs) < kProofsMost) {
      ask_back({Kind::Proof, {}, request}, request, attr::kPortInfo);
      return std::nullopt;
    }
  }
  return answer_request(request, shown_info(options_.sm_key == kKeyEverybodyKnows));
}

void Mastership::ask_back(Asked asked, const ib::mad::Packet& request, std::uint16_t attribute) {
  const Cookie cookie = expect(std::move(asked));
  const auto back = way_back(request);
  requests_.push_back(
      back ? ib::mad::smp_request(cookie, cookie, *back, Method::Get, attribute, 0)
           : ib::mad::smp_request(cookie, cookie, request.address.lid, Method::Get, attribute, 0));
}

/// A cable may have joined the subnet of another master to ours, which found us and waits for us:
/// no switch of ours need say so, as the one that looked first may have cleared what changed.
void Mastership::look_for_stranger(Instant now, const ib::mad::Packet& request,
                                   const ib::discover::Observed& seen) {
  if (!is_master() || options_.ignore_others || now < ask_back_at_) return;
  const auto from = sender_of(request, seen);
  // A directed route that leads back to us by what we know is that of somebody behind a cable that
  // was moved since.
  const auto back = way_back(request);
  const bool is_ours = from == seen.local_port && (!back || back->hops.empty());
  if (is_ours || (from && others_.find(seen.fabric.port(*from).guid) != nullptr)) return;
  ask_back_at_ = now + kAskBackPause;
  ask_back({Kind::Stranger}, request, attr::kSmInfo);
}

bool Mastership::was_asked_by_stranger(const ib::discover::Observed& found) const {
  return std::ranges::any_of(asked_by_, [&](const ib::mad::Packet& request) {
    const auto from = sender_of(request, found);
    return !from ||
           (*from != found.local_port && others_.find(found.fabric.port(*from).guid) == nullptr);
  });
}

void Mastership::on_stranger(Instant now, const Completion& completion) {
  if (!is_master() || !completion.reply || completion.reply->mad.status() != 0) return;
  const auto info = ib::wire::body<SmInfo>(completion.reply->mad);
  if (info.sm_state != SmState::Master || info.guid == status_.guid ||
      others_.find(info.guid) != nullptr)
    return;
  ask_back_at_ = now + kStrangerPause;
  log(LogLevel::Warning,
      fmt::format("a subnet manager that no sweep has found says that it is master: GUID {}",
                  to_string(info.guid)));
  orders_.push_back(Order::Decide);
}

/// A key that is secret is shown to who is a subnet manager, and its port says whether it is:
/// opensm takes no notice of a master that does not show it its own key, and becomes a second one.
bool Mastership::needs_proof(const ib::mad::Packet& request) const {
  if (options_.sm_key == kKeyEverybodyKnows || options_.sm_key == 0) return false;
  return request.mad.is_directed() ? way_back(request).has_value()
                                   : request.address.lid.is_unicast();
}

void Mastership::on_proof(const ib::mad::Packet& request, const Completion& completion) {
  const bool is_manager = completion.reply && completion.reply->mad.status() == 0 &&
                          (ib::wire::body<PortInfo>(completion.reply->mad).capability_mask &
                           ib::wire::port_cap::kIsSm) != 0;
  if (auto reply = answer_request(request, shown_info(is_manager)))
    packets_.push_back(*std::move(reply));
}

/// A standby does not sweep, and a master knows nothing yet of a subnet that a cable has joined to
/// its own: cables may have been moved since it knew who is at the end of which way. A HANDOVER is
/// repeated until it is answered.
bool Mastership::waits_for_sender(Instant now, const ib::mad::Packet& request,
                                  const ib::discover::Observed& seen) {
  const auto control =
      election::control_packet(request.mad.get<&ib::wire::MadHeader::attribute_modifier>());
  const auto way = way_back(request);
  if (control != Event::Handover || !way) return false;
  if (state() != SmState::Standby && state() != SmState::Master) return false;
  const auto from = sender_of(request, seen);
  if (!from || seen.fabric.port(*from).guid == ib::wire::body<SmInfo>(request.mad).guid)
    return false;
  if (now < sender_.until) return sender_.guid == Guid{} && sender_.way == *way;
  sender_ = {*way, {}, now + kAskBackPause};
  ask_back({Kind::Sender}, request, attr::kNodeInfo);
  return true;
}

void Mastership::on_sender(const Completion& completion) {
  if (completion.reply && completion.reply->mad.status() == 0)
    sender_.guid = ib::wire::body<ib::wire::NodeInfo>(completion.reply->mad).port_guid;
}

std::string Mastership::why_refused(Event control, const SmInfo& sender,
                                    const ib::mad::Packet& request,
                                    const ib::discover::Observed& seen) const {
  if (sender.sm_state != election::state_of_sender(control))
    return fmt::format("a sender that says it is {}", election::state_name(sender.sm_state));
  if (options_.sm_key != 0 && sender.sm_key != options_.sm_key) return "another SM_Key";
  if (sender.guid == status_.guid) return "our own GUID";
  if (!options_.allowed.empty() && !options_.allowed.contains(sender.guid))
    return "a subnet manager that is not among allowed_sm_guids";
  const auto from = sender_of(request, seen);
  const bool is_proved =
      sender_.guid != Guid{} && sender_.guid == sender.guid && way_back(request) == sender_.way;
  if (from && seen.fabric.port(*from).guid != sender.guid && !is_proved)
    return "the port with GUID " + to_string(seen.fabric.port(*from).guid);
  if (!may_order(control, sender.guid, seen))
    return "a port where no subnet manager is known, or not the master that this one follows";
  if (control == Event::Acknowledge && is_master() && successor_ != sender.guid)
    return "a subnet manager that mastership was not handed over to";
  if (election::transition(state(), control) == nullptr)
    return fmt::format("a subnet manager, while this one is {}", election::state_name(state()));
  return {};
}

/// A port says of itself whether a subnet manager is there (IsSM), and sweeps read it. One that
/// is not known may say that it hands over to one that asks the others all the same; and a manager
/// that has not looked at the subnet yet knows nobody.
bool Mastership::may_order(Event control, Guid sender, const ib::discover::Observed& seen) const {
  if (control == Event::Disable || control == Event::Discover)
    return !followed_ || followed_ == sender;
  if (control == Event::Handover && state() != SmState::Standby) return true;
  return seen.nodes.empty() || followed_ == sender || successor_ == sender ||
         others_.find(sender) != nullptr;
}

/// It makes a sweep, which the next one within a while would only make again. One that is not sent
/// for want of an answer, as by who was master once more since, makes its own after that while.
bool Mastership::is_repeated_handover(Instant now, Event control, Guid sender) {
  if (control != Event::Handover || state() == SmState::Standby) return false;
  // Our answer was lost; nobody waits for it to hand over.
  if (predecessor_ == sender && !followed_) return true;
  std::erase_if(handovers_, [now](const auto& h) { return now - h.second >= kStrangerPause; });
  const Guid key = others_.find(sender) != nullptr ? sender : Guid{};
  const auto [granted, is_first] = handovers_.try_emplace(key, now);
  if (!is_first && now - granted->second > kHandoverRepeated && handover_at_ == ib::kNever) {
    handover_at_ = granted->second + kStrangerPause;
    handover_by_ = sender;
  }
  return !is_first;
}

void Mastership::take_late_handover(Instant now) {
  handover_at_ = ib::kNever;
  if (!is_master()) return;
  handovers_[others_.find(handover_by_) != nullptr ? handover_by_ : Guid{}] = now;
  take(now, Event::Handover, handover_by_, "HANDOVER from " + others_.describe(handover_by_));
}

bool Mastership::grant(Instant now, const ib::mad::Packet& request,
                       const ib::discover::Observed& seen) {
  const auto modifier = request.mad.get<&ib::wire::MadHeader::attribute_modifier>();
  const auto control = election::control_packet(modifier);
  const auto sender = ib::wire::body<SmInfo>(request.mad);
  const auto complain = [&](const std::string& what) {
    if (auto line = refusals_.note(now, request.address.lid, what))
      logs_.push_back(*std::move(line));
    return false;
  };
  if (!control)
    return complain(
        fmt::format("Set(SMInfo) with attribute modifier {} is refused: there are 1 to "
                    "5",
                    modifier));
  const std::string from =
      fmt::format("{} from {}", election::event_name(*control), others_.describe(sender.guid));
  if (const std::string why = why_refused(*control, sender, request, seen); !why.empty()) {
    if (*control == Event::Handover && !may_order(*control, sender.guid, seen)) doubt_master(now);
    return complain(fmt::format("{} is refused: it is that of {}", from, why));
  }
  if (is_repeated_handover(now, *control, sender.guid)) return true;
  const bool is_heir = *control == Event::Handover && state() == SmState::Standby;
  if (!take(now, *control, sender.guid, from)) return false;
  if (*control == Event::Disable)
    log(LogLevel::Warning,
        fmt::format("{}: this subnet manager does not take over until it gets STANDBY", from));
  if (is_heir) predecessor_ = sender.guid;
  if (*control == Event::Acknowledge && heir_ == sender.guid) relieve();
  return true;
}

}  // namespace sm::core
