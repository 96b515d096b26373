// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibfabric/library_end.h"

#include <errno.h>
#include <infiniband/umad.h>
#include <linux/futex.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace ibfabric {
namespace {

static_assert(sizeof(ib_user_mad) == kUmadHeaderBytes, "umad header as the protocol has it");

/// How long a wait goes on before the server is looked for: it may have died.
constexpr int kSliceMs = 100;
/// A reader tells the server of room when it comes past a multiple of this, or has read all.
constexpr uint64_t kRoomStep = kRingSlots / 4;

/// It counts; one that is full rings already. False: the program has closed it.
bool ring_bell(int fd) {
  const uint64_t once = 1;
  ssize_t n;
  do {
    n = write(fd, &once, sizeof once);
  } while (n < 0 && errno == EINTR);
  return n > 0 || errno == EAGAIN;
}

bool server_is_gone(int fd) {
  pollfd p = {fd, 0, 0};
  return poll(&p, 1, 0) == 1 && (p.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
}

/// Of one who died in his turn, whole slots are all that others saw; the bell may not have been
/// rung, so it is rung once more.
void see_to_the_dead(const OwnerLockGuard& guard, Bells bells) {
  if (guard.follows_death()) ring_bell(bells.up);
}

void wait_readable(int fd, int timeout_ms) {
  pollfd p = {fd, POLLIN, 0};
  poll(&p, 1, timeout_ms);
}

/// After silencing: the server may have set `rung` and not sent the byte yet. If it never does, the
/// next reader finds a byte too many and takes it.
void take_bell(int fd) {
  char bell;
  for (int tries = 0; tries < 2; ++tries) {
    if (read(fd, &bell, 1) >= 0 || errno != EAGAIN) return;
    wait_readable(fd, kSliceMs);
  }
}

/// Gives back the room of `count` slots, and the bell if they were the last.
void move_on(PortMemory& memory, Consumer& down, Bells bells, uint64_t count) {
  const uint64_t before = down.head();
  const bool last_seen = down.available() == count;
  down.skip(count);
  down.release();
  const bool all = last_seen && down.silence() == Consumer::Bell::Silenced;
  if (all) {
    take_bell(bells.down);
    memory.found_empty = 1;
  }
  if (!all && before / kRoomStep == down.head() / kRoomStep) return;
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  if (down.take_room_wanted()) ring_bell(bells.up);
}

/// 0: a slot can be read; EAGAIN; EIO. `awaited`: the bell was readable a moment ago.
int look(PortMemory& memory, Consumer& down, Bells bells, bool awaited) {
  for (;;) {
    const uint64_t available = down.available();
    if (available == kRingBroken) return EIO;
    if (available > 0) return 0;
    // Looking at the bell shows that the server is gone. Right after it was taken it is spared
    // once: readers go on until they find nothing.
    if (memory.found_empty != 0) {
      memory.found_empty = 0;
      if (!awaited) return EAGAIN;
    }
    pollfd p = {bells.down, POLLIN, 0};
    const int n = poll(&p, 1, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) return EAGAIN;
    if ((p.revents & POLLIN) == 0) {
      Producer(memory.up).unring();  // so that a sender notices, too
      return EIO;
    }
    // A bell for nothing: left by a reader who died. `rung` was looked at after the byte was seen,
    // so it is not that of a MAD to come.
    if (down.silence() != Consumer::Bell::Rung) take_bell(bells.down);
  }
}

/// The first `size` bytes of a message, no more than are in its first slot.
void copy_beginning(const Slot& slot, void* buffer, size_t size) {
  auto* header = static_cast<uint8_t*>(buffer);
  if (size < kUmadHeaderBytes) {
    memcpy(header, slot.header, size);
    return;
  }
  memcpy(header, slot.header, kUmadHeaderBytes);
  header[kUmadHeaderBytes - 1] = 0;
  get_data(slot, header + kUmadHeaderBytes, size - kUmadHeaderBytes);
}

uint32_t length_of(const Slot& slot) {
  ib_user_mad header;
  memcpy(&header, slot.header, sizeof header);
  return header.length;
}

/// Free slots, at least one; 0 with errno.
uint64_t wait_for_room(PortMemory& memory, Producer& up, Bells bells) {
  for (;;) {
    uint64_t room = up.room();
    if (room == 0) {
      up.want_room();
      room = up.room();
    }
    if (room == kRingBroken || (room == 0 && server_is_gone(bells.down))) {
      errno = EIO;
      return 0;
    }
    if (room > 0) return room;
    const timespec slice = {0, kSliceMs * 1'000'000L};
    syscall(SYS_futex, &memory.up.room_wanted, FUTEX_WAIT, 1, &slice, nullptr, 0);
  }
}

}  // namespace

PortMemory* map_port(int memory_fd) {
  void* at = mmap(nullptr, sizeof(PortMemory), PROT_READ | PROT_WRITE, MAP_SHARED, memory_fd, 0);
  if (at == MAP_FAILED) return nullptr;
  auto* memory = static_cast<PortMemory*>(at);
  memory->readers.set_up();
  memory->writers.set_up();
  return memory;
}

void unmap_port(PortMemory* memory) { munmap(memory, sizeof *memory); }

bool has_message(PortMemory& memory) {
  const uint64_t head = __atomic_load_n(&memory.down.head, __ATOMIC_RELAXED);
  return __atomic_load_n(&memory.down.tail_and_rung, __ATOMIC_ACQUIRE) >> 1 != head;
}

uint64_t slots_read(PortMemory& memory) {
  return __atomic_load_n(&memory.down.head, __ATOMIC_ACQUIRE);
}

ssize_t read_message(PortMemory& memory, Bells bells, void* buffer, size_t size, bool awaited) {
  const OwnerLockGuard guard(memory.readers);
  see_to_the_dead(guard, bells);
  Consumer down(memory.down);
  size_t whole = 0;
  while (whole == 0) {
    if (const int error = look(memory, down, bells, awaited); error != 0) {
      errno = error;
      return -1;
    }
    whole = length_of(down.slot(0));
    if (whole == 0) move_on(memory, down, bells, 1);  // the rest of a message whose reader died
  }
  auto* bytes = static_cast<uint8_t*>(buffer);
  const size_t first = whole < sizeof(Slot) ? whole : sizeof(Slot);
  if (whole > size) {
    // The first segment is shown with the length of the whole, so that the caller comes back.
    copy_beginning(down.slot(0), buffer, size < first ? size : first);
    errno = whole > sizeof(Slot) ? ENOSPC : EINVAL;
    return -1;
  }
  copy_beginning(down.slot(0), buffer, first);
  if (down.available() > kSlotsAhead) fetch_to_read(down.slot(kSlotsAhead));
  move_on(memory, down, bells, 1);
  for (size_t at = first; at < whole;) {
    int error = look(memory, down, bells, true);
    if (error == EAGAIN) {
      wait_readable(bells.down, kSliceMs);
      continue;
    }
    if (error == 0 && length_of(down.slot(0)) != 0) error = EIO;  // it ended too early
    if (error != 0) {
      errno = error;
      return -1;
    }
    uint64_t count = 0;
    for (; count < down.available() && at < whole; ++count) {
      const size_t n = whole - at < kSlotDataBytes ? whole - at : kSlotDataBytes;
      get_data(down.slot(count), bytes + at, n);
      at += n;
    }
    move_on(memory, down, bells, count);
  }
  return static_cast<ssize_t>(whole);
}

bool write_message(PortMemory& memory, Bells bells, const void* header, const void* data,
                   size_t size) {
  const OwnerLockGuard guard(memory.writers);
  see_to_the_dead(guard, bells);
  Producer up(memory.up);
  const auto* bytes = static_cast<const uint8_t*>(data);
  size_t at = 0;
  for (uint64_t left = slots_of(size); left > 0;) {
    const uint64_t room = wait_for_room(memory, up, bells);
    if (room == 0) return false;
    const uint64_t count = room < left ? room : left;
    for (uint64_t i = 0; i < count; ++i) {
      Slot& slot = up.slot(i);
      if (at == 0) {
        memcpy(slot.header, header, kUmadHeaderBytes);
      } else {
        memset(slot.header, 0, kUmadHeaderBytes);
      }
      const size_t n = size - at < kSlotDataBytes ? size - at : kSlotDataBytes;
      put_data(slot, bytes + at, n);
      at += n;
    }
    if (up.publish(count)) {
      if (server_is_gone(bells.down) || !ring_bell(bells.up)) {
        up.unring();
        return false;
      }
    }
    left -= count;
  }
  fetch_to_write(up.slot(kSlotsAhead));
  return true;
}

}  // namespace ibfabric
