// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// ErrorWindow: whether more errors came within a span of time than somebody puts up with.
#pragma once

#include <cstddef>
#include <deque>

#include "libdiag/base/instant.h"

namespace sm::managers {

class ErrorWindow {
 public:
  /// `span` 0: never too many. `most` 0: one is too many.
  ErrorWindow(std::size_t most, ib::Duration span) : most_(most), span_(span) {}

  /// One more, at `now`, which does not go back. True: now there are too many.
  bool add(ib::Instant now) {
    if (span_ == ib::Duration{0}) return false;
    while (!at_.empty() && now - at_.front() >= span_) at_.pop_front();
    at_.push_back(now);
    return at_.size() > most_;
  }
  /// Errors within the span that ended with the last of them.
  std::size_t count() const { return at_.size(); }

 private:
  std::size_t most_;
  ib::Duration span_;
  std::deque<ib::Instant> at_;
};

}  // namespace sm::managers
