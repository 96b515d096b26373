// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>

#include "libdiag/mad/rmpp.h"
#include "libdiag/wire/gmp_attributes.h"
#include "sm/sa/answers.h"
#include "sm/sa/chores.h"
#include "sm/sa/class_port_info.h"
#include "sm/sa/forwarding.h"
#include "sm/sa/membership.h"
#include "sm/sa/outbox.h"
#include "sm/sa/partitions.h"
#include "sm/sa/path_records.h"
#include "sm/sa/read_refusals.h"
#include "sm/sa/records.h"
#include "sm/sa/searches.h"
#include "sm/sa/tables_wait.h"
#include "sm/sa/transfers.h"
#include "sm/sa/write_queue.h"
#include "sm/sa/writes.h"

namespace sm::sa {
namespace {

using ib::Duration;
using ib::Instant;
using ib::mad::Address;
using ib::mad::Packet;
using ib::wire::Mad;
using ib::wire::MadHeader;
using ib::wire::McMemberRecord;
using ib::wire::Method;
using ib::wire::MgmtClass;
using ib::wire::SaHeader;
namespace attr = ib::wire::attr;
namespace rmpp = ib::mad::rmpp;
namespace status = ib::wire::status;

constexpr std::uint8_t kBaseVersion = 1, kClassVersion = 2;

// Tables up to this size are built whole, so that their length is announced and the snapshot let
// go. With a window of segments it is less than the 64 KB that any table may hold.
constexpr std::size_t kBuiltWholeMax = std::size_t{200} * 120;
/// Room for some records, as a Get needs, is kept from one search to the next.
constexpr std::size_t kFoundKept = 1024;
constexpr std::uint8_t kNoResponseTime = 0x1F;
constexpr std::size_t kLogLinesMax = 1000;
constexpr std::size_t kMembersPerMs = 1000;
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

}  // namespace

struct Server::Impl {
  Impl(const Options& o, const store::Contents& contents) : options(o), state(contents) {
    policy = options.policy;
    policy.multicast = options.multicast;
    if (options.trust.enhanced)
      policy.multicast.untrusted_proxies = options.trust.untrusted_proxies;
    durable_aliases = state.aliases.all();
    if (world.key_is_secret) say_who_is_no_longer_trusted();
    auto batch = configured_groups(state, policy.multicast);
    if (batch.empty()) return;
    state.apply(batch);
    multicast_changed = true;
    first_commit = Commit{++last_ticket, std::move(batch)};
  }

  Options options;
  State state;
  Policy policy;
  World world{nullptr,
              state,
              policy,
              options.quotas,
              std::make_shared<const Holdings>(),
              options.sm_assigned_guid,
              options.trust.sa_key_is_secret || options.trust.sa_key != kKnownSaKey};
  Counters counters;
  bool withdrawn{false};  // somebody else answers
  bool multicast_changed{false};
  Instant multicast_again_at;  // not told before
  bool aliases_changed{false};
  Aliases::Map durable_aliases;
  std::uint64_t aliases_revision{0};               // of these
  std::vector<store::AliasGuid> aliases_to_store;  // of the commit that is out
  bool forgetting_aliases{false};                  // of places that were given back

  Instant now_;  // of the event that is being dealt with
  Outbox sends;
  std::optional<Packet> segment;  // of a table, or a report, that was sent last
  bool is_report{false};
  std::vector<std::byte> found_room;  // for the next search
  Transfers transfers;
  Searches searches;
  TablesWait tables_wait;
  bool looks_on{false};       // work() did a step of a search last
  bool for_transfers{false};  // the last such step was for a table that is being sent

  WriteQueue writes;
  Chores chores;
  Forwarding forwarding{options.forwarding};
  bool chore_waits{false};
  std::uint64_t last_ticket{0};
  std::uint64_t revision{0};
  std::optional<Commit> first_commit;  // the configured groups
  std::deque<ib::LogEvent> log;
  std::vector<std::string> told_sl_origins;  // of configured groups

  Admission admission{options.admission};
  Replays replays{options.replays};
  std::size_t memory_most{0};  // of these two, since it was last worth a trim
  rmpp::Receiver receiver{receiver_options()};

  // ---- answering

