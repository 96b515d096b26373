// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/policy/qos_sets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/sm/policy/set_of.h"

namespace sm::policy {
namespace {

using test::set_of;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

TEST(QosSets, NothingSaidIsWhatIsBuiltIn) {
  for (const QosKind kind : {QosKind::General, QosKind::Ca, QosKind::SwitchToSwitch}) {
    const VlSettings holds = settings_for({}, kind);
    EXPECT_EQ(holds.vls, 15U);
    EXPECT_EQ(holds.high_limit, 0);
    EXPECT_EQ(holds.sl_to_vl, kDefaultSlToVl);
    EXPECT_EQ(holds.high, default_vl_arbitration_high());
    EXPECT_EQ(holds.low, default_vl_arbitration_low());
  }
}

TEST(QosSets, TheOwnSetStandsAboveTheGeneralOneKeyByKey) {
  QosSets sets;
  set_of(sets, QosKind::General).high_limit = 1;
  set_of(sets, QosKind::General).sl_to_vl = {1, 2, 3};
  set_of(sets, QosKind::SwitchExternal).sl_to_vl = {9};
  set_of(sets, QosKind::SwitchToSwitch).max_vls = 7;
  const VlSettings host = settings_for(sets, QosKind::Ca);
  EXPECT_EQ(host.high_limit, 1);
  EXPECT_EQ(host.sl_to_vl[2], 3);
  EXPECT_EQ(host.sl_to_vl[3], 0) << "a short list leaves VL 0 for the rest";
  const VlSettings link = settings_for(sets, QosKind::SwitchToSwitch);
  EXPECT_EQ(link.sl_to_vl[0], 9) << "from qos_swe_";
  EXPECT_EQ(link.sl_to_vl[1], 0);
  EXPECT_EQ(link.vls, 4U) << "the next lower number that a port can operate";
}

TEST(QosSets, WhatWorksOtherwiseThanItsAuthorMayThinkIsSaid) {
  EXPECT_THAT(qos_warnings({}), IsEmpty());
  EXPECT_THAT(weight_hints({}), IsEmpty());
  QosSets sets;
  set_of(sets, QosKind::Ca).max_vls = 6;
  set_of(sets, QosKind::General).high_limit = 255;
  set_of(sets, QosKind::Router).sl_to_vl = {15};
  set_of(sets, QosKind::SwitchExternal).vlarb_low = VlArbitrationTemplate{{0, 64}, {1, 10}};
  EXPECT_THAT(qos_warnings(sets),
              ElementsAre(StartsWith("qos_high_limit 255 is no limit"),
                          "qos_ca_max_vls 6: ports operate 1, 2, 4, 8 or 15 VLs; 4 are used",
                          "qos_rtr_sl2vl ends at SL 0: SLs above it have VL 0",
                          StartsWith("qos_rtr_sl2vl maps SL 0 to VL 15")));
  EXPECT_THAT(keys_without_effect(sets), ElementsAre("qos_rtr_sl2vl"));
  QosSets left_out;
  set_of(left_out, QosKind::General).sl_to_vl = {0, 1, 2, 3, 4, 5, 6, 7, 0, 0, 0, 0, 0, 0, 0, 0};
  set_of(left_out, QosKind::General).max_vls = 4;
  set_of(left_out, QosKind::General).vlarb_high = VlArbitrationTemplate{{0, 64}};
  set_of(left_out, QosKind::General).vlarb_low = VlArbitrationTemplate{{1, 64}, {2, 0}};
  EXPECT_THAT(qos_warnings(left_out),
              ElementsAre("qos_vlarb_high and qos_vlarb_low have no weight for VL 2, 3, which "
                          "qos_sl2vl gives: packets there may never be sent"));
  set_of(left_out, QosKind::General).sl_to_vl = {0, 1, 0, 1, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  EXPECT_THAT(qos_warnings(left_out), IsEmpty()) << "SL 4 is folded to VL 0";
  EXPECT_THAT(weight_hints(sets), ElementsAre(StartsWith("qos_swe_vlarb_low: weight 10 of VL 1")));
}

}  // namespace
}  // namespace sm::policy
