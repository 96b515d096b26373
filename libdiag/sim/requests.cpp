// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/sim/requests.h"

#include <utility>

#include "libdiag/base/fetch.h"

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
    if (free_ != kNone) fetch(places_[free_]);
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

/// A place that is likely to be filled soon: what is written of it in any case.
void Requests::fetch(const Place& place) {
  fetch_line(&place.request);
  fetch_line(&place.request.mad.packet.address.grh);
  fetch_line(place.request.mad.packet.mad.bytes.data() + kMadHeaderBytes);
  fetch_line(&place.next_due);
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
  free_ = kNone;
}

void Requests::set_deadline(Id id, Instant at) {
  Place& place = places_[id];
  forget_deadline(place);
  if (at == kNever) return;
  place.due = at;
  Id previous = last_due_, next = kNone;
  while (previous != kNone && places_[previous].due > at) {
    next = previous;
    previous = places_[previous].previous_due;
  }
  place.previous_due = previous;
  place.next_due = next;
  (previous != kNone ? places_[previous].next_due : first_due_) = id;
  (next != kNone ? places_[next].previous_due : last_due_) = id;
}

void Requests::forget_deadline(Place& place) {
  if (std::exchange(place.due, kNever) == kNever) return;
  (place.previous_due != kNone ? places_[place.previous_due].next_due : first_due_) =
      place.next_due;
  (place.next_due != kNone ? places_[place.next_due].previous_due : last_due_) = place.previous_due;
}

}  // namespace ib::sim
