// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/aliases.h"

namespace sm::sa {

void Aliases::apply(const store::Batch& batch) {
  for (const auto& alias : batch.aliases) {
    const Key key{alias.port_guid, alias.index};
    if (const auto before = by_place_.find(key); before != by_place_.end()) {
      port_by_alias_.erase(before->second);
      by_place_.erase(before);
    }
    if (alias.guid.value == 0) continue;
    by_place_.emplace(key, alias.guid);
    port_by_alias_[alias.guid] = alias.port_guid;
  }
}

ib::Guid Aliases::port_of(ib::Guid alias) const {
  const auto at = port_by_alias_.find(alias);
  return at == port_by_alias_.end() ? ib::Guid{} : at->second;
}

}  // namespace sm::sa
