// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What subnet administration makes of a partition file: who shares what, and which groups there
// are, while the file changes.
#include "sm/sa/registry/partitions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/sm/policy/policy_of.h"
#include "tests/unit/sm/sa/subnet.h"

namespace sm::sa::test {
namespace {

using ib::PKey;
using ib::wire::McMemberRecord;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

using policy::test::policy_of;

class SaPartitions : public testing::Test {
 protected:
  /// The fabric with this file in force.
  void see(const std::string& text) {
    auto snapshot = snapshot_of(small_tree());
    snapshot->partitions = policy_of(text);
    paths = std::make_shared<const Paths>(snapshot);
    hosts = hosts_of(snapshot->fabric());
    policy.partitions = partitions_of(*paths);
    policy.multicast.configured = groups_of(*snapshot->partitions, nullptr);
    last = regroup(world());
    state.apply(last.batch);
  }
  World world() const { return {paths, state, policy}; }
  const EndPort& host(std::size_t i) const {
    return *paths->find(paths->snapshot().fabric().port(hosts[i]).guid);
  }
  static std::string guid(std::size_t i) {
    const auto fabric = small_tree();
    return to_string(fabric.port(hosts_of(fabric)[i]).guid);
  }
  void join(const Gid& mgid, std::size_t i) {
    store::Batch batch;
    batch.members.push_back({mgid, Gid::from(ib::kDefaultSubnetPrefix, host(i).guid), 1, false});
    state.apply(batch);
  }
  std::vector<Gid> groups() const {
    std::vector<Gid> out;
    for (const auto& [mgid, group] : state.multicast.groups()) out.push_back(mgid);
    return out;
  }
  std::vector<unsigned> traps() const {
    std::vector<unsigned> out;
    out.reserve(last.events.size());
    for (const Event& event : last.events) out.push_back(event.notice.trap_number);
    return out;
  }

