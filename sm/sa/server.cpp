// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/server.h"

#include <fmt/format.h>

#include <algorithm>

#include "libdiag/mad/rmpp.h"
#include "libdiag/wire/gmp_attributes.h"
#include "sm/sa/class_port_info.h"
#include "sm/sa/intake/answers.h"
#include "sm/sa/intake/read_refusals.h"
#include "sm/sa/queries.h"
#include "sm/sa/reads.h"
#include "sm/sa/registrations.h"
#include "sm/sa/registry/partitions.h"
#include "sm/sa/registry/writes.h"
#include "sm/sa/replies.h"
#include "sm/sa/shared.h"

namespace sm::sa {
namespace {

using ib::Duration;
using ib::Instant;
using ib::mad::Packet;
using ib::wire::Mad;
using ib::wire::MadHeader;
using ib::wire::Method;
using ib::wire::MgmtClass;
using ib::wire::SaHeader;
namespace attr = ib::wire::attr;
namespace rmpp = ib::mad::rmpp;
namespace status = ib::wire::status;

constexpr std::uint8_t kBaseVersion = 1, kClassVersion = 2;
constexpr std::size_t kWorthATrim = 1U << 20;

/// Requests that come by RMPP are a MultiPathRecord of 510 GIDs at most: 8 KB.
rmpp::ReceiverOptions receiver_options() {
  rmpp::ReceiverOptions o;
  o.message_timeout = std::chrono::seconds(10);
  o.messages_max = 256;
  o.messages_per_source = 8;
  o.message_bytes_max = 16U << 10;
  o.bytes_max = 1U << 20;
  return o;
}

/// The least that a record of a GetMulti or GetTraceTable can be, in units of 8 bytes: a
/// MultiPathRecord without GIDs.
constexpr std::uint16_t kMultiOffsetMin = 3;

/// ACK, STOP and ABORT.
bool is_for_transfer(const Mad& mad) {
  const auto type = mad.get<&ib::wire::RmppHeader::type>();
  return type >= static_cast<std::uint8_t>(rmpp::Type::Ack) &&
         type <= static_cast<std::uint8_t>(rmpp::Type::Abort);
}

}  // namespace

struct Server::Impl {
  Impl(const Options& options, const store::Contents& contents) : shared(options, contents) {
    if (shared.world.key_is_secret) say_who_is_no_longer_trusted();
  }

  Shared shared;
  Replies replies{shared};
  Reads reads{shared, replies};
  Forwarding forwarding{shared.options.forwarding};
  Registrations registrations{shared, replies, forwarding};
  rmpp::Receiver receiver{receiver_options()};

  bool withdrawn{false};   // somebody else answers
  bool hands_over{false};  // somebody else is about to
  bool registers{true};
  bool looks_on{false};           // work() did a step of looking last
  std::optional<Packet> segment;  // of a table, or a report, that was sent last
  bool is_report{false};
  std::size_t memory_most{0};  // of queues and replays, since it was last worth a trim
  std::vector<std::string> told_sl_origins;  // of configured groups

  // ---- what arrives

  void on_packet(const Packet& packet) {
    auto& counters = shared.counters;
    const Mad& mad = packet.mad;
    // Our own host is heard with its cable out, too.
    if (shared.world.paths && packet.address.lid != shared.world.snapshot().sm_lid)
      forwarding.reports.on_heard(shared.now);
    if (mad.mgmt_class() != MgmtClass::SubnAdm) {
      ++counters.dropped_malformed;
      return;
    }
    if (rmpp::is_active(mad) && is_for_transfer(mad)) return on_control(packet);
    if (ib::wire::is_response(mad.method())) {
      if (mad.method() == Method::ReportResp && forwarding.reports.on_packet(shared.now, packet))
        return;
      ++counters.dropped_stray;
      return;
    }
    if (trust_of(mad.get<&SaHeader::sm_key>(), shared.options.trust) == Trust::Wrong) {
      ++counters.requests;
      ++counters.dropped_sm_key;
      return;
    }
    if (!shared.world.paths || withdrawn) {
      ++counters.requests;
      ++counters.dropped_not_ready;  // the client asks again
      return;
    }
    if (!registers && (mad.method() == Method::Set || mad.method() == Method::Delete)) {
      ++counters.requests;
      ++counters.dropped_not_ready;
      return;
    }
    if (rmpp::is_active(mad) && !shared.options.kernel_rmpp) return on_segment(packet);
    take_in(packet);
  }

