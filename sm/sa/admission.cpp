// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/admission.h"

#include <algorithm>

namespace sm::sa {

using ib::mad::Packet;

namespace {
/// A queue may take this part of the room that is left: n greedy requesters together never take
/// more than n / (n + kShare) of it all.
constexpr std::size_t kShare = 64;
}  // namespace

bool Admission::offer(ib::Instant now, ib::Lid who, Packet request) {
  const std::size_t room = options_.queue_in_all - std::min(waiting_, options_.queue_in_all);
  if (room == 0) return false;
  const std::size_t most = std::clamp<std::size_t>(room / kShare, 1, options_.queue_size);
  auto& queue = queues_[who.value];
  if (queue.size() >= most) return false;
  if (queue.empty()) turns_.push_back(who);
  queue.push_back({std::move(request), ++serial_});
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
  return queue == queues_.end() || queue->second.front().serial > arrival.serial;
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
  // Times are all the same, so the oldest of all is the oldest of its queue.
  Packet request = std::move(queue->second.front().request);
  queue->second.pop_front();
  --waiting_;
  if (!queue->second.empty()) return request;
  queues_.erase(queue);
  for (auto* order : {&turns_, &held_})
    if (const auto at = std::find(order->begin(), order->end(), who); at != order->end())
      order->erase(at);
  return request;
}

}  // namespace sm::sa
