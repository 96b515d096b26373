// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/core/mastership.h"

#include <fmt/format.h>

#include <algorithm>

#include "sm/core/unsolicited.h"

namespace sm::core {

using election::Action;
using ib::Guid;
using ib::Instant;
using ib::kNever;
using ib::LogLevel;
using ib::mad::Completion;
using ib::mad::Cookie;
using ib::wire::Method;
using ib::wire::PortInfo;
using ib::wire::SmInfo;
using ib::wire::SmState;
namespace attr = ib::wire::attr;

namespace {

/// A master has so long to hand over to us, and one that took over from us to acknowledge it. One
/// that refuses us is not asked again before.
constexpr ib::Duration kHandoverWait = std::chrono::seconds(30);
constexpr ib::Duration kRefusedFor = std::chrono::seconds(60);
/// A master that ranks below us is asked for mastership so often.
constexpr ib::Duration kTrapPause = std::chrono::seconds(10);
constexpr std::uint64_t kPollsPerLook = 10;
/// A decision waits for an answer so long, however late that manager has answered before.
constexpr ib::Duration kAnswerWait = std::chrono::seconds(3);

const SmInfo* answer_of(const Completion& completion, SmInfo& into) {
  if (!completion.reply || completion.reply->mad.status() != 0) return nullptr;
  into = ib::wire::body<SmInfo>(completion.reply->mad);
  return &into;
}
/// The host says that nobody takes such requests.
bool says_nobody(const Completion& completion) {
  return completion.reply && completion.reply->mad.status() != 0;
}

}  // namespace

Mastership::Mastership(MastershipOptions options, Cookie owner)
    : options_(std::move(options)), owner_(owner), others_(options_.sm_key, options_.allowed) {
  status_.guid = options_.port_guid;
}

void Mastership::start(Instant now) {
  if (options_.start_inactive)
    go(now, SmState::NotActive, "started so (sm_inactive)");
  else
    go(now, SmState::Discovering, "started");
}

// ---- what it is

bool Mastership::sweeps() const {
  switch (state()) {
    case SmState::Master:
      return !successor_;
    case SmState::Discovering:
      return true;
    default:
      return path_wanted_;
  }
}

election::Rank Mastership::rank() const {
  std::uint8_t priority = options_.priority;
  if (is_master()) priority = std::max(priority, options_.master_priority.value_or(0));
  return {priority, status_.guid};
}

void Mastership::set_priority(std::uint8_t priority) {
  options_.priority = priority;
  status_.priority = rank().priority;
  others_changed_ = true;
}

void Mastership::set_fit(Instant now, bool fit, const std::string& why) {
  if (!fit && state() == SmState::Standby) {
    const Guid master = followed_.value_or(Guid{});
    take(now, Event::Disable, {}, why);
    unfit_ = master;
  } else if (fit && unfit_ && state() == SmState::NotActive) {
    take(now, Event::Standby, *unfit_, why);
  }
}

SmInfo Mastership::shown_info(bool with_key) const {
  SmInfo info = own_info();
  if (with_key) info.sm_key = options_.sm_key;
  return info;
}

SmInfo Mastership::own_info() const {
  SmInfo info;
  info.guid = status_.guid;
  info.act_count = static_cast<std::uint32_t>(sends_ + answers_);
  info.priority = rank().priority;
  info.sm_state = state();
  return info;
}

std::string Mastership::headline() const {
  std::string text = fmt::format("SUBNET {}", election::state_name(state()));
  if (state() != SmState::Standby || !followed_) return text;
  text += " master=" + to_string(*followed_);
  if (const OtherManager* manager = others_.find(*followed_))
    text += fmt::format(" lid={} priority={}", manager->lid.value, manager->info.priority);
  return text;
}

// ---- asking

Cookie Mastership::expect(Asked asked) {
  const Cookie cookie = owner_ + ++last_cookie_;
  asked_.emplace(cookie, std::move(asked));
  return cookie;
}

Cookie Mastership::ask(Kind kind, Guid whom) {
  const OtherManager* manager = others_.find(whom);
  if (manager == nullptr) return 0;
  const Cookie cookie = expect({kind, whom});
  requests_.push_back(ib::mad::smp_request(cookie, whom.value ^ 0x5151, manager->route, Method::Get,
                                           attr::kSmInfo, 0));
  return cookie;
}

Cookie Mastership::set(Kind kind, Guid whom, Event control) {
  const OtherManager* manager = others_.find(whom);
  if (manager == nullptr) return 0;
  const Cookie cookie = expect({kind, whom});
  auto request = ib::mad::smp_request(cookie, whom.value ^ 0x5252, manager->route, Method::Set,
                                      attr::kSmInfo, election::attribute_modifier(control));
  SmInfo info = shown_info(true);
  info.sm_state = election::state_of_sender(control);
  ib::wire::set_body(request.mad, info);
  requests_.push_back(std::move(request));
  return cookie;
}

void Mastership::wait_no_longer(Cookie cookie, Instant until) {
  if (const auto at = asked_.find(cookie); at != asked_.end()) at->second.until = until;
}

/// Who hung before is known to answer late, and is waited for long where nobody cares when.
void Mastership::give_up_late(Instant now) {
  std::vector<Cookie> late;
  for (const auto& [cookie, asked] : asked_)
    if (asked.until <= now) late.push_back(cookie);
  for (const Cookie cookie : late) {
    cancelled_.push_back(cookie);
    Completion completion;
    completion.cookie = cookie;
    completion.reply = tl::unexpected<ib::Error>(
        ib::Error{ib::ErrorKind::TimedOut,
                  fmt::format("no answer within {} s", kAnswerWait / std::chrono::seconds(1)), 0});
    on_completion(now, completion);
  }
}

void Mastership::drop_questions() {
  std::erase_if(asked_, [this](const auto& entry) {
    if (entry.second.kind != Kind::Question) return false;
    cancelled_.push_back(entry.first);
    return true;
  });
  waited_.clear();
}

void Mastership::on_swept(Instant now, const ib::discover::Observed& found) {
  at_switch_ = found.fabric.node(found.local_port.node).is_switch();
  if (status_.guid == Guid{}) status_.guid = found.fabric.port(found.local_port).guid;
  others_.on_swept(found);
  drop_questions();
  std::erase_if(deaf_, [this](Guid guid) { return others_.find(guid) == nullptr; });
  for (const auto& [guid, manager] : others_.all()) {
    const Cookie cookie = ask(Kind::Question, guid);
    // Nobody is kept waiting for a standby, nor twice for one that does not answer.
    const bool matters = !is_master() || !manager.known || manager.info.sm_state == SmState::Master;
    if (!matters || (is_master() && deaf_.contains(guid))) continue;
    waited_.insert(cookie);
    wait_no_longer(cookie, now + kAnswerWait);
  }
}

void Mastership::ask_again(const ib::discover::Observed& seen) {
  others_.add_seen(seen);
  ask_all();
}

void Mastership::ask_all() {
  for (const auto& [guid, manager] : others_.all()) {
    const auto is_asked = [guid = guid](const auto& entry) {
      return entry.second.whom == guid && entry.second.kind == Kind::Question;
    };
    if (std::ranges::none_of(asked_, is_asked)) ask(Kind::Question, guid);
  }
}

void Mastership::on_change_at(ib::Lid lid, const ib::discover::Observed& seen) {
  const auto at = seen.fabric.find_lid(lid);
  if (!at || *at == seen.local_port) return;
  if ((seen.port(*at).get<&PortInfo::capability_mask>() & ib::wire::port_cap::kIsSm) == 0) return;
  // It may have refused to take over for what it did not know, and asks for it now.
  if (OtherManager* manager = others_.find(seen.fabric.port(*at).guid))
    manager->refused_until = Instant{0};
  ask_again(seen);
}

void Mastership::on_slept(ib::Duration how_long) {
  if (!is_master() || options_.ignore_others) return;
  log(LogLevel::Warning,
      fmt::format("this subnet manager did nothing for {} s, and another one may have been master "
                  "meanwhile: who is master now is found out, and what devices hold is read again",
                  how_long / std::chrono::seconds(1)));
  taken_over_ = true;
  orders_.push_back(Order::Sweep);
}

void Mastership::on_other_master(const std::string& who) {
  if (!is_master() || options_.ignore_others) return;
  log(LogLevel::Warning,
      fmt::format("another subnet manager, at {}, was master meanwhile: who is master now is found "
                  "out, and what devices hold is read again",
                  who));
  taken_over_ = true;
  orders_.push_back(Order::Sweep);
}

void Mastership::on_completion(Instant now, const Completion& completion) {
  const auto at = asked_.find(completion.cookie);
  if (at == asked_.end()) return;
  const Asked asked = std::move(at->second);
  asked_.erase(at);
  switch (asked.kind) {
    case Kind::Question: {
      const bool waited = waited_.erase(completion.cookie) > 0;
      take_answer(now, asked.whom, completion);
      if (completion.reply)
        deaf_.erase(asked.whom);
      else
        deaf_.insert(asked.whom);
      if (!waited && waited_.empty()) on_light_answer(now);
      return;
    }
    case Kind::Poll:
      return on_poll_answer(now, asked.whom, completion);
    case Kind::Handover:
      return on_handover_answer(now, asked.whom, completion);
    case Kind::OwnPort:
      return on_own_port(completion);
    case Kind::Proof:
      return on_proof(*asked.request, completion);
    case Kind::Stranger:
      return on_stranger(now, completion);
    case Kind::Sender:
      return on_sender(completion);
    case Kind::Acknowledge:
      return;
  }
}

void Mastership::take_answer(Instant now, Guid whom, const Completion& completion) {
  SmInfo info;
  if (answer_of(completion, info) != nullptr) {
    if (auto news = others_.on_answer(now, whom, info, status_.guid)) {
      logs_.push_back(*std::move(news));
      others_changed_ = true;
    }
  } else if (says_nobody(completion)) {
    others_.on_gone(whom);
    others_changed_ = true;
  } else {
    others_.on_silence(whom);
  }
}

/// Without a sweep: a master that learns of one above it, or of another master, sweeps, and then
/// decides.
void Mastership::on_light_answer(Instant now) {
  if (!is_master() || options_.ignore_others || followed_ || successor_) return;
  const auto candidates = others_.candidates(now, true);
  const auto finding = election::judge(state(), rank(), candidates);
  if (finding.event == Event::NobodyAbove) return;
  const bool is_master_there =
      std::ranges::find(candidates, SmState::Master, &SmInfo::sm_state) != candidates.end();
  orders_.push_back(is_master_there ? Order::Decide : Order::Sweep);
}

bool Mastership::conclude(Instant now) {
  path_wanted_ = false;
  election::Finding finding;
  if (!options_.ignore_others)
    finding = election::judge(state(), rank(), others_.candidates(now, is_master()));
  if (is_master() && finding.event == Event::NobodyAbove && followed_) stop_following();
  if (finding.event == Event::MastersMeet && followed_ == finding.who && wait_until_ <= now) {
    log(LogLevel::Error,
        fmt::format("another master does not hand over to this one, which ranks above it: {}; two "
                    "masters on one subnet undo each other's work, stop one of them",
                    others_.describe(finding.who)));
    others_.find(finding.who)->refused_until = now + kRefusedFor;
    stop_following();
    return conclude(now);
  }
  const std::string who =
      finding.who == Guid{} ? std::string() : ": " + others_.describe(finding.who);
  const bool none = others_.all().empty();
  std::string why;
  switch (finding.event) {
    case Event::NobodyAbove:
      why = options_.ignore_others ? "others do not count (ignore_other_sm)"
            : none                 ? "there is no other subnet manager"
                                   : "no other subnet manager is master or ranks above this one";
      break;
    case Event::MasterFound:
      why = "another subnet manager is master, or ranks above this one" + who;
      break;
    case Event::HigherFound:
      why = "a subnet manager that ranks above this one is there" + who;
      break;
    default:
      why = "another master ranks below this one" + who;
  }
  const auto* row = election::transition(state(), finding.event);
  take(now, finding.event, finding.who, std::move(why));
  return row != nullptr && row->action == Action::Manage;
}

// ---- transitions

bool Mastership::take(Instant now, Event event, Guid who, std::string why) {
  const election::Transition* row = election::transition(state(), event);
  if (row == nullptr) return false;
  const SmState from = state();
  if (row->to != from) {
    if (from == SmState::Master) orders_.push_back(Order::StandDown);
    if (row->to == SmState::Standby) was_standby_ = true;
    if (row->to == SmState::Master) taken_over_ = std::exchange(was_standby_, false);
    if (row->to != SmState::Standby) stop_following();
    successor_.reset();
    go(now, row->to, std::move(why));
  }
  switch (row->action) {
    case Action::None:
    case Action::Manage:
      break;
    case Action::Sweep:
      // One that hands over to a master, or goes, has managed a part of its subnet.
      if (event != Event::HandoverRefused && is_master()) taken_over_ = true;
      if (event == Event::MasterGone || event == Event::Handover) stop_following();
      successor_.reset();
      orders_.push_back(event == Event::Handover ? Order::Decide : Order::Sweep);
      break;
    case Action::Poll:
      follow(now, who);
      if (const OtherManager* other = others_.find(who);
          other != nullptr && other->answered && other->info.sm_state == SmState::Master &&
          election::ranks_above(rank(), {other->info.priority, who}))
        ask_for_handover(now);
      break;
    case Action::HandOver:
      if (successor_) break;
      successor_ = who;
      log(LogLevel::Info, fmt::format("mastership is handed over to {}", others_.describe(who)));
      wait_no_longer(set(Kind::Handover, who, Event::Handover), now + kAnswerWait);
      break;
    case Action::Wait:
      if (followed_ == who) break;
      log(LogLevel::Warning,
          fmt::format("another master is on the subnet, and ranks below this one: nothing is set "
                      "until it has handed over: {}",
                      others_.describe(who)));
      follow(now, who);
      wait_until_ = now + kHandoverWait;
      ask_for_handover(now);
      break;
  }
  return true;
}

void Mastership::go(Instant now, SmState to, std::string why) {
  if (to != SmState::Discovering || was_standby_)
    log(LogLevel::Info, fmt::format("{}: {}", election::state_name(to), why));
  unfit_.reset();
  predecessor_.reset();
  relieve();
  if (to != SmState::Master) asked_by_.clear();
  status_.state = to;
  status_.since = now;
  status_.why = std::move(why);
  status_.priority = rank().priority;
  news_ = true;
}

void Mastership::follow(Instant now, Guid whom) {
  stop_following();
  followed_ = whom;
  misses_ = 0;
  poll_at_ = now + options_.poll;
  if (others_.find(whom) == nullptr) {
    path_wanted_ = true;
    orders_.push_back(Order::Sweep);
  }
}

void Mastership::stop_following() {
  followed_.reset();
  poll_at_ = wait_until_ = kNever;
  path_wanted_ = false;
  if (const Cookie cookie = std::exchange(poll_cookie_, 0); asked_.erase(cookie) > 0)
    cancelled_.push_back(cookie);
}

/// What it answered clients as the master before, the next one answers now, or nobody.
void Mastership::relieve() {
  heir_until_ = kNever;
  status_.answers = false;
  if (std::exchange(heir_, std::nullopt)) relieved_ = true;
}

// ---- polling

Instant Mastership::due() const {
  Instant due = std::min({path_wanted_ ? kNever : poll_at_, heir_until_, handover_at_});
  for (const auto& [cookie, asked] : asked_) due = std::min(due, asked.until);
  return due;
}

void Mastership::on_time(Instant now) {
  give_up_late(now);
  if (heir_until_ <= now) relieve();
  if (handover_at_ <= now) take_late_handover(now);
  if (path_wanted_ || poll_at_ > now) return;
  if (asked_.erase(poll_cookie_) > 0) {
    cancelled_.push_back(std::exchange(poll_cookie_, 0));
    others_.on_silence(*followed_);
    miss(now);
  }
  if (followed_ && wait_until_ <= now) orders_.push_back(Order::Sweep);
  if (followed_ && !path_wanted_) poll(now);
  // What the others are is to be known, too, though it decides nothing.
  if (state() == SmState::Standby && ++polls_ % kPollsPerLook == 0) ask_all();
}

void Mastership::poll(Instant now) {
  poll_at_ = now + options_.poll;
  poll_cookie_ = ask(Kind::Poll, *followed_);
  if (poll_cookie_ == 0) miss(now);
}

void Mastership::miss(Instant now) {
  if (++misses_ <= options_.unanswered_most) return;
  const std::string whom = others_.describe(*followed_);
  take(now, Event::MasterGone, *followed_,
       fmt::format("{} of {} polls in a row found no master there: {}", misses_, misses_, whom));
}

/// Somebody else says that it is master: where the one that we follow does not say so, too, the
/// others are asked now.
void Mastership::doubt_master(Instant now) {
  if (state() != SmState::Standby || !followed_ || asked_.contains(poll_cookie_)) return;
  misses_ = options_.unanswered_most;
  poll_at_ = now;
}

void Mastership::on_poll_answer(Instant now, Guid whom, const Completion& completion) {
  if (followed_ != whom) return;
  poll_cookie_ = 0;
  const std::string before = others_.describe(whom);
  take_answer(now, whom, completion);
  if (says_nobody(completion)) {
    take(now, Event::MasterGone, whom,
         fmt::format("no subnet manager runs there any more: {}", before));
    return;
  }
  const OtherManager* manager = others_.find(whom);
  if (manager == nullptr || !manager->answered) return miss(now);
  const election::Rank theirs{manager->info.priority, whom};
  const bool above = election::ranks_above(theirs, rank());
  if (manager->info.sm_state == SmState::Master) {
    misses_ = 0;
    if (!above) ask_for_handover(now);
    return;
  }
  // It was waited for, and is master no more.
  if (is_master()) {
    take(now, Event::MasterGone, whom, "the other master is master no more: " + before);
    return;
  }
  if (above && manager->info.sm_state != SmState::NotActive) {
    misses_ = 0;
    return;
  }
  if (manager->info.sm_state == SmState::Standby && misses_ > 0) {
    take(now, Event::MasterGone, whom, "it stands by for another one: " + others_.describe(whom));
    return;
  }
  miss(now);
}

/// The master is told that we rank above it; where it is, our own port says.
void Mastership::ask_for_handover(Instant now) {
  const OtherManager* other = followed_ ? others_.find(*followed_) : nullptr;
  if (now < trap_at_ || (other != nullptr && other->is_twin)) return;
  trap_at_ = now + kTrapPause;
  requests_.push_back(ib::mad::smp_request(expect({Kind::OwnPort}), 1, ib::mad::DirectedRoute{},
                                           Method::Get, attr::kPortInfo, 0));
}

void Mastership::on_own_port(const Completion& completion) {
  if (!completion.reply || completion.reply->mad.status() != 0 || !followed_) return;
  auto own = ib::wire::body<PortInfo>(completion.reply->mad);
  // Another master may have been here since; and a master's own port reports to itself.
  if (const OtherManager* other = others_.find(*followed_);
      other != nullptr && other->lid.is_unicast())
    own.master_sm_lid = other->lid;
  auto trap = priority_trap(own, at_switch_);
  if (!trap) return;
  trap->mad.set<&ib::wire::MadHeader::tid>(ib::Tid{0x5ad0'0000ULL + ++trap_tid_});
  packets_.push_back(*std::move(trap));
}

// ---- handing over

void Mastership::on_handover_answer(Instant now, Guid whom, const Completion& completion) {
  if (!is_master() || successor_ != whom) return;
  successor_.reset();
  if (completion.reply && completion.reply->mad.status() == 0) {
    take(now, Event::HandoverTaken, whom,
         "mastership was handed over to " + others_.describe(whom));
    heir_ = whom;
    heir_until_ = now + kHandoverWait;
    status_.answers = true;
    return;
  }
  const std::string what = completion.reply
                               ? fmt::format("status 0x{:04x}", completion.reply->mad.status())
                               : completion.reply.error().message;
  log(LogLevel::Warning, fmt::format("{} does not take mastership over ({}): this one stays master",
                                     others_.describe(whom), what));
  if (OtherManager* manager = others_.find(whom)) {
    // One that did not answer may have taken over all the same: the next sweep asks it.
    (completion.reply ? manager->refused_until : manager->deaf_until) = now + kRefusedFor;
    if (!completion.reply) manager->answered = false;
  }
  take(now, Event::HandoverRefused, whom, {});
}

void Mastership::acknowledge() {
  if (const auto whom = std::exchange(predecessor_, std::nullopt))
    set(Kind::Acknowledge, *whom, Event::Acknowledge);
}

// ---- effects

std::optional<Mastership::Order> Mastership::next_order() {
  if (orders_.empty()) return std::nullopt;
  const Order order = orders_.front();
  orders_.pop_front();
  return order;
}

std::optional<ib::LogEvent> Mastership::next_log() {
  if (logs_.empty()) return std::nullopt;
  auto event = std::move(logs_.front());
  logs_.pop_front();
  return event;
}

void Mastership::log(LogLevel level, std::string message) {
  logs_.push_back({level, "sm", std::move(message)});
}

}  // namespace sm::core
