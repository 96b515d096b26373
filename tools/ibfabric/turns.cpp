// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibfabric/turns.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace ibfabric {
namespace {

/// Turns in a row that make an owner, at first and at most.
constexpr uint32_t kRowLeast = 16, kRowMost = 1U << 20U;
/// A mark of no node that can be an owner.
constexpr uint64_t kNoMark = 1;
/// How often an owner that does not come out of its turn is looked at.
constexpr long kLookEveryNs = 50'000;

/// The process, as the upper bits of the marks of its threads, in a page that a child of fork finds
/// empty: so that a child does not take itself for its parent. nullptr: not yet known.
uint64_t* process_mark = nullptr;
/// A mark cannot be had here: an old kernel, or a sandbox.
bool markless = false;

/// Its address tells threads apart, and what lies between two of them is far more than 64 bytes.
__attribute__((tls_model("initial-exec"))) thread_local char here = 0;

long membarrier(int command) { return syscall(SYS_membarrier, command, 0, 0); }

/// Makes this process one whose threads have marks. Two threads may do it at once; one page is then
/// kept, and the other one for ever.
void find_mark() {
  if (__atomic_load_n(&markless, __ATOMIC_RELAXED)) return;
  uint64_t* page = __atomic_load_n(&process_mark, __ATOMIC_ACQUIRE);
  if (page == nullptr) {
    const auto size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    void* at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED || madvise(at, size, MADV_WIPEONFORK) != 0) {
      __atomic_store_n(&markless, true, __ATOMIC_RELAXED);
      return;
    }
    page = static_cast<uint64_t*>(at);
  }
  if (membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) != 0) {
    __atomic_store_n(&markless, true, __ATOMIC_RELAXED);
    return;
  }
  constexpr unsigned kPidShift = 42;  // pids have up to 22 bits
  __atomic_store_n(page, static_cast<uint64_t>(getpid()) << kPidShift, __ATOMIC_RELAXED);
  __atomic_store_n(&process_mark, page, __ATOMIC_RELEASE);
}

/// Whether the thread has ended; one that nobody has waited for yet has, too.
bool is_dead(int pid, int tid) {
  if (syscall(SYS_tgkill, pid, tid, 0) != 0) return errno == ESRCH;
  char path[64], text[256];
  snprintf(path, sizeof path, "/proc/%d/task/%d/stat", pid, tid);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  if (n <= 0) return false;
  text[n] = 0;
  const char* name_end = strrchr(text, ')');
  return name_end != nullptr && name_end[1] == ' ' && (name_end[2] == 'Z' || name_end[2] == 'X');
}

void sleep_ns(long ns) {
  const timespec time = {0, ns};
  nanosleep(&time, nullptr);
}

/// From now on nobody is the owner. True: the last one died in its turn. Who dies here leaves the
/// rest to the next that has the lock.
bool end_ownership(Turns& turns) {
  __atomic_store_n(&turns.owner, Turns::kNobody, __ATOMIC_SEQ_CST);
  // Where this process may not do so, time has the same effect: a store is seen by all long before.
  if (membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED) != 0) sleep_ns(10'000'000);
  while (__atomic_load_n(&turns.in_turn, __ATOMIC_ACQUIRE) != 0) {
    if (is_dead(turns.owner_pid, turns.owner_tid)) {
      __atomic_store_n(&turns.in_turn, 0, __ATOMIC_RELAXED);
      return true;
    }
    sleep_ns(kLookEveryNs);
  }
  return false;
}

}  // namespace

void Turns::set_up() {
  pthread_mutexattr_t kind;
  pthread_mutexattr_init(&kind);
  pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&lock, &kind);
  pthread_mutexattr_destroy(&kind);
  row_wanted = kRowLeast;
}

uint64_t own_mark() {
  constexpr unsigned kPlaceShift = 6;
  const uint64_t* page = __atomic_load_n(&process_mark, __ATOMIC_ACQUIRE);
  const uint64_t process = page == nullptr ? 0 : __atomic_load_n(page, __ATOMIC_RELAXED);
  if (process == 0) return kNoMark;
  return process | reinterpret_cast<uintptr_t>(&here) >> kPlaceShift;
}

void Turn::take_lock(uint64_t mark) {
  const int error_before = errno;
  const bool died = pthread_mutex_lock(&turns_.lock) == EOWNERDEAD;
  if (died) pthread_mutex_consistent(&turns_.lock);
  // Who died with the lock may have ended an ownership, and not waited to the end.
  const bool was_owned = __atomic_load_n(&turns_.owner, __ATOMIC_RELAXED) != Turns::kNobody;
  const bool owner_died = (was_owned || died) && end_ownership(turns_);
  follows_death_ = follows_death_ || died || owner_died;
  if (was_owned && turns_.row_wanted < kRowMost) turns_.row_wanted *= 2;

  if (mark == kNoMark) {
    find_mark();
    mark = own_mark();
  }
  errno = error_before;
  if (mark != turns_.last) turns_.in_a_row = 0;
  turns_.last = mark;
  if (mark == kNoMark || ++turns_.in_a_row < turns_.row_wanted) return;
  turns_.in_a_row = 0;
  turns_.owner_pid = getpid();
  turns_.owner_tid = static_cast<int32_t>(syscall(SYS_gettid));
  __atomic_store_n(&turns_.owner, mark, __ATOMIC_RELEASE);
}

}  // namespace ibfabric
