// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// KeptNodes: nodes that did not answer a sweep which did not wait for them. While the link to such
// a node is up it may well forward what it was told to, so it stays in the fabric as it was known,
// for two seconds at most. Then a sweep leaves it out.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "libdiag/base/log.h"
#include "libdiag/discover/observed.h"

namespace sm::core {

class KeptNodes {
 public:
  /// Adds to `found` the silent nodes that `before` has, and those that only they lead to; the
  /// troubles with them are gone. `managed`: the nodes of `before`. Troubles have been told whose
  /// they are.
  void keep(ib::Instant now, ib::discover::Observed& found, const ib::discover::Observed& before,
            const std::vector<bool>& managed);
  /// A sweep waited for everybody: who is silent is silent.
  void forget() { since_.clear(); }

  std::size_t count() const { return since_.size(); }
  bool contains(ib::Guid node) const { return since_.contains(node); }
  /// When the first of them is to answer or to be left out; kNever.
  ib::Instant due() const;
  std::optional<ib::LogEvent> next_log();

 private:
  std::map<ib::Guid, ib::Instant> since_;  // silent
  std::deque<ib::LogEvent> logs_;
};

}  // namespace sm::core
