// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Virtual ports in subnet administration: paths, partitions, groups and who has departed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sm/sa/registry/membership.h"
#include "sm/sa/registry/partitions.h"
#include "tests/unit/sm/policy/policy_of.h"
#include "tests/unit/sm/sa/path_world.h"

namespace sm::sa::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr Guid kMachine{0x0202c90300000001}, kOther{0x0202c90300000002}, kWaits{0x0202c90300000003};
constexpr std::size_t kBehind = 5;  // the host

/// Two that are up and one that waits, behind one host.
std::shared_ptr<Snapshot> with_virtual_ports() {
  auto snapshot = snapshot_of(small_tree());
  const auto port = hosts_of(snapshot->fabric()).at(kBehind);
  PortVirtualization found;
  found.enabled = true;
  found.top_index = 3;
  for (const Guid guid : {kMachine, kOther, kWaits}) {
    VirtualPort vport;
    vport.index = static_cast<std::uint16_t>(found.ports.size() + 1);
    vport.guid = guid;
    vport.state = guid == kWaits ? ib::wire::PortState::Initialize : ib::wire::PortState::Active;
    found.ports.push_back(vport);
  }
  snapshot->virtual_ports = std::make_shared<const VirtualPorts>(
      VirtualPorts{{snapshot->fabric().port(port).guid, found}});
  return snapshot;
}

class SaVirtualPorts : public testing::Test {
 protected:
  PathRecord to(Guid guid, std::size_t from = 0) const {
    PathRecord wanted;
    wanted.sgid = world.gid(from);
    wanted.dgid = Gid::from(world.snapshot->subnet_prefix, guid);
    return wanted;
  }
  void give_partitions(const std::string& text) {
    world.snapshot->partitions = policy::test::policy_of(text);
    world.publish();
    world.policy.partitions = partitions_of(*world.paths);
  }

  PathWorld world{with_virtual_ports()};
};

TEST_F(SaVirtualPorts, HavePathsByTheLidOfTheirPortWithAGrh) {
  const auto path = world.get(to(kMachine), kGids);
  ASSERT_TRUE(path);
  EXPECT_EQ(path->dgid.guid(), kMachine);
  EXPECT_EQ(path->dlid, world.host(kBehind).lid);
  EXPECT_EQ(path->hop_limit, 2);
  world.policy.virtual_hop_limit = 64;
  PathRecord back = to(kMachine);
  std::swap(back.sgid, back.dgid);
  const auto other_way = world.get(back, kGids);
  ASSERT_TRUE(other_way);
  EXPECT_EQ(other_way->slid, world.host(kBehind).lid);
  EXPECT_EQ(other_way->hop_limit, 64);
  EXPECT_EQ(world.get(world.between(0, kBehind), kGids)->hop_limit, 0) << "of the port itself";
}

TEST_F(SaVirtualPorts, AreMeantByTheirGidAloneAndNotByTheLid) {
  auto wanted = to(kMachine);
  wanted.dlid = world.host(kBehind).lid;
  ASSERT_TRUE(world.get(wanted, kGids | bit(path_bit::kDlid)));
  wanted.dlid = world.host(kBehind + 1).lid;
  EXPECT_EQ(world.refusal(wanted, kGids | bit(path_bit::kDlid)), ib::wire::status::kSaReqInvalid);
  const auto by_lids = world.table(world.between(0, kBehind), kLids);
  ASSERT_THAT(by_lids, SizeIs(1));
  EXPECT_EQ(by_lids[0].dgid, world.gid(kBehind));
}

TEST_F(SaVirtualPorts, HaveNoPathWhileTheyWaitOrOnceTheyAreGone) {
  EXPECT_FALSE(world.get(to(kWaits), kGids));
  world.snapshot->virtual_ports = nullptr;
  world.publish();
  EXPECT_FALSE(world.get(to(kMachine), kGids));
}

TEST_F(SaVirtualPorts, HavePartitionsOfTheirOwn) {
  // Not the subnet manager's port, which shares a partition with everybody.
  constexpr std::size_t kFriend = 1, kStranger = 2;
  give_partitions(
      "Default=0x7fff : SELF=full;\n"
      "red=0x12 : 0x0202c90300000001=full, " +
      to_string(world.host(kFriend).guid) + ";\n");
  world.requester = kFriend;
  const auto path = world.get(to(kMachine, kFriend), kGids);
  ASSERT_TRUE(path);
  EXPECT_EQ(path->p_key.base(), 0x12);
  EXPECT_FALSE(world.get(to(kOther, kFriend), kGids)) << "in no partition with it";
  EXPECT_FALSE(world.get(world.between(kFriend, kBehind), kGids)) << "nor is the port";
  // The machine asks by the LID of its port, which is in no partition of its own.
  world.requester = kBehind;
  PathRecord back = to(kMachine, kFriend);
  std::swap(back.sgid, back.dgid);
  EXPECT_TRUE(world.get(back, kGids));
  world.requester = kStranger;
  EXPECT_FALSE(world.get(back, kGids));
}

TEST_F(SaVirtualPorts, ReceiveWhatTheirPortReceivesOfAGroup) {
  store::Batch batch;
  store::McGroup group;
  group.mgid = Gid::from(0xFF12401BFFFF0000, Guid{1});
  group.mlid = Lid{0xC001};
  batch.groups = {group};
  batch.members = {{group.mgid, Gid::from(ib::kDefaultSubnetPrefix, kMachine), 1}};
  world.state.apply(batch);
  const auto members = world.state.by_mlid(world.paths.get());
  ASSERT_THAT(members, SizeIs(1));
  EXPECT_THAT(members[0].receivers, ElementsAre(world.host(kBehind).guid));
}

TEST_F(SaVirtualPorts, StayMembersWhileTheyAreThereOrNotKnownYet) {
  store::Batch batch;
  store::McGroup group;
  group.mgid = Gid::from(0xFF12401BFFFF0000, Guid{1});
  group.mlid = Lid{0xC001};
  batch.groups = {group};
  const Gid waits = Gid::from(ib::kDefaultSubnetPrefix, kWaits);
  batch.members = {{group.mgid, waits, 1}};
  world.state.apply(batch);
  EXPECT_THAT(departed_members(world.world(), nullptr), IsEmpty());
  world.snapshot->virtual_ports = nullptr;
  world.snapshot->virtual_ports_to_come = true;
  world.publish();
  EXPECT_THAT(departed_members(world.world(), nullptr), IsEmpty());
  world.snapshot->virtual_ports_to_come = false;
  world.publish();
  EXPECT_THAT(departed_members(world.world(), nullptr), ElementsAre(waits));
}

}  // namespace
}  // namespace sm::sa::test
