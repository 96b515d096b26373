// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/intake/transfers.h"

#include <algorithm>
#include <cstring>

#include "sm/sa/intake/answers.h"
#include "sm/sa/intake/replays.h"
#include "sm/sa/intake/searches.h"

namespace sm::sa {

using ib::Instant;
using ib::mad::Packet;
namespace rmpp = ib::mad::rmpp;

namespace {

// RMPPStatus of ABORT: unspecified (IBA 13.6.2.1).
constexpr std::uint8_t kAbortUnspecified = 127;

/// An ACK comes from a kernel, at once: a lost MAD costs a quarter of a second while nothing is
/// known of the requester, then a few round trips. The kernel's own sender waits 2 s, and who does
/// not answer is given up after as long as with that.
constexpr ib::Duration kWaitFirst = std::chrono::milliseconds(250);
constexpr ib::Duration kWaitLeast = std::chrono::milliseconds(50);
constexpr ib::Duration kPatience = std::chrono::seconds(8);
constexpr std::size_t kRequestersKnown = 4096;

constexpr std::size_t kSinglesOfAPlace = 8;

// Memory that was taken is released in parts of this size.
constexpr std::size_t kTrimBytes = 8192;

// What a segment may have looked at at once; what takes longer is looked for in steps.
constexpr std::size_t kCandidatesPerSegment = 256;
// So much is there before the Sender is asked for a segment: it reads one.
constexpr std::size_t kAhead = rmpp::kPayloadBytes;

}  // namespace

struct Transfers::Transfer {
  /// Bytes on their way from records to segments.
  struct Carry {
    std::shared_ptr<RecordSource> source;  // null when there is no more
    std::vector<std::byte> bytes;
    std::size_t at{0};

    std::size_t left() const { return bytes.size() - at; }
    void trim() {
      bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(at));
      bytes.shrink_to_fit();
      at = 0;
    }
  };
  static rmpp::Sender::Fill fill_from(const std::shared_ptr<Carry>& carry) {
    return [carry](std::span<std::byte> out) -> std::size_t {
      const auto n = std::min(out.size(), carry->left());
      if (n != 0) std::memcpy(out.data(), carry->bytes.data() + carry->at, n);
      carry->at += n;
      return n;
    };
  }

  ib::Lid who;
  std::uint64_t question{};
  ib::mad::Address to;
  ib::Tid tid{};
  ib::wire::Mad head;
  std::shared_ptr<Carry> carry;
  std::unique_ptr<rmpp::Sender> sender;
  std::uint32_t resent_seen{0}, sent_seen{0};
  bool is_single{false};  // one segment is all there is
};

Transfers::Transfers() = default;
Transfers::~Transfers() = default;

std::size_t Transfers::size() const { return speaking_.size() + waiting_.size() + short_.size(); }

std::size_t Transfers::places() const { return size() - singles_ + singles_ / kSinglesOfAPlace; }

std::size_t Transfers::places_of(ib::Lid who) const {
  std::size_t tables = 0, singles = 0;
  for (const List* list : {&speaking_, &waiting_, &short_})
    for (const Transfer& t : *list)
      if (t.who == who) ++(t.is_single ? singles : tables);
  return tables + singles / kSinglesOfAPlace;
}

/// An ACK has the method of the request. One TID may be that of a request of each method.
bool Transfers::is_same(const Transfer& t, const Packet& packet) {
  return t.tid == packet.mad.tid() && t.to.lid == packet.address.lid &&
         t.to.qpn == packet.address.qpn && t.head.method() == response_to(packet.mad.method());
}

bool Transfers::has(const Packet& request) {
  const auto place = find(request);
  if (!place) return false;
  if (place->transfer->question == fingerprint_of(request)) return true;
  if (place->transfer->is_single) --singles_;
  ++counters_.aborted;
  place->list->erase(place->transfer);
  return false;
}

std::optional<Transfers::Place> Transfers::find(const Packet& packet) {
  for (List* list : {&waiting_, &speaking_, &short_}) {
    const auto at =
        std::ranges::find_if(*list, [&](const Transfer& t) { return is_same(t, packet); });
    if (at != list->end()) return Place{list, at};
  }
  return std::nullopt;
}

void Transfers::begin(ib::Lid who, std::uint64_t question, const Packet& head,
                      std::vector<std::byte> ready, std::shared_ptr<RecordSource> source) {
  ++counters_.begun;
  Transfer t;
  t.who = who;
  t.question = question;
  t.to = head.address;
  t.tid = head.mad.tid();
  t.head = head.mad;
  std::optional<std::size_t> length;
  if (!source) length = ready.size();
  t.is_single = !source && ready.size() <= ib::wire::kSaDataBytes;
  if (t.is_single) ++singles_;
  t.carry = std::make_shared<Transfer::Carry>(Transfer::Carry{std::move(source), std::move(ready)});
  t.carry->bytes.shrink_to_fit();
  rmpp::SenderOptions options;
  options.ack_timeout = kWaitFirst;
  if (const auto known = round_trips_.find(t.to.lid); known != round_trips_.end())
    options.ack_timeout = std::clamp(known->second.timeout(), kWaitLeast, options.ack_timeout_max);
  options.ack_timeout_min = kWaitLeast;
  options.patience = kPatience;
  t.sender =
      std::make_unique<rmpp::Sender>(head.mad, Transfer::fill_from(t.carry), length, options);
  speaking_.push_back(std::move(t));
}

