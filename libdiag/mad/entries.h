// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Requests that have no completion yet, and the queue of each target. Inside Transactor only.
#pragma once

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "libdiag/mad/attempts.h"
#include "libdiag/mad/request.h"
#include "libdiag/mad/targets.h"

namespace ib::mad {

enum class EntryState : std::uint8_t {
  Free,
  Queued,    // not sent yet, in its target's queue
  OnWire,    // sent; may be presumed lost
  RetryDue,  // in the retry queue
};

struct Entry {
  Request request;
  Attempts::Index target{Attempts::kNone};
  Attempts::Index next{Attempts::kNone};  // in the target's queue
  Attempts::Index last_attempt{Attempts::kNone};
  std::uint32_t generation{0};
  std::uint8_t attempts{0};
  std::uint8_t held_back{0};  // of these were not sent (on_held_back)
  EntryState state{EntryState::Free};
  bool counted{false};    // holds a place in the window
  bool overtaken{false};  // a later MAD to the same target was answered
  Instant first_sent;
};

class Entries {
 public:
  using Index = Attempts::Index;
  static constexpr Index kNone = Attempts::kNone;

  Entry& operator[](Index e) { return entries_[e]; }
  const Entry& operator[](Index e) const { return entries_[e]; }
  /// All places, free ones included.
  const std::deque<Entry>& all() const { return entries_; }
  std::size_t size() const { return entries_.size(); }
  std::size_t in_use() const { return in_use_; }

  /// At the end of its target's queue; `t` is that one's index.
  void add(Request request, Index t, Target& target) {
    const Index e = take_place();
    Entry& entry = entries_[e];
    entry.request = std::move(request);
    entry.target = t;
    entry.next = entry.last_attempt = kNone;
    entry.attempts = entry.held_back = 0;
    entry.state = EntryState::Queued;
    entry.counted = entry.overtaken = false;
    (target.queue_tail == kNone ? target.queue_head : entries_[target.queue_tail].next) = e;
    target.queue_tail = e;
  }
  /// Off the queue, which is not empty.
  Index take_first(Target& target) {
    const Index e = target.queue_head;
    target.queue_head = entries_[e].next;
    if (target.queue_head == kNone) target.queue_tail = kNone;
    return e;
  }
  /// Out of the queue, where it is.
  void take_out(Target& target, Index e) {
    Index before = kNone;
    for (Index at = target.queue_head; at != e; at = entries_[at].next) before = at;
    (before == kNone ? target.queue_head : entries_[before].next) = entries_[e].next;
    if (target.queue_tail == e) target.queue_tail = before;
  }
  /// It is complete. What still names it by its generation means another one from here on.
  void free(Index e) {
    Entry& entry = entries_[e];
    entry.state = EntryState::Free;
    entry.request.more.clear();
    ++entry.generation;
    free_.push_back(e);
    --in_use_;
  }

 private:
  Index take_place() {
    ++in_use_;
    if (free_.empty()) {
      entries_.emplace_back();
      return static_cast<Index>(entries_.size() - 1);
    }
    const Index e = free_.back();
    free_.pop_back();
    return e;
  }

  std::deque<Entry> entries_;
  std::vector<Index> free_;
  std::size_t in_use_{0};
};

}  // namespace ib::mad
