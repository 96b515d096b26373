// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Round-trip estimate of RFC 6298. Every attempt has a TID of its own, so every sample is clean and
// Karn's rule (no sample from a repeated request) is not needed.
#pragma once

#include "libdiag/base/instant.h"

namespace ib::mad {

class RoundTrip {
 public:
  bool measured() const { return measured_; }

  void add(Duration sample) {
    if (!measured_) {
      srtt_ = sample;
      variation_ = sample / 2;
      measured_ = true;
      return;
    }
    const Duration off = sample > srtt_ ? sample - srtt_ : srtt_ - sample;
    variation_ += (off - variation_) / 4;
    srtt_ += (sample - srtt_) / 8;
  }

  /// How long to wait for an answer before it is presumed lost.
  Duration timeout() const { return srtt_ + 4 * variation_; }

 private:
  Duration srtt_{0};
  Duration variation_{0};
  bool measured_{false};
};

}  // namespace ib::mad
