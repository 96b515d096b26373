// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/events/changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libdiag/fabric/generate.h"
#include "libdiag/fabric/node_order.h"
#include "sm/device/tables/kinds.h"
#include "tests/unit/sm/policy/policy_of.h"
#include "tests/unit/sm/sa/snapshot_of.h"

namespace sm::events {
namespace {

using ib::Lid;
using ib::PKey;
using ib::fabric::Fabric;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using sa::test::snapshot_of;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

Fabric tree() {
  ib::fabric::FatTree tree;
  tree.radix = 8;
  tree.hosts_per_leaf = 4;
  tree.leaves = 4;
  tree.spines = 2;
  return *ib::fabric::generate(tree);
}
NodeIndex node(const Fabric& fabric, std::string_view name) {
  for (NodeIndex n = 0; n < fabric.nodes().size(); ++n)
    if (fabric.node(n).description == name) return n;
  ADD_FAILURE() << name;
  return 0;
}
std::vector<std::string> lines(const Events& events) {
  std::vector<std::string> out;
  for (const Event& event : events) out.push_back(text_of(event));
  return out;
}
std::vector<std::string> between(const Fabric& before, const Fabric& after) {
  return lines(topology_changes(snapshot_of(before).get(), *snapshot_of(after)));
}

TEST(TopologyChanges, NothingChangedIsNothingToTell) {
  EXPECT_THAT(between(tree(), tree()), IsEmpty());
}

TEST(TopologyChanges, APortThatIsDisabledOrEnabledIsNamed) {
  const auto before = snapshot_of(tree());
  const auto after = snapshot_of(tree());
  auto observed = std::make_shared<ib::discover::Observed>(*after->observed);
  const PortRef at{node(observed->fabric, "leaf-002"), 5};
  sa::test::fields_of(observed->port(at))
      .set<&ib::wire::PortInfo::port_physical_state>(ib::wire::PhysState::Disabled);
  after->observed = observed;
  EXPECT_THAT(lines(topology_changes(before.get(), *after)),
              ElementsAre("disabled: \"leaf-002\" port 5"));
  EXPECT_THAT(lines(topology_changes(after.get(), *before)),
              ElementsAre("enabled: \"leaf-002\" port 5"));
  EXPECT_THAT(lines(topology_changes(nullptr, *after)), IsEmpty());
}

TEST(TopologyChanges, ACableThatIsOutAndInAgainHasBothEndsByName) {
  const Fabric whole = tree();
  Fabric less = whole;
  less.disconnect({node(less, "leaf-002"), 5});
  EXPECT_THAT(between(whole, less),
              ElementsAre("link down: \"leaf-002\" port 5 - \"spine-001\" port 3"));
  EXPECT_THAT(between(less, whole),
              ElementsAre("link up: \"leaf-002\" port 5 - \"spine-001\" port 3, 4x EDR"));
}

TEST(TopologyChanges, AHostThatIsCabledToAnotherPortMoved) {
  Fabric before = tree();
  before.disconnect({node(before, "host0009 HCA-1"), 1});
  Fabric after = before;
  const PortRef free = {node(after, "leaf-003"), 1};
  const PortRef host = {node(after, "host0001 HCA-1"), 1};
  after.disconnect(host);
  after.connect(host, free, ib::wire::LinkWidth::W4x, ib::wire::LinkSpeed::Edr);
  EXPECT_THAT(
      between(before, after),
      UnorderedElementsAre("link down: \"leaf-001\" port 1 - \"host0001 HCA-1\" port 1",
                           "link up: \"leaf-003\" port 1 - \"host0001 HCA-1\" port 1, 4x EDR",
                           "cable moved: \"host0001 HCA-1\" port 1 from \"leaf-001\" port 1 to "
                           "\"leaf-003\" port 1"));
}

void connect(Fabric& f, PortRef a, PortRef b) {
  f.connect(a, b, ib::wire::LinkWidth::W4x, ib::wire::LinkSpeed::Edr);
}
/// The lines of kinds that say what others are together.
std::vector<std::string> recognised_between(const Fabric& before, const Fabric& after) {
  std::vector<std::string> out;
  for (const Event& e : topology_changes(snapshot_of(before).get(), *snapshot_of(after)))
    if (e.kind >= Kind::CablesSwapped && e.kind <= Kind::PartJoined) out.push_back(text_of(e));
  return out;
}

TEST(TopologyChanges, TwoHostsWhoseCablesWereSwappedAreTold) {
  const Fabric before = tree();
  Fabric after = before;
  const PortRef one = {node(after, "host0001 HCA-1"), 1},
                other = {node(after, "host0009 HCA-1"), 1};
  const PortRef at_one = after.port(one).peer, at_other = after.port(other).peer;
  connect(after, one, at_other);
  connect(after, other, at_one);
  EXPECT_THAT(recognised_between(before, after),
              ElementsAre(testing::AllOf(testing::HasSubstr("cables swapped: "),
                                         testing::HasSubstr("\"leaf-001\" port 1"),
                                         testing::HasSubstr("\"leaf-003\" port 1"),
                                         testing::HasSubstr("\"host0001 HCA-1\" port 1"),
                                         testing::HasSubstr("\"host0009 HCA-1\" port 1"))));
  EXPECT_THAT(recognised_between(before, before), IsEmpty());
}

/// `name` is another device, in the same place.
Fabric with_another(const Fabric& before, std::string_view name) {
  Fabric out;
  const NodeIndex replaced = node(before, name);
  for (NodeIndex n = 0; n < before.nodes().size(); ++n) {
    auto like = before.node(n);
    if (n == replaced) {
      like.guid = ib::Guid{0x1234};
      like.description = "new one";
    }
    out.add_node(std::move(like));
  }
  for (NodeIndex n = 0; n < before.nodes().size(); ++n)
    for (unsigned p = 0; p <= before.node(n).num_ports; ++p) out.port(n, p) = before.port(n, p);
  out.reindex();
  return out;
}

TEST(TopologyChanges, ANodeInThePlaceOfAnotherReplacesIt) {
  const Fabric before = tree();
  for (const char* name : {"leaf-002", "host0003 HCA-1"}) {
    const Fabric after = with_another(before, name);
    EXPECT_THAT(
        recognised_between(before, after),
        ElementsAre(testing::AllOf(testing::StartsWith(std::string("replaced: ") + name),
                                   testing::HasSubstr("by new one 0x0000000000001234, at "))));
  }
}

TEST(TopologyChanges, APartThatSplitsOffOrJoinsIsTold) {
  const Fabric whole = tree();
  Fabric rest;
  const NodeIndex leaf = node(whole, "leaf-004");
  const auto is_gone = [&](NodeIndex n) {
    return n == leaf || (!whole.node(n).is_switch() && whole.port(n, 1).peer.node == leaf);
  };
  std::vector<NodeIndex> kept;
  for (NodeIndex n = 0; n < whole.nodes().size(); ++n)
    if (!is_gone(n)) kept.push_back(n);
  rest = ib::fabric::with_nodes_in(whole, kept);
  EXPECT_THAT(recognised_between(whole, rest),
              ElementsAre(testing::StartsWith("a part of the subnet is not reached any more: "
                                              "switches 1, others 4, behind \"spine-00")));
  EXPECT_THAT(recognised_between(rest, whole),
              ElementsAre(testing::StartsWith(
                  "a part joined the subnet: switches 1, others 4, behind \"spine-00")));
}

TEST(TopologyChanges, NodesComeGoAndAreRenamed) {
  const Fabric before = tree();
  Fabric after = before;
  after.node(node(after, "host0002 HCA-1")).description = "login1";
  EXPECT_THAT(
      between(before, after),
      ElementsAre("renamed: " + to_string(before.node(node(before, "host0002 HCA-1")).guid) +
                  " from host0002 HCA-1 to login1"));
  ib::fabric::FatTree larger;
  larger.radix = 8;
  larger.hosts_per_leaf = 4;
  larger.leaves = 4;
  larger.spines = 2;
  ib::fabric::GenerateCommon fewer;
  fewer.missing_hosts_percent = 20;
  const Fabric less = *ib::fabric::generate(larger, fewer);
  const auto gone = before.nodes().size() - less.nodes().size();
  ASSERT_GT(gone, 0U);
  std::size_t left = 0, joined = 0;
  for (const Event& e : topology_changes(snapshot_of(before).get(), *snapshot_of(less)))
    left += e.kind == Kind::NodeLeft ? 1 : 0;
  for (const Event& e : topology_changes(snapshot_of(less).get(), *snapshot_of(before)))
    joined += e.kind == Kind::NodeJoined ? 1 : 0;
  EXPECT_EQ(left, gone);
  EXPECT_EQ(joined, gone);
}

TEST(TopologyChanges, ADeviceThatDoesNotTakeATableIsToldOnce) {
  const Fabric fabric = tree();
  const ib::Guid host = fabric.node(node(fabric, "host0002 HCA-1")).guid;
  const auto before = snapshot_of(fabric), after = snapshot_of(fabric);
  after->refused_tables = {{host, device::kSlToVl.attribute}, {ib::Guid{7}, 0x17}};
  const auto told =
      ElementsAre("host0002 HCA-1 (" + to_string(host) + ") does not take its SLtoVLMappingTable");
  EXPECT_THAT(lines(topology_changes(before.get(), *after)), told);
  EXPECT_THAT(lines(topology_changes(nullptr, *after)), told);
  EXPECT_THAT(lines(topology_changes(after.get(), *after)), IsEmpty());
  EXPECT_THAT(lines(topology_changes(after.get(), *before)), IsEmpty());
}

TEST(TopologyChanges, ALidThatChangedUnderAPortInUseIsTold) {
  const Fabric before = tree();
  Fabric after = before;
  after.port(node(after, "host0002 HCA-1"), 1).lid = Lid{400};
  after.reindex();
  const auto lid = before.port(node(before, "host0002 HCA-1"), 1).lid.value;
  EXPECT_THAT(between(before, after), ElementsAre("LID changed: \"host0002 HCA-1\" port 1 from " +
                                                  std::to_string(lid) + " to 400"));
}

TEST(TopologyChanges, ALidOfAPortThatHadNoneIsAssigned) {
  const Fabric after = tree();
  const auto host = node(after, "host0002 HCA-1");
  Fabric before = after;
  before.port(host, 1).lid = ib::kNoLid;
  before.reindex();
  const std::string told = "LID assigned: \"host0002 HCA-1\" port 1 has " +
                           std::to_string(after.port(host, 1).lid.value);
  EXPECT_THAT(between(before, after), ElementsAre(told));
  EXPECT_THAT(lines(topology_changes(nullptr, *snapshot_of(after))), IsEmpty());
}

TEST(TopologyChanges, ALinkBelowWhatBothEndsCanDoIsToldFromTheFirstSweepOn) {
  Fabric slow = tree();
  const PortRef a{node(slow, "leaf-001"), 5};
  const PortRef b = slow.port(a).peer;
  slow.disconnect(a);
  slow.connect(a, b, ib::wire::LinkWidth::W1x, ib::wire::LinkSpeed::Edr);
  const std::string told =
      "link below what both ends can do: \"leaf-001\" port 5 - \"spine-001\" port 1, 1x EDR";
  EXPECT_THAT(lines(topology_changes(nullptr, *snapshot_of(slow))), ElementsAre(told));
  EXPECT_THAT(between(slow, slow), IsEmpty());
  EXPECT_THAT(between(tree(), slow), ElementsAre(told));
  EXPECT_THAT(between(slow, tree()),
              ElementsAre("link as fast as both ends can do again: \"leaf-001\" port 5 - "
                          "\"spine-001\" port 1, 4x EDR"));
}

TEST(RoutingChanges, CountEntriesAndSwitchesAndNameEnginesThatFailed) {
  const auto subnet = snapshot_of(tree());
  Routing first = *subnet->routing;
  first.engine = "updn";
  first.failed = {"ftree"};
  const auto made = routing_changes(nullptr, first);
  ASSERT_EQ(made.size(), 2U);
  EXPECT_EQ(text_of(made[0]), "routes of ftree cannot be used");
  EXPECT_EQ(name_of(made[1]), "routes.made");
  // Where switches held them already, as after a restart, nothing has changed.
  EXPECT_EQ(routing_changes(nullptr, first, Changed{0, 0}).size(), 1U);
  EXPECT_EQ(text_of(routing_changes(nullptr, first, Changed{7, 2}, {0, 30})[1]),
            "routes of updn: 7 entries in 2 switches changed; most loaded link 30, before 0");
  Routing second = first;
  second.failed.clear();
  second.followed = true;
  const Lid lid = second.graph.destinations().front().lid;
  second.lfts.set(0, lid, 7);
  EXPECT_THAT(
      lines(routing_changes(&first, second, {}, {30, 40})),
      ElementsAre(
          "routes follow the change: what still fits has stayed",
          "routes of updn: 1 entries in 1 switches changed; most loaded link 40, before 30"));
  EXPECT_THAT(routing_changes(&second, second), IsEmpty());
  second.followed = false;
  EXPECT_EQ(name_of(routing_changes(&first, second).front()), "routes.recomputed");
}

TEST(RoutingChanges, LevelsThatShareVlsAreToldOnce) {
  Routing before = *snapshot_of(tree())->routing;
  Routing after = before;
  after.merged_levels = "2 levels of service (SL 1, SL 2) have the same VLs";
  EXPECT_THAT(lines(routing_changes(&before, after)), ElementsAre("qos: " + after.merged_levels));
  EXPECT_THAT(routing_changes(&after, after), IsEmpty());
  EXPECT_THAT(routing_changes(&after, before), IsEmpty());
}

TEST(PartitionChanges, AreDefinitionsThatComeAndGo) {
  const auto red = policy::test::policy_of("Default=0x7fff : ALL;\nred=1 : ALL;\n");
  const auto blue = policy::test::policy_of("Default=0x7fff : ALL;\nblue=2 : ALL;\n");
  EXPECT_THAT(lines(partition_changes(nullptr, *red)),
              ElementsAre("partition created: 0x0001 red"));
  EXPECT_THAT(lines(partition_changes(red.get(), *blue)),
              ElementsAre("partition created: 0x0002 blue", "partition deleted: 0x0001 (0)"));
  EXPECT_THAT(lines(partitions_at_the_end(*blue)), ElementsAre("partition deleted: 0x0002 (2)"));
}

TEST(DeviceChanges, AreKeysThatPortsHaveAndHadNotTreesAndSubnetManagers) {
  const auto subnet = snapshot_of(tree());
  const auto& fabric = subnet->fabric();
  const auto host = node(fabric, "host0003 HCA-1");
  device::Inventory inventory;
  const auto put = [&](std::initializer_list<std::uint16_t> keys) {
    ib::wire::PKeyTable table;
    std::size_t i = 0;
    for (const auto key : keys) table.p_keys[i++] = PKey{key};
    device::Block block{};
    ib::wire::encode(table, block.data());
    inventory.put(device::kPKeyTable, fabric.node(host).guid, 1, {1, 0, 0}, block);
    return inventory.publish();
  };
  DeviceState unread, before, after;
  unread.tables = inventory.publish();
  before.tables = put({0xFFFF});
  after.tables = put({0xFFFF, 0x0000, 0x8001});
  auto trees = std::make_shared<ib::tables::MulticastTables>();
  (*trees)[Lid{0xC000}][0].set(3);
  after.multicast = trees;
  ib::wire::SmInfo other;
  other.guid = ib::Guid{0x77};
  other.priority = 3;
  other.sm_state = ib::wire::SmState::Standby;
  const std::vector<ib::wire::SmInfo> none, one{other};
  const std::string seen = "another subnet manager: 0x0000000000000077, priority 3, standby";
  const std::string guid = to_string(fabric.port(host, 1).guid);
  const std::string has_key = "partition member: " + guid + " has P_Key 0x8001 (block 0, index 2)";
  EXPECT_THAT(lines(manager_changes(none, one)), ElementsAre(seen));
  EXPECT_THAT(lines(manager_changes(one, one)), IsEmpty());
  EXPECT_THAT(lines(manager_changes(one, none)),
              ElementsAre("a subnet manager is gone: 0x0000000000000077"));
  EXPECT_THAT(lines(device_changes(nullptr, after, *subnet, nullptr)), ElementsAre(has_key))
      << "the key of the default partition everybody has";
  EXPECT_THAT(lines(device_changes(&unread, before, *subnet, unread.tables.get())), IsEmpty());
  after.tables_to_come = true;
  EXPECT_THAT(lines(device_changes(nullptr, after, *subnet, nullptr)), IsEmpty());
  after.tables_to_come = false;
  EXPECT_THAT(lines(device_changes(&before, after, *subnet, before.tables.get())),
              ElementsAre(has_key, "multicast tree: 0xc000"));
  EXPECT_THAT(lines(device_changes(&after, after, *subnet, after.tables.get())), IsEmpty());
  EXPECT_THAT(lines(device_changes(&after, before, *subnet, after.tables.get())),
              ElementsAre("partition member removed: " + guid + " has P_Key 0x8001 no more"));
}

TEST(RestartEvents, AreNodesAndTheLinksOfOthers) {
  const auto subnet = snapshot_of(tree());
  const Fabric& fabric = subnet->fabric();
  const auto& leaf = fabric.node(node(fabric, "leaf-002"));
  const auto& spine = fabric.node(node(fabric, "spine-001"));
  Restarts restarts;
  restarts.links = {{{leaf.guid, 5}, {spine.guid, 3}}};
  EXPECT_THAT(lines(restart_events(restarts, *subnet)),
              ElementsAre("link down: \"leaf-002\" port 5 - \"spine-001\" port 3",
                          "link up: \"leaf-002\" port 5 - \"spine-001\" port 3, 4x EDR"));
  restarts.nodes = {spine.guid};
  EXPECT_THAT(lines(restart_events(restarts, *subnet)),
              ElementsAre("rebooted: spine-001 " + to_string(spine.guid) + " (switch)"));
  restarts = {{ib::Guid{0x77}},
              {{{leaf.guid, 200}, {spine.guid, 3}}, {{leaf.guid, 6}, {spine.guid, 3}}}};
  EXPECT_THAT(restart_events(restarts, *subnet), IsEmpty()) << "what is not so any more";
}

TEST(TroubleChanges, AreToldWhenTheyComeAndAlarmsWhenTheyGo) {
  ib::report::PortShape a{{}, ib::Guid{1}, "a", 1}, b{{}, ib::Guid{2}, "b", 1};
  Troubles wrong;
  wrong.conflicts = {{Lid{7}, a, b}};
  wrong.no_room = {{a, 2, "0x8002, 0x8003"}};
  wrong.alarms = {"LID 7 is claimed twice"};
  EXPECT_THAT(
      lines(trouble_changes({}, wrong)),
      ElementsAre(
          "LID conflict: \"a\" port 1 and \"b\" port 1 hold LID 7, and \"a\" port 1 keeps it",
          "P_Keys that do not fit: \"a\" port 1, whose table holds 2: 0x8002, 0x8003",
          "alarm: LID 7 is claimed twice"));
  EXPECT_THAT(trouble_changes(wrong, wrong), IsEmpty());
  EXPECT_THAT(lines(trouble_changes(wrong, {})),
              ElementsAre("alarm cleared: LID 7 is claimed twice"));
}

TEST(VirtualPortChanges, PortsWithVirtualizationAndWhatEachVirtualPortCameTo) {
  using ib::wire::PortState;
  const auto vport = [](std::uint16_t index, std::uint64_t guid, PortState state) {
    VirtualPort v;
    v.index = index;
    v.guid = ib::Guid{guid};
    v.node_guid = ib::Guid{guid + 0x10};
    v.state = state;
    return v;
  };
  const auto of = [](std::vector<VirtualPort> ports, std::uint16_t top = 2) {
    return VirtualPorts{{ib::Guid{0x85d1}, {true, top, std::move(ports)}}};
  };
  const auto up = of({vport(1, 0xa1, PortState::Active), vport(2, 0xa2, PortState::Down)});
  EXPECT_THAT(lines(virtual_port_changes(nullptr, &up)),
              ElementsAre("virtualization of 0x00000000000085d1: virtual ports up to index 2",
                          "virtual port 0x00000000000000a1 (index 1) of 0x00000000000085d1: "
                          "Active"));
  EXPECT_THAT(virtual_port_changes(&up, &up), IsEmpty());
  const auto waits = of({vport(1, 0xa1, PortState::Down), vport(2, 0xa2, PortState::Initialize)});
  EXPECT_THAT(lines(virtual_port_changes(&up, &waits)),
              ElementsAre("virtual port 0x00000000000000a1 (index 1) of 0x00000000000085d1: Down",
                          "virtual port 0x00000000000000a2 (index 2) of 0x00000000000085d1: "
                          "Initialize"));
  const auto renamed = of({vport(1, 0xb1, PortState::Active), vport(2, 0xa2, PortState::Down)}, 3);
  EXPECT_THAT(lines(virtual_port_changes(&up, &renamed)),
              ElementsAre("virtualization of 0x00000000000085d1: virtual ports up to index 3",
                          "virtual port 0x00000000000000a1 (index 1) of 0x00000000000085d1: Down",
                          "virtual port 0x00000000000000b1 (index 1) of 0x00000000000085d1: "
                          "Active"));
  const Events gone = virtual_port_changes(&up, nullptr);
  ASSERT_EQ(gone.size(), 1U);
  EXPECT_THAT(activity_line({1, {}, gone[0]}),
              testing::EndsWith(" 7 vport_state_change port_guid=0x00000000000085d1 "
                                "virtual_port_guid=0x00000000000000a1 index=1 "
                                "virtual_node_guid=0x00000000000000b1 state=1"));
}

TEST(RegistryChangesTest, GroupsAndMembersOfBatches) {
  RegistryChanges registry;
  store::McGroup group;
  group.mgid = ib::Gid::from(0xFF12401BFFFF0000, ib::Guid{1});
  group.mlid = Lid{0xC001};
  store::McMember member{group.mgid, ib::Gid::from(ib::kDefaultSubnetPrefix, ib::Guid{0x85d1}), 1};
  store::Batch batch;
  batch.groups = {group};
  batch.members = {member};
  EXPECT_THAT(
      lines(registry.take(batch)),
      ElementsAre("multicast group created: MGID ff12:401b:ffff::1 (0xc001)",
                  "multicast member joins: 0x00000000000085d1, MGID ff12:401b:ffff::1 (0xc001)"));
  EXPECT_THAT(lines(registry.take(batch)), IsEmpty()) << "it was a member";
  store::Batch gone;
  gone.groups_removed = {group.mgid};
  EXPECT_THAT(
      lines(registry.take(gone)),
      ElementsAre("multicast member leaves: 0x00000000000085d1, MGID ff12:401b:ffff::1 (0xc001)",
                  "multicast group deleted: MGID ff12:401b:ffff::1 (0xc001)"));
  RegistryChanges restarted;
  restarted.know({group}, {member});
  batch.members[0].join_state = 0;
  EXPECT_THAT(
      lines(restarted.take(batch)),
      ElementsAre("multicast member leaves: 0x00000000000085d1, MGID ff12:401b:ffff::1 (0xc001)"));
}

}  // namespace
}  // namespace sm::events
