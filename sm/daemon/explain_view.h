// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// ExplainView: a subnet as paths in it are explained by: a snapshot, the policies, and what ports
// do with VLs; planned for a saved topology, or as devices hold it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "sm/device/device_state.h"
#include "sm/plan/desired.h"
#include "sm/sa/registry/world.h"

namespace sm::daemon {

/// What ports do with SLs and VLs.
struct VlTables {
  /// By output and input port; none: not known, or left to the device.
  std::function<std::optional<ib::wire::SlToVlTable>(ib::fabric::PortRef, std::uint8_t)> sl_to_vl;
  /// The blocks of one priority, from the number of the first on.
  std::function<std::vector<ib::wire::VlArbitrationTable>(ib::fabric::PortRef, std::uint16_t)>
      arbitration;
  std::function<unsigned(ib::fabric::PortRef)> data_vls;  // in operation
  std::function<std::uint8_t(ib::fabric::PortRef)> high_limit;
};
VlTables planned_vl_tables(const std::shared_ptr<const plan::Desired>& desired,
                           const SnapshotPtr& snapshot);
VlTables held_vl_tables(const SnapshotPtr& snapshot, const DeviceStatePtr& device_state);

class ExplainView {
 public:
  /// `policy`: its partitions are those of the snapshot, whatever it has. `rules`: nullptr: no QoS
  /// policy is in force.
  ExplainView(SnapshotPtr snapshot, VlTables vl_tables, sa::Policy policy,
              std::shared_ptr<const policy::QosPolicy> rules);
  ExplainView(const ExplainView&) = delete;  // its world points into it
  ExplainView& operator=(const ExplainView&) = delete;

  const ib::fabric::Fabric& fabric() const { return paths_->snapshot().fabric(); }
  const sa::Paths& paths() const { return *paths_; }
  const policy::QosPolicy* rules() const { return rules_.get(); }
  const VlTables& vl_tables() const { return vl_tables_; }
  sa::World world() const { return {paths_, state_, policy_}; }

 private:
  std::shared_ptr<const sa::Paths> paths_;
  VlTables vl_tables_;
  std::shared_ptr<const policy::QosPolicy> rules_;
  sa::Policy policy_;
  sa::State state_;
};

}  // namespace sm::daemon
