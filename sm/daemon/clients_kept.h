// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Whose clients are to be asked to register again, as the store has it. What a port registered is
// dropped when it leaves; if it comes back while no process runs, or all was lost and the process
// that found out dies, the next master knows by this whom to ask.
#pragma once

#include "sm/core/clients_to_ask.h"

namespace sm::daemon {

class ClientsKept {
 public:
  explicit ClientsKept(const store::Contents& contents) { take(contents); }
  /// The store has this now.
  void take(const store::Contents& contents) { due_ = core::clients_to_ask(contents); }

  /// What is to be stored before something is done that makes it so: these as well.
  store::Batch add(const core::ClientsToAsk& more);
  /// Likewise when all others were asked.
  store::Batch set(const core::ClientsToAsk& due);

 private:
  core::ClientsToAsk due_;
};

}  // namespace sm::daemon