  /// ACK, STOP or ABORT: of an answer that goes out, or by the sender of a request.
  void on_control(const Packet& packet) {
    if (reads.on_control(shared.now, packet)) return;
    if (receiver.on_mad(shared.now, packet.address, packet.mad)) return;
    // An ACK of a table that is done counts as stray.
    ++shared.counters.dropped_stray;
  }

  /// A request that comes by RMPP, in one segment or in several.
  void on_segment(const Packet& packet) {
    const auto messages_before = receiver.counters().messages;
    receiver.on_mad(shared.now, packet.address, shared.who_of(packet), packet.mad);
    take_from_receiver();
    while (auto message = receiver.next_message()) take_in(*message);
    if (receiver.counters().messages != messages_before) return;
    // Nothing new: perhaps a client that has been answered and does not know it.
    if (auto answer = replies.replays().answer_to_first_segment(packet)) {
      ++shared.counters.requests;
      ++shared.counters.replayed;
      replies.put(*std::move(answer));
    }
  }
  void take_from_receiver() {
    while (auto control = receiver.next_send()) replies.put(*std::move(control));
  }

  /// A whole request.
  void take_in(const Packet& request) {
    auto& counters = shared.counters;
    auto& replays = replies.replays();
    ++counters.requests;
    switch (replays.find(shared.now, request)) {
      case Replays::Seen::UnderWay:
        ++counters.under_way;
        return;
      case Replays::Seen::Answered:
        ++counters.replayed;
        replies.put(replays.answer(request));
        return;
      case Replays::Seen::Never:
        break;
    }
    if (reads.is_under_way(request)) {
      ++counters.under_way;  // asked again while the answer is under way
      return;
    }
    replays.begin();
    auto& admission = shared.admission;
    if (!admission.offer(shared.now, shared.who_of(request), request)) {
      ++counters.busy_queue_full;
      return replies.refuse(request, status::kBusy);
    }
    counters.waiting_most = std::max<std::uint64_t>(counters.waiting_most, admission.waiting());
  }

  // ---- requests

  bool work() {
    refuse_expired();
    if (reads.answer_waiting()) return true;
    // Requests, and what is being looked for, in turn.
    if (reads.is_looking()) looks_on = !looks_on;
    if (reads.is_looking() && looks_on) {
      reads.continue_one_search();
      return true;
    }
    const Packet* request =
        shared.admission.next([this](ib::Lid who, const Packet& r) { return may_begin(who, r); });
    if (request) {
      serve(*request);
      return true;
    }
    if (!reads.is_looking()) return false;
    reads.continue_one_search();
    return true;
  }
  void refuse_expired() {
    while (const Packet* request = shared.admission.expired(shared.now)) {
      ++shared.counters.busy_too_old;
      replies.refuse(*request, status::kBusy);
    }
  }

  /// Whether there is room for what serving `request` leaves behind.
  bool may_begin(ib::Lid who, const Packet& request) const {
    switch (request.mad.method()) {
      case Method::Get:
      case Method::GetTable:
      case Method::GetMulti:
      case Method::GetTraceTable:
        return reads.may_begin(who, request);
      case Method::Set:
      case Method::Delete:
        return registrations.may_begin(who);
      default:
        return true;
    }
  }

