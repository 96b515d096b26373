// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// BroughtUp: CAs and routers whose links Sets take to ACTIVE, until the switch that they hang from
// tells whether a link of it went down meanwhile; and switches that Sets give a LID, until they
// tell. One that is rebooted between the reading of its tables, or Sets of them, and these Sets is
// ACTIVE and has a LID, and holds nothing else of what it is known to hold.
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "libdiag/discover/observed.h"
#include "libdiag/route/lids.h"

namespace sm::core {

class BroughtUp {
 public:
  /// Sets follow, for ports as they are `seen`, to which `desired` gives LIDs. One end of a link is
  /// enough: who was read before it was rebooted is ACTIVE as far as is known, and the switch has
  /// its end taken there again.
  void on_apply(const ib::discover::Observed& seen,
                const std::vector<ib::route::LidAssignment>& desired);
  /// What a sweep found, which looked at the ports of these switches: nodes that may have been
  /// rebooted since they were read.
  std::set<ib::Guid> doubtful(const ib::discover::Observed& found,
                              const std::vector<ib::Guid>& switches);
  /// Its switch has not told yet.
  bool has(ib::Guid node) const;
  /// None of its ports changed since.
  void on_unchanged(ib::Guid switch_guid);
  void forget() { nodes_.clear(); }

 private:
  std::set<std::pair<ib::Guid, ib::Guid>> nodes_;  // switch, and who hangs from it, or itself
};

}  // namespace sm::core