  /// Refused: the request comes back with a status.
  void refuse(const Packet& request, std::uint16_t mad_status) {
    const auto method = response_to(request.mad.method());
    if (!method) {
      ++counters.dropped_unanswerable;
      replays.forget(request);
      return;
    }
    send(request, answer_to(request, *method, mad_status));
  }
  void refuse_read(const Packet& request, const Query& query, std::uint16_t mad_status) {
    complain(request, why_not_read(world, query, request.address.lid, mad_status));
    refuse(request, mad_status);
  }
  /// A line in the log about what `request` was refused for; what is empty is no news.
  void complain(const Packet& request, const std::string& why) {
    if (!why.empty()) say(ib::LogLevel::Warning, why, ib::LogCause{"SA request", who_of(request)});
  }
  /// The one answer to `request`, kept for when it is asked again.
  void send(const Packet& request, Packet&& answer) {
    // What has no room now may have it when the client tries again.
    const bool passing = answer.mad.status() == status::kBusy ||
                         answer.mad.status() == status::kSaNoResources || !answer.more.empty();
    if (passing) {
      replays.forget(request);
    } else {
      replays.end(now_, request, answer);
    }
    ++counters.answers;
    if (answer.mad.status() != 0) ++counters.errors;
    sends.push(std::move(answer));
  }

  // ---- what arrives

  void on_packet(Instant now, const Packet& packet) {
    now_ = now;
    const Mad& mad = packet.mad;
    if (mad.mgmt_class() != MgmtClass::SubnAdm) {
      ++counters.dropped_malformed;
      return;
    }
    if (rmpp::is_active(mad) && is_for_transfer(mad)) return on_control(now, packet);
    if (ib::wire::is_response(mad.method())) {
      if (mad.method() == Method::ReportResp && forwarding.reports.on_packet(now, packet)) return;
      ++counters.dropped_stray;
      return;
    }
    if (trust_of(mad.get<&SaHeader::sm_key>(), options.trust) == Trust::Wrong) {
      ++counters.requests;
      ++counters.dropped_sm_key;
      return;
    }
    if (!world.paths || withdrawn) {
      ++counters.requests;
      ++counters.dropped_not_ready;  // the client asks again
      return;
    }
    if (rmpp::is_active(mad) && !options.kernel_rmpp) return on_segment(now, packet);
    take_in(now, packet);
  }

  /// ACK, STOP or ABORT: of an answer that goes out, or by the sender of a request.
  void on_control(Instant now, const Packet& packet) {
    const auto before = transfers.size();
    if (transfers.on_mad(now, packet)) {
      if (transfers.size() < before) admission.resume();
      return;
    }
    if (receiver.on_mad(now, packet.address, packet.mad)) return;
    // An ACK of a table that is done counts as stray.
    ++counters.dropped_stray;
  }

  /// A request that comes by RMPP, in one segment or in several.
  void on_segment(Instant now, const Packet& packet) {
    const auto messages_before = receiver.counters().messages;
    receiver.on_mad(now, packet.address, who_of(packet), packet.mad);
    take_from_receiver();
    while (auto message = receiver.next_message()) take_in(now, *message);
    if (receiver.counters().messages != messages_before) return;
    // Nothing new: perhaps a client that has been answered and does not know it.
    if (auto answer = replays.answer_to_first_segment(packet)) {
      ++counters.requests;
      ++counters.replayed;
      sends.push(*std::move(answer));
    }
  }
  void take_from_receiver() {
    while (auto control = receiver.next_send()) sends.push(*std::move(control));
  }

  /// A whole request.
  void take_in(Instant now, const Packet& request) {
    ++counters.requests;
    switch (replays.look(now, request)) {
      case Replays::Seen::UnderWay:
        ++counters.under_way;
        return;
      case Replays::Seen::Answered:
        ++counters.replayed;
        sends.push(replays.answer(request));
        return;
      case Replays::Seen::Never:
        break;
    }
    const auto before = transfers.size();
    if (transfers.has(request)) {
      ++counters.under_way;  // asked again while the answer is under way
      return;
    }
    if (transfers.size() < before) admission.resume();
    replays.begin();
    if (!admission.offer(now, who_of(request), request)) {
      ++counters.busy_queue_full;
      return refuse(request, status::kBusy);
    }
    counters.waiting_most = std::max<std::uint64_t>(counters.waiting_most, admission.waiting());
  }

