// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/intake/answer_log.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>
#include <utility>

#include "sm/sa/intake/fold.h"

namespace sm::sa {
namespace {

constexpr std::size_t kPlacesLeast = 256;
constexpr std::size_t kCutBytes = 32;
constexpr std::uint32_t kQpnMask = 0xFFFFFF;

bool is_zero(const std::byte* line) {
  std::uint64_t any = 0;
  for (std::size_t at = 0; at < kCutBytes; at += sizeof any) {
    std::uint64_t word = 0;
    std::memcpy(&word, line + at, sizeof word);
    any |= word;
  }
  return any == 0;
}

/// Without the zeros at its end.
std::span<const std::byte> cut(std::span<const std::byte> bytes) {
  while (bytes.size() >= kCutBytes && is_zero(bytes.data() + bytes.size() - kCutBytes))
    bytes = bytes.first(bytes.size() - kCutBytes);
  for (std::uint64_t word = 0; bytes.size() >= sizeof word;
       bytes = bytes.first(bytes.size() - sizeof word)) {
    std::memcpy(&word, bytes.data() + bytes.size() - sizeof word, sizeof word);
    if (word != 0) break;
  }
  while (!bytes.empty() && bytes.back() == std::byte{0}) bytes = bytes.first(bytes.size() - 1);
  return bytes;
}

}  // namespace

static_assert(std::is_trivially_copyable_v<AnswerLog::Entry>);
static_assert(sizeof(AnswerLog::Entry) == 40);

RequestKey::RequestKey(std::uint64_t tid_of, std::uint32_t qpn_of, std::uint16_t lid_of,
                       std::uint16_t attribute_of, std::uint8_t method_of)
    : tid(tid_of), qpn(qpn_of & kQpnMask), lid(lid_of), attribute(attribute_of), method(method_of) {
  const std::uint64_t where = (std::uint64_t{lid} << 48) | (std::uint64_t{qpn} << 24) |
                              (std::uint64_t{method} << 16) | attribute;
  // Programs count their TIDs: eight in a row stay together, in one cache line of places. The log
  // is far larger than a cache, so that every line more is a wait for memory.
  const std::uint64_t hash =
      fold((tid >> 3) ^ 0x9E3779B97F4A7C15ULL, where ^ 0xC2B2AE3D27D4EB4FULL);
  tag = static_cast<std::uint32_t>(hash << 3 | (tid & 7));
}

AnswerLog::Entry::Entry(const Note& note, std::size_t answer_bytes)
    : tid_(note.key.tid),
      first_(note.first),
      until_(note.until),
      qpn_(note.key.qpn & kQpnMask),
      has_more_(note.whole != note.first || note.subject != 0),
      is_record_(note.is_record),
      is_current_(true),
      is_outdated_(false),
      tag_(note.key.tag),
      lid_(note.key.lid),
      attribute_(note.key.attribute),
      bytes_(static_cast<std::uint16_t>(answer_bytes)),
      method_(note.key.method) {}

RequestKey AnswerLog::Entry::key() const { return {tid_, qpn_, lid_, attribute_, method_}; }

bool AnswerLog::Entry::has(const RequestKey& key) const {
  return tid_ == key.tid && qpn_ == key.qpn && lid_ == key.lid && attribute_ == key.attribute &&
         method_ == key.method;
}

std::size_t AnswerLog::place_of(const RequestKey& key) const {
  if (places_.empty()) return 0;
  for (std::size_t i = key.tag & mask(); places_[i].where != kNowhere; i = (i + 1) & mask())
    if (places_[i].tag == key.tag && at(places_[i].where)->has(key)) return i;
  return places_.size();
}

AnswerLog::Found AnswerLog::find(const RequestKey& key) const {
  const std::size_t place = place_of(key);
  if (place == places_.size()) return {nullptr, {}};
  const Entry* entry = at(places_[place].where);
  return {entry, {entry->answer(), entry->bytes_}};
}

void AnswerLog::add(const Note& note, std::span<const std::byte> answer) {
  if (!note.is_record) answer = cut(answer);
  const Entry entry(note, answer.size());
  const std::uint32_t units = units_of(entry);
  const bool has_room =
      block_count_ != 0 && blocks_[index_of(last_block())].used + units <= kBlockUnits;
  Block& block = has_room ? blocks_[index_of(last_block())] : add_block();
  std::byte* bytes = block.bytes.get() + block.used * kUnit;
  Entry* const kept = new (bytes) Entry(entry);
  if (kept->has_more_) new (bytes + sizeof(Entry)) Entry::More{note.whole, note.subject};
  std::copy(answer.begin(), answer.end(), bytes + kept->head_bytes());

  if (2 * (used_ + 1) > places_.size())
    resize_places(places_.empty() ? kPlacesLeast : 2 * places_.size());
  place_for(note.key) = {note.key.tag, last_block() + block.used};
  block.used += units;
  bytes_ += units * kUnit;
}

/// One more behind the others, empty.
AnswerLog::Block& AnswerLog::add_block() {
  if (block_count_ == blocks_.size()) {
    std::vector<Block> more(std::max<std::size_t>(1, 2 * blocks_.size()));
    for (std::uint32_t i = 0; i < block_count_; ++i) {
      const std::size_t number = first_block_ / kBlockUnits + i;
      more[number & (more.size() - 1)] = std::move(blocks_[number & (blocks_.size() - 1)]);
    }
    blocks_ = std::move(more);
  }
  ++block_count_;
  Block& block = blocks_[index_of(last_block())];
  block = std::exchange(spare_, {});
  if (!block.bytes) block.bytes = std::make_unique_for_overwrite<std::byte[]>(kBlockUnits * kUnit);
  return block;
}

/// A free place for `key`, or that of the entry which has it and is replaced.
AnswerLog::Place& AnswerLog::place_for(const RequestKey& key) {
  for (std::size_t i = key.tag & mask();; i = (i + 1) & mask()) {
    Place& place = places_[i];
    if (place.where == kNowhere) {
      ++used_;
      return place;
    }
    if (place.tag != key.tag || !at(place.where)->has(key)) continue;
    at(place.where)->is_current_ = false;
    return place;
  }
}

void AnswerLog::erase(const RequestKey& key) {
  const std::size_t place = place_of(key);
  if (place == places_.size()) return;
  at(places_[place].where)->is_current_ = false;
  clear_place(place);
}

void AnswerLog::mark_outdated(const RequestKey& key) {
  const std::size_t place = place_of(key);
  if (place != places_.size()) at(places_[place].where)->is_outdated_ = true;
}

void AnswerLog::drop_oldest() {
  const Entry& entry = *at(first_block_ + begin_);
  const std::uint32_t units = units_of(entry);
  if (entry.is_current_) clear_place(place_of_oldest());
  Block& block = blocks_[index_of(first_block_)];
  begin_ += units;
  bytes_ -= units * kUnit;
  // The next one is likely to leave with the next answer, and its place is in no cache.
  if (begin_ != block.used) return fetch(at(first_block_ + begin_)->tag_);
  spare_ = std::exchange(block, {});
  spare_.used = 0;
  --block_count_;
  first_block_ += kBlockUnits;
  begin_ = 0;
}

/// Precondition: it is current.
std::size_t AnswerLog::place_of_oldest() const {
  const Where where = first_block_ + begin_;
  std::size_t i = at(where)->tag_ & mask();
  while (places_[i].where != where) i = (i + 1) & mask();
  return i;
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

void AnswerLog::tidy() {
  spare_ = {};
  const std::size_t enough = std::max(kPlacesLeast, std::bit_ceil(4 * used_));
  if (enough < places_.size()) resize_places(enough);
}

std::size_t AnswerLog::bytes() const {
  const std::size_t blocks = block_count_ + (spare_.bytes ? 1U : 0U);
  return blocks * kBlockUnits * kUnit + places_.size() * sizeof(Place);
}

void AnswerLog::resize_places(std::size_t places) {
  auto before = std::exchange(places_, std::vector<Place>(places, Place{0, kNowhere}));
  for (const Place& p : before)
    if (p.where != kNowhere) put_place(p.tag, p.where);
}

}  // namespace sm::sa
