// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Managers beside the sweep on a simulated fabric: they begin when the subnet is up, and one that
// keeps them waiting keeps nobody else waiting.
#include <gtest/gtest.h>

#include "tests/sim/sm_on_model.h"
#include "tests/sim/small_tree.h"
#include "tests/unit/sm/managers/reader.h"

namespace sm::test {
namespace {

using managers::test::Reader;
using std::chrono::seconds;

/// The subnet manager with one manager that reads ClassPortInfo of every PMA.
struct WithReader : SmOnModel {
  WithReader() : SmOnModel(small_tree()) {
    auto channel = std::make_unique<managers::ClientChannel>();
    auto made = std::make_unique<Reader>(ib::wire::MgmtClass::Perf);
    reader = made.get();
    channel->add(std::move(made));
    run_beside(std::move(channel));
  }
  Reader* reader;
};

TEST(Managers, BeginWhenTheSubnetIsUp) {
  WithReader run;
  std::size_t gmps_before = 0;
  run.watch([&](const ib::mad::Packet& packet) {
    if (!ib::wire::is_smp(packet.mad.mgmt_class()) && run.reports() == 0) ++gmps_before;
    return true;
  });
  ASSERT_TRUE(run.run_until_reports(1));
  ASSERT_TRUE(run.last().up());
  EXPECT_EQ(gmps_before, 0U);
  ASSERT_TRUE(run.run_until_managers_are_idle());
  EXPECT_EQ(run.reader->answered, run.model().topology().nodes().size());
  EXPECT_EQ(run.reader->sweeps, 1U);

  run.sm().sweep_now(run.now(), core::Reason::Operator);
  ASSERT_TRUE(run.run_until_reports(2));
  EXPECT_EQ(run.reader->sweeps, 2U) << "every full sweep tells them";
}

TEST(Managers, OneThatIsKeptWaitingDoesNotHoldUpASweep) {
  WithReader run;
  ASSERT_TRUE(run.run_until_reports(1));
  ASSERT_TRUE(run.run_until_managers_are_idle());
  // Nobody's QP1 answers any more: QP0 does.
  run.watch(
      [](const ib::mad::Packet& packet) { return ib::wire::is_smp(packet.mad.mgmt_class()); });
  run.sm().sweep_now(run.now(), core::Reason::Operator);
  ASSERT_TRUE(run.run_until_reports(2));
  ASSERT_FALSE(run.reader->idle());
  const ib::Instant before = run.now();
  run.sm().sweep_now(run.now(), core::Reason::Operator);
  ASSERT_TRUE(run.run_until_reports(3));
  EXPECT_LT(run.now() - before, seconds(1));
  EXPECT_TRUE(run.last().up());
  EXPECT_TRUE(run.run_until_managers_are_idle());
}

}  // namespace
}  // namespace sm::test