  /// All LIDs of a port are one requester.
  ib::Lid who_of(const Packet& request) const {
    const auto* port = world.paths->find(request.address.lid);
    return port != nullptr ? port->lid : request.address.lid;
  }

  // ---- requests

  bool work(Instant now) {
    now_ = now;
    send_expired(now);
    if (const auto request = tables_wait.next()) {
      answer_read(*request);
      return true;
    }
    // Requests, and what is being looked for, in turn.
    if (is_looking()) looks_on = !looks_on;
    if (is_looking() && looks_on) {
      look_on_for_one();
      return true;
    }
    const Packet* request =
        admission.next([this](ib::Lid who, const Packet& r) { return may_begin(who, r); });
    if (request) {
      serve(now, *request);
      return true;
    }
    if (!is_looking()) return false;
    look_on_for_one();
    return true;
  }
  bool is_looking() const { return !searches.empty() || transfers.is_short(); }
  void look_on_for_one() {
    for_transfers = transfers.is_short() && (searches.empty() || !for_transfers);
    if (for_transfers) {
      transfers.step();
    } else if (auto done = searches.step()) {
      finish(done->request, *done);
      admission.resume();
    }
  }
  void send_expired(Instant now) {
    while (const Packet* request = admission.expired(now)) {
      ++counters.busy_too_old;
      refuse(*request, status::kBusy);
    }
  }

  /// Whether there is room for what serving `request` leaves behind.
  bool may_begin(ib::Lid who, const Packet& request) const {
    switch (request.mad.method()) {
      case Method::Get:
        return searches.size() < options.transfers_max &&
               searches.size_of(who) < options.transfers_per_requester;
      case Method::GetTable:
      case Method::GetMulti:
      case Method::GetTraceTable:
        return transfers.places() + searches.size() < options.transfers_max &&
               transfers.places_of(who) + searches.size_of(who) < options.transfers_per_requester;
      case Method::Set:
      case Method::Delete:
        return writes.size() < options.writes_pending_max && writes.has_room(who);
      default:
        return true;
    }
  }

  void serve(Instant now, const Packet& packet) {
    const Mad& mad = packet.mad;
    if (mad.get<&MadHeader::base_version>() != kBaseVersion ||
        mad.get<&MadHeader::class_version>() != kClassVersion)
      return refuse(packet, status::kBadVersion);
    if (options.trust.check_source_gid && bears_another_gid(packet)) {
      ++counters.denied_source_gid;
      complain(packet, why_not_its_gid(*world.paths, packet));
      return refuse(packet, status::kSaInvalidGid);
    }
    if (options.trust.enhanced && !is_trusted(packet) && !is_open_to_all(mad, options.trust)) {
      ++counters.denied_untrusted;
      complain(packet, why_not_trusted(*world.paths, packet));
      return refuse(packet, status::kSaReqDenied);
    }
    dispatch(now, packet);
  }

  void dispatch(Instant now, const Packet& packet) {
    const auto attribute = packet.mad.attribute_id();
    switch (packet.mad.method()) {
      case Method::Get:
        if (attribute == attr::kClassPortInfo) return answer_class_port_info(packet);
        if (!is_known_record(attribute)) return refuse(packet, status::kBadAttribute);
        return begin_read(now, packet);
      case Method::GetTable:
        if (!is_known_record(attribute)) return refuse(packet, status::kBadAttribute);
        return begin_read(now, packet);
      case Method::GetMulti:
      case Method::GetTraceTable:
        if (!is_multi(packet.mad.method(), attribute) || !is_known_record(attribute) ||
            !is_known_record(answered_attribute(packet)))
          return refuse(packet, status::kBadAttribute);
        if (const auto offset = packet.mad.get<&SaHeader::attribute_offset>();
            offset != 0 && offset < kMultiOffsetMin)
          return refuse(packet, status::kSaReqInvalid);
        return begin_table(packet);
      case Method::Set:
      case Method::Delete:
        if (!is_writable(attribute)) return refuse(packet, status::kBadAttribute);
        if (attribute == attr::kInformInfo) note_life(packet);
        return writes.add(now, who_of(packet), packet);
      default:
        return refuse(packet, status::kBadMethod);
    }
  }

