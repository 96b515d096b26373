// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace ib::mad {

/// A first-in first-out queue in one block of memory. std::deque allocates for each element when
/// elements are as large as packets.
template <class T>
class Fifo {
 public:
  bool empty() const { return head_ == items_.size(); }
  std::size_t size() const { return items_.size() - head_; }
  /// front() and pop(): precondition: it is not empty.
  T& front() { return items_[head_]; }
  void push(T item) { items_.push_back(std::move(item)); }
  /// One more at the end, to be filled in place.
  T& add() { return items_.emplace_back(); }
  T pop() {
    T item = std::move(items_[head_++]);
    if (head_ == items_.size()) {
      items_.clear();
      head_ = 0;
    } else if (head_ >= 64 && 2 * head_ >= items_.size()) {
      items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(head_));
      head_ = 0;
    }
    return item;
  }

 private:
  std::vector<T> items_;
  std::size_t head_{0};
};

}  // namespace ib::mad
