// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/sim/requests.h"

#include <utility>

namespace ib::sim {
namespace {

constexpr std::size_t kBucketsLeast = 64;
/// What a storm needed beyond that is given back when it is over.
constexpr std::size_t kPlacesKept = 4096;

}  // namespace

Requests::Id Requests::add(TransactionKey key) {
  if (used_ >= buckets_.size()) grow();
  Id id = free_;
  if (id != kNone) {
    free_ = places_[id].next;
  } else {
    id = static_cast<Id>(places_.size());
    places_.emplace_back();
  }
  Place& place = places_[id];
  place.key = key;
  place.used = true;
  ++used_;
  append(id);
  return id;
}

void Requests::append(Id id) {
  places_[id].next = kNone;
  Id* last = &buckets_[bucket_of(places_[id].key)];
  while (*last != kNone) last = &places_[*last].next;
  *last = id;
}

void Requests::grow() {
  const auto before = std::exchange(
      buckets_, std::vector<Id>(buckets_.empty() ? kBucketsLeast : 2 * buckets_.size(), kNone));
  for (const Id first : before)
    for (Id id = first; id != kNone;) {
      const Id next = places_[id].next;
      append(id);
      id = next;
    }
}

void Requests::erase(Id id) {
  Place& place = places_[id];
  forget_deadline(place);
  Id* at = &buckets_[bucket_of(place.key)];
  while (*at != id) at = &places_[*at].next;
  *at = place.next;
  place.request.sender.reset();
  place.request.mad.packet.more = {};
  place.used = false;
  place.next = free_;
  free_ = id;
  if (--used_ > 0 || places_.size() <= kPlacesKept) return;
  places_.clear();
  places_.shrink_to_fit();
  buckets_ = {};
  due_ = {};
  free_ = kNone;
}

void Requests::set_deadline(Id id, Instant at) {
  Place& place = places_[id];
  forget_deadline(place);
  if (at == kNever) return;
  due_.emplace_back();
  sift(static_cast<std::uint32_t>(due_.size() - 1), {at, ++ordered_, id});
}

void Requests::forget_deadline(Place& place) {
  const auto position = std::exchange(place.in_due, kNotDue);
  if (position == kNotDue) return;
  const Due last = due_.back();
  due_.pop_back();
  if (position < due_.size()) sift(position, last);
}

/// Puts `due` where it belongs, beginning at `position`, which is free.
void Requests::sift(std::uint32_t position, Due due) {
  while (position > 0) {
    const std::uint32_t parent = (position - 1) / 4;
    if (!due.before(due_[parent])) break;
    put_due(position, due_[parent]);
    position = parent;
  }
  const auto size = static_cast<std::uint32_t>(due_.size());
  for (std::uint32_t child; (child = 4 * position + 1) < size; position = child) {
    const std::uint32_t end = child + 4 < size ? child + 4 : size;
    for (std::uint32_t c = child + 1; c < end; ++c)
      if (due_[c].before(due_[child])) child = c;
    if (!due_[child].before(due)) break;
    put_due(position, due_[child]);
  }
  put_due(position, due);
}

}  // namespace ib::sim
