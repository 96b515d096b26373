// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// `ibsm ctl sa`: the limits of subnet administration and its counters, read and changed while it
// runs. A restart begins with those of the options again.
#pragma once

#include <cstdint>
#include <optional>

#include "libdiag/base/result.h"
#include "sm/control/protocol.h"
#include "sm/sa/counters.h"
#include "sm/sa/limits.h"

namespace sm::daemon {

/// What is in force and what was counted since the start or the last reset.
struct SaState {
  sa::Limits limits;
  std::uint32_t rx_threshold{};  // of QP0 and of the SA's port each
  sa::Counters counters;
  std::uint64_t dropped_at_port{};  // found the receive queue of the SA's port full
};

struct SaChange {
  std::optional<sa::Limits> limits;
  std::optional<std::uint32_t> rx_threshold;
  bool reset_counters{false};
  bool changes() const { return limits || rx_threshold || reset_counters; }
};

/// What `sa`, `sa set NAME=VALUE...` or `sa reset` would change of `present`. An error of kind
/// Usage names the word and what was expected; nothing is to be changed then.
ib::Result<SaChange> sa_change(const control::Request& request, const SaState& present);

/// What the command prints; JSON with the option `json`.
control::Answer sa_answer(const control::Request& request, const SaState& state,
                          const std::string& version);

}  // namespace sm::daemon
