// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/spread/exit_queue.h"

#include <algorithm>
#include <bit>

namespace ib::route {

std::size_t list_exits(ExitMask mask, std::uint8_t* list) {
  std::size_t n = 0;
  for (std::size_t word = 0; word < mask.size(); ++word)
    for (std::uint64_t bits = mask[word]; bits != 0; bits &= bits - 1)
      list[n++] =
          static_cast<std::uint8_t>(word * 64 + static_cast<unsigned>(std::countr_zero(bits)));
  return n;
}

void ExitQueue::fill(ExitMask mask) {
  std::copy(mask.begin(), mask.end(), mask_.begin());
  n_ = list_exits(mask, room_.listed);
  head_ = 0;
  base_ = 0;
  entered_ = true;
  cost_ = exits_[room_.listed[0]].cost;
  for (std::size_t i = 0; i < n_; ++i) {
    const std::uint8_t rank = room_.listed[i];
    room_.dealt[i] = exits_[rank].port;
    room_.keys[i] = load_[rank] << 8 | rank;
    if (exits_[rank].cost != cost_) cost_ = 0;
  }
  std::sort(room_.keys, room_.keys + n_);
  for (std::size_t i = 0; i < n_; ++i) {
    room_.ranks[i] = static_cast<std::uint8_t>(room_.keys[i]);
    room_.ports[i] = exits_[room_.ranks[i]].port;
  }
}

void ExitQueue::leave() {
  if (!entered_) return;
  for (std::size_t i = head_; i < head_ + n_; ++i)
    load_[room_.ranks[i]] = (room_.keys[i] + base_) >> 8;
  entered_ = false;
}

void ExitQueue::rewind() {
  std::memcpy(room_.keys, room_.keys + head_, n_ * sizeof *room_.keys);
  std::memcpy(room_.ports, room_.ports + head_, n_);
  std::memcpy(room_.ranks, room_.ranks + head_, n_);
  head_ = 0;
}

void ExitQueue::take_each(std::uint64_t sources, std::size_t columns, std::uint8_t* ports,
                          std::uint8_t* ranks) {
  std::size_t c = 0;
  if (is_even(sources)) {
    for (; c + n_ <= columns; c += n_) {
      copy_bytes(ports + c, port_turns(), n_);
      copy_bytes(ranks + c, turns(), n_);
    }
    take_turns(sources, c / n_);
  }
  for (; c < columns; ++c) {
    ports[c] = room_.ports[head_];
    ranks[c] = take(sources);
  }
}

}  // namespace ib::route
