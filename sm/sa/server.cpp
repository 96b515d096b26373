// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/server.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>

#include "libdiag/mad/rmpp.h"
#include "libdiag/wire/gmp_attributes.h"
#include "sm/sa/answers.h"
#include "sm/sa/chores.h"
#include "sm/sa/records.h"
#include "sm/sa/transfers.h"
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

// A client that missed the answer to a join repeats it within its own time-outs.
constexpr Duration kReplayFor = std::chrono::seconds(30);
constexpr std::size_t kReplaysMax = 8192;
// Tables up to this size are built whole, so that their length is announced and the snapshot let
// go.
constexpr std::size_t kBuiltWholeMax = 200U * 256;
constexpr std::uint8_t kNoResponseTime = 0x1F;

/// ClassPortInfo says what is there, not what might be one day (IBA 15.2.5.1 and the table of
/// capability bits).
constexpr std::uint16_t kCapUdMulticast = 1U << 9, kCapPortInfoMatch = 1U << 13;
constexpr std::uint32_t kCap2FullPortInfo = 1U << 6, kCap2ExtendedSpeeds = 1U << 7,
                        kCap2PortInfoMatch2 = 1U << 10, kCap2SendOnlyFullMember = 1U << 12,
                        kCap2Width2x = 1U << 13, kCap2Hdr = 1U << 15, kCap2Ndr = 1U << 17;

/// Whether two requests are one, sent twice.
bool same_request(const Mad& a, const Mad& b) { return a == b; }

}  // namespace

struct Server::Impl {
  Impl(const Options& o, const store::Contents& contents) : options(o), state(contents) {
    if (!options.default_ipoib_group) return;
    auto group = default_ipoib_group();
    if (state.multicast.find(group.mgid) != nullptr) return;
    for (const auto& other : state.multicast.contents().groups)
      if (other.mlid == group.mlid) group.mlid = next_mlid_after_all();
    store::Batch batch;
    batch.groups.push_back(group);
    state.apply(batch);
    multicast_changed = true;
    commits.push_back({++last_ticket, std::move(batch)});
    initial_ticket = last_ticket;
  }

  Options options;
  State state;
  Policy policy;
  std::shared_ptr<const Paths> paths;
  Counters counters;
  bool multicast_changed{false};

  std::deque<Packet> sends;
  Transfers transfers{sends};

  // Writes wait here in order; the first is being made durable, or is the next to be looked at.
  std::deque<Packet> writes;
  std::optional<Change> in_commit;
  bool own_in_commit{false};  // nobody waits for the answer
  Chores chores;
  std::uint64_t last_ticket{0};
  std::uint64_t initial_ticket{0};
  std::deque<Commit> commits;

  struct Replay {
    Mad request;
    Packet answer;
    Instant until;
  };
  using MemberKey = std::pair<ib::Gid, ib::Gid>;
  std::map<MemberKey, Replay> replays;  // the last write of each member
  std::deque<std::pair<Instant, MemberKey>> replay_order;

  ib::Lid next_mlid_after_all() const {
    ib::Lid highest = ib::kLidMulticastMin;
    for (const auto& g : state.multicast.contents().groups) highest = std::max(highest, g.mlid);
    return ib::Lid{static_cast<std::uint16_t>(highest.value + 1)};
  }

  // ---- answering

  /// Refused: the request comes back with a status.
  void refuse(const Packet& request, std::uint16_t mad_status) {
    const auto method = response_to(request.mad.method());
    if (!method) {
      ++counters.dropped_stray;
      return;
    }
    send(answer_to(request, *method, mad_status));
  }
  void send(Packet answer) {
    ++counters.answers;
    if (answer.mad.status() != 0) ++counters.errors;
    sends.push_back(std::move(answer));
  }
  World world() const { return {paths, state, policy, options.quotas}; }

  // ---- requests

