// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Restarts: nodes and links that started again between two sweeps, and look as before otherwise.
#pragma once

#include <cstdint>
#include <set>
#include <utility>

#include "libdiag/base/ids.h"

namespace sm {

struct Restarts {
  using Port = std::pair<ib::Guid, std::uint8_t>;  // node and port

  std::set<ib::Guid> nodes;               // lost what they had been told: they were rebooted
  std::set<std::pair<Port, Port>> links;  // both ends
};

}  // namespace sm
