// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What tests of rerouting share: small fabrics, routes to begin with, and cables between switches
// that fail one after the other and come back.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <random>
#include <utility>
#include <vector>

#include "libdiag/fabric/generate.h"
#include "libdiag/route/choose/plan.h"
#include "libdiag/route/reroute/reroute.h"
#include "libdiag/route/reroute/what_if.h"
#include "libdiag/tables/verify.h"

namespace ib::route {

inline fabric::Fabric generated_tree(unsigned radix, unsigned levels) {
  fabric::FatTree kind;
  kind.radix = radix;
  kind.levels = levels;
  return fabric::generate(kind).value();
}

inline Routes fresh(const char* engine, const fabric::Fabric& fabric,
                    const fabric::CompactGraph& graph) {
  return find_engine(engine)->compute({&fabric, &graph, {}, nullptr}).value();
}

inline Rerouter started(const char* engine, const fabric::Fabric& fabric) {
  const fabric::CompactGraph graph(fabric);
  Rerouter rerouter(*find_engine(engine), {});
  rerouter.adopt(fabric, graph, fresh(engine, fabric, graph));
  return rerouter;
}

template <class Of>
fabric::Fabric made_kind(const Of& kind, double missing_percent = 0) {
  fabric::GenerateCommon common;
  common.missing_links_percent = missing_percent;
  return fabric::generate(kind, common).value();
}

inline fabric::Fabric without_switches(fabric::Fabric fabric, const std::vector<Guid>& switches) {
  WhatIf what_if;
  for (const Guid guid : switches) what_if.without.push_back(to_string(guid));
  EXPECT_TRUE(take_away(fabric, what_if).has_value());
  return fabric;
}

struct TakenCable {
  fabric::PortRef a, b;
  fabric::Port port;
};

/// Cables between switches that may fail one after the other and come back.
class Cables {
 public:
  explicit Cables(fabric::Fabric& fabric) : fabric_(fabric) {
    const fabric::CompactGraph graph(fabric);
    for (fabric::SwitchIndex s = 0; s < graph.switch_count(); ++s)
      for (const auto& arc : graph.arcs(s)) {
        const fabric::PortRef a{graph.node_of(s), arc.out_port};
        const fabric::PortRef b{graph.node_of(arc.to), arc.in_port};
        if (a < b) good_.push_back({a, b, fabric.port(a)});
      }
  }
  void fail_one(std::mt19937_64& random) {
    if (good_.empty()) return;
    std::swap(good_[random() % good_.size()], good_.back());
    fabric_.disconnect(good_.back().a);
    failed_.push_back(good_.back());
    good_.pop_back();
  }
  void repair_one(std::mt19937_64& random) {
    if (failed_.empty()) return;
    std::swap(failed_[random() % failed_.size()], failed_.back());
    const TakenCable& cable = failed_.back();
    fabric_.connect(cable.a, cable.b, cable.port.width, cable.port.speed);
    good_.push_back(cable);
    failed_.pop_back();
  }
  std::size_t failed() const { return failed_.size(); }

 private:
  fabric::Fabric& fabric_;
  std::vector<TakenCable> good_, failed_;
};

/// The difference is what lies between the tables, and nothing else.
inline void expect_difference(const tables::LinearTables& before, const tables::LinearTables& after,
                              const Difference& found) {
  const Difference expected = difference(before, after);
  EXPECT_EQ(found.entries, expected.entries);
  EXPECT_EQ(found.blocks, expected.blocks);
}

}  // namespace ib::route
