// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/mad/sa_gate.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace ib::mad {

void SaGate::finish(Tid tid) {
  if (const auto later = repeated_as_.find(tid); later != repeated_as_.end()) tid = later->second;
  if (unanswered_.erase(tid) == 0) return;
  std::erase_if(repeated_as_, [tid](const auto& one) { return one.second == tid; });
  congestion_.finished();
}

/// There are max_outstanding at most, and few as a rule.
void SaGate::forget_unanswered(Instant now) {
  std::vector<Tid> over;
  for (const auto& [tid, until] : unanswered_)
    if (until <= now) over.push_back(tid);
  for (const Tid tid : over) finish(tid);
}

void SaGate::submit(Instant now, SendOrder order) {
  forget_unanswered(now);
  if (order.repeats != 0 && unanswered_.erase(order.repeats) != 0) {
    const Tid tid = low(order.mad);
    for (auto& [earlier, last] : repeated_as_)
      if (last == order.repeats) last = tid;
    repeated_as_[order.repeats] = tid;
    first_ = std::move(order);
    return;
  }
  using Verdict = SaCongestion<SendOrder>::Verdict;
  switch (congestion_.judge()) {
    case Verdict::Send:
      congestion_.sent();
      first_ = std::move(order);
      return;
    case Verdict::Wait:
      congestion_.wait(now, std::move(order));
      return;
    case Verdict::Drop:
      congestion_.drop();
      refused_ = std::move(order);
  }
}

SendOrder SaGate::send(Instant now, SendOrder order) {
  unanswered_[low(order.mad)] = now + order.reply_within;
  return order;
}

std::optional<SendOrder> SaGate::next_send(Instant now) {
  if (first_) return send(now, *std::exchange(first_, std::nullopt));
  forget_unanswered(now);
  if (auto order = congestion_.next_send()) return send(now, *std::move(order));
  return std::nullopt;
}

std::optional<SendOrder> SaGate::next_refused(Instant now) {
  if (refused_) return std::exchange(refused_, std::nullopt);
  return congestion_.next_expired(now);
}

Instant SaGate::next_deadline() const {
  if (first_ || refused_) return Instant{0};
  Instant due = congestion_.next_deadline();
  if (due == kNever || due == Instant{0}) return due;
  for (const auto& [tid, until] : unanswered_) due = std::min(due, until);
  return due;
}

}  // namespace ib::mad