bool Transfers::on_mad(Instant now, const Packet& packet) {
  const auto place = find(packet);
  if (!place || !place->transfer->sender->owns(packet.mad)) return false;
  place->transfer->sender->on_mad(now, packet.mad);
  if (const auto sample = place->transfer->sender->take_sample()) {
    if (round_trips_.size() == kRequestersKnown) round_trips_.clear();
    round_trips_[packet.address.lid].add(*sample);
  }
  settle(now, *place);
  return true;
}

void Transfers::on_time(Instant now) {
  for (List* list : {&speaking_, &waiting_, &short_}) {
    for (auto t = list->begin(); t != list->end();) {
      const auto here = t++;
      if (here->sender->next_deadline() > now) continue;
      here->sender->on_time(now);
      settle(now, {list, here});
    }
  }
}

Instant Transfers::next_deadline() const {
  Instant soonest = ib::kNever;
  for (const List* list : {&speaking_, &waiting_, &short_})
    for (const auto& t : *list) soonest = std::min(soonest, t.sender->next_deadline());
  return soonest;
}

/// Something has happened to it: it may speak again, or has ended.
void Transfers::settle(Instant now, Place place) {
  rmpp::Sender& sender = *place.transfer->sender;
  if (sender.state() == rmpp::Sender::State::Sending) {
    if (place.list == &waiting_) speaking_.splice(speaking_.end(), waiting_, place.transfer);
    return;
  }
  while (auto mad = sender.next_send(now)) last_words_.push_back({place.transfer->to, *mad, {}});
  if (sender.state() == rmpp::Sender::State::Failed) ++counters_.aborted;
  if (place.transfer->is_single) --singles_;
  place.list->erase(place.transfer);
}

std::optional<Packet> Transfers::next_send(Instant now) {
  if (!last_words_.empty()) {
    auto packet = std::move(last_words_.front());
    last_words_.pop_front();
    return packet;
  }
  std::size_t candidates = kCandidatesPerSegment;
  while (!speaking_.empty()) {
    const auto t = speaking_.begin();
    if (!provide(*t, candidates)) {
      short_.splice(short_.end(), speaking_, t);
      continue;
    }
    if (t->carry->source && t->carry->source->gave_up()) return give_up(t);
    const auto mad = t->sender->next_send(now);
    count(*t);
    // It has its next turn after the others, or when it is acknowledged.
    List& then = mad ? speaking_ : waiting_;
    then.splice(then.end(), speaking_, t);
    if (mad) return Packet{t->to, *mad, {}};
  }
  return std::nullopt;
}

void Transfers::step() {
  if (short_.empty()) return;
  const auto t = short_.begin();
  std::size_t candidates = kCandidatesPerStep;
  // What is still short has its next turn after the others.
  List& then = provide(*t, candidates) ? speaking_ : short_;
  then.splice(then.end(), short_, t);
}

/// Whether there is enough for the next segment, or the end; looks for it if need be.
bool Transfers::provide(Transfer& t, std::size_t& candidates) {
  auto& carry = *t.carry;
  if (carry.at >= kTrimBytes) carry.trim();
  while (carry.source && carry.left() < kAhead) {
    const auto before = carry.bytes.size();
    carry.bytes.resize(before + carry.source->record_bytes());
    const auto what = carry.source->next_among(carry.bytes.data() + before, candidates);
    if (what == RecordSource::Found::Record) continue;
    carry.bytes.resize(before);
    if (what == RecordSource::Found::NotYet) return false;
    if (carry.source->gave_up()) return true;  // which ends the table
    carry.source = nullptr;
  }
  return true;
}

void Transfers::count(Transfer& t) {
  counters_.segments += t.sender->segments_sent() - t.sent_seen;
  t.sent_seen = t.sender->segments_sent();
  counters_.segments_resent += t.sender->retries() - t.resent_seen;
  t.resent_seen = t.sender->retries();
}

/// The rest of the table would take too long to find: better no table than half of one.
Packet Transfers::give_up(List::iterator t) {
  ib::wire::RmppHeader header;
  header.version = 1;
  header.type = static_cast<std::uint8_t>(rmpp::Type::Abort);
  header.active = true;
  header.status = kAbortUnspecified;
  Packet packet{t->to, t->head, {}};
  ib::wire::encode(header, packet.mad.bytes.data());
  ++counters_.aborted;
  speaking_.erase(t);
  return packet;
}

}  // namespace sm::sa
