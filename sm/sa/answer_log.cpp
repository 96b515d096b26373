// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/answer_log.h"

#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

namespace sm::sa {
namespace {

constexpr std::size_t kPlacesLeast = 256;
constexpr std::size_t kLine = 32;

bool is_zero(const std::byte* line) {
  std::uint64_t any = 0;
  for (std::size_t at = 0; at < kLine; at += sizeof any) {
    std::uint64_t word = 0;
    std::memcpy(&word, line + at, sizeof word);
    any |= word;
  }
  return any == 0;
}

/// Without the zeros at its end.
std::span<const std::byte> cut(std::span<const std::byte> bytes) {
  while (bytes.size() >= kLine && is_zero(bytes.data() + bytes.size() - kLine))
    bytes = bytes.first(bytes.size() - kLine);
  for (std::uint64_t word = 0; bytes.size() >= sizeof word;
       bytes = bytes.first(bytes.size() - sizeof word)) {
    std::memcpy(&word, bytes.data() + bytes.size() - sizeof word, sizeof word);
    if (word != 0) break;
  }
  while (!bytes.empty() && bytes.back() == std::byte{0}) bytes = bytes.first(bytes.size() - 1);
  return bytes;
}

std::uint64_t mix(std::uint64_t h) {
  h ^= h >> 31;
  h *= 0x9E3779B97F4A7C15ULL;
  return h ^ (h >> 29);
}

}  // namespace

static_assert(std::is_trivially_copyable_v<AnswerLog::Entry>);

RequestKey::RequestKey(std::uint64_t tid_of, std::uint32_t qpn_of, std::uint16_t lid_of,
                       std::uint16_t attribute_of, std::uint8_t method_of)
    : tid(tid_of), qpn(qpn_of), lid(lid_of), attribute(attribute_of), method(method_of) {
  const std::uint64_t where = (std::uint64_t{lid} << 48) | (std::uint64_t{qpn} << 24) |
                              (std::uint64_t{method} << 16) | attribute;
  // Programs count their TIDs: eight in a row stay together, in one cache line of places. The log
  // is far larger than a cache, so that every line more is a wait for memory.
  tag = static_cast<std::uint32_t>(mix(mix(tid >> 3) ^ where) << 3 | (tid & 7));
}

AnswerLog::Entry* AnswerLog::at(Where where) const {
  const Where from = where - first_block_;
  std::byte* bytes = blocks_[from / kBlockUnits].bytes.get() + from % kBlockUnits * kUnit;
  return std::launder(reinterpret_cast<Entry*>(bytes));
}

std::uint32_t AnswerLog::units_of(const Entry& entry) {
  return static_cast<std::uint32_t>((sizeof(Entry) + entry.bytes + kUnit - 1) / kUnit);
}

std::size_t AnswerLog::place_of(const RequestKey& key) const {
  if (places_.empty()) return 0;
  for (std::size_t i = key.tag & mask(); places_[i].where != kNowhere; i = (i + 1) & mask())
    if (places_[i].tag == key.tag && at(places_[i].where)->key == key) return i;
  return places_.size();
}

AnswerLog::Found AnswerLog::find(const RequestKey& key) const {
  const std::size_t place = place_of(key);
  if (place == places_.size()) return {nullptr, {}};
  const Entry* entry = at(places_[place].where);
  return {entry, {reinterpret_cast<const std::byte*>(entry + 1), entry->bytes}};
}

void AnswerLog::add(const Entry& entry, std::span<const std::byte> answer) {
  answer = cut(answer);
  Entry kept = entry;
  kept.bytes = static_cast<std::uint16_t>(answer.size());
  kept.current = true;
  const std::uint32_t units = units_of(kept);
  if (blocks_.empty() || blocks_.back().used + units > kBlockUnits) {
    blocks_.push_back(std::exchange(spare_, {}));
    if (!blocks_.back().bytes)
      blocks_.back().bytes = std::make_unique_for_overwrite<std::byte[]>(kBlockUnits * kUnit);
  }
  Block& block = blocks_.back();
  std::byte* bytes = block.bytes.get() + block.used * kUnit;
  new (bytes) Entry(kept);
  if (!answer.empty()) std::memcpy(bytes + sizeof(Entry), answer.data(), answer.size());

  if (2 * (used_ + 1) > places_.size()) grow();
  place_for(kept.key) = {
      kept.key.tag,
      first_block_ + static_cast<Where>(blocks_.size() - 1) * kBlockUnits + block.used};
  block.used += units;
  bytes_ += units * kUnit;
}

/// A free place for `key`, or that of the entry which has it and is replaced.
AnswerLog::Place& AnswerLog::place_for(const RequestKey& key) {
  for (std::size_t i = key.tag & mask();; i = (i + 1) & mask()) {
    Place& place = places_[i];
    if (place.where == kNowhere) {
      ++used_;
      return place;
    }
    if (place.tag != key.tag || at(place.where)->key != key) continue;
    at(place.where)->current = false;
    return place;
  }
}

void AnswerLog::erase(const RequestKey& key) {
  const std::size_t place = place_of(key);
  if (place == places_.size()) return;
  at(places_[place].where)->current = false;
  clear_place(place);
}

void AnswerLog::mark_outdated(const RequestKey& key) {
  const std::size_t place = place_of(key);
  if (place != places_.size()) at(places_[place].where)->outdated = true;
}

const AnswerLog::Entry* AnswerLog::oldest() const {
  return bytes_ == 0 ? nullptr : at(first_block_ + begin_);
}

void AnswerLog::drop_oldest() {
  const Entry& entry = *at(first_block_ + begin_);
  const std::uint32_t units = units_of(entry);
  if (entry.current) clear_place(place_of(entry.key));
  begin_ += units;
  bytes_ -= units * kUnit;
  if (begin_ != blocks_.front().used) return fetch_place_of_oldest();
  spare_ = std::move(blocks_.front());
  spare_.used = 0;
  blocks_.pop_front();
  first_block_ += kBlockUnits;
  begin_ = 0;
}

/// It is likely to leave with the next answer, and its place is in no cache.
void AnswerLog::fetch_place_of_oldest() const {
  __builtin_prefetch(&places_[at(first_block_ + begin_)->key.tag & mask()], 1);
}

void AnswerLog::put_place(std::uint32_t tag, Where where) {
  std::size_t i = tag & mask();
  while (places_[i].where != kNowhere) i = (i + 1) & mask();
  places_[i] = {tag, where};
}

/// What was put behind for want of room moves up, so that no search ends too early.
void AnswerLog::clear_place(std::size_t place) {
  --used_;
  std::size_t hole = place;
  for (std::size_t i = (hole + 1) & mask(); places_[i].where != kNowhere; i = (i + 1) & mask()) {
    const std::size_t home = places_[i].tag & mask();
    if (((i - home) & mask()) < ((i - hole) & mask())) continue;
    places_[hole] = places_[i];
    hole = i;
  }
  places_[hole].where = kNowhere;
}

void AnswerLog::grow() {
  auto before = std::exchange(
      places_,
      std::vector<Place>(places_.empty() ? kPlacesLeast : 2 * places_.size(), Place{0, kNowhere}));
  for (const Place& p : before)
    if (p.where != kNowhere) put_place(p.tag, p.where);
}

}  // namespace sm::sa
