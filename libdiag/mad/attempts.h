// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The attempts of a Transactor's requests, each with a TID of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "libdiag/base/instant.h"
#include "libdiag/mad/congestion_window.h"
#include "libdiag/mad/fifo.h"

namespace ib::mad {

enum class AttemptState : std::uint8_t {
  Free,
  Live,   // its request waits for an answer
  Ghost,  // its request is complete; the TID is kept from reuse while the transport may know it
  Spent,  // a ghost that was answered
};

struct Attempt {
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;

  std::uint32_t entry{kNone};    // its request, while Live
  std::uint32_t target{kNone};   // whom it was sent to
  std::uint32_t earlier{kNone};  // the request's previous attempt
  std::uint32_t use{0};
  CongestionWindow::Sent sent_as;  // first attempts only, as the next
  bool counted{false};             // serves the window as evidence
  std::uint64_t sequence{0};       // order of sending
  Instant sent;
  Instant kept_until;
  std::uint8_t ordinal{0};   // first attempt: 1
  std::uint8_t answered{0};  // Ghost: the ordinal that completed the request, 0 if none did
  bool lost{false};          // presumably, and the transport still waits for its answer
  AttemptState state{AttemptState::Free};
};

/// A pool of up to 2^18 of them. A TID is the slot of an attempt and how often the slot was used,
/// and comes back as late as possible.
class Attempts {
 public:
  using Index = std::uint32_t;
  static constexpr Index kNone = Attempt::kNone;

  /// `tid_seed` is added to every TID, which has 32 bits: the kernel keeps the upper half for
  /// itself.
  explicit Attempts(std::uint32_t tid_seed) : tid_seed_(tid_seed) {}

  /// A free slot. If a quarter of a million are under way the oldest ghost has to go early.
  Index take(Instant now);
  void release(Index s);
  /// Its request is complete, by attempt `answered` (0: by none).
  void haunt(Index s, std::uint8_t answered);

  Attempt& operator[](Index s) { return slots_[s]; }
  const Attempt& operator[](Index s) const { return slots_[s]; }

  std::uint32_t tid_of(Index s) const;
  /// The attempt that an answer with this TID is for; kNone if there is none, or not any more.
  Index find(std::uint64_t tid) const;

  /// Presumably lost: the transport waits for its answer until `kept_until` all the same.
  void mark_lost(Index s);
  void forget_lost(Index s);
  void forget_expired(Instant now);
  std::uint32_t lost() const { return lost_; }
  /// When the transport gives up the first of what was lost; kNever.
  Instant next_expiry() const { return expiries_.empty() ? kNever : expiries_.top().when; }

 private:
  struct Expiry {
    Instant when;
    Index slot;
    std::uint32_t use;
    bool operator>(const Expiry& other) const { return when > other.when; }
  };

  std::uint32_t tid_seed_;
  std::uint32_t lost_{0};
  std::vector<Attempt> slots_;
  Fifo<Index> free_;  // first freed, first used
  Fifo<Index> ghosts_;
  std::priority_queue<Expiry, std::vector<Expiry>, std::greater<>> expiries_;
};

}  // namespace ib::mad
