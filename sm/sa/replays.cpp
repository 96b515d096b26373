// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/replays.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "sm/sa/answers.h"

namespace sm::sa {
namespace {

using ib::mad::Packet;
using ib::wire::Method;
namespace attr = ib::wire::attr;

std::uint64_t mix(std::uint64_t h, std::uint64_t word) {
  h = (h ^ word) * 0x9E3779B97F4A7C15ULL;
  return h ^ (h >> 29);
}

/// Eight bytes at a time; a tail is filled up with zeros. Who finds two requests with the same
/// fingerprint can mislead itself and nobody else.
std::uint64_t fingerprint(std::uint64_t seed, const std::byte* data, std::size_t bytes) {
  std::uint64_t h = mix(seed, bytes);
  for (std::size_t at = 0; at < bytes; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, data + at, std::min<std::size_t>(8, bytes - at));
    h = mix(h, word);
  }
  return h;
}

std::uint64_t fingerprint(const ib::wire::Mad& mad) {
  return fingerprint(0, mad.bytes.data(), mad.bytes.size());
}

/// How much of a record says what it is about; the rest is what is wished of it.
std::size_t subject_bytes(std::uint16_t attribute) {
  switch (attribute) {
    case attr::kMcMemberRecord:
      return 32;  // MGID, PortGID
    case attr::kServiceRecord:
      return 26;  // ServiceID, ServiceGID, ServiceP_Key
    case attr::kInformInfo:
      return 22;  // GID, LID range; not Subscribe
    case attr::kGuidInfoRecord:
      return 3;  // LID, BlockNum
    default:
      return 0;
  }
}

}  // namespace

std::size_t Replays::KeyHash::operator()(const Key& key) const {
  const std::uint64_t where = (std::uint64_t{key.lid} << 48) | (std::uint64_t{key.qpn} << 24) |
                              (std::uint64_t{key.method} << 16) | key.attribute;
  return static_cast<std::size_t>(mix(mix(0, key.tid), where));
}

Replays::Key Replays::key_of(const Packet& request) {
  return {request.mad.tid().value, request.address.qpn, request.address.lid.value,
          request.mad.attribute_id(), static_cast<std::uint8_t>(request.mad.method())};
}

bool Replays::is_write(const Key& key) {
  return key.method == static_cast<std::uint8_t>(Method::Set) ||
         key.method == static_cast<std::uint8_t>(Method::Delete);
}

Replays::Seen Replays::look(ib::Instant now, const Packet& request) {
  expire(now);
  const auto found = entries_.find(key_of(request));
  if (found == entries_.end()) return Seen::Never;
  const Entry& entry = found->second;
  const auto first = fingerprint(request.mad);
  if (entry.first != first ||
      entry.whole != fingerprint(first, request.more.data(), request.more.size()))
    return Seen::Never;  // a TID used for something else
  return entry.until == ib::kNever ? Seen::UnderWay : Seen::Answered;
}

Packet Replays::answer(const Packet& request) const {
  // The way back is that of the latest request; an answer of another GRH would not get there.
  Packet answer = answer_to(request, Method::GetResp, 0);
  answer.mad.bytes = entries_.at(key_of(request)).answer;
  return answer;
}

std::optional<Packet> Replays::answer_to_first_segment(const Packet& segment) const {
  const auto found = entries_.find(key_of(segment));
  if (found == entries_.end() || found->second.until == ib::kNever ||
      found->second.first != fingerprint(segment.mad))
    return std::nullopt;
  return answer(segment);
}

void Replays::begin(const Packet& request) {
  const Key key = key_of(request);
  if (const auto before = entries_.find(key); before != entries_.end()) erase(before);
  Entry& entry = entries_[key];
  entry.first = fingerprint(request.mad);
  entry.whole = fingerprint(entry.first, request.more.data(), request.more.size());
  entry.serial = ++serial_;
  if (!is_write(key)) return;
  if (const auto bytes = subject_bytes(key.attribute); bytes != 0)
    entry.subject = fingerprint(key.attribute, request.mad.data(), bytes);
}

void Replays::end(ib::Instant now, const Packet& request, const Packet& answer) {
  const Key key = key_of(request);
  const auto found = entries_.find(key);
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  const bool write = is_write(key);
  entry.until = now + (write ? options_.writes_for : options_.reads_for);
  entry.answer = answer.mad.bytes;
  auto& order = write ? writes_ : reads_;
  order.push_back({entry.until, entry.serial, key});
  if (entry.subject != 0) {
    // What was said about the same thing before is out of date: if it comes again it means it.
    const auto [latest, fresh] = latest_.try_emplace(entry.subject, key);
    if (!fresh && !(latest->second == key)) {
      const auto older = entries_.find(std::exchange(latest->second, key));
      if (older != entries_.end() && older->second.subject == entry.subject &&
          older->second.until != ib::kNever)
        erase(older);
    }
  }
  while (order.size() > (write ? options_.writes_max : options_.reads_max)) drop_oldest(order);
}

void Replays::forget(const Packet& request) {
  if (const auto found = entries_.find(key_of(request)); found != entries_.end()) erase(found);
}

void Replays::erase(Entries::iterator entry) {
  const auto latest = latest_.find(entry->second.subject);
  if (latest != latest_.end() && latest->second == entry->first) latest_.erase(latest);
  entries_.erase(entry);
}

void Replays::drop_oldest(std::deque<Kept>& order) {
  const Kept& kept = order.front();
  const auto found = entries_.find(kept.key);
  if (found != entries_.end() && found->second.serial == kept.serial) erase(found);
  order.pop_front();
}

void Replays::expire(ib::Instant now) {
  for (auto* order : {&reads_, &writes_})
    while (!order->empty() && order->front().until <= now) drop_oldest(*order);
}

}  // namespace sm::sa
