// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/intake/admission.h"

#include <algorithm>
#include <utility>

#include "libdiag/base/fetch.h"

namespace sm::sa {

using ib::mad::Packet;

namespace {
/// A queue may take this part of the room that is left: n greedy requesters together never take
/// more than n / (n + kShare) of it all.
constexpr std::size_t kShare = 64;
/// What a storm needed beyond that is freed as soon as it is over.
constexpr std::size_t kSlotsKept = 4096;
/// What is looked at of most requests.
constexpr std::size_t kLine = 64, kUsualBytes = 3 * kLine;
}  // namespace

Admission::QueueKey Admission::queue_key(ib::Lid who, const Packet& request) {
  using ib::wire::Method;
  const auto kind = [&]() -> QueueKey {
    switch (request.mad.method()) {
      case Method::GetTable:
      case Method::GetMulti:
      case Method::GetTraceTable:
        return 1;
      case Method::Set:
      case Method::Delete:
        return 2;
      default:
        return 0;
    }
  };
  return QueueKey{who.value} << kKindBits | kind();
}

bool Admission::offer(ib::Instant now, ib::Lid who, const Packet& request) {
  release_taken();
  const std::size_t room = options_.queue_in_all - std::min(waiting_, options_.queue_in_all);
  if (room == 0) return false;
  const std::size_t most = std::clamp<std::size_t>(room / kShare, 1, options_.queue_size);
  const QueueKey key = queue_key(who, request);
  Queue& queue = queue_of(key);
  if (queue.size >= most) return false;
  Slot slot = free_;
  if (slot != kNone) {
    free_ = slots_[slot].next;
  } else {
    slot = static_cast<Slot>(slots_.size());
    slots_.emplace_back();
  }
  Waiting& waiting = slots_[slot];
  waiting.request = request;
  waiting.serial = ++serial_;
  waiting.next = kNone;
  if (queue.size == 0) {
    turns_.push_back(key);
    queue.first = slot;
  } else {
    slots_[queue.last].next = slot;
  }
  queue.last = slot;
  ++queue.size;
  ++waiting_;
  // What is gone is left in front only by requests that were served, so this stays short.
  while (!arrivals_.empty() && is_gone(arrivals_.front())) arrivals_.pop_front();
  arrivals_.push_back({now + options_.time_in_queue, key, slot, serial_});
  return true;
}

void Admission::resume() {
  turns_.insert(turns_.end(), held_.begin(), held_.end());
  held_.clear();
}

const Packet* Admission::take_first(Queue& queue) {
  taken_ = queue.first;
  queue.first = slots_[taken_].next;
  slots_[taken_].serial = 0;
  --waiting_;
  if (--queue.size == 0) {
    if (recent_ == &queue) recent_ = nullptr;
    queues_.erase(queue.key);
  } else {
    // The next one is likely to have its turn next, and many came since it did.
    const auto* next = reinterpret_cast<const std::byte*>(&slots_[queue.first]);
    for (std::size_t at = 0; at < kUsualBytes; at += kLine) ib::fetch_line(next + at);
  }
  return &slots_[taken_].request;
}

void Admission::release_taken() {
  if (taken_ == kNone) return;
  slots_[taken_].request.more = {};
  slots_[taken_].next = free_;
  free_ = std::exchange(taken_, kNone);
  if (slots_.size() > kSlotsKept) free_places();
}

void Admission::free_places() {
  if (waiting_ != 0) return;
  slots_ = {};
  arrivals_ = {};
  free_ = kNone;
}

void Admission::tidy() {
  release_taken();
  free_places();
}

ib::Instant Admission::next_deadline() {
  while (!arrivals_.empty() && is_gone(arrivals_.front())) arrivals_.pop_front();
  return arrivals_.empty() ? ib::kNever : arrivals_.front().deadline;
}

const Packet* Admission::expired(ib::Instant now) {
  if (next_deadline() > now) return nullptr;
  release_taken();
  const QueueKey key = arrivals_.front().key;
  arrivals_.pop_front();
  Queue& queue = queue_of(key);
  const bool was_last = queue.size == 1;
  // Times are all the same, so the oldest of all is the oldest of its queue.
  const Packet* request = take_first(queue);
  if (!was_last) return request;
  for (auto* order : {&turns_, &held_})
    if (const auto at = std::find(order->begin(), order->end(), key); at != order->end())
      order->erase(at);
  return request;
}

}  // namespace sm::sa
