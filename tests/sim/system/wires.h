// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Wires: the fabric as it is at one instant, read from the model's devices: what is linked with
// what, what is ACTIVE, which nodes are joined. What checks walk on; nothing of it comes from a
// subnet manager.
#pragma once

#include <vector>

#include "libdiag/sim/model.h"

namespace soak {

using ib::fabric::NodeIndex;
using ib::fabric::PortRef;

class Wires {
 public:
  explicit Wires(const ib::sim::Model& model);

  struct End {
    PortRef peer;  // over a link that is up; none: nothing there
    bool active{false};
  };
  const End& end(PortRef p) const { return ends_[first_[p.node] + p.port]; }
  std::size_t index(PortRef p) const { return first_[p.node] + p.port; }
  std::size_t ends() const { return ends_.size(); }
  unsigned ports(NodeIndex n) const { return static_cast<unsigned>(first_[n + 1] - first_[n]) - 1; }
  std::size_t nodes() const { return component_.size(); }
  bool is_switch(NodeIndex n) const { return is_switch_[n]; }
  /// Nodes with equal numbers are joined by links that are up.
  unsigned component(NodeIndex n) const { return component_[n]; }

  /// Ports of hosts with a link that is up, and ports 0 of switches.
  std::vector<PortRef> end_ports() const;

 private:
  void join();

  std::vector<std::size_t> first_;
  std::vector<End> ends_;
  std::vector<bool> is_switch_;
  std::vector<unsigned> component_;
};

}  // namespace soak
