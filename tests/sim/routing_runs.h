// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What tests of routing as the subnet manager programs it share: fabrics and options, sweeps on
// demand, and counts of the Sets that leave.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "libdiag/fabric/generate.h"
#include "libdiag/route/files.h"
#include "libdiag/tables/verify.h"
#include "tests/sim/sm_on_model.h"
#include "tests/sim/unconfigured.h"

namespace sm::test {

inline ib::fabric::Fabric ring(unsigned switches) {
  ib::fabric::Grid grid;
  grid.sizes = {switches};
  return unconfigured(grid);
}
inline ib::fabric::Fabric torus() {
  ib::fabric::Grid grid;
  grid.sizes = {4, 4};
  grid.hosts = 2;
  return unconfigured(grid);
}
inline core::Options several_vls() {
  core::Options options;
  options.plan.choice.engines = {"torus-2QoS"};
  options.plan.choice.no_fallback = true;
  return options;
}

inline ib::route::ReadOptions roots(const std::string& text) {
  ib::route::ReadOptions read;
  read.mentions.push_back(
      ib::route::read_option_text(ib::route::OptionFile::Roots, text, "roots", read.options)
          .value());
  return read;
}

/// One more full sweep because the operator asked; what it logged.
inline std::vector<std::string> sweep(SmOnModel& run) {
  const std::size_t before = run.log().size();
  const std::size_t reports = run.reports();
  run.sm().sweep_now(run.now(), core::Reason::Operator);
  EXPECT_TRUE(run.run_until_reports(reports + 1));
  return {run.log().begin() + static_cast<std::ptrdiff_t>(before), run.log().end()};
}

struct Sent {
  std::size_t rows{}, arbitration{}, lfts_before_last_row{}, lfts{};
};
/// Counts Sets as they leave.
inline std::shared_ptr<Sent> count(SmOnModel& run) {
  auto sent = std::make_shared<Sent>();
  run.watch([sent](const ib::mad::Packet& packet) {
    if (packet.mad.method() != ib::wire::Method::Set) return true;
    switch (packet.mad.attribute_id()) {
      case ib::wire::attr::kSlToVl:
        ++sent->rows;
        sent->lfts_before_last_row = sent->lfts;
        break;
      case ib::wire::attr::kVlArbitration:
        ++sent->arbitration;
        break;
      case ib::wire::attr::kLinearForwarding:
        ++sent->lfts;
        break;
      default:
        break;
    }
    return true;
  });
  return sent;
}

/// The devices hold the routes, and those reach everything.
inline void expect_routed(SmOnModel& run) {
  const auto snapshot = run.sm().snapshot();
  const auto& f = snapshot->fabric();
  const auto& routing = *snapshot->routing;
  const auto verdict = ib::tables::verify(f, routing.graph, routing.lfts, routing.virtual_lanes, {},
                                          {.credit_loops_are_must = true, .loads = false});
  EXPECT_EQ(verdict.must_failures, 0U);
  EXPECT_EQ(verdict.unreachable, 0U);
  for (ib::fabric::SwitchIndex s = 0; s < routing.graph.switch_count(); ++s) {
    const auto n = *run.model().topology().find_node(routing.graph.guid(s));
    for (std::uint16_t lid = 1; lid <= routing.graph.max_lid().value; ++lid)
      ASSERT_EQ(run.model().lft(n, ib::Lid{lid}), routing.lfts.at(s, ib::Lid{lid}))
          << s << " " << lid;
  }
}

}  // namespace sm::test
