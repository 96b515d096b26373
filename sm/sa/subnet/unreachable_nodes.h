// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Where a sweep got no answer that it could use, though a link is up. What is behind is not known
// to be gone.
#pragma once

#include <set>
#include <utility>

#include "sm/device/snapshot.h"

namespace sm::sa {

class UnreachableNodes {
 public:
  explicit UnreachableNodes(const ib::discover::Observed& now);
  /// Whether the end port `guid`, which no longer shows, may be there all the same. `before`: where
  /// it was; nullptr: not known.
  bool may_hide(ib::Guid guid, const Snapshot* before) const;

 private:
  using Place = std::pair<ib::Guid, std::uint8_t>;
  static Place place(const ib::fabric::Fabric& fabric, ib::fabric::PortRef at) {
    return {fabric.node(at.node).guid, at.port};
  }
  const ib::fabric::Fabric& fabric_;
  bool any_{false};
  std::set<Place> behind_;
};

}  // namespace sm::sa
