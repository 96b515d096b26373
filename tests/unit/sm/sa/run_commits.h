// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What the threads of the SA and of the store do with commits, all at once.
#pragma once

#include <string>

#include "sm/sa/server.h"
#include "sm/store/store.h"

namespace sm::sa {

/// Runs every commit that `server` wants on `store`. The last failure's message, empty if none.
inline std::string run_commits(Server& server, store::Store& store, ib::Instant now) {
  std::string failure;
  while (auto commit = server.next_commit()) {
    const auto done = store.commit(commit->batch);
    if (!done) failure = done.error().message;
    server.on_commit_done(now, commit->ticket, done.has_value());
  }
  return failure;
}

}  // namespace sm::sa
