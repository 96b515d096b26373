// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Partitions that an operator sets up and changes while the system runs: as the text that ibsm
// reads, and as plain lists of who may have which P_Key, which checks go by.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "libdiag/base/ids.h"
#include "libdiag/fabric/fabric.h"
#include "sm/policy/partition_policy.h"

namespace soak {

class Partitions {
 public:
  using Pick = std::uint64_t;
  /// Everybody is a full member of the default partition.
  Partitions() = default;
  /// Two partitions beside the default one, drawn from `pick` among `hosts`; what was allowed
  /// before stays allowed until forget_old().
  void change(const ib::fabric::Fabric& fabric, const std::vector<ib::fabric::PortRef>& hosts,
              Pick pick);
  void forget_old() { old_.clear(); }

  std::shared_ptr<const sm::policy::PartitionPolicy> policy() const { return policy_; }
  bool are_set() const { return policy_ != nullptr; }
  /// By what is in force, or was a moment ago.
  bool allows(ib::Guid port, ib::PKey key) const;
  /// What the port is to have; the default key of the subnet manager's port aside.
  const std::set<std::uint16_t>& keys_of(ib::Guid port) const;

 private:
  using Keys = std::map<ib::Guid, std::set<std::uint16_t>>;
  std::shared_ptr<const sm::policy::PartitionPolicy> policy_;
  Keys now_;
  std::vector<Keys> old_;
};

}  // namespace soak
