// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// EventQueue: what happens when, as a four-ary heap of small plain events. Events of one instant
// come out in the order they were put in, which is what makes a run repeatable. Most events make
// one other, the next hop, so the first place stays free after pop() for what is put in next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ib::sim {

struct Event {
  std::int64_t at;
  std::uint64_t order;  // insertion number in the upper 56 bits, kind in the lower 8
  std::uint32_t a, b;
  std::uint8_t kind() const { return static_cast<std::uint8_t>(order & 0xFF); }
};

class EventQueue {
 public:
  bool empty() const { return heap_.size() == (is_first_free_ ? 1 : 0); }
  const Event& top() {
    close_gap();
    return heap_.front();
  }

  void push(std::int64_t at, std::uint8_t kind, std::uint32_t a, std::uint32_t b) {
    const Event event{at, (++inserted_ << 8) | kind, a, b};
    if (std::exchange(is_first_free_, false)) return sift_down(event);
    std::size_t i = heap_.size();
    heap_.push_back(event);
    while (i > 0) {
      const std::size_t parent = (i - 1) / 4;
      if (!before(event, heap_[parent])) break;
      heap_[i] = heap_[parent];
      i = parent;
    }
    heap_[i] = event;
  }

  Event pop() {
    close_gap();
    is_first_free_ = true;
    return heap_.front();
  }

 private:
  static bool before(const Event& x, const Event& y) {
    return x.at != y.at ? x.at < y.at : x.order < y.order;
  }
  void close_gap() {
    if (!std::exchange(is_first_free_, false)) return;
    const Event last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) sift_down(last);
  }
  /// Puts `event` where it belongs, the first place being free.
  void sift_down(const Event& event) {
    std::size_t i = 0;
    const std::size_t n = heap_.size();
    for (;;) {
      const std::size_t child = 4 * i + 1;
      if (child >= n) break;
      std::size_t best = child;
      const std::size_t end = child + 4 < n ? child + 4 : n;
      for (std::size_t c = child + 1; c < end; ++c)
        if (before(heap_[c], heap_[best])) best = c;
      if (!before(heap_[best], event)) break;
      heap_[i] = heap_[best];
      i = best;
    }
    heap_[i] = event;
  }

  std::vector<Event> heap_;
  bool is_first_free_{false};
  std::uint64_t inserted_{0};
};

}  // namespace ib::sim