  void on_packet(Instant now, const Packet& packet) {
    const Mad& mad = packet.mad;
    if (mad.mgmt_class() != MgmtClass::SubnAdm) {
      ++counters.dropped_malformed;
      return;
    }
    if (rmpp::is_active(mad) && is_for_transfer(mad)) {
      // An ACK of a table that is done counts as stray.
      if (!transfers.on_mad(now, packet)) ++counters.dropped_stray;
      return;
    }
    if (ib::wire::is_response(mad.method())) {
      ++counters.dropped_stray;
      return;
    }
    ++counters.requests;
    const auto key = mad.get<&SaHeader::sm_key>();
    if (key != 0 && key != options.sm_key) {
      ++counters.dropped_sm_key;
      return;
    }
    if (!paths) {
      ++counters.dropped_not_ready;  // the client asks again
      return;
    }
    if (mad.get<&MadHeader::base_version>() != kBaseVersion ||
        mad.get<&MadHeader::class_version>() != kClassVersion)
      return refuse(packet, status::kBadVersion);
    dispatch(now, packet);
  }

  void dispatch(Instant now, const Packet& packet) {
    const auto attribute = packet.mad.attribute_id();
    switch (packet.mad.method()) {
      case Method::Get:
        if (attribute == attr::kClassPortInfo) return answer_class_port_info(packet);
        if (!is_known_record(attribute)) return refuse(packet, status::kBadAttribute);
        return answer_get(packet);
      case Method::GetTable:
        if (!is_known_record(attribute)) return refuse(packet, status::kBadAttribute);
        return begin_table(now, packet);
      case Method::Set:
      case Method::Delete:
        if (!is_writable(attribute)) return refuse(packet, status::kBadAttribute);
        return take_write(now, packet);
      default:
        return refuse(packet, status::kBadMethod);
    }
  }

  void answer_class_port_info(const Packet& request) {
    ib::wire::ClassPortInfo info;
    info.class_version = kClassVersion;
    info.capability_mask = kCapUdMulticast | kCapPortInfoMatch;
    info.capability_mask2 = kCap2FullPortInfo | kCap2ExtendedSpeeds | kCap2PortInfoMatch2 |
                            kCap2SendOnlyFullMember | kCap2Width2x | kCap2Hdr | kCap2Ndr;
    info.resp_time_value = options.resp_time_value;
    info.redirect_qp = 1;
    info.redirect_q_key = ib::wire::kQp1QKey;
    info.trap_q_key = ib::wire::kQp1QKey;
    auto answer = answer_to(request, Method::GetResp, status::kOk);
    put_record(answer, reply_of(info));
    send(std::move(answer));
  }

  Query query_of(const Packet& request) const {
    Query q;
    q.attribute = request.mad.attribute_id();
    q.modifier = request.mad.attribute_modifier();
    q.mask = request.mad.get<&SaHeader::component_mask>();
    std::copy_n(request.mad.data(), q.wanted.size(), q.wanted.begin());
    q.single = request.mad.method() == Method::Get;
    q.requester = requester_of(request);
    return q;
  }
  Requester requester_of(const Packet& request) const {
    Requester r;
    r.port = paths->find(request.address.lid);
    r.trusted = request.mad.get<&SaHeader::sm_key>() == options.sm_key;
    return r;
  }

  void answer_get(const Packet& request) {
    const auto query = query_of(request);
    auto opened = open_query(world(), query);
    if (const auto* refusal = std::get_if<std::uint16_t>(&opened)) return refuse(request, *refusal);
    auto& source = *std::get<std::unique_ptr<RecordSource>>(opened);
    std::vector<std::byte> record(source.record_bytes()), second(source.record_bytes());
    if (!source.next(record.data()))
      return refuse(request, source.gave_up() ? status::kSaNoResources : status::kSaNoRecords);
    // Of the paths there are, any one will do; of everything else exactly one must be meant.
    if (query.attribute != attr::kPathRecord && source.next(second.data()))
      return refuse(request, status::kSaTooManyRecords);
    auto answer = answer_to(request, Method::GetResp, status::kOk);
    put_record(answer, record);
    ++counters.records;
    send(std::move(answer));
  }

  // ---- tables

