// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Whether a port was ACTIVE when a sweep saw it. Inside sm/core only.
#pragma once

#include "libdiag/discover/observed.h"

namespace sm::core {

/// False where `port` is none, or its PortInfo is not known.
inline bool is_active(const ib::discover::Observed& in, ib::fabric::PortRef port) {
  const auto* known = port ? in.known_port(port) : nullptr;
  return known != nullptr && known->state() == ib::wire::PortState::Active;
}

}  // namespace sm::core
