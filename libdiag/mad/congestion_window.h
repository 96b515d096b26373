// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// How many MADs may be unanswered on the port. It opens with the answers and closes on congestion,
// which is not the same as loss: a cable that loses one MAD in ten loses them however few are under
// way, a full buffer only when many are. So loss among MADs sent into a full window is compared
// with loss among those sent into a nearly empty one, and only the difference closes the window.
#pragma once

#include <algorithm>
#include <cstdint>

namespace ib::mad {

class CongestionWindow {
 public:
  /// Never closes below this: so few overflow nothing.
  static constexpr std::uint32_t kSmallest = 16;

  explicit CongestionWindow(std::uint32_t limit)
      : limit_(std::max(limit, 1U)), size_(std::min(limit_, kSmallest)) {}

  std::uint32_t size() const { return size_; }

  /// A MAD that was sent as the `in_flight`th was answered.
  void on_answer(std::uint32_t in_flight) {
    if (Tally* tally = tally_for(in_flight)) tally->add(false);
    if (size_ >= limit_ || 2 * in_flight < size_) return;  // the window was not what held us back
    if (opening_) {
      ++size_;  // doubles in a round trip
    } else if (++credit_ >= size_) {
      credit_ = 0;
      ++size_;
    }
  }

  /// A MAD that was sent as the `in_flight`th is presumed lost.
  void on_loss(std::uint32_t in_flight) {
    Tally* tally = tally_for(in_flight);
    if (tally == nullptr) return;
    tally->add(true);
    if (tally != &crowded_ || crowded_.sent < kEnough) return;
    // Without enough samples of the empty window, one in ten is assumed to be the cables' doing.
    const double usual = alone_.sent >= kSmallest ? alone_.rate() : 0.1;
    if (crowded_.rate() <= 2 * usual + 0.05) return;
    size_ = std::max(size_ / 2, std::min(limit_, kSmallest));
    opening_ = false;
    credit_ = 0;
    crowded_ = {};
  }

 private:
  static constexpr std::uint32_t kEnough = 32;
  struct Tally {
    std::uint32_t sent{}, lost{};
    void add(bool was_lost) {
      if (sent >= 512) {  // older news count less
        sent /= 2;
        lost /= 2;
      }
      ++sent;
      if (was_lost) ++lost;
    }
    double rate() const { return static_cast<double>(lost) / static_cast<double>(sent); }
  };
  Tally* tally_for(std::uint32_t in_flight) {
    if (in_flight <= kSmallest) return &alone_;
    return 2 * in_flight > size_ ? &crowded_ : nullptr;
  }

  std::uint32_t limit_;
  std::uint32_t size_;
  std::uint32_t credit_{0};
  bool opening_{true};
  Tally alone_, crowded_;
};

}  // namespace ib::mad