  void serve(const Packet& packet) {
    const auto& trust = shared.options.trust;
    const Mad& mad = packet.mad;
    if (mad.get<&MadHeader::base_version>() != kBaseVersion ||
        mad.get<&MadHeader::class_version>() != kClassVersion)
      return replies.refuse(packet, status::kBadVersion);
    if (trust.check_source_gid && bears_another_gid(shared.world, packet)) {
      ++shared.counters.denied_source_gid;
      shared.complain(packet, why_not_its_gid(*shared.world.paths, packet));
      return replies.refuse(packet, status::kSaInvalidGid);
    }
    if (trust.enhanced && !shared.is_trusted(packet) && !is_open_to_all(mad, trust)) {
      ++shared.counters.denied_untrusted;
      shared.complain(packet, why_not_trusted(*shared.world.paths, packet));
      return replies.refuse(packet, status::kSaReqDenied);
    }
    dispatch(packet);
  }

  void dispatch(const Packet& packet) {
    const auto attribute = packet.mad.attribute_id();
    switch (packet.mad.method()) {
      case Method::Get:
        if (attribute == attr::kClassPortInfo) return answer_class_port_info(packet);
        [[fallthrough]];
      case Method::GetTable:
        if (!is_known_record(attribute)) return replies.refuse(packet, status::kBadAttribute);
        return reads.begin(packet);
      case Method::GetMulti:
      case Method::GetTraceTable:
        if (!is_multi(packet.mad.method(), attribute) || !is_known_record(attribute) ||
            !is_known_record(answered_attribute(packet)))
          return replies.refuse(packet, status::kBadAttribute);
        if (const auto offset = packet.mad.get<&SaHeader::attribute_offset>();
            offset != 0 && offset < kMultiOffsetMin)
          return replies.refuse(packet, status::kSaReqInvalid);
        return reads.begin(packet);
      case Method::Set:
      case Method::Delete:
        if (find_kind(attribute) == nullptr) return replies.refuse(packet, status::kBadAttribute);
        return registrations.begin(packet);
      default:
        return replies.refuse(packet, status::kBadMethod);
    }
  }

  void answer_class_port_info(const Packet& request) {
    const auto& options = shared.options;
    auto answer = answer_to(request, Method::GetResp, status::kOk);
    put_record(answer,
               reply_of(class_port_info(options.resp_time_value, !options.multicast.disabled)));
    replies.send(request, std::move(answer));
  }

  // ---- effects

  /// Single answers before segments, which are made when their turn comes.
  Packet* next_send(Instant now) {
    is_report = false;
    if (Packet* packet = replies.next()) return packet;
    segment = reads.next_segment(now);
    if (segment) return &*segment;
    segment = forwarding.reports.next_send(now);
    is_report = segment.has_value();
    return is_report ? &*segment : nullptr;
  }
  Duration reply_within() const {
    return is_report ? forwarding.reports.reply_within() : Duration{0};
  }
  Tidied tidy(Instant now) {
    auto& admission = shared.admission;
    auto& replays = replies.replays();
    // What was released on the way counts as well, so it is the most since that is compared.
    memory_most = std::max(memory_most, admission.bytes() + replays.bytes());
    admission.tidy();
    replays.tidy(now);
    const auto bytes = admission.bytes() + replays.bytes();
    Tidied done{memory_most - bytes >= kWorthATrim, replays.is_empty()};
    if (done.is_worth_a_trim) memory_most = bytes;
    return done;
  }

  // ---- time, and the subnet

  void on_time() {
    reads.on_time(shared.now);
    receiver.on_time(shared.now);
    take_from_receiver();
    refuse_expired();
    forward();
    registrations.on_time(shared.now);
  }
  void forward() {
    if (!shared.world.paths || withdrawn) return;
    forwarding.reports.on_time(shared.now);
    forwarding.reports.step(shared.now, shared.world);
    while (const auto address = forwarding.reports.next_dead())
      registrations.on_dead_subscriber(*address);
  }
  Instant next_deadline() {
    return std::min(
        {reads.next_deadline(), receiver.next_deadline(), shared.admission.next_deadline(),
         registrations.next_deadline(),
         shared.world.paths && !withdrawn ? forwarding.reports.next_deadline() : ib::kNever});
  }

