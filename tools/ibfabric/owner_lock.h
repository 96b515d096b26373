// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The lock of one of the library's ends of a port. Any number of threads, and of processes after a
// fork, share it, and each of them may die while it holds it: a robust mutex in the memory that all
// have mapped. No C++ library.
#pragma once

#include <errno.h>
#include <pthread.h>

namespace ibfabric {

/// In shared memory; set up once.
struct alignas(64) OwnerLock {
  pthread_mutex_t mutex;

  void set_up() {
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&mutex, &kind);
    pthread_mutexattr_destroy(&kind);
  }
};

/// Holds the lock while it lives.
class OwnerLockGuard {
 public:
  explicit OwnerLockGuard(OwnerLock& lock)
      : lock_(lock), follows_death_(pthread_mutex_lock(&lock.mutex) == EOWNERDEAD) {
    if (follows_death_) pthread_mutex_consistent(&lock_.mutex);
  }
  ~OwnerLockGuard() { pthread_mutex_unlock(&lock_.mutex); }
  OwnerLockGuard(const OwnerLockGuard&) = delete;
  OwnerLockGuard& operator=(const OwnerLockGuard&) = delete;

  /// The last holder died with it.
  bool follows_death() const { return follows_death_; }

 private:
  OwnerLock& lock_;
  bool follows_death_;
};

}  // namespace ibfabric