  void begin_read(Instant now, const Packet& request) {
    if (world.holdings->tables_to_come && TablesWait::concerns(request) &&
        tables_wait.add(now, who_of(request), request))
      return;
    answer_read(request);
  }
  void answer_read(const Packet& request) {
    if (request.mad.method() == Method::Get) return answer_get(request);
    begin_table(request);
  }

  void answer_class_port_info(const Packet& request) {
    auto answer = answer_to(request, Method::GetResp, status::kOk);
    put_record(answer,
               reply_of(class_port_info(options.resp_time_value, !options.multicast.disabled)));
    send(request, std::move(answer));
  }

  Query query_of(const Packet& request) const {
    Query q;
    q.method = request.mad.method();
    q.attribute =
        q.method == Method::GetTraceTable ? attr::kTraceRecord : request.mad.attribute_id();
    q.modifier = request.mad.attribute_modifier();
    q.mask = request.mad.get<&SaHeader::component_mask>();
    std::copy_n(request.mad.data(), q.wanted.size(), q.wanted.begin());
    q.more = request.more;
    q.bytes = rmpp::data_bytes(request);
    q.single = request.mad.method() == Method::Get;
    q.requester = requester_of(request);
    return q;
  }
  bool is_trusted(const Packet& request) const {
    return trust_of(request.mad.get<&SaHeader::sm_key>(), options.trust) == Trust::Trusted;
  }
  Requester requester_of(const Packet& request) const {
    Requester r;
    r.port = world.paths->find(request.address.lid);
    r.trusted = is_trusted(request);
    return r;
  }
  /// The GRH claims the GID, or an alias, of a port that does not have the source LID. Routers
  /// forward for others, and a GID that no port has is no claim.
  bool bears_another_gid(const Packet& request) const {
    if (!request.address.grh) return false;
    const auto& gid = request.address.grh->gid;
    if (gid.prefix() != world.paths->snapshot().subnet_prefix) return false;
    const auto* owner = world.paths->find(gid.guid());
    if (owner == nullptr) owner = world.paths->find(state.aliases.port_of(gid.guid()));
    return owner != nullptr && !owner->owns(request.address.lid);
  }

  void answer_get(const Packet& request) {
    if (request.mad.attribute_id() == attr::kPathRecord) {
      std::array<std::byte, ib::wire::record_bytes<ib::wire::PathRecord>()> path;
      const auto mask = request.mad.get<&SaHeader::component_mask>();
      const auto* asked = request.mad.bytes.data() + ib::wire::kSaDataOffset;
      if (write_first_path(world, requester_of(request), mask, asked, path.data()))
        return answer_with(request, path);
    }
    const auto query = query_of(request);
    auto opened = open_query(world, query);
    if (const auto* refusal = std::get_if<std::uint16_t>(&opened))
      return refuse_read(request, query, *refusal);
    // Of the paths there are, any one will do; of everything else exactly one must be meant.
    const std::size_t wanted = query.attribute == attr::kPathRecord ? 1 : 2;
    auto source = std::get<std::unique_ptr<RecordSource>>(std::move(opened));
    const auto bytes = wanted * source->record_bytes();
    begin_search(request, std::move(source), bytes);
  }
  void finish_get(const Packet& request, const RecordSource& source,
                  const std::vector<std::byte>& found) {
    if (found.empty())
      return refuse(request, source.gave_up() ? status::kSaNoResources : status::kSaNoRecords);
    if (found.size() > source.record_bytes()) return refuse(request, status::kSaTooManyRecords);
    answer_with(request, found);
  }
  void answer_with(const Packet& request, std::span<const std::byte> record) {
    auto& answer = sends.add();
    make_answer(answer, request, Method::GetResp, status::kOk);
    put_record(answer, record);
    ++counters.records;
    ++counters.answers;
    replays.end(now_, request, record);
  }

  // ---- searches

