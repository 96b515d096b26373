// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/core/foreign_store.h"

#include <algorithm>

namespace sm::core {

std::vector<ib::Guid> other_ports(const ib::discover::Observed& found) {
  std::vector<ib::Guid> ports;
  const ib::fabric::Fabric& fabric = found.fabric;
  for (ib::fabric::NodeIndex n = 0; n < fabric.nodes().size(); ++n) {
    if (n == found.local_port.node) continue;
    for (unsigned p = 0; p <= fabric.node(n).num_ports; ++p)
      if (const ib::Guid guid = fabric.port(n, p).guid; guid != ib::Guid{}) ports.push_back(guid);
  }
  return ports;
}

store::Kinship kinship_of(const ib::route::StoredLids& stored,
                          const ib::discover::Observed& found) {
  std::vector<store::LidClaim> lids;
  lids.reserve(stored.size());
  for (const auto& [guid, claim] : stored) lids.push_back({guid, claim.lid, claim.lmc});
  std::ranges::sort(lids);
  return store::kinship(lids, other_ports(found));
}

}  // namespace sm::core
