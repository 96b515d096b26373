// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Requests that wait to be served: a queue for each requester, served in turn, so that one host's
// storm is its own delay and nobody else's. What finds its queue full, and what has waited too
// long, comes out again to be answered BUSY; nothing is dropped here.
//
//   offer() --> queue of its LID --> next(), one of each LID in turn
//      full: false             too old: expired()
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "libdiag/base/instant.h"
#include "libdiag/mad/transport.h"

namespace sm::sa {

struct AdmissionOptions {
  std::size_t queue_size{1024};      // of one requester and kind: tables, writes, the rest
  std::size_t queue_in_all{65'536};  // more than there are LIDs
  ib::Duration time_in_queue{std::chrono::seconds(2)};
  std::size_t outstanding_max{256};  // of one requester: begun and not yet answered
};

class Admission {
 public:
  explicit Admission(const AdmissionOptions& options = {}) : options_(options) {}

  /// From now on; what waits already stays, and its time is that of before.
  void set_options(const AdmissionOptions& options) { options_ = options; }

  /// Takes the request in; false when `who` has too much waiting. As the room gets scarce long
  /// queues are bounded first, so that who asks little is always let in.
  bool offer(ib::Instant now, ib::Lid who, const ib::mad::Packet& request);

  /// The next to be served, valid until the next call of any that changes something; nullptr: there
  /// is none. `may_begin(who, request)`: false leaves it and those behind it where they are, until
  /// resume().
  template <class MayBegin>
  const ib::mad::Packet* next(MayBegin&& may_begin) {
    release_taken();
    while (!turns_.empty()) {
      const QueueKey key = turns_.front();
      Queue& queue = queue_of(key);
      if (!may_begin(who_of(key), slots_[queue.first].request)) {
        turns_.pop_front();
        held_.push_back(key);
        continue;
      }
      // The turn of one who is alone stays where it is.
      const bool is_last = queue.size == 1;
      if (!is_last && turns_.size() > 1) turns_.push_back(key);
      if (is_last || turns_.size() > 1) turns_.pop_front();
      return take_first(queue);
    }
    return nullptr;
  }
  /// Something that held requests back has ended.
  void resume();

  /// One that has waited too long; valid as above.
  const ib::mad::Packet* expired(ib::Instant now);
  /// When the next will have; kNever: nothing waits.
  ib::Instant next_deadline();

  /// Whether next() may have something.
  bool has_next() const { return !turns_.empty(); }
  std::size_t waiting() const { return waiting_; }

  /// Frees the places for requests, if none is in use.
  void tidy();
  /// What these places take.
  std::size_t bytes() const { return slots_.capacity() * sizeof(Waiting); }

 private:
  /// A place for a request that waits, in the queue of its requester or in the list of free ones;
  /// places are used again, so that nothing is allocated for a single request.
  using Slot = std::uint32_t;
  static constexpr Slot kNone = 0xFFFFFFFF;
  struct Waiting {
    ib::mad::Packet request;
    std::uint64_t serial{0};  // of what waits there; 0: nothing does
    Slot next{kNone};
  };
  /// A requester and the kind of his requests: what has to wait until a table ends, or a write,
  /// holds up nothing else of his.
  using QueueKey = std::uint32_t;
  static constexpr unsigned kKindBits = 2;
  static QueueKey queue_key(ib::Lid who, const ib::mad::Packet& request);
  static ib::Lid who_of(QueueKey key) {
    return ib::Lid{static_cast<std::uint16_t>(key >> kKindBits)};
  }

  struct Queue {
    QueueKey key{};
    Slot first{kNone}, last{kNone};
    std::size_t size{0};
  };
  struct Arrival {
    ib::Instant deadline;
    QueueKey key;
    Slot slot;
    std::uint64_t serial;
  };

  bool is_gone(const Arrival& arrival) const {
    return slots_[arrival.slot].serial != arrival.serial;
  }
  /// An empty one if there was none.
  Queue& queue_of(QueueKey key) {
    if (recent_ != nullptr && recent_->key == key) return *recent_;
    recent_ = &queues_[key];
    recent_->key = key;
    return *recent_;
  }
  /// Takes the first request out; a queue that is empty then goes too.
  const ib::mad::Packet* take_first(Queue& queue);
  /// Makes the place of what was taken last free.
  void release_taken();
  void free_places();

  AdmissionOptions options_;
  std::vector<Waiting> slots_;
  Slot free_{kNone};
  Slot taken_{kNone};                           // in use until the next call
  std::unordered_map<QueueKey, Queue> queues_;  // none is empty
  Queue* recent_{nullptr};                      // the last that was looked for
  std::deque<QueueKey> turns_, held_;           // every key with a queue, once
  std::deque<Arrival> arrivals_;                // in order; also of those that are gone
  std::size_t waiting_{0};
  std::uint64_t serial_{0};
};

}  // namespace sm::sa
