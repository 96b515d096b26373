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

/// A record that the Sender took only part of.
struct Carry {
  std::vector<std::byte> bytes;
  std::size_t at{0};
};

rmpp::Sender::Fill fill_from(std::vector<std::byte> ready,
                             const std::shared_ptr<RecordSource>& source) {
  auto carry = std::make_shared<Carry>();
  carry->bytes = std::move(ready);
  return [carry, source](std::span<std::byte> out) -> std::size_t {
    std::size_t written = 0;
    while (written < out.size()) {
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

Transfers::Transfers(std::deque<Packet>& sends) : sends_(sends) {}
Transfers::~Transfers() = default;

std::size_t Transfers::size() const { return transfers_.size(); }

std::size_t Transfers::size_of(ib::Lid to) const {
  return static_cast<std::size_t>(std::count_if(
      transfers_.begin(), transfers_.end(), [to](const Transfer& t) { return t.to.lid == to; }));
}

/// An ACK has the method of the request. One TID may be that of a request of each method.
bool Transfers::is_same(const Transfer& t, const Packet& packet) {
  return t.tid == packet.mad.tid() && t.to.lid == packet.address.lid &&
         t.to.qpn == packet.address.qpn && t.head.method() == response_to(packet.mad.method());
}

bool Transfers::has(const Packet& packet) const {
  return std::any_of(transfers_.begin(), transfers_.end(),
                     [&](const Transfer& t) { return is_same(t, packet); });
}

void Transfers::begin(Instant now, const Packet& head, std::vector<std::byte> ready,
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
  transfers_.push_back(std::move(t));
  pump(now, std::prev(transfers_.end()));
}

bool Transfers::on_mad(Instant now, const Packet& packet) {
  const auto at = std::find_if(transfers_.begin(), transfers_.end(),
                               [&](const Transfer& t) { return is_same(t, packet); });
  if (at == transfers_.end() || !at->sender->owns(packet.mad)) return false;
  at->sender->on_mad(now, packet.mad);
  pump(now, at);
  return true;
}

void Transfers::on_time(Instant now) {
  for (auto t = transfers_.begin(); t != transfers_.end();) {
    const auto here = t++;
    if (here->sender->next_deadline() > now) continue;
    here->sender->on_time(now);
    pump(now, here);
  }
}

Instant Transfers::next_deadline() const {
  Instant soonest = ib::kNever;
  for (const auto& t : transfers_) soonest = std::min(soonest, t.sender->next_deadline());
  return soonest;
}

/// Moves what the sender wants to say into the queue; forgets the transfer when it has ended.
void Transfers::pump(Instant now, List::iterator t) {
  while (auto mad = t->sender->next_send(now)) {
    if (t->source && t->source->gave_up()) return abort(t);
    sends_.push_back(Packet{t->to, *mad, {}});
  }
  counters_.segments += t->sender->segments_sent() - t->sent_seen;
  t->sent_seen = t->sender->segments_sent();
  counters_.segments_resent += t->sender->retries() - t->resent_seen;
  t->resent_seen = t->sender->retries();
  if (t->sender->state() == rmpp::Sender::State::Sending) return;
  if (t->sender->state() == rmpp::Sender::State::Failed) ++counters_.aborted;
  transfers_.erase(t);
}

/// The rest of the table would take too long to find: better no table than half of one.
void Transfers::abort(List::iterator t) {
  ib::wire::RmppHeader header;
  header.version = 1;
  header.type = static_cast<std::uint8_t>(rmpp::Type::Abort);
  header.active = true;
  header.status = kAbortUnspecified;
  Packet packet{t->to, t->head, {}};
  ib::wire::encode(header, packet.mad.bytes.data());
  sends_.push_back(std::move(packet));
  ++counters_.aborted;
  transfers_.erase(t);
}

}  // namespace sm::sa
