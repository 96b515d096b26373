// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/transfers.h"

#include <algorithm>
#include <cstring>

#include "sm/sa/answers.h"

namespace sm::sa {

using ib::Instant;
using ib::mad::Packet;
namespace rmpp = ib::mad::rmpp;

namespace {

// RMPPStatus of ABORT: unspecified (IBA 13.6.2.1).
constexpr std::uint8_t kAbortUnspecified = 127;

// What was taken is let go in pieces of this size.
constexpr std::size_t kTrimBytes = 8192;

/// Bytes on their way from records to segments.
struct Carry {
  std::vector<std::byte> bytes;
  std::size_t at{0};

  void trim() {
    bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(at));
    bytes.shrink_to_fit();
    at = 0;
  }
};

rmpp::Sender::Fill fill_from(std::vector<std::byte> ready,
                             const std::shared_ptr<RecordSource>& source) {
  auto carry = std::make_shared<Carry>();
  carry->bytes = std::move(ready);
  carry->bytes.shrink_to_fit();
  return [carry, source](std::span<std::byte> out) -> std::size_t {
    std::size_t written = 0;
    while (written < out.size()) {
      if (carry->at >= kTrimBytes) carry->trim();
      if (carry->at == carry->bytes.size()) {
        if (!source) break;
        carry->bytes.resize(source->record_bytes());
        carry->at = 0;
        if (!source->next(carry->bytes.data())) {
          carry->bytes.clear();
          break;
        }
      }
      const auto n = std::min(out.size() - written, carry->bytes.size() - carry->at);
      std::memcpy(out.data() + written, carry->bytes.data() + carry->at, n);
      written += n;
      carry->at += n;
    }
    return written;
  };
}

}  // namespace

struct Transfers::Transfer {
  ib::mad::Address to;
  ib::Tid tid{};
  ib::wire::Mad head;
  std::shared_ptr<RecordSource> source;  // null when built whole
  std::unique_ptr<rmpp::Sender> sender;
  std::uint32_t resent_seen{0}, sent_seen{0};
};

Transfers::Transfers() = default;
Transfers::~Transfers() = default;

std::size_t Transfers::size() const { return speaking_.size() + waiting_.size(); }

std::size_t Transfers::size_of(ib::Lid to) const {
  std::ptrdiff_t n = 0;
  for (const List* list : {&speaking_, &waiting_})
    n += std::ranges::count_if(*list, [to](const Transfer& t) { return t.to.lid == to; });
  return static_cast<std::size_t>(n);
}

/// An ACK has the method of the request. One TID may be that of a request of each method.
bool Transfers::is_same(const Transfer& t, const Packet& packet) {
  return t.tid == packet.mad.tid() && t.to.lid == packet.address.lid &&
         t.to.qpn == packet.address.qpn && t.head.method() == response_to(packet.mad.method());
}

bool Transfers::has(const Packet& packet) const {
  const auto same = [&](const Transfer& t) { return is_same(t, packet); };
  return std::ranges::any_of(speaking_, same) || std::ranges::any_of(waiting_, same);
}

std::optional<Transfers::Place> Transfers::find(const Packet& packet) {
  for (List* list : {&waiting_, &speaking_}) {
    const auto at =
        std::ranges::find_if(*list, [&](const Transfer& t) { return is_same(t, packet); });
    if (at != list->end()) return Place{list, at};
  }
  return std::nullopt;
}

void Transfers::begin(const Packet& head, std::vector<std::byte> ready,
                      std::shared_ptr<RecordSource> source) {
  ++counters_.begun;
  Transfer t;
  t.to = head.address;
  t.tid = head.mad.tid();
  t.head = head.mad;
  t.source = std::move(source);
  std::optional<std::size_t> length;
  if (!t.source) length = ready.size();
  t.sender =
      std::make_unique<rmpp::Sender>(head.mad, fill_from(std::move(ready), t.source), length);
  speaking_.push_back(std::move(t));
}

bool Transfers::on_mad(Instant now, const Packet& packet) {
  const auto place = find(packet);
  if (!place || !place->transfer->sender->owns(packet.mad)) return false;
  place->transfer->sender->on_mad(now, packet.mad);
  settle(now, *place);
  return true;
}

void Transfers::on_time(Instant now) {
  for (List* list : {&speaking_, &waiting_}) {
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
  for (const List* list : {&speaking_, &waiting_})
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
  place.list->erase(place.transfer);
}

std::optional<Packet> Transfers::next_send(Instant now) {
  if (!last_words_.empty()) {
    auto packet = std::move(last_words_.front());
    last_words_.pop_front();
    return packet;
  }
  while (!speaking_.empty()) {
    const auto t = speaking_.begin();
    const auto mad = t->sender->next_send(now);
    if (t->source && t->source->gave_up()) return give_up(t);
    count(*t);
    // It has its next turn after the others, or when it is acknowledged.
    List& then = mad ? speaking_ : waiting_;
    then.splice(then.end(), speaking_, t);
    if (mad) return Packet{t->to, *mad, {}};
  }
  return std::nullopt;
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
