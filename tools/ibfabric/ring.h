// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// How MADs pass between a program and the server without a system call each: two rings in memory
// both have mapped, one each way. Each has a doorbell, a descriptor that is readable when, and only
// when, there is a MAD to be read: down a pipe, whose end shows each side the end of the other; up
// an eventfd, since a pipe would raise SIGPIPE in a program. (A byte by the connection's socket
// cost three times as much.)
//
//   rung == 1  <=>  the ring is not empty  <=>  the bell is readable, or soon will be
//
// The producer sets the bit together with the new tail and rings if the bit was clear; the
// consumer clears it if it has taken the last slot, and then takes the bell. (The server, which
// looks at its rings anyway while any of them is busy, may do so a little later.) The bell up rings
// for room in the ring down, too, when that was full and the server wants it: who takes that bell
// asks for room again, and only then looks whether there is any. Those that share an
// end (threads, processes after fork) take turns by a lock; that is not this file's business.
//
// A message is one slot and, if it is longer than a MAD, further slots in which the header's length
// is zero, so that an end that lost its place finds the next beginning. Zeros at the end of a MAD
// are not written: half of most MADs is empty, and what is not touched need not come from the other
// end's cache. Neither end believes an
// index: a Producer or Consumer that lives on holds its own, and what the other one wrote is
// checked. No C++ library.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tools/ibfabric/owner_lock.h"
#include "tools/ibfabric/protocol.h"

namespace ibfabric {

inline constexpr uint64_t kRingSlots = 1024;
inline constexpr size_t kSlotDataBytes = 256;
inline constexpr size_t kLineBytes = 64, kSlotLines = kSlotDataBytes / kLineBytes;
inline constexpr uint64_t kRingBroken = ~uint64_t{0};

/// struct ib_user_mad and what comes first of its data, or zeros and what comes next. The header's
/// last byte, which is reserved, says how many lines of data were written.
struct Slot {
  uint8_t header[kUmadHeaderBytes];
  uint8_t data[kSlotDataBytes];
};

struct Ring {
  alignas(64) uint64_t tail_and_rung;  // slots ever written << 1 | rung
  uint32_t room_wanted;                // the producer waits for room; also its futex
  alignas(64) uint64_t head;           // slots ever read
  alignas(64) Slot slots[kRingSlots];
};

/// Fetches a slot that is soon to be written or read, the other end having had it last: this many
/// slots before it is needed, where one MAD follows the other.
inline constexpr uint64_t kSlotsAhead = 2;
inline constexpr size_t kUsualBytes = kUmadHeaderBytes + 2 * kLineBytes;
inline void fetch_to_write(const Slot& slot) {
  for (size_t at = 0; at < kUsualBytes; at += kLineBytes) {
    const auto* line = reinterpret_cast<const char*>(&slot) + at;
#ifdef __x86_64__
    // __builtin_prefetch makes one for reading of it where -mprfchw is not given, and the line
    // stays the other end's, too. What knows no prefetchw, of 64 bits, does nothing.
    asm volatile("prefetchw (%0)" : : "r"(line));
#else
    __builtin_prefetch(line, 1);
#endif
  }
}
inline void fetch_to_read(const Slot& slot) {
  const auto* bytes = reinterpret_cast<const char*>(&slot);  // beyond its header, too
  for (size_t at = 0; at < kUsualBytes; at += kLineBytes) __builtin_prefetch(bytes + at, 0);
}

inline bool is_zero_line(const uint8_t* line) {
  // All at once: as a loop it costs as much as copying the line.
  uint64_t words[kLineBytes / sizeof(uint64_t)];
  memcpy(words, line, sizeof words);
  return ((words[0] | words[1]) | (words[2] | words[3]) | (words[4] | words[5]) |
          (words[6] | words[7])) == 0;
}

/// Writes the data of a slot, whose header is there already.
inline void put_data(Slot& slot, const void* data, size_t size) {
  const auto* from = static_cast<const uint8_t*>(data);
  size_t lines = kSlotLines;
  if (size == kSlotDataBytes) {
    while (lines > 0 && is_zero_line(from + (lines - 1) * kLineBytes)) --lines;
    for (size_t i = 0; i < lines; ++i)
      memcpy(slot.data + i * kLineBytes, from + i * kLineBytes, kLineBytes);
  } else {
    memcpy(slot.data, from, size);
  }
  slot.header[kUmadHeaderBytes - 1] = static_cast<uint8_t>(lines);
}
/// Reads the first `size` bytes of them.
inline void get_data(const Slot& slot, void* data, size_t size) {
  auto* to = static_cast<uint8_t*>(data);
  const size_t lines = slot.header[kUmadHeaderBytes - 1];
  if (size == kSlotDataBytes) {
    for (size_t i = 0; i < kSlotLines; ++i) {
      if (i < lines) {
        memcpy(to + i * kLineBytes, slot.data + i * kLineBytes, kLineBytes);
      } else {
        memset(to + i * kLineBytes, 0, kLineBytes);
      }
    }
    return;
  }
  const size_t written = lines < kSlotLines ? lines * kLineBytes : kSlotDataBytes;
  const size_t copied = size < written ? size : written;
  memcpy(to, slot.data, copied);
  memset(to + copied, 0, size - copied);
}

/// Slots a message of so many bytes takes.
constexpr uint64_t slots_of(size_t data_bytes) {
  return data_bytes <= kSlotDataBytes ? 1 : (data_bytes + kSlotDataBytes - 1) / kSlotDataBytes;
}

class Producer {
 public:
  explicit Producer(Ring& ring)
      : Producer(ring, __atomic_load_n(&ring.tail_and_rung, __ATOMIC_RELAXED) >> 1) {}
  Producer(Ring& ring, uint64_t tail) : ring_(&ring), tail_(tail) { look(); }

