// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Whose turn it is at one of the library's ends: any number of threads, and of processes after a
// fork, share it, and each of them may die in its turn. That is what a robust mutex is for. But
// nearly always one thread has all the turns, and of what a MAD costs it the mutex would be a
// third. So who had the mutex many times in a row becomes the owner: it says in the memory when its
// turn begins and when it ends, by plain stores, and no more. Whoever else comes has the mutex,
// ends the ownership and waits until the owner is out of its turn, or is dead.
//
// The owner stores `in_turn` and then loads `owner`; the other stores `owner` and then loads
// `in_turn`. Between the two it has every processor that runs the owner pass a barrier
// (membarrier(2)), so that the owner need not have one each time. No C++ library.
#pragma once

#include <pthread.h>
#include <stdint.h>

namespace ibfabric {

/// In shared memory; set up once.
struct alignas(64) Turns {
  pthread_mutex_t lock;
  uint64_t owner;       // its mark; kNobody
  uint32_t in_turn;     // the owner is
  uint32_t in_a_row;    // turns of `last`, nobody being the owner
  uint64_t last;        // mark of who had the lock last
  uint32_t row_wanted;  // so many make an owner; more after each ownership that was ended
  int32_t owner_pid, owner_tid;

  static constexpr uint64_t kNobody = 0;
  void set_up();
};

/// What tells the calling thread from all others that share the memory.
uint64_t own_mark();

class Turn {
 public:
  explicit Turn(Turns& turns) : turns_(turns) {
    const uint64_t mark = own_mark();
    if (__atomic_load_n(&turns.owner, __ATOMIC_RELAXED) == mark) {
      // A thread that died may have left its mark to this one.
      follows_death_ = __atomic_load_n(&turns.in_turn, __ATOMIC_RELAXED) != 0;
      __atomic_store_n(&turns.in_turn, 1, __ATOMIC_RELAXED);
      __atomic_signal_fence(__ATOMIC_SEQ_CST);
      is_owners_ = __atomic_load_n(&turns.owner, __ATOMIC_ACQUIRE) == mark;
      if (is_owners_) return;
      __atomic_store_n(&turns.in_turn, 0, __ATOMIC_RELEASE);
    }
    take_lock(mark);
  }
  ~Turn() {
    if (is_owners_) {
      __atomic_store_n(&turns_.in_turn, 0, __ATOMIC_RELEASE);
    } else {
      pthread_mutex_unlock(&turns_.lock);
    }
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  /// Whoever had the last one died in it.
  bool follows_death() const { return follows_death_; }

 private:
  void take_lock(uint64_t mark);

  Turns& turns_;
  bool is_owners_{false};
  bool follows_death_{false};
};

}  // namespace ibfabric
