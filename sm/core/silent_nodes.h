// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// SilentNodes: who it is that does not answer. A sweep meets a silent node once for every cable
// that leads to it and cannot tell that they lead to one; the sweep before may have heard who hung
// there. Only names troubles; what is done about them is the plan's.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "libdiag/discover/observed.h"

namespace sm::core {

class SilentNodes {
 public:
  /// Troubles of `found` at cables whose far end was heard in `before`, or is remembered from
  /// further back, become one for each such node. A node that answers elsewhere now is not behind
  /// the cable any more: its trouble stays nameless.
  void identify(ib::discover::Observed& found, const ib::discover::Observed& before);

 private:
  struct Who {
    ib::Guid guid;
    std::string description;
  };
  using Cable = std::pair<ib::Guid, std::uint8_t>;  // the end that answers
  std::map<Cable, Who> remembered_;                 // of cables in trouble since they were heard
};

/// Whether a node that `before` has, and that is `managed` (by its nodes), gave no answer now.
bool somebody_fell_silent(const ib::discover::Observed& found, const ib::discover::Observed& before,
                          const std::vector<bool>& managed);

/// Whether `before` has this node, and only elsewhere than behind `port` of the node `at`.
bool stood_elsewhere(const ib::fabric::Fabric& before, ib::Guid node, ib::Guid at,
                     std::uint8_t port);

}  // namespace sm::core