  /// Most end with their first step.
  void begin_search(const Packet& request, std::unique_ptr<RecordSource> source,
                    std::size_t bytes_max) {
    Searches::Search search;
    search.source = std::move(source);
    search.bytes_max = bytes_max;
    search.found = std::exchange(found_room, {});
    search.found.clear();
    if (!options.kernel_rmpp) search.found.reserve(bytes_max + search.source->record_bytes());
    if (look_on(search, kCandidatesPerStep)) {
      finish(request, search);
      if (search.found.capacity() <= kFoundKept) found_room = std::move(search.found);
      return;
    }
    search.request = request;
    search.who = who_of(request);
    searches.begin(std::move(search));
  }
  void finish(const Packet& request, Searches::Search& search) {
    if (request.mad.method() == Method::Get)
      return finish_get(request, *search.source, search.found);
    send_table(request, search);
  }

  // ---- tables

  static bool is_for_transfer(const Mad& mad) {
    const auto type = mad.get<&ib::wire::RmppHeader::type>();
    return type >= static_cast<std::uint8_t>(rmpp::Type::Ack) &&
           type <= static_cast<std::uint8_t>(rmpp::Type::Abort);
  }
  void begin_table(const Packet& request) {
    const auto query = query_of(request);
    auto opened = open_query(world, query);
    if (const auto* refusal = std::get_if<std::uint16_t>(&opened))
      return refuse_read(request, query, *refusal);
    begin_search(request, std::get<std::unique_ptr<RecordSource>>(std::move(opened)),
                 options.kernel_rmpp ? options.kernel_table_bytes_max : kBuiltWholeMax);
  }
  /// Its first records are found, or all of them.
  void send_table(const Packet& request, Searches::Search& search) {
    auto& source = search.source;
    auto& ready = search.found;
    if (source->gave_up()) return refuse(request, status::kSaNoResources);
    auto answer = answer_to(request, *response_to(request.mad.method()), status::kOk);
    answer.mad.set<&MadHeader::attribute_id>(answered_attribute(request));
    std::fill_n(answer.mad.data(), ib::wire::kSaDataBytes, std::byte{0});
    if (!ready.empty())
      answer.mad.set<&SaHeader::attribute_offset>(
          static_cast<std::uint16_t>(source->record_bytes() / 8));
    counters.records += ready.size() / source->record_bytes();
    answer.mad.set<&ib::wire::RmppHeader::response_time>(kNoResponseTime);
    if (options.kernel_rmpp) return send_whole(request, std::move(answer), ready, search.at_end);

    ++counters.answers;
    replays.forget(request);  // from here on the transfer knows it
    transfers.begin(who_of(request), fingerprint_of(request), answer, std::move(ready),
                    search.at_end ? nullptr : std::move(source));
  }

  /// The transport cuts the message into segments; it holds it whole, so there is a limit.
  void send_whole(const Packet& request, Packet answer, const std::vector<std::byte>& ready,
                  bool at_end) {
    if (!at_end) return refuse(request, status::kSaNoResources);
    const auto head = std::min<std::size_t>(ready.size(), ib::wire::kSaDataBytes);
    std::copy_n(ready.begin(), head, answer.mad.data());
    answer.more.assign(ready.begin() + static_cast<std::ptrdiff_t>(head), ready.end());
    ib::wire::RmppHeader header;
    header.version = 1;
    header.type = static_cast<std::uint8_t>(rmpp::Type::Data);
    header.active = header.first = header.last = true;
    header.data1 = 1;
    header.data2 = rmpp::first_payload_length(MgmtClass::SubnAdm, ready.size());
    ib::wire::encode(header, answer.mad.bytes.data());
    send(request, std::move(answer));
  }

  // ---- writes

  Outcome judge(const World& w, const Packet& request) const {
    WriteRequest write;
    write.method = request.mad.method();
    write.attribute = request.mad.attribute_id();
    write.mask = request.mad.get<&SaHeader::component_mask>();
    std::copy_n(request.mad.data(), write.data.size(), write.data.begin());
    write.requester = requester_of(request);
    write.from = request.address;
    write.unix_seconds = options.wall_clock.seconds(now_);
    return evaluate(w, write);
  }

  void add_chore(Instant now) {
    if (!world.paths || chore_waits || chores.next_deadline(state, options.wall_clock) > now)
      return;
    chore_waits = true;
    WriteQueue::Own own;
    own.change = [this](const World& w) {
      return chores.next(now_, w, options.wall_clock).value_or(Change{});
    };
    own.done = [this](bool durable) {
      chore_waits = false;
      chores.on_done(now_, durable);
    };
    writes.add(now, std::move(own));
  }

