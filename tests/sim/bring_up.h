// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What tests of whole bring-ups share: a tree to bring up, and what is to be so afterwards.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "libdiag/fabric/generate.h"
#include "tests/sim/sm_on_model.h"
#include "tests/sim/unconfigured.h"

namespace sm::test {

inline ib::fabric::Fabric tree_of_radix_8() {
  ib::fabric::FatTree tree;
  tree.radix = 8;
  return unconfigured(tree);
}

inline double in_seconds(ib::Duration d) { return std::chrono::duration<double>(d).count(); }

inline void expect_up(SmOnModel& run) {
  ASSERT_TRUE(run.run_until_reports(1));
  EXPECT_TRUE(run.last().up()) << testing::PrintToString(run.last().lines);
  EXPECT_THAT(run.not_active(), testing::IsEmpty());
}

/// Followed through the programmed tables, from every switch to every LID.
inline void expect_every_lid_reached(SmOnModel& run) {
  const auto& f = run.model().topology();
  for (const auto& a : run.kept().lids) {
    for (ib::fabric::NodeIndex n = 0; n < f.nodes().size(); ++n) {
      if (!f.node(n).is_switch()) continue;
      ib::fabric::NodeIndex here = n;
      std::size_t hops = 0;
      while (f.node(here).is_switch() && hops < f.nodes().size()) {
        const std::uint8_t out = run.model().lft(here, a.lid);
        ASSERT_NE(out, 255) << "LID " << a.lid.value << " at " << f.node(here).description;
        if (out == 0) break;
        here = f.port(here, out).peer.node;
        ++hops;
      }
      EXPECT_TRUE(f.node(here).guid == a.port_guid || f.find_port_guid(a.port_guid)->node == here);
    }
  }
}

inline bool is_set(const ib::mad::Packet& p, std::uint16_t attribute) {
  return p.mad.method() == ib::wire::Method::Set && p.mad.attribute_id() == attribute;
}
inline ib::wire::PortState wanted_state(const ib::mad::Packet& p) {
  return ib::wire::body<ib::wire::PortInfo>(p.mad).port_state;
}

}  // namespace sm::test