  static bool is_for_transfer(const Mad& mad) {
    const auto type = mad.get<&ib::wire::RmppHeader::type>();
    return type >= static_cast<std::uint8_t>(rmpp::Type::Ack) &&
           type <= static_cast<std::uint8_t>(rmpp::Type::Abort);
  }
  void begin_table(Instant now, const Packet& request) {
    if (transfers.has(request)) {
      ++counters.replayed;  // asked again while the answer is under way
      return;
    }
    if (!options.kernel_rmpp && transfers.size() >= options.transfers_max)
      return refuse(request, status::kBusy);
    auto opened = open_query(world(), query_of(request));
    if (const auto* refusal = std::get_if<std::uint16_t>(&opened)) return refuse(request, *refusal);
    std::shared_ptr<RecordSource> source =
        std::move(std::get<std::unique_ptr<RecordSource>>(opened));

    const std::size_t whole_max =
        options.kernel_rmpp ? options.kernel_table_bytes_max : kBuiltWholeMax;
    std::vector<std::byte> ready;
    bool at_end = false;
    while (!at_end && ready.size() < whole_max) {
      const auto before = ready.size();
      ready.resize(before + source->record_bytes());
      if (!source->next(ready.data() + before)) {
        ready.resize(before);
        at_end = true;
      }
    }
    if (source->gave_up()) return refuse(request, status::kSaNoResources);
    auto answer = answer_to(request, Method::GetTableResp, status::kOk);
    std::fill_n(answer.mad.data(), ib::wire::kSaDataBytes, std::byte{0});
    if (!ready.empty())
      answer.mad.set<&SaHeader::attribute_offset>(
          static_cast<std::uint16_t>(source->record_bytes() / 8));
    counters.records += ready.size() / source->record_bytes();
    answer.mad.set<&ib::wire::RmppHeader::response_time>(kNoResponseTime);
    if (options.kernel_rmpp) return send_whole(request, std::move(answer), ready, at_end);

    ++counters.answers;
    transfers.begin(now, answer, std::move(ready), at_end ? nullptr : source);
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
    send(std::move(answer));
  }

  // ---- joins and leaves

  static MemberKey key_of(const Packet& request) {
    const auto record = ib::wire::decode<McMemberRecord>(request.mad.data());
    return {record.mgid, record.port_gid};
  }

  void take_write(Instant now, const Packet& request) {
    forget_replays(now);
    const auto known = replays.find(key_of(request));
    if (known != replays.end() && same_request(known->second.request, request.mad)) {
      ++counters.replayed;
      sends.push_back(known->second.answer);
      sends.back().address = answer_to(request, Method::GetResp, 0).address;
      return;
    }
    for (const auto& waiting : writes) {
      if (waiting.address.lid == request.address.lid && same_request(waiting.mad, request.mad)) {
        ++counters.replayed;  // its answer is on the way
        return;
      }
    }
    if (writes.size() >= options.writes_pending_max) return refuse(request, status::kBusy);
    writes.push_back(request);
    next_write(now);
  }

  /// Looks at waiting writes until one has to be made durable.
  void next_write(Instant now) {
    if (paths && !in_commit) {
      in_commit = chores.next(now, world(), options.wall_clock);
      own_in_commit = in_commit.has_value();
      if (in_commit) commits.push_back({++last_ticket, in_commit->batch});
    }
    while (!in_commit && !writes.empty()) {
      const Packet& request = writes.front();
      WriteRequest w;
      w.method = request.mad.method();
      w.attribute = request.mad.attribute_id();
      w.mask = request.mad.get<&SaHeader::component_mask>();
      std::copy_n(request.mad.data(), w.data.size(), w.data.begin());
      w.requester = requester_of(request);
      w.from = request.address;
      w.unix_seconds = options.wall_clock.seconds(now);
      auto outcome = evaluate(world(), w);
      if (const auto* refusal = std::get_if<Refusal>(&outcome)) {
        refuse(request, refusal->status);
        writes.pop_front();
        continue;
      }
      in_commit = std::get<Change>(std::move(outcome));
      if (in_commit->batch.empty()) {
        finish_write(now, true);
      } else {
        commits.push_back({++last_ticket, in_commit->batch});
      }
    }
  }

