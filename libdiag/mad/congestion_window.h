// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// How many MADs may be unanswered on the port. It opens with the answers and closes on congestion,
// which is not the same as loss: a cable that loses one MAD in ten loses them however few are under
// way, a full buffer only when many are. So loss among MADs sent into a full window is compared
// with loss among those sent into a nearly empty one, and only the difference closes the window.
//
// Answers come at once and losses show a timeout later, so both are booked to the stretch of sends
// (epoch) they belong to, not to the moment they became known.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace ib::mad {

class CongestionWindow {
 public:
  /// Never closes below this: so few overflow nothing.
  static constexpr std::uint32_t kSmallest = 16;

  explicit CongestionWindow(std::uint32_t limit)
      : limit_(std::max(limit, 1U)), size_(std::min(limit_, kSmallest)) {}

  std::uint32_t size() const { return size_; }

  /// What the window remembers of a MAD that was sent.
  struct Sent {
    std::uint32_t epoch{0};
    std::uint32_t in_flight{0};
    bool alone{false}, crowded{false};
  };

  /// A first attempt leaves as the `in_flight`th.
  Sent on_send(std::uint32_t in_flight) {
    if (now().sends >= kEpochSends) next_epoch();
    ++now().sends;
    const bool alone = in_flight <= kSmallest;
    return {epoch_, in_flight, alone, !alone && 2 * in_flight > size_};
  }

  /// It may serve as evidence: its target is known to live. Once for each MAD, before on_loss.
  void count(const Sent& sent) {
    if (!is_recent(sent)) return;
    Epoch& then = epochs_[sent.epoch % kEpochs];
    if (sent.alone) ++then.alone_sent;
    if (sent.crowded) ++then.crowded_sent;
  }

  /// It was answered.
  void on_answer(const Sent& sent) {
    if (size_ >= limit_ || 2 * sent.in_flight < size_)
      return;  // the window was not what held us back
    if (opening_) {
      ++size_;  // doubles in a round trip
    } else if (++credit_ >= size_) {
      credit_ = 0;
      ++size_;
    }
  }

  /// It is presumed lost.
  void on_loss(const Sent& sent) {
    if (!is_recent(sent)) return;
    Epoch& then = epochs_[sent.epoch % kEpochs];
    if (sent.alone) ++then.alone_lost;
    if (!sent.crowded || sent.epoch < closed_in_) return;
    ++then.crowded_lost;
    const double usual = usual_loss(sent.epoch);
    const double expected = usual * then.crowded_sent;
    const double lost = then.crowded_lost;
    // Twice the usual and one in twenty more, and beyond what chance does in so small a number.
    if (lost <= 2 * expected + 0.05 * then.crowded_sent) return;
    if (lost <= expected + 4 * std::sqrt(expected + 1)) return;
    close();
  }

 private:
  static constexpr std::uint32_t kEpochs = 64, kEpochSends = 256;
  struct Epoch {
    std::uint32_t sends{}, crowded_sent{}, crowded_lost{}, alone_sent{}, alone_lost{};
  };

  Epoch& now() { return epochs_[epoch_ % kEpochs]; }
  void next_epoch() {
    ++epoch_;
    alone_sent_ += now().alone_sent;  // of the epoch whose place this one takes
    alone_lost_ += now().alone_lost;
    if (alone_sent_ > 4096) {  // older news count less
      alone_sent_ /= 2;
      alone_lost_ /= 2;
    }
    now() = {};
  }
  /// Loss in a nearly empty window, up to `epoch`: of what was sent since, the losses are not
  /// known yet. While samples are few, one in ten is assumed to be the cables' doing.
  double usual_loss(std::uint32_t epoch) const {
    std::uint32_t sent = alone_sent_, lost = alone_lost_;
    for (std::uint32_t e = epoch_ < kEpochs ? 0 : epoch_ - kEpochs + 1; e <= epoch; ++e) {
      sent += epochs_[e % kEpochs].alone_sent;
      lost += epochs_[e % kEpochs].alone_lost;
    }
    constexpr double kAssumed = 40, kAssumedLost = 4;
    return (lost + kAssumedLost) / (sent + kAssumed);
  }
  void close() {
    size_ = std::max(size_ / 2, std::min(limit_, kSmallest));
    opening_ = false;
    credit_ = 0;
    next_epoch();
    closed_in_ = epoch_;  // what was sent before says nothing about the window that is now
  }
  bool is_recent(const Sent& sent) const { return epoch_ - sent.epoch < kEpochs; }

  std::uint32_t limit_;
  std::uint32_t size_;
  std::uint32_t credit_{0};
  bool opening_{true};
  std::uint32_t epoch_{0}, closed_in_{0};
  std::uint32_t alone_sent_{0}, alone_lost_{0};
  std::array<Epoch, kEpochs> epochs_{};
};

}  // namespace ib::mad
