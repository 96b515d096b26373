// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What switches are asked and are to hold of adaptive routing.
#include "sm/plan/adaptive_routing.h"

#include <gmock/gmock.h>

#include "libdiag/wire/adaptive_attributes.h"
#include "sm/device/tables/kinds.h"
#include "sm/plan/plan.h"
#include "tests/unit/sm/plan/small_subnet.h"

namespace sm::plan {
namespace {

using namespace sm::test;
using ib::wire::ArLidState;
using ib::wire::MlnxArGroup;
using ib::wire::MlnxArInfo;
using ib::wire::MlnxArLft;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

template <class T>
device::Block as_block(const T& value) {
  device::Block block{};
  ib::wire::encode(value, block.data());
  return block;
}
template <class T>
T read(const WantedBlock& want) {
  return ib::wire::decode<T>(want.block.data());
}

class AdaptivePlanTest : public ::testing::Test {
 protected:
  AdaptivePlanTest() {
    info.group_cap = 10;
    info.sub_groups_supported = 2;
    info.fr_supported = info.by_sl_cap = true;
    for (const std::uint64_t guid : {0x10U, 0x20U}) {
      seen->nodes[node_of(*seen, guid)].info.vendor_id = 0x2c9;
      seen->fabric.node(node_of(*seen, guid)).vendor_id = 0x2c9;
      seen->fabric.node(node_of(*seen, guid)).device_id = 0xcb20;
    }
  }
  /// Both switches said what they can do.
  void both_answered() {
    ib::wire::MlnxGeneralInfo general;
    general.capability_mask[0] = ib::wire::mlnx_cap::kAdaptiveRouting;
    for (const Guid guid : {Guid{0x10}, Guid{0x20}}) {
      inventory.put(device::kGeneralInfo, guid, 4, {}, as_block(general));
      inventory.put(device::kArInfo, guid, 4, {}, as_block(info));
    }
  }
  Desired plan() {
    PlanRequest request;
    request.observed = seen;
    request.options.adaptive = std::make_shared<const policy::AdaptiveSettings>(settings);
    request.held = inventory.publish();
    request.mute = mute;
    auto planned = make_plan(std::move(request));
    EXPECT_TRUE(planned.desired.has_value());
    return planned.desired ? *std::move(planned.desired) : Desired{};
  }
  std::vector<WantedBlock> of_switch(const Desired& desired, std::uint64_t guid) {
    std::vector<WantedBlock> out;
    for (const WantedBlock& want : desired.adaptive_blocks)
      if (want.node == node_of(*seen, guid)) out.push_back(want);
    return out;
  }