  /// What is to be made durable next; what came to its end without is answered.
  std::optional<Commit> next_commit() {
    if (first_commit) return std::exchange(first_commit, std::nullopt);
    if (!world.paths) return std::nullopt;
    const auto before = writes.waiting();
    auto batch = writes.next_batch(world, state,
                                   [this](const World& w, const Packet& p) { return judge(w, p); });
    if (writes.waiting() < before) admission.resume();
    finish_writes();
    if (!batch) return std::nullopt;
    aliases_to_store = batch->aliases;
    return Commit{++last_ticket, *std::move(batch)};
  }
  void finish_writes() {
    while (auto done = writes.next_finished()) {
      const auto* change = std::get_if<Change>(&done->outcome);
      if (change != nullptr) take_effects(*change);
      if (const auto* own = std::get_if<WriteQueue::Own>(&done->what)) {
        if (change != nullptr)
          for (const auto& line : change->log)
            say(ib::LogLevel::Info, line, ib::LogCause{"registration that ended"});
        if (own->done) own->done(change != nullptr);
      } else {
        answer_write(std::get<Packet>(done->what), done->outcome);
      }
    }
  }
  void take_effects(const Change& change) {
    multicast_changed = multicast_changed || change.routes_change;
    for (const auto& event : change.events) forwarding.on_event(*world.paths, event);
  }
  void answer_write(const Packet& request, const Outcome& outcome) {
    admission.resume();
    if (const auto* refusal = std::get_if<Refusal>(&outcome)) {
      complain(request, refusal->why);
      return refuse(request, refusal->status);
    }
    for (const auto& line : std::get<Change>(outcome).log) complain(request, line);
    if (request.mad.attribute_id() == attr::kInformInfo) note_life(request);
    const auto method = request.mad.method() == Method::Set ? Method::GetResp : Method::DeleteResp;
    auto answer = answer_to(request, method, status::kOk);
    put_record(answer, std::get<Change>(outcome).reply);
    ++counters.records;
    send(request, std::move(answer));
  }
  Tidied tidy(Instant now) {
    // What was let go on the way counts as well, so it is the most since that is compared.
    memory_most = std::max(memory_most, admission.bytes() + replays.bytes());
    admission.tidy();
    replays.tidy(now);
    const auto bytes = admission.bytes() + replays.bytes();
    Tidied done{memory_most - bytes >= kWorthATrim, replays.is_empty()};
    if (done.is_worth_a_trim) memory_most = bytes;
    return done;
  }

  /// Lines that nobody fetches do not grow without end.
  void say(ib::LogLevel level, std::string line, std::optional<ib::LogCause> cause = {}) {
    if (log.size() < kLogLinesMax) log.push_back({level, "sa", std::move(line), cause});
  }

  /// Single answers before segments, which are made when their turn comes.
  Packet* next_send(Instant now) {
    is_report = false;
    if (Packet* packet = sends.take()) return packet;
    const auto before = transfers.size();
    segment = transfers.next_send(now);
    if (transfers.size() < before) admission.resume();
    if (segment) return &*segment;
    segment = forwarding.reports.next_send(now);
    is_report = segment.has_value();
    return is_report ? &*segment : nullptr;
  }
  Duration reply_within() const {
    return is_report ? forwarding.reports.reply_within() : Duration{0};
  }

  void on_time(Instant now) {
    now_ = now;
    const auto before = transfers.size();
    transfers.on_time(now);
    if (transfers.size() < before) admission.resume();
    receiver.on_time(now);
    take_from_receiver();
    send_expired(now);
    tables_wait.on_time(now);
    writes.on_time(now);
    forward(now);
    add_chore(now);
  }
  void forward(Instant now) {
    if (!world.paths || withdrawn) return;
    forwarding.reports.on_time(now);
    forwarding.reports.step(now, world);
    while (const auto address = forwarding.reports.next_dead())
      chores.on_dead_subscriber(state, *address);
  }

