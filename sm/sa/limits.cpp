// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/limits.h"

#include <algorithm>
#include <chrono>

#include "sm/sa/options.h"

namespace sm::sa {
namespace {
/// A queue gets this part of the room that is left, so a longer one needs more of it.
constexpr std::size_t kQueuesInAll = 64, kInAllMax = 1U << 20;
}  // namespace

Limits limits_of(const Options& options) {
  using std::chrono::milliseconds;
  Limits limits;
  limits.max_outstanding = static_cast<std::uint32_t>(options.transfers_per_requester);
  limits.queue_size = static_cast<std::uint32_t>(options.admission.queue_size);
  limits.time_sa_mad = static_cast<std::uint32_t>(
      std::chrono::duration_cast<milliseconds>(options.admission.time_in_queue).count());
  return limits;
}

void set_limits(const Limits& limits, Options& options) {
  const Options defaults;
  options.transfers_per_requester = limits.max_outstanding;
  options.transfers_max = std::max(defaults.transfers_max, options.transfers_per_requester);
  auto& admission = options.admission;
  admission.queue_size = limits.queue_size;
  admission.queue_in_all = defaults.admission.queue_in_all;
  if (admission.queue_size != defaults.admission.queue_size)
    admission.queue_in_all =
        std::clamp(kQueuesInAll * admission.queue_size, admission.queue_in_all, kInAllMax);
  admission.time_in_queue = std::chrono::milliseconds(limits.time_sa_mad);
}

}  // namespace sm::sa
