// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/mad/attempts.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace ib::mad {
namespace {
constexpr std::uint32_t kSlotBits = 18;
constexpr std::uint32_t kSlotMask = (1U << kSlotBits) - 1;
constexpr std::uint32_t kUseMask = (1U << (32 - kSlotBits)) - 1;
constexpr std::size_t kSlotsAtOnce = 256;
}  // namespace

Attempts::Index Attempts::take(Instant now) {
  while (!ghosts_.empty() && slots_[ghosts_.front()].kept_until <= now) release(ghosts_.pop());
  if (free_.empty() && slots_.size() <= kSlotMask) {
    const std::size_t first = slots_.size();
    slots_.resize(std::min<std::size_t>(first + kSlotsAtOnce, kSlotMask + 1));
    for (std::size_t s = first; s < slots_.size(); ++s) free_.push(static_cast<Index>(s));
  }
  while (free_.empty() && !ghosts_.empty()) release(ghosts_.pop());
  assert(!free_.empty());
  const Index s = free_.pop();
  slots_[s].use = (slots_[s].use + 1) & kUseMask;
  return s;
}

void Attempts::release(Index s) {
  forget_lost(s);
  slots_[s].state = AttemptState::Free;
  slots_[s].entry = kNone;
  free_.push(s);
}

void Attempts::haunt(Index s, std::uint8_t answered) {
  Attempt& slot = slots_[s];
  slot.entry = kNone;
  slot.answered = answered;
  slot.state = AttemptState::Ghost;
  ghosts_.push(s);
}

std::uint32_t Attempts::tid_of(Index s) const {
  return ((slots_[s].use << kSlotBits) | s) + tid_seed_;
}

Attempts::Index Attempts::find(std::uint64_t tid) const {
  const std::uint32_t raw = static_cast<std::uint32_t>(tid) - tid_seed_;
  const Index s = raw & kSlotMask;
  if (s >= slots_.size()) return kNone;
  const Attempt& slot = slots_[s];
  if (slot.state == AttemptState::Free || slot.state == AttemptState::Spent) return kNone;
  return slot.use == (raw >> kSlotBits) ? s : kNone;
}

void Attempts::mark_lost(Index s) {
  Attempt& slot = slots_[s];
  if (std::exchange(slot.lost, true)) return;
  ++lost_;
  expiries_.push({slot.kept_until, s, slot.use});
}

void Attempts::forget_lost(Index s) {
  if (std::exchange(slots_[s].lost, false)) --lost_;
}

void Attempts::forget_expired(Instant now) {
  while (!expiries_.empty() && expiries_.top().when <= now) {
    const Expiry top = expiries_.top();
    expiries_.pop();
    if (slots_[top.slot].use == top.use) forget_lost(top.slot);
  }
}

}  // namespace ib::mad
