// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/intake/replays.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "sm/sa/intake/answers.h"
#include "sm/sa/intake/fold.h"
#include "sm/sa/registry/writes.h"

namespace sm::sa {
namespace {

using ib::mad::Packet;
using ib::wire::Method;

/// Whether all of some cache lines is zero.
bool is_zero(const std::byte* data, std::size_t bytes) {
  constexpr std::size_t kCacheLine = 64;
  std::uint64_t any = 0;
  for (std::size_t at = 0; at < bytes; at += kCacheLine) {
    std::array<std::uint64_t, kCacheLine / sizeof any> words;
    std::memcpy(words.data(), data + at, kCacheLine);
    any |= (words[0] | words[1]) | (words[2] | words[3]) | (words[4] | words[5]) |
           (words[6] | words[7]);
  }
  return any == 0;
}

/// 64 bytes at a time, in four chains that do not wait for each other; a tail is filled up with
/// zeros, and of zeros at the end of a MAD only their number counts. Who finds two requests with
/// the same fingerprint can mislead itself and nobody else.
std::uint64_t fingerprint(std::uint64_t seed, const std::byte* data, std::size_t bytes) {
  constexpr std::size_t kChains = 4, kRound = 16 * kChains;
  constexpr std::array<std::uint64_t, kChains> kOdd{0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F,
                                                    0x165667B19E3779F9, 0xD6E8FEB86659FD93};
  std::uint64_t a = seed ^ bytes, b = 1, c = 2, d = 3;
  const auto take_round = [&](const std::byte* from) {
    std::array<std::uint64_t, 2 * kChains> words;
    std::memcpy(words.data(), from, kRound);
    a = fold(words[0] ^ kOdd[0], words[1] ^ a);
    b = fold(words[2] ^ kOdd[1], words[3] ^ b);
    c = fold(words[4] ^ kOdd[2], words[5] ^ c);
    d = fold(words[6] ^ kOdd[3], words[7] ^ d);
  };
  for (; bytes >= kRound; bytes -= kRound, data += kRound) take_round(data);
  if (bytes != 0) {
    std::array<std::byte, kRound> tail{};
    std::memcpy(tail.data(), data, bytes);
    take_round(tail.data());
  }
  return fold(fold(a ^ kOdd[1], b ^ kOdd[2]) ^ kOdd[3], fold(c ^ kOdd[3], d ^ kOdd[0]) ^ kOdd[1]);
}

std::uint64_t fingerprint(const ib::wire::Mad& mad) {
  constexpr std::size_t kHalf = ib::wire::kMadBytes / 2;
  const bool is_short = is_zero(mad.bytes.data() + kHalf, kHalf);
  return fingerprint(0, mad.bytes.data(), is_short ? kHalf : ib::wire::kMadBytes);
}

/// Of all of a message whose first MAD has the fingerprint `first`.
std::uint64_t fingerprint_of_all(std::uint64_t first, const Packet& message) {
  return message.more.empty() ? first
                              : fingerprint(first, message.more.data(), message.more.size());
}

/// What a write is about, as a number; 0: nothing that another one could be about, too.
std::uint64_t subject_of(const RequestKey& key, const std::byte* record) {
  const auto* kind = find_kind(key.attribute);
  if (kind == nullptr) return 0;
  std::array<std::byte, ib::wire::kSaDataBytes> words;
  std::copy_n(record, kind->subject_bytes, words.begin());
  if (kind->wish_byte) words[*kind->wish_byte] = std::byte{0};
  const auto whose = kind->is_requesters ? std::uint64_t{key.lid} << 32 | key.qpn : 0;
  return fingerprint(whose ^ key.attribute, words.data(), kind->subject_bytes);
}

/// Whether what `request` registers ends by itself.
bool is_lease(const Packet& request) {
  const auto* kind = find_kind(request.mad.attribute_id());
  return kind != nullptr && kind->is_lease != nullptr && kind->is_lease(request.mad);
}

}  // namespace

std::uint64_t fingerprint_of(const Packet& request) {
  return fingerprint_of_all(fingerprint(request.mad), request);
}

RequestKey Replays::key_of(const Packet& request) {
  return {request.mad.tid().value, request.address.qpn, request.address.lid.value,
          request.mad.attribute_id(), static_cast<std::uint8_t>(request.mad.method())};
}

bool Replays::is_write(const RequestKey& key) {
  return key.method == static_cast<std::uint8_t>(Method::Set) ||
         key.method == static_cast<std::uint8_t>(Method::Delete);
}

void Replays::fetch(const Packet& request) const {
  const auto key = key_of(request);
  log_of(key).fetch(key.tag);
}

Replays::Seen Replays::find(ib::Instant now, const Packet& request) {
  expire(now);
  auto& [asked, is_in_log] = looked_at_;
  asked.key = key_of(request);
  asked.first = fingerprint(request.mad);
  asked.whole = fingerprint_of_all(asked.first, request);
  asked.subject = is_write(asked.key) ? subject_of(asked.key, request.mad.data()) : 0;
  // Else it is a TID used for something else.
  const auto is_same = [&](std::uint64_t first, std::uint64_t whole) {
    return first == asked.first && whole == asked.whole;
  };
  const auto found = log_of(asked.key).find(asked.key);
  is_in_log = found.entry != nullptr;
  if (const auto* other = under_way_.find(asked.key))
    return is_same(other->first, other->whole) ? Seen::UnderWay : Seen::Never;
  if (!is_in_log || is_too_old(now, *found.entry)) return Seen::Never;
  return is_same(found.entry->first(), found.entry->whole()) ? Seen::Answered : Seen::Never;
}

bool Replays::is_too_old(ib::Instant now, const AnswerLog::Entry& entry) const {
  return entry.is_outdated() &&
         entry.until() - options_.writes_for + options_.outdated_writes_for <= now;
}

Packet Replays::addressed(const Packet& request, const AnswerLog::Found& found) const {
  // The way back is that of the latest request; an answer of another GRH would not get there.
  Packet answer = answer_to(request, Method::GetResp, ib::wire::status::kOk);
  if (found.entry->is_record()) {
    put_record(answer, found.answer);
    return answer;
  }
  answer.mad.bytes.fill(std::byte{0});
  std::ranges::copy(found.answer, answer.mad.bytes.begin());
  return answer;
}

Packet Replays::answer(const Packet& request) const {
  const auto key = key_of(request);
  return addressed(request, log_of(key).find(key));
}

std::optional<Packet> Replays::answer_to_first_segment(const Packet& segment) const {
  const auto key = key_of(segment);
  const auto found = log_of(key).find(key);
  if (found.entry == nullptr || found.entry->first() != fingerprint(segment.mad))
    return std::nullopt;
  return addressed(segment, found);
}

void Replays::begin() {
  if (looked_at_.is_in_log) erase_answer(looked_at_.request.key);
  ++begun_;
  const bool replaces = under_way_.put(looked_at_.request);
  is_ambiguous_ = is_ambiguous_ || replaces;
}

void Replays::end(ib::Instant now, const Packet& request, const Packet& answer) {
  keep(now, request, answer.mad.bytes, false);
}

void Replays::end(ib::Instant now, const Packet& request, std::span<const std::byte> record) {
  keep(now, request, record, true);
}

void Replays::keep(ib::Instant now, const Packet& request, std::span<const std::byte> answer,
                   bool is_record) {
  const auto key = key_of(request);
  const auto* found = under_way_.find(key);
  // Otherwise the TID is used for something else by now.
  const bool is_its_own =
      found != nullptr && (!is_ambiguous_ || found->first == fingerprint(request.mad));
  count_end();
  if (!is_its_own) return;
  if (found->subject != 0) {
    const auto [latest, is_first] = latest_.try_emplace(found->subject, key);
    if (!is_first) writes_.mark_outdated(std::exchange(latest->second, key));
  }
  auto& log = log_of(key);
  const auto until = now + (is_write(key) ? options_.writes_for : options_.reads_for);
  log.add({key, found->first, found->whole, found->subject, until, is_record}, answer);
  // What ends by itself cannot be said to be there for long.
  if (is_lease(request)) log.mark_outdated(key);
  under_way_.erase(found);
  while (log.is_over()) drop_oldest(log);
}

void Replays::count_end() {
  if (begun_ > 0) --begun_;
  is_ambiguous_ = is_ambiguous_ && begun_ > 0;
}

void Replays::forget(const Packet& request) {
  count_end();
  const auto key = key_of(request);
  under_way_.erase(key);
  erase_answer(key);
}

void Replays::erase_answer(const RequestKey& key) {
  auto& log = log_of(key);
  const auto found = log.find(key);
  if (found.entry == nullptr) return;
  forget_subject(found.entry->subject(), key);
  log.erase(key);
}

void Replays::forget_subject(std::uint64_t subject, const RequestKey& key) {
  const auto latest = latest_.find(subject);
  if (latest != latest_.end() && latest->second == key) latest_.erase(latest);
}

void Replays::drop_oldest(AnswerLog& log) {
  const auto* entry = log.oldest();
  if (entry->is_current()) forget_subject(entry->subject(), entry->key());
  log.drop_oldest();
}

void Replays::expire(ib::Instant now) {
  for (auto* log : {&reads_, &writes_})
    for (const auto* entry = log->oldest(); entry != nullptr && entry->until() <= now;
         entry = log->oldest())
      drop_oldest(*log);
}

void Replays::tidy(ib::Instant now) {
  expire(now);
  reads_.tidy();
  writes_.tidy();
  under_way_.tidy();
  if (latest_.bucket_count() > 4 * (latest_.size() + 1)) latest_.rehash(0);
}

std::size_t Replays::bytes() const {
  return reads_.bytes() + writes_.bytes() + under_way_.bytes() +
         latest_.size() * sizeof(decltype(latest_)::value_type);
}

}  // namespace sm::sa
