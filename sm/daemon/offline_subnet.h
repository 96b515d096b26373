// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// OfflineSubnet: what ibsm would make of a saved topology by the operator's options, with no fabric
// attached: LIDs, routes, partitions, VLs, and the policies that paths are decided by. Devices are
// taken for those that ibfabric models: MTU 4096, 8 data VLs and arbitration tables of 8 entries
// where the topology does not say, all links up. Ports keep the LIDs that it has.
#pragma once

#include <memory>

#include "sm/daemon/options.h"
#include "sm/plan/desired.h"
#include "sm/sa/world.h"

namespace sm::daemon {

class OfflineSubnet {
 public:
  /// The subnet manager is at the port that the options name, else at the first host. An error
  /// where there is nobody to manage.
  static ib::Result<std::unique_ptr<OfflineSubnet>> make(const ib::fabric::Fabric& topology,
                                                         const DaemonOptions& options);

  const ib::fabric::Fabric& fabric() const { return paths_->snapshot().fabric(); }
  const sa::Paths& paths() const { return *paths_; }
  const plan::Desired& desired() const { return desired_; }
  const policy::QosPolicy* qos_rules() const { return qos_rules_.get(); }
  sa::World world() const { return {paths_, state_, policy_}; }

  /// What ibsm programs; none: it leaves these tables to the device.
  std::optional<ib::wire::SlToVlTable> sl_to_vl(ib::fabric::PortRef out, std::uint8_t in) const;
  /// One or two blocks of one priority, `first` being the number of the first.
  std::vector<ib::wire::VlArbitrationTable> arbitration(ib::fabric::PortRef port,
                                                        std::uint16_t first) const;
  const plan::PortWant& wanted(ib::fabric::PortRef port) const {
    return desired_.ports[paths_->snapshot().observed->port_index(port)];
  }

 private:
  OfflineSubnet(plan::Desired desired, SnapshotPtr snapshot, const DaemonOptions& options);

  plan::Desired desired_;
  std::shared_ptr<const sa::Paths> paths_;
  std::shared_ptr<const policy::QosPolicy> qos_rules_;
  sa::Policy policy_;
  sa::State state_;
};

}  // namespace sm::daemon
