// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A view of a small tree that is up, and what commands say of it.
#pragma once

#include <gtest/gtest.h>

#include "libdiag/fabric/generate.h"
#include "sm/console/command.h"
#include "tests/unit/sm/sa/snapshot_of.h"

namespace sm::console::test {

/// Two leaves with two hosts each, two spines, three cables between a leaf and a spine.
inline ib::fabric::Fabric small_tree(unsigned lmc = 0) {
  ib::fabric::FatTree tree;
  tree.radix = 8;
  tree.hosts_per_leaf = 2;
  tree.leaves = 2;
  tree.spines = 2;
  auto fabric = *ib::fabric::generate(tree);
  if (lmc == 0) return fabric;
  auto next = static_cast<std::uint16_t>(1U << lmc);
  for (ib::fabric::NodeIndex n = 0; n < fabric.nodes().size(); ++n) {
    auto& port = fabric.port(n, fabric.node(n).is_switch() ? 0 : 1);
    port.lid = ib::Lid{next};
    port.lmc = fabric.node(n).is_switch() ? std::uint8_t{0} : static_cast<std::uint8_t>(lmc);
    next = static_cast<std::uint16_t>(next + (1U << lmc));
  }
  fabric.reindex();
  return fabric;
}

inline ib::fabric::NodeIndex node_named(const ib::fabric::Fabric& fabric, std::string_view name) {
  for (ib::fabric::NodeIndex n = 0; n < fabric.nodes().size(); ++n)
    if (fabric.node(n).description == name) return n;
  ADD_FAILURE() << name;
  return 0;
}

inline View view_of(std::shared_ptr<const Snapshot> snapshot) {
  View view;
  view.version = "ibsm 0.0";
  view.sm_status.state = ib::wire::SmState::Master;
  view.sm_status.priority = 3;
  view.sm_status.guid = snapshot->sm_port_guid;
  view.snapshot = std::move(snapshot);
  view.sweep_interval = std::chrono::seconds(10);
  view.log_flags = 0x03;
  view.sa = [] { return std::optional<sa::Counters>(sa::Counters{}); };
  view.configuration = [] { return std::string("guid 0x0\n"); };
  view.clock = [] { return ib::Instant{0}; };
  return view;
}

/// What is said to a line.
inline Outcome said(const View& view, std::string_view line) {
  const auto words = words_of(line);
  return run(view, words);
}

template <class Order_>
Order_ ordered(const View& view, std::string_view line) {
  const auto outcome = said(view, line);
  if (!outcome.order || !std::holds_alternative<Order_>(*outcome.order)) {
    ADD_FAILURE() << line << ": another order, or none; said: " << outcome.text;
    return {};
  }
  return std::get<Order_>(*outcome.order);
}

}  // namespace sm::console::test
