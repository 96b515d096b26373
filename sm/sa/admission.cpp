// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/admission.h"

#include <algorithm>

namespace sm::sa {

using ib::mad::Packet;

namespace {
/// A queue may take this part of the room that is left: n greedy requesters together never take
/// more than n / (n + kShare) of it all.
constexpr std::size_t kShare = 64;
/// What a storm needed beyond that is given back when it is over.
constexpr std::size_t kSlotsKept = 4096;
}  // namespace

bool Admission::offer(ib::Instant now, ib::Lid who, Packet request) {
  const std::size_t room = options_.queue_in_all - std::min(waiting_, options_.queue_in_all);
  if (room == 0) return false;
  const std::size_t most = std::clamp<std::size_t>(room / kShare, 1, options_.queue_size);
  Queue& queue = queues_[who.value];
  if (queue.size >= most) return false;
  Slot slot = free_;
  if (slot != kNone) {
    free_ = slots_[slot].next;
  } else {
    slot = static_cast<Slot>(slots_.size());
    slots_.emplace_back();
  }
  slots_[slot] = {std::move(request), ++serial_, kNone};
  if (queue.size == 0) {
    turns_.push_back(who);
    queue.first = slot;
  } else {
    slots_[queue.last].next = slot;
  }
  queue.last = slot;
  ++queue.size;
  ++waiting_;
  // What is gone is left in front only by requests that were served, so this stays short.
  while (!arrivals_.empty() && is_gone(arrivals_.front())) arrivals_.pop_front();
  arrivals_.push_back({now + options_.time_in_queue, who, serial_});
  return true;
}

void Admission::resume() {
  turns_.insert(turns_.end(), held_.begin(), held_.end());
  held_.clear();
}

bool Admission::is_gone(const Arrival& arrival) const {
  const auto queue = queues_.find(arrival.who.value);
  return queue == queues_.end() || slots_[queue->second.first].serial > arrival.serial;
}

Packet Admission::take_first(Queues::iterator queue) {
  const Slot slot = queue->second.first;
  Packet request = std::move(slots_[slot].request);
  queue->second.first = slots_[slot].next;
  slots_[slot].next = free_;
  free_ = slot;
  --waiting_;
  if (--queue->second.size == 0) queues_.erase(queue);
  if (waiting_ == 0 && slots_.size() > kSlotsKept) {
    slots_ = {};
    free_ = kNone;
  }
  return request;
}

ib::Instant Admission::next_deadline() {
  while (!arrivals_.empty() && is_gone(arrivals_.front())) arrivals_.pop_front();
  return arrivals_.empty() ? ib::kNever : arrivals_.front().deadline;
}

std::optional<Packet> Admission::expired(ib::Instant now) {
  if (next_deadline() > now) return std::nullopt;
  const ib::Lid who = arrivals_.front().who;
  arrivals_.pop_front();
  const auto queue = queues_.find(who.value);
  const bool was_last = queue->second.size == 1;
  // Times are all the same, so the oldest of all is the oldest of its queue.
  Packet request = take_first(queue);
  if (!was_last) return request;
  for (auto* order : {&turns_, &held_})
    if (const auto at = std::find(order->begin(), order->end(), who); at != order->end())
      order->erase(at);
  return request;
}

}  // namespace sm::sa