  std::shared_ptr<Observed> seen = cold_subnet();
  policy::AdaptiveSettings settings;
  MlnxArInfo info;
  device::Inventory inventory;
  std::set<Guid> mute;
};

TEST_F(AdaptivePlanTest, WhatSwitchesCanDoIsAskedFirstAndOnlyOfThoseKnownToAnswer) {
  const auto desired = plan();
  EXPECT_THAT(desired.adaptive_blocks, IsEmpty());
  EXPECT_THAT(desired.to_read, SizeIs(4)) << "GeneralInfo and ARInfo of each";
  seen->fabric.node(node_of(*seen, 0x10)).device_id = 1;
  EXPECT_THAT(plan().to_read, SizeIs(2));
  mute.insert(Guid{0x20});
  EXPECT_THAT(plan().to_read, IsEmpty());
}

TEST_F(AdaptivePlanTest, WithoutSettingsNobodyIsAsked) {
  PlanRequest request;
  request.observed = seen;
  const auto planned = make_plan(std::move(request));
  ASSERT_TRUE(planned.desired);
  EXPECT_THAT(planned.desired->to_read, IsEmpty());
  EXPECT_EQ(planned.desired->adaptive, nullptr);
}

TEST_F(AdaptivePlanTest, TwoCablesAreAGroupForTheHostsBehindThem) {
  both_answered();
  settings.ageing_time = 77;
  const auto desired = plan();
  EXPECT_THAT(desired.to_read, IsEmpty());
  const auto blocks = of_switch(desired, 0x10);
  ASSERT_THAT(blocks, SizeIs(3)) << "a group, LIDs 0 to 15, ARInfo";
  EXPECT_EQ(blocks[0].kind, &device::kArGroup);
  EXPECT_EQ(blocks[0].slot.block, 1) << "group 0 is not used";
  MlnxArGroup group;
  group.add(3), group.add(4);
  EXPECT_EQ(read<MlnxArGroup>(blocks[0]), group);
  EXPECT_EQ(blocks[1].kind, &device::kArLft);
  const auto lft = read<MlnxArLft>(blocks[1]);
  const auto s1 = desired.routing->graph.switch_of(node_of(*seen, 0x10));
  for (const auto& to : desired.routing->graph.destinations()) {
    const auto i = static_cast<std::size_t>(to.lid.value);
    EXPECT_EQ(lft.port[i], desired.routing->lfts.at(s1, to.lid));
    const bool chooses = !to.is_switch() && to.leaf != s1;
    EXPECT_EQ(lft.state[i], chooses ? ArLidState::Bounded : ArLidState::Static);
    EXPECT_EQ(lft.group[i], chooses ? 1 : 0);
  }
  EXPECT_EQ(lft.port[15], 255);
  EXPECT_EQ(blocks[2].kind, &device::kArInfo);
  const auto wanted = read<MlnxArInfo>(blocks[2]);
  EXPECT_TRUE(wanted.enabled);
  EXPECT_TRUE(wanted.fr_enabled);
  EXPECT_EQ(wanted.sub_groups_active, 2);
  EXPECT_EQ(wanted.group_top, 1);
  EXPECT_EQ(wanted.ageing_time, 77U);
  EXPECT_FALSE(wanted.by_sl_enabled);
  EXPECT_THAT(desired.notes, Contains("adaptive routing: 2 switches, 1 group at most, algorithm "
                                      "LAG"));
}

TEST_F(AdaptivePlanTest, WhatTheOperatorSaysIsInTheBlocks) {
  both_answered();
  settings.free_choice = true;
  settings.fast_recovery = false;
  settings.sls = 0x0003;
  const auto blocks = of_switch(plan(), 0x20);
  ASSERT_THAT(blocks, SizeIs(3));
  EXPECT_THAT(read<MlnxArLft>(blocks[1]).state, Contains(ArLidState::Free));
  const auto wanted = read<MlnxArInfo>(blocks[2]);
  EXPECT_FALSE(wanted.fr_enabled);
  EXPECT_TRUE(wanted.by_sl_enabled);
  EXPECT_EQ(wanted.enabled_sls, 0x0003);
}

TEST_F(AdaptivePlanTest, OffIsARInfoAlone) {
  info.enabled = info.fr_enabled = true;
  both_answered();
  settings.enable = false;
  const auto desired = plan();
  ASSERT_THAT(desired.adaptive_blocks, SizeIs(2));
  for (const WantedBlock& want : desired.adaptive_blocks) {
    EXPECT_FALSE(read<MlnxArInfo>(want).enabled);
    EXPECT_FALSE(read<MlnxArInfo>(want).fr_enabled);
    EXPECT_EQ(read<MlnxArInfo>(want).group_cap, 10);
  }
}

TEST_F(AdaptivePlanTest, WhoseGroupsAreLaidOutOtherwiseIsLeftOff) {
  info.sub_groups_supported = 1;
  both_answered();
  const auto desired = plan();
  for (const WantedBlock& want : desired.adaptive_blocks)
    EXPECT_FALSE(read<MlnxArInfo>(want).enabled);
  EXPECT_THAT(desired.alarms, Contains(HasSubstr("2 switches left as they are, since how their "
                                                 "table of groups is laid out is not known")));
}

TEST_F(AdaptivePlanTest, WhoCannotDoItForSomeSlsIsLeftOffWhereThatIsAsked) {
  info.by_sl_cap = false;
  both_answered();
  settings.sls = 1;
  const auto desired = plan();
  for (const WantedBlock& want : desired.adaptive_blocks)
    EXPECT_FALSE(read<MlnxArInfo>(want).enabled);
  EXPECT_THAT(desired.alarms, Contains(HasSubstr("cannot do it for some SLs only")));
}

TEST_F(AdaptivePlanTest, TwoBlocksOfARInfoAreAlikeInWhatCanBeSet) {
  MlnxArInfo other = info;
  other.group_cap = 99, other.ar_version = 3;
  const auto same = [&](const MlnxArInfo& b) {
    return device::means_the_same(device::kArInfo, *seen, 0, {}, as_block(info), as_block(b));
  };
  EXPECT_TRUE(same(other));
  other.enabled_sls = 7;
  EXPECT_TRUE(same(other)) << "which counts with BySLEn alone";
  other.by_sl_enabled = true;
  EXPECT_FALSE(same(other));
  other = info;
  other.enabled = true;
  EXPECT_FALSE(same(other));
}

}  // namespace
}  // namespace sm::plan
