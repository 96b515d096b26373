// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Alias GUIDs: the entries of ports' GUIDInfo beside the hardware's own (IBA 14.2.5.5, 15.2.5.18).
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>

#include "sm/sa/change.h"

namespace sm::sa {

class Aliases {
 public:
  using Key = std::pair<ib::Guid, std::uint16_t>;  // port GUID, index

  void apply(const store::Batch& batch);
  const std::map<Key, ib::Guid>& all() const { return by_place_; }
  /// GUID of the port that bears `alias`; zero when none does.
  ib::Guid port_of(ib::Guid alias) const;

 private:
  std::map<Key, ib::Guid> by_place_;
  std::unordered_map<ib::Guid, ib::Guid> port_by_alias_;
};

}  // namespace sm::sa