  /// Free slots, at least `wanted` of them if the other end has made so many; kRingBroken: the
  /// other end claims to have read what was never written.
  uint64_t room(uint64_t wanted = 1) {
    if (free_ != kRingBroken && free_ < wanted) look();
    return free_;
  }
  /// The `i`-th free slot.
  Slot& slot(uint64_t i) { return ring_->slots[(tail_ + i) % kRingSlots]; }

  /// Shows `count` slots to the other end. True: it must be rung for.
  [[nodiscard]] bool publish(uint64_t count) {
    tail_ += count;
    if (free_ != kRingBroken) free_ -= count;
    return (__atomic_exchange_n(&ring_->tail_and_rung, tail_ << 1 | 1, __ATOMIC_SEQ_CST) & 1) == 0;
  }
  /// After the bell could not be rung: the next one is to try again.
  void unring() { __atomic_fetch_and(&ring_->tail_and_rung, ~uint64_t{1}, __ATOMIC_SEQ_CST); }
  /// Asks to be told when there is room. It may have come meanwhile: look once more before waiting.
  void want_room() {
    __atomic_store_n(&ring_->room_wanted, 1, __ATOMIC_SEQ_CST);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    look();
  }

 private:
  void look() {
    const uint64_t used = tail_ - __atomic_load_n(&ring_->head, __ATOMIC_ACQUIRE);
    free_ = used > kRingSlots ? kRingBroken : kRingSlots - used;
  }
  Ring* ring_;
  uint64_t tail_;
  uint64_t free_{};
};

class Consumer {
 public:
  explicit Consumer(Ring& ring) : Consumer(ring, __atomic_load_n(&ring.head, __ATOMIC_RELAXED)) {}
  Consumer(Ring& ring, uint64_t head) : ring_(&ring), head_(head) {}

  /// Slots to be read; kRingBroken: more than there can be. What was seen before is not looked for
  /// again.
  uint64_t available() {
    if (seen_ == 0) look();
    return seen_;
  }
  /// Those of them that need not be looked for.
  uint64_t seen() const { return seen_; }
  /// The `i`-th of them. The other end may be writing it all the same: copy before checking.
  const Slot& slot(uint64_t i) const { return ring_->slots[(head_ + i) % kRingSlots]; }

  /// Moves on, not yet telling the other end.
  void skip(uint64_t count) {
    head_ += count;
    seen_ -= count;
  }
  uint64_t head() const { return head_; }
  /// Gives the other end the room of what was read.
  void release() { __atomic_store_n(&ring_->head, head_, __ATOMIC_RELEASE); }

  enum class Bell { Silenced, Silent, Rung };
  /// Clears `rung` if there is nothing more. Silenced: it did, and the bell is to be taken;
  /// Silent: it was clear; Rung: there is more. Includes a full barrier.
  Bell silence() {
    uint64_t word = head_ << 1 | 1;
    if (__atomic_compare_exchange_n(&ring_->tail_and_rung, &word, head_ << 1, false,
                                    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
      return Bell::Silenced;
    return word == head_ << 1 ? Bell::Silent : Bell::Rung;
  }

  /// Whether the producer waits for room, which it has to be told once. After release() and a full
  /// barrier.
  bool take_room_wanted() {
    return __atomic_load_n(&ring_->room_wanted, __ATOMIC_RELAXED) != 0 &&
           __atomic_exchange_n(&ring_->room_wanted, 0, __ATOMIC_SEQ_CST) != 0;
  }

 private:
  void look() {
    seen_ = (__atomic_load_n(&ring_->tail_and_rung, __ATOMIC_ACQUIRE) >> 1) - head_;
    if (seen_ > kRingSlots) seen_ = kRingBroken;
  }
  Ring* ring_;
  uint64_t head_;
  uint64_t seen_{0};
};

/// What the server makes for an open port and both ends have mapped.
struct PortMemory {
  OwnerLock readers, writers;  // the library's own, at its two ends
  uint8_t found_empty;         // the last reader took the last MAD and with it the bell
  Ring up;                     // from the library to the server
  Ring down;                   // and back
};

}  // namespace ibfabric