  void publish(DeviceStatePtr news) {
    shared.world.device_state = std::move(news);
    if (!shared.world.device_state->tables_to_come) reads.tables_are_read();
    registrations.on_device_state();
  }
  void withdraw() {
    withdrawn = true;
    hands_over = false;
    registrations.withdraw();
  }
  /// What cannot be stored any more the next one is asked for.
  void leave_unanswered(std::uint64_t ticket) {
    withdraw();
    registrations.on_commit_done(ticket, false);
    while (replies.next()) {
    }
  }
  void publish(SnapshotPtr snapshot, bool takes_registrations) {
    withdrawn = hands_over = false;
    registers = takes_registrations;
    auto& world = shared.world;
    const auto before = world.paths;
    world.paths = std::make_shared<const Paths>(std::move(snapshot), before.get());
    const Snapshot* snapshot_before = before ? &before->snapshot() : nullptr;
    take_policies(snapshot_before);
    forwarding.on_snapshot(*world.paths);
    registrations.on_snapshot(snapshot_before);
  }
  /// Members of partitions, and what rules fit which port, follow the ports that there are.
  void take_policies(const Snapshot* before) {
    shared.policy.partitions = partitions_of(*shared.world.paths);
    take_qos();
    if (before == nullptr || before->partitions != shared.world.snapshot().partitions)
      take_groups();
  }
  void take_qos() {
    shared.policy.qos = Qos(shared.options.qos, *shared.world.paths, shared.policy);
  }
  void take_groups() {
    const auto& partitions = *shared.world.snapshot().partitions;
    const auto* rules = shared.options.qos.get();
    shared.policy.multicast.configured = groups_of(partitions, rules);
    registrations.on_groups();
    auto origins = sl_origins(partitions, rules);
    for (const std::string& line : origins)
      if (std::ranges::find(told_sl_origins, line) == told_sl_origins.end())
        shared.say(ib::LogLevel::Info, line);
    told_sl_origins = std::move(origins);
  }
  void say_who_is_no_longer_trusted() {
    const auto count = std::ranges::count_if(
        shared.state.subscriptions.all(), [](const auto& s) { return s.trusted && !s.by_secret; });
    if (count != 0)
      shared.say(ib::LogLevel::Warning,
                 fmt::format("{} subscriptions were made with the well-known SA key 1: they get no "
                             "reports of security traps until they are made with the present key",
                             count));
  }
};

Server::Server(const Options& options, const store::Contents& contents)
    : impl_(std::make_unique<Impl>(options, contents)) {}
Server::~Server() = default;
Server::Server(Server&&) noexcept = default;
Server& Server::operator=(Server&&) noexcept = default;

void Server::publish(Instant now, SnapshotPtr snapshot, bool registers) {
  impl_->shared.now = now;
  impl_->publish(std::move(snapshot), registers);
}

void Server::hand_over(bool registers) {
  if (impl_->withdrawn) return;
  impl_->hands_over = true;
  impl_->registers = registers;
  impl_->registrations.withdraw();  // the next one has found more of the subnet since
}
bool Server::hands_over() const { return impl_->hands_over; }

void Server::withdraw() { impl_->withdraw(); }

void Server::doubt(const std::vector<ib::Guid>& ports) {
  impl_->registrations.doubts().begin(impl_->shared.state, ports);
}
void Server::doubt_subscriptions(Instant now, const std::vector<ib::Guid>& ports) {
  impl_->registrations.doubts().begin_subscriptions(now, impl_->shared.state, ports);
}
void Server::on_asked_again(Instant now, const std::vector<ib::Guid>& ports) {
  impl_->registrations.doubts().on_asked(now, ports);
}
bool Server::awaits_clients() const { return impl_->registrations.doubts().awaits(); }

void Server::restore(const store::Contents& contents) {
  auto fresh = std::make_unique<Impl>(impl_->shared.options, contents);
  fresh->shared.counters = impl_->shared.counters;
  fresh->shared.policy.prefix_routes = std::move(impl_->shared.policy.prefix_routes);
  fresh->withdrawn = impl_->withdrawn;
  fresh->registrations.count_on_from(impl_->registrations);
  // By what it had it has answered until now, and another one wrote what is stored.
  fresh->shared.now = impl_->shared.now;
  if (!impl_->withdrawn)
    fresh->registrations.note_untold(ports_that_lost(impl_->shared.state, fresh->shared.state));
  impl_ = std::move(fresh);
}

void Server::publish(DeviceStatePtr device_state) { impl_->publish(std::move(device_state)); }

Limits Server::limits() const { return limits_of(impl_->shared.options); }
void Server::set_limits(const Limits& limits) {
  auto& shared = impl_->shared;
  sa::set_limits(limits, shared.options);
  shared.admission.set_options(shared.options.admission);
  shared.admission.resume();
}
void Server::reset_counters() { impl_->shared.counters = {}; }
void Server::set_prefix_routes(std::vector<PrefixRoute> routes) {
  impl_->shared.policy.prefix_routes = std::move(routes);
}

void Server::set_qos(std::shared_ptr<const policy::QosPolicy> rules) {
  impl_->shared.options.qos = std::move(rules);
  if (!impl_->shared.world.paths) return;
  impl_->take_qos();
  impl_->take_groups();
}

void Server::expect(const Packet& packet) const { impl_->replies.replays().fetch(packet); }
void Server::on_packet(Instant now, const Packet& packet) {
  impl_->shared.now = now;
  impl_->on_packet(packet);
}

bool Server::work(Instant now) {
  impl_->shared.now = now;
  return impl_->work();
}
bool Server::has_work() const {
  return impl_->shared.admission.has_next() || impl_->reads.has_work();
}

void Server::on_notice(Instant now, const ib::wire::Notice& notice, ib::Lid from) {
  const auto& paths = impl_->shared.world.paths;
  if (paths && !impl_->withdrawn) impl_->forwarding.on_notice(now, *paths, notice, from);
}

void Server::on_time(Instant now) {
  impl_->shared.now = now;
  impl_->on_time();
}

Instant Server::next_deadline() const { return impl_->next_deadline(); }

void Server::on_commit_done(Instant now, std::uint64_t ticket, bool durable) {
  impl_->shared.now = now;
  if (!durable && impl_->hands_over) return impl_->leave_unanswered(ticket);
  impl_->registrations.on_commit_done(ticket, durable);
}

Server::Tidied Server::tidy(Instant now) { return impl_->tidy(now); }

Packet* Server::next_send(Instant now) { return impl_->next_send(now); }
ib::Duration Server::reply_within() const { return impl_->reply_within(); }

std::optional<Commit> Server::next_commit() { return impl_->registrations.next_commit(); }

std::optional<ib::LogEvent> Server::next_log() { return impl_->shared.next_log(); }

bool Server::take_multicast_changed() { return impl_->registrations.take_multicast_changed(); }
bool Server::take_aliases_changed() { return impl_->registrations.take_aliases_changed(); }
std::vector<ib::Guid> Server::take_untold_clients() {
  return impl_->registrations.take_untold_clients();
}
const Aliases::Map& Server::aliases() const { return impl_->registrations.aliases(); }
std::uint64_t Server::aliases_revision() const { return impl_->registrations.aliases_revision(); }
std::vector<MlidMembers> Server::multicast() const {
  return impl_->shared.state.by_mlid(impl_->shared.world.paths.get());
}
store::Contents Server::contents() const { return impl_->shared.state.contents(); }
std::uint64_t Server::revision() const { return impl_->registrations.revision(); }
const Counters& Server::counters() const {
  auto& c = impl_->shared.counters;
  const auto& t = impl_->reads.counters();
  c.transfers = t.begun;
  c.transfers_aborted = t.aborted;
  c.segments = t.segments;
  c.segments_resent = t.segments_resent;
  const auto& r = impl_->receiver.counters();
  c.messages_in = r.messages;
  c.segments_in = r.segments;
  c.segments_in_lost = r.repeated + r.out_of_window + r.orphans;
  c.messages_refused = r.aborts_sent + r.stops_sent;
  c.messages_expired = r.expired;
  count_forwarding(impl_->forwarding, c);
  return c;
}

}  // namespace sm::sa
