// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What routes claim of multicast, as trees that can be proved: all that MulticastRule::parent
// admits.
#pragma once

#include "libdiag/route/engine.h"
#include "libdiag/tables/verify.h"

namespace ib::route {

class TreeClaim {
 public:
  /// `graph` and `rule` outlive this. Precondition: where `rule` has parents, links lead to them.
  TreeClaim(const fabric::CompactGraph& graph, const MulticastRule& rule);
  TreeClaim(const TreeClaim&) = delete;
  TreeClaim& operator=(const TreeClaim&) = delete;

  /// For tables::verify(). Without parents there is nothing to check.
  tables::MulticastCheck check() const;

 private:
  const MulticastRule& rule_;
  tables::MulticastTables trees_;  // a group for each piece of the fabric
  std::map<Lid, std::vector<fabric::SwitchIndex>> members_;
  std::map<Lid, std::uint16_t> sls_;
};

}  // namespace ib::route
