// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Any words of `ibsm ctl sa`, on a line of the control socket: an error of one line, or limits in
// their ranges; and every answer is one that can be sent.
#include <string>

#include "sm/daemon/sa_verbs.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using ib::fuzz::require;
  const auto request = sm::control::decode_request({reinterpret_cast<const char*>(data), size});
  if (!request) return 0;
  sm::daemon::SaState state;
  state.rx_threshold = 8192;
  const auto change = sm::daemon::sa_change(*request, state);
  if (!change) {
    require(change.error().message.find('\n') == std::string::npos, "an error is one line");
    return 0;
  }
  if (change->limits) {
    state.limits = *change->limits;
    require(state.limits.max_outstanding >= 1 && state.limits.max_outstanding <= 1U << 20,
            "max_outstanding is in its range");
    require(state.limits.queue_size >= 16 && state.limits.queue_size <= 1U << 20,
            "queue_size is in its range");
    require(state.limits.time_sa_mad >= 1 && state.limits.time_sa_mad <= 10'000,
            "time_sa_mad is in its range");
  }
  if (change->rx_threshold)
    require(*change->rx_threshold >= 64 && *change->rx_threshold <= 1U << 20,
            "rx_threshold is in its range");
  require(sm::daemon::sa_answer(*request, state, "0").status == 0, "what was taken is answered");
  return 0;
}
