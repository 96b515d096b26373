// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// ExitQueue: the candidate exits of one switch sorted by (load, preference). The first is taken and
// goes back to where its new load belongs, which on a balanced switch is the end, so giving LIDs
// out in turn is a copy and leaves the queue as it is. It stays as long as the candidates do; loads
// are in it until leave().
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>

#include "libdiag/route/spread/exits.h"

namespace ib::route {

/// A set of exits of one switch by rank, a bit each.
using ExitMask = std::span<const std::uint64_t>;

/// Ranks in `mask`, ascending; returns how many.
std::size_t list_exits(ExitMask mask, std::uint8_t* list);

/// Copies and fills of a dozen bytes, which cost less than a call of the C library's.
inline void copy_bytes(std::uint8_t* to, const std::uint8_t* from, std::size_t n) {
  for (; n >= 8; n -= 8, to += 8, from += 8) std::memcpy(to, from, 8);
  for (; n > 0; --n) *to++ = *from++;
}
inline void fill_bytes(std::uint8_t* to, std::uint8_t value, std::size_t n) {
  const std::uint64_t word = 0x0101010101010101ULL * value;
  for (; n >= 8; n -= 8, to += 8) std::memcpy(to, &word, 8);
  for (; n > 0; --n) *to++ = value;
}
inline bool equal_bytes(const std::uint8_t* a, const std::uint8_t* b, std::size_t n) {
  std::uint64_t x, y;
  for (; n >= 8; n -= 8, a += 8, b += 8) {
    std::memcpy(&x, a, 8), std::memcpy(&y, b, 8);
    if (x != y) return false;
  }
  for (; n > 0; --n)
    if (*a++ != *b++) return false;
  return true;
}

/// `count` bytes of a pattern of n, over and over.
inline void repeat_bytes(std::uint8_t* to, const std::uint8_t* pattern, std::size_t n,
                         std::size_t count) {
  std::size_t done = std::min(n, count);
  copy_bytes(to, pattern, done);
  for (; done < count; done += std::min(done, count - done))
    std::memcpy(to + done, to, std::min(done, count - done));
}

class ExitQueue {
 public:
  /// Where a queue of up to n exits keeps its arrays.
  struct Room {
    std::uint64_t* keys;   // 2 n
    std::uint8_t* ports;   // 2 n
    std::uint8_t* ranks;   // 2 n
    std::uint8_t* dealt;   // n: the candidates' ports in order of preference
    std::uint8_t* listed;  // n: their ranks
  };
  ExitQueue(const Exit* exits, std::uint64_t* load, Room room)
      : exits_(exits), load_(load), room_(room) {}

  /// From here on `mask`, which is not empty, is what may be taken.
  void enter(ExitMask mask) {
    if (entered_ && same(mask)) return;
    leave();
    fill(mask);
  }
  /// Loads are back where they came from.
  void leave();

  std::size_t size() const { return n_; }
  /// Ports (and ranks) of the candidates in the order of preference.
  const std::uint8_t* dealt() const { return room_.dealt; }
  const std::uint8_t* listed() const { return room_.listed; }

  /// The least loaded: its rank. `sources` routes go through it from now on.
  std::uint8_t take(std::uint64_t sources) {
    const std::uint64_t key = room_.keys[head_];
    const auto rank = static_cast<std::uint8_t>(key);
    const std::uint8_t port = room_.ports[head_];
    const std::uint64_t now = key + ((sources * exits_[rank].cost) << 8);
    ++head_;
    std::size_t at = head_ + n_ - 1;
    for (; at > head_ && room_.keys[at - 1] > now; --at) move(at - 1, at);
    room_.keys[at] = now;
    room_.ports[at] = port;
    room_.ranks[at] = rank;
    if (head_ == n_) rewind();
    return rank;
  }

  /// Takes `columns` times, each for the same number of sources: ports and ranks in that order.
  void take_each(std::uint64_t sources, std::size_t columns, std::uint8_t* ports,
                 std::uint8_t* ranks);

  /// True when everybody's turn comes in the order of turns(), over and over, as long as each takes
  /// it for so many sources.
  bool is_even(std::uint64_t sources) const {
    // Nobody is ahead by a whole route.
    const std::uint64_t more = (sources * cost_) << 8;
    return more != 0 && room_.keys[head_ + n_ - 1] < room_.keys[head_] + more;
  }
  /// Ports and ranks in that order.
  const std::uint8_t* port_turns() const { return room_.ports + head_; }
  const std::uint8_t* turns() const { return room_.ranks + head_; }
  /// So many times everybody had his turn.
  void take_turns(std::uint64_t sources, std::size_t times) {
    base_ += times * ((sources * cost_) << 8);
  }

 private:
  bool same(ExitMask mask) const {
    for (std::size_t i = 0; i < mask.size(); ++i)
      if (mask[i] != mask_[i]) return false;
    return true;
  }
  void fill(ExitMask mask);
  void move(std::size_t from, std::size_t to) {
    room_.keys[to] = room_.keys[from];
    room_.ports[to] = room_.ports[from];
    room_.ranks[to] = room_.ranks[from];
  }
  void rewind();

  const Exit* exits_;
  std::uint64_t* load_;
  Room room_;
  std::array<std::uint64_t, 4> mask_{};
  bool entered_{false};
  std::uint32_t cost_{0};  // of all candidates; 0: they differ
  std::uint64_t base_{0};  // what all keys lack
  std::size_t n_{0};
  std::size_t head_{0};
};

}  // namespace ib::route
