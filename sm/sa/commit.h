// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What subnet administration wants to be made durable.
#pragma once

#include <cstdint>

#include "sm/store/store.h"

namespace sm::sa {

/// Write this, then say on_commit_done(ticket). Commits come one at a time.
struct Commit {
  std::uint64_t ticket{};
  store::Batch batch;
};

}  // namespace sm::sa
