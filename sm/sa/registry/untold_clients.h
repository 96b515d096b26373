// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Ports where subscriptions ended since no Report was answered, or that had what another master did
// not store. Their clients do not know: the host may have crashed, its cable may lose MADs, or they
// were answered here meanwhile. They are to be asked to register again (PortInfo:ClientReregister),
// all that are due together once a second; a port not more than every ten minutes, whose clients
// may subscribe each time and never answer.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "libdiag/base/ids.h"
#include "libdiag/base/instant.h"

namespace sm::sa {

class UntoldClients {
 public:
  void add(ib::Instant now, const std::set<ib::Guid>& ports);
  /// Port GUIDs, each once: who is to be asked now.
  std::vector<ib::Guid> take(ib::Instant now);
  /// When take() has some; kNever: nobody waits.
  ib::Instant next_deadline() const;

 private:
  std::map<ib::Guid, ib::Instant> due_;
  ib::Instant first_{ib::kNever};          // of these: every turn of the server asks for it
  std::map<ib::Guid, ib::Instant> asked_;  // within the last ten minutes
  ib::Instant not_before_;                 // after some were given out
};

}  // namespace sm::sa
