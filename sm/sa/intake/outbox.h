// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Packets to be sent, in order, in memory that is used again: in a deque each would be a piece of
// memory of its own.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "libdiag/mad/transport.h"

namespace sm::sa {

class Outbox {
 public:
  void push(ib::mad::Packet&& packet) { add() = std::move(packet); }
  /// One to be filled in, valid until the next call of any: all of it but `more` is left from
  /// another.
  ib::mad::Packet& add() {
    if (taken_ == filled_) start_over();
    // One that is never emptied must not grow for ever.
    if (taken_ > kKept) {
      packets_.erase(packets_.begin(), packets_.begin() + static_cast<std::ptrdiff_t>(taken_));
      filled_ -= std::exchange(taken_, 0);
    }
    if (filled_ == packets_.size()) packets_.emplace_back();
    return packets_[filled_++];
  }
  /// The next, the caller's until the next call of any; nullptr: there is none.
  ib::mad::Packet* take() {
    if (taken_ != 0) packets_[taken_ - 1].more = {};
    if (taken_ == filled_) {
      start_over();
      return nullptr;
    }
    return &packets_[taken_++];
  }

 private:
  /// More room than that is given back.
  static constexpr std::size_t kKept = 1024;
  void start_over() {
    taken_ = filled_ = 0;
    if (packets_.size() > kKept) packets_ = {};
  }

  std::vector<ib::mad::Packet> packets_;
  std::size_t taken_{0}, filled_{0};
};

}  // namespace sm::sa
