// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The limits of subnet administration that may change while it runs.
#pragma once

#include <cstdint>

namespace sm::sa {

struct Options;

struct Limits {
  std::uint32_t max_outstanding{16};  // tables on their way to one requester; 1 to 2^20
  std::uint32_t queue_size{1024};     // requests of one requester that wait; 16 to 2^20
  std::uint32_t time_sa_mad{2000};    // longest wait in a queue, in ms; 1 to 10,000
  friend bool operator==(const Limits&, const Limits&) = default;
};

Limits limits_of(const Options& options);
/// Sets them, and the totals that follow from them.
void set_limits(const Limits& limits, Options& options);

}  // namespace sm::sa