  void on_commit_done(Instant now, std::uint64_t ticket, bool durable) {
    now_ = now;
    if (ticket != last_ticket) return;
    if (durable) ++revision;
    if (durable) keep_aliases();
    aliases_to_store.clear();
    writes.on_done(state, durable);
    finish_writes();
  }

  void keep_aliases() {
    if (aliases_to_store.empty()) return;
    for (const auto& alias : aliases_to_store) {
      if (alias.guid.value == 0) {
        durable_aliases.erase({alias.port_guid, alias.index});
      } else {
        durable_aliases[{alias.port_guid, alias.index}] = alias.guid;
      }
    }
    ++aliases_revision;
    aliases_changed = true;
  }

  /// Places that were given back leave the store when their ports hold nothing there any more.
  void publish(HoldingsPtr news) {
    world.holdings = std::move(news);
    if (!world.holdings->tables_to_come) tables_wait.release();
    const auto known = world.holdings->aliases_revision;
    if (forgetting_aliases || known != aliases_revision || emptied(world).empty()) return;
    forgetting_aliases = true;
    WriteQueue::Own own;
    own.change = [this, known](const World& w) {
      Change change;
      // A place may have been taken and given back since: then its port is asked once more.
      if (known == aliases_revision) change.batch.aliases_forgotten = emptied(w);
      return change;
    };
    own.done = [this](bool) { forgetting_aliases = false; };
    writes.add(now_, std::move(own));
  }