  void finish_own(Instant now, bool durable) {
    const auto change = std::move(*in_commit);
    in_commit.reset();
    own_in_commit = false;
    chores.on_done(now, durable);
    if (durable) state.apply(change.batch);
  }

  void finish_write(Instant now, bool durable) {
    if (own_in_commit) return finish_own(now, durable);
    const Packet request = std::move(writes.front());
    writes.pop_front();
    const auto change = std::move(*in_commit);
    in_commit.reset();
    if (!durable) return refuse(request, status::kSaNoResources);
    state.apply(change.batch);
    multicast_changed = multicast_changed || change.routes_change;
    const auto method = request.mad.method() == Method::Set ? Method::GetResp : Method::DeleteResp;
    auto answer = answer_to(request, method, status::kOk);
    put_record(answer, change.reply);
    ++counters.records;
    remember(now, request, answer);
    send(std::move(answer));
  }

  void remember(Instant now, const Packet& request, const Packet& answer) {
    const auto key = key_of(request);
    replays[key] = {request.mad, answer, now + kReplayFor};
    replay_order.emplace_back(now + kReplayFor, key);
    forget_replays(now);
  }
  void forget_replays(Instant now) {
    while (!replay_order.empty() &&
           (replay_order.front().first <= now || replay_order.size() > kReplaysMax)) {
      const auto& [until, key] = replay_order.front();
      const auto at = replays.find(key);
      if (at != replays.end() && at->second.until <= until) replays.erase(at);
      replay_order.pop_front();
    }
  }

  void on_commit_done(Instant now, std::uint64_t ticket, bool durable) {
    if (ticket == initial_ticket || !in_commit || ticket != last_ticket) return;
    finish_write(now, durable);
    next_write(now);
  }
};

Server::Server(const Options& options, const store::Contents& contents)
    : impl_(std::make_unique<Impl>(options, contents)) {}
Server::~Server() = default;
Server::Server(Server&&) noexcept = default;
Server& Server::operator=(Server&&) noexcept = default;

void Server::publish(Instant, SnapshotPtr snapshot) {
  impl_->paths = std::make_shared<const Paths>(std::move(snapshot), impl_->paths.get());
}

void Server::on_packet(Instant now, const Packet& packet) { impl_->on_packet(now, packet); }

void Server::on_time(Instant now) {
  impl_->transfers.on_time(now);
  impl_->next_write(now);
}

Instant Server::next_deadline() const {
  const auto& i = *impl_;
  const Instant chore =
      i.paths && !i.in_commit ? i.chores.next_deadline(i.state, i.options.wall_clock) : ib::kNever;
  return std::min(i.transfers.next_deadline(), chore);
}

void Server::on_commit_done(Instant now, std::uint64_t ticket, bool durable) {
  impl_->on_commit_done(now, ticket, durable);
}

std::optional<Packet> Server::next_send(Instant) {
  if (impl_->sends.empty()) return std::nullopt;
  auto packet = std::move(impl_->sends.front());
  impl_->sends.pop_front();
  return packet;
}

std::optional<Commit> Server::next_commit() {
  if (impl_->commits.empty()) return std::nullopt;
  auto commit = std::move(impl_->commits.front());
  impl_->commits.pop_front();
  return commit;
}

bool Server::take_multicast_changed() { return std::exchange(impl_->multicast_changed, false); }
std::vector<MlidMembers> Server::multicast() const { return impl_->state.multicast.by_mlid(); }
store::Contents Server::contents() const { return impl_->state.contents(); }
const Counters& Server::counters() const {
  auto& c = impl_->counters;
  const auto& t = impl_->transfers.counters();
  c.transfers = t.begun;
  c.transfers_aborted = t.aborted;
  c.segments = t.segments;
  c.segments_resent = t.segments_resent;
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