  std::shared_ptr<const Paths> paths;
  std::vector<PortRef> hosts;
  State state;
  Policy policy;
  Change last;
};

constexpr const char* kDefault = "Default=0x7fff, ipoib : ALL, SELF=full;\n";
const Gid kDefaultGroup = policy::broadcast_mgid(0x7FFF, 2),
          kRedGroup = policy::broadcast_mgid(1, 2);

TEST_F(SaPartitions, PortsShareWhatTheFileSays) {
  see(kDefault + ("red=0x1 : " + guid(1) + "=full, " + guid(2) + ", " + guid(3) + ";\n"));
  EXPECT_FALSE(policy.is_open());
  EXPECT_TRUE(policy.share(host(1), host(2)));
  EXPECT_FALSE(policy.share(host(2), host(3))) << "two limited members";
  EXPECT_FALSE(policy.share(host(4), host(5)));
  EXPECT_TRUE(policy.share(host(2), host(2)));
  const EndPort& sm = *paths->sm_port();
  for (std::size_t i = 0; i < hosts.size(); ++i) EXPECT_TRUE(policy.share(sm, host(i))) << i;
  EXPECT_TRUE(policy.holds(host(3), PKey{0x0001}));
  EXPECT_FALSE(policy.holds(host(4), PKey{0x0001}));
}

TEST_F(SaPartitions, WithoutAFileEverybodyIsAFullMember) {
  paths = std::make_shared<const Paths>(snapshot_of(small_tree()));
  policy.partitions = partitions_of(*paths);
  EXPECT_TRUE(policy.is_open());
  EXPECT_THAT(groups_of(*paths->snapshot().partitions, nullptr),
              ElementsAre(ipoib_group(ib::kDefaultPKey)));
}

TEST_F(SaPartitions, EachPartitionHasTheGroupsOfItsDefinition) {
  see(kDefault +
      std::string(
          "red=0x1, ipoib, rate=7, mtu=5, sl=3, scope=2, scope=5, Q_Key=0x11 : ALL=full;\n"));
  EXPECT_THAT(groups(),
              UnorderedElementsAre(kDefaultGroup, kRedGroup, policy::broadcast_mgid(1, 5)));
  const auto& red = *state.multicast.find(kRedGroup);
  EXPECT_EQ(red.p_key, PKey{0x8001});
  EXPECT_EQ(red.rate, 7);
  EXPECT_EQ(red.mtu, 5);
  EXPECT_EQ(red.sl, ib::Sl{3});
  EXPECT_EQ(red.q_key, 0x11U);
  EXPECT_NE(red.mlid, state.multicast.find(kDefaultGroup)->mlid);
  EXPECT_TRUE(red.well_known);
}

TEST_F(SaPartitions, AGroupLivesAsLongAsItsDefinitionOrItsMembers) {
  const std::string red = "red=0x1, ipoib : ALL=full;\n";
  see(kDefault + red);
  const auto mlid = state.multicast.find(kRedGroup)->mlid;
  see(kDefault);
  EXPECT_THAT(groups(), ElementsAre(kDefaultGroup));
  EXPECT_THAT(traps(), ElementsAre(ib::wire::trap::kMcGroupDeleted));
  see(kDefault + red);
  EXPECT_THAT(traps(), ElementsAre(ib::wire::trap::kMcGroupCreated));
  EXPECT_EQ(state.multicast.find(kRedGroup)->mlid, mlid);
  join(kRedGroup, 3);
  see(kDefault + std::string("red=0x1 : ALL=full;\n"));  // no group of its own any more
  ASSERT_NE(state.multicast.find(kRedGroup), nullptr);
  EXPECT_FALSE(state.multicast.find(kRedGroup)->well_known);
  EXPECT_THAT(traps(), IsEmpty());
}

TEST_F(SaPartitions, WhoIsNoMemberOfThePartitionAnyMoreLeavesItsGroups) {
  see(kDefault + ("red=0x1, ipoib : " + guid(1) + "=full, " + guid(2) + "=full;\n"));
  join(kRedGroup, 1);
  join(kRedGroup, 2);
  join(kDefaultGroup, 2);
  see(kDefault + ("red=0x1, ipoib : " + guid(1) + "=full;\n"));
  EXPECT_EQ(state.multicast.members(kRedGroup).size(), 1U);
  EXPECT_EQ(state.multicast.members(kDefaultGroup).size(), 1U);
  EXPECT_TRUE(last.routes_change);
  // With the partition its last member goes, and with it the group.
  see(kDefault);
  EXPECT_THAT(groups(), ElementsAre(kDefaultGroup));
}

TEST_F(SaPartitions, ARuleOfTheQosPolicyGivesAGroupItsSl) {
  see(kDefault + std::string("red=0x1, ipoib, sl=3 : ALL=full;\n"));
  std::vector<ib::Diagnostic> diagnostics;
  const auto& partitions = *paths->snapshot().partitions;
  const policy::QosPolicy qos(
      policy::read_qos_file("qos-ulps\ndefault : 1\nipoib : 4\nend-qos-ulps\n", "q"), "q",
      partitions.partitions, diagnostics);
  const auto made = groups_of(partitions, &qos);
  ASSERT_EQ(made.size(), 2U);
  EXPECT_EQ(made[0].sl, ib::Sl{4});
  EXPECT_EQ(made[1].sl, ib::Sl{3}) << "no rule matches: the partition's";
  EXPECT_THAT(sl_origins(partitions, &qos),
              testing::ElementsAre(
                  "multicast group ff12:401b:ffff::ffff:ffff has SL 4: q:3 (ipoib : 4)",
                  "multicast group ff12:401b:8001::ffff:ffff has SL 3: sl= of its partition"));
  see(kDefault);
  EXPECT_TRUE(sl_origins(*paths->snapshot().partitions, nullptr).empty());
}

}  // namespace
}  // namespace sm::sa::test