  void publish(Instant now, SnapshotPtr snapshot) {
    now_ = now;
    withdrawn = false;
    const auto before = world.paths;
    world.paths = std::make_shared<const Paths>(std::move(snapshot), before.get());
    const Snapshot* snapshot_before = before ? &before->snapshot() : nullptr;
    take_policies(now, snapshot_before);
    forwarding.on_snapshot(*world.paths);
    chores.on_snapshot(world, snapshot_before);
    if (auto taken = taken_from_ports(world); !taken.empty())
      add_own(now, [taken = std::move(taken)](const World& w) { return give_to_ports(w, taken); });
    if (auto gone = departed_members(world, snapshot_before); !gone.empty())
      add_own(now, [gone = std::move(gone)](const World& w) { return drop_members(w, gone); });
  }
  /// Members of partitions, and what rules fit which port, follow the ports that there are.
  void take_policies(Instant now, const Snapshot* before) {
    policy.partitions = partitions_of(*world.paths);
    policy.qos = Qos(options.qos, *world.paths, policy);
    if (before == nullptr || before->partitions != world.snapshot().partitions) take_groups(now);
  }
  void take_groups(Instant now) {
    policy.multicast.configured = groups_of(*world.snapshot().partitions, options.qos.get());
    if (!regroup(world).batch.empty()) add_own(now, regroup);
    auto origins = sl_origins(*world.snapshot().partitions, options.qos.get());
    for (const std::string& line : origins)
      if (std::ranges::find(told_sl_origins, line) == told_sl_origins.end())
        say(ib::LogLevel::Info, line);
    told_sl_origins = std::move(origins);
  }
  void say_who_is_no_longer_trusted() {
    const auto count = std::ranges::count_if(
        state.subscriptions.all(), [](const auto& s) { return s.trusted && !s.by_secret; });
    if (count != 0)
      say(ib::LogLevel::Warning,
          fmt::format("{} subscriptions were made with the SA key 1, which everybody knows: they "
                      "are not told of security traps until they are made with the present key",
                      count));
  }
  /// Whom nobody could reach speaks.
  void note_life(const Packet& request) {
    const auto address = reports_to(request.address);
    forwarding.reports.on_sign_of_life(address);
    if (const auto* port = world.paths->find(request.address.lid))
      chores.on_sign_of_life(port->guid, address);
  }
  void add_own(Instant now, std::function<Change(const World&)> change) {
    WriteQueue::Own own;
    own.change = std::move(change);
    writes.add(now, std::move(own));
  }
};

Server::Server(const Options& options, const store::Contents& contents)
    : impl_(std::make_unique<Impl>(options, contents)) {}
Server::~Server() = default;
Server::Server(Server&&) noexcept = default;
Server& Server::operator=(Server&&) noexcept = default;

void Server::publish(Instant now, SnapshotPtr snapshot) {
  impl_->publish(now, std::move(snapshot));
}

void Server::withdraw() { impl_->withdrawn = true; }

void Server::publish(HoldingsPtr holdings) { impl_->publish(std::move(holdings)); }

Limits Server::limits() const { return limits_of(impl_->options); }
void Server::set_limits(const Limits& limits) {
  sa::set_limits(limits, impl_->options);
  impl_->admission.set_options(impl_->options.admission);
  impl_->admission.resume();
}
void Server::reset_counters() { impl_->counters = {}; }
void Server::set_prefix_routes(std::vector<PrefixRoute> routes) {
  impl_->policy.prefix_routes = std::move(routes);
}

void Server::set_qos(std::shared_ptr<const policy::QosPolicy> rules) {
  impl_->options.qos = std::move(rules);
  if (!impl_->world.paths) return;
  impl_->policy.qos = Qos(impl_->options.qos, *impl_->world.paths, impl_->policy);
  impl_->take_groups(impl_->now_);
}

void Server::expect(const Packet& packet) const { impl_->replays.fetch(packet); }
void Server::on_packet(Instant now, const Packet& packet) { impl_->on_packet(now, packet); }

bool Server::work(Instant now) { return impl_->work(now); }
bool Server::has_work() const {
  return impl_->admission.has_next() || impl_->is_looking() || impl_->tables_wait.has_next();
}

void Server::on_notice(Instant now, const ib::wire::Notice& notice, ib::Lid from) {
  if (impl_->world.paths && !impl_->withdrawn)
    impl_->forwarding.on_notice(now, *impl_->world.paths, notice, from);
}

void Server::on_time(Instant now) { impl_->on_time(now); }

Instant Server::next_deadline() const {
  auto& i = *impl_;
  const Instant chore = i.world.paths && !i.chore_waits
                            ? i.chores.next_deadline(i.state, i.options.wall_clock)
                            : ib::kNever;
  return std::min(
      {i.transfers.next_deadline(), i.receiver.next_deadline(), i.admission.next_deadline(),
       i.writes.next_deadline(), chore, i.tables_wait.next_deadline(),
       i.multicast_changed ? i.multicast_again_at : ib::kNever,
       i.world.paths && !i.withdrawn ? i.forwarding.reports.next_deadline() : ib::kNever});
}

void Server::on_commit_done(Instant now, std::uint64_t ticket, bool durable) {
  impl_->on_commit_done(now, ticket, durable);
}

Server::Tidied Server::tidy(Instant now) { return impl_->tidy(now); }

Packet* Server::next_send(Instant now) { return impl_->next_send(now); }
ib::Duration Server::reply_within() const { return impl_->reply_within(); }

std::optional<Commit> Server::next_commit() { return impl_->next_commit(); }

std::optional<ib::LogEvent> Server::next_log() {
  if (impl_->log.empty()) return std::nullopt;
  auto event = std::move(impl_->log.front());
  impl_->log.pop_front();
  return event;
}

bool Server::take_multicast_changed() {
  auto& i = *impl_;
  if (!i.multicast_changed || i.now_ < i.multicast_again_at) return false;
  // Who takes it walks over all members: in a storm of joins not with every transaction.
  i.multicast_again_at =
      i.now_ + std::chrono::milliseconds(i.state.multicast.member_count() / kMembersPerMs);
  i.multicast_changed = false;
  return true;
}
bool Server::take_aliases_changed() { return std::exchange(impl_->aliases_changed, false); }
const Aliases::Map& Server::aliases() const { return impl_->durable_aliases; }
std::uint64_t Server::aliases_revision() const { return impl_->aliases_revision; }
std::vector<MlidMembers> Server::multicast() const { return impl_->state.by_mlid(); }
store::Contents Server::contents() const { return impl_->state.contents(); }
std::uint64_t Server::revision() const { return impl_->revision; }
const Counters& Server::counters() const {
  auto& c = impl_->counters;
  const auto& t = impl_->transfers.counters();
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

std::string run_commits(Server& server, store::Store& store, Instant now) {
  std::string failure;
  while (auto commit = server.next_commit()) {
    const auto done = store.commit(commit->batch);
    if (!done) failure = done.error().message;
    server.on_commit_done(now, commit->ticket, done.has_value());
  }
  return failure;
}

}  // namespace sm::sa
