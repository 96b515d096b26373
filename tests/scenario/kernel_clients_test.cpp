// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What the kernel's and the field's clients ask, MAD for MAD and in their order, of ibsm on a
// simulated fabric: component masks and values are theirs (Linux ipoib_multicast.c, ipoib_main.c,
// multicast.c and cma.c of drivers/infiniband; rdma-core srp_daemon.c).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libdiag/fabric/generate.h"
#include "libdiag/query/sa_client.h"
#include "libdiag/sim/host_port.h"
#include "sm/core/subnet_manager.h"
#include "tests/scenario/manager.h"

namespace scenario {
namespace {

using ib::Gid;
using ib::mad::Packet;
using ib::query::read_table;
using ib::query::sa_request;
using ib::wire::ClassPortInfo;
using ib::wire::McMemberRecord;
using ib::wire::Method;
using ib::wire::NodeRecord;
using ib::wire::PathRecord;
using ib::wire::PortInfoRecord;
using ib::wire::Selector;
using ::testing::SizeIs;
namespace attr = ib::wire::attr;

// enum ib_sa_mcmember_rec and ib_sa_path_rec of the kernel's ib_sa.h.
constexpr std::uint64_t kMcMgid = 1 << 0, kMcPortGid = 1 << 1, kMcQKey = 1 << 2,
                        kMcMtuSelector = 1 << 4, kMcMtu = 1 << 5, kMcTrafficClass = 1 << 6,
                        kMcPKey = 1 << 7, kMcRateSelector = 1 << 8, kMcRate = 1 << 9,
                        kMcSl = 1 << 12, kMcFlowLabel = 1 << 13, kMcHopLimit = 1 << 14,
                        kMcJoinState = 1 << 16;
constexpr std::uint64_t kPathServiceId = 3, kPathDgid = 1 << 2, kPathSgid = 1 << 3,
                        kPathDlid = 1 << 4, kPathSlid = 1 << 5, kPathReversible = 1 << 11,
                        kPathNumbPath = 1 << 12, kPathTrafficClass = 1 << 10, kPathPKey = 1 << 13,
                        kPathQosClass = 1 << 14;

/// The kernel of one host, or a program on it.
class Client {
 public:
  Client(ib::sim::World& world, ib::fabric::PortRef at)
      : port_(world.open(at)), session_(*port_, {}, world.clock()) {
    const auto facts = port_->facts().value();
    sa_ = ib::query::sa_address(facts).value();
    lid = facts.lid;
    gid = Gid::from(facts.gid_prefix, facts.port_guid);
  }
  Packet ask(ib::mad::Request request) { return session_.call(std::move(request)).value(); }
  template <class Record>
  Packet ask(Method method, const Record& record, std::uint64_t mask, std::uint32_t modifier = 0) {
    return ask(sa_request(0, sa_, method, record, mask, modifier));
  }
  ClassPortInfo class_port_info() {
    const auto answer = ask(sa_request(0, sa_, Method::Get, attr::kClassPortInfo, 0));
    EXPECT_EQ(answer.mad.status(), 0);
    return ib::wire::body<ClassPortInfo>(answer.mad);
  }

  ib::Lid lid;
  Gid gid;

 private:
  std::unique_ptr<ib::sim::HostPort> port_;
  ib::mad::Session session_;
  ib::query::SaAddress sa_;
};

class KernelClients : public ::testing::Test {
 protected:
  KernelClients() : world_(fabric()), manager_(world_, host(0), {}, kept_) {
    EXPECT_TRUE(world_.run_until([&] { return manager_.reports() > 0; }, std::chrono::seconds(30)));
    EXPECT_TRUE(manager_.last().up());
  }
  static ib::fabric::Fabric fabric() {
    ib::fabric::FatTree tree;
    tree.radix = 8;
    return *ib::fabric::generate(tree);
  }
  ib::fabric::PortRef host(std::size_t number) {
    const auto& f = world_.model().topology();
    for (ib::fabric::NodeIndex n = 0; n < f.nodes().size(); ++n)
      if (!f.node(n).is_switch() && number-- == 0) return {n, 1};
    return {};
  }
  static Gid mgid(const char* text) {
    Gid g;
    EXPECT_TRUE(ib::parse_gid(text, g));
    return g;
  }

  ib::sim::World world_;
  sm::store::Contents kept_;
  Manager manager_;
};

/// ipoib_mcast_join() for the broadcast group: the interface takes its parameters from the answer.
McMemberRecord join_broadcast(Client& client, const Gid& broadcast) {
  McMemberRecord wish;
  wish.mgid = broadcast;
  wish.port_gid = client.gid;
  wish.p_key = ib::kDefaultPKey;
  wish.join_state = 1;
  const auto answer = client.ask(Method::Set, wish, kMcMgid | kMcPortGid | kMcPKey | kMcJoinState);
  EXPECT_EQ(answer.mad.method(), Method::GetResp);
  EXPECT_EQ(answer.mad.status(), 0);
  return ib::wire::body<McMemberRecord>(answer.mad);
}

/// ... and for every other group, with the broadcast group's parameters (RFC 4391).
Packet join_like(Client& client, const McMemberRecord& broadcast, const Gid& group,
                 std::uint8_t join_state) {
  McMemberRecord wish = broadcast;
  wish.mgid = group;
  wish.mlid = ib::Lid{};
  wish.port_gid = client.gid;
  wish.join_state = join_state;
  wish.mtu_selector = wish.rate_selector = Selector::Exactly;
  return client.ask(Method::Set, wish,
                    kMcMgid | kMcPortGid | kMcPKey | kMcJoinState | kMcQKey | kMcMtuSelector |
                        kMcMtu | kMcTrafficClass | kMcRateSelector | kMcRate | kMcSl |
                        kMcFlowLabel | kMcHopLimit);
}

TEST_F(KernelClients, IpoibComesUpAndTalks) {
  Client first(world_, host(1)), second(world_, host(2));
  constexpr std::uint32_t kSendOnlyFullMember = 1U << 12;
  EXPECT_NE(first.class_port_info().capability_mask2 & kSendOnlyFullMember, 0U);

  const auto broadcast_gid = mgid("ff12:401b:ffff::ffff:ffff");
  const auto broadcast = join_broadcast(first, broadcast_gid);
  EXPECT_TRUE(broadcast.mlid.is_multicast());
  EXPECT_EQ(broadcast.q_key, 0x0b1bU);
  EXPECT_GE(broadcast.mtu, 4);
  EXPECT_EQ(broadcast.p_key.base(), ib::kDefaultPKey.base());
  EXPECT_EQ(join_broadcast(second, broadcast_gid).mlid, broadcast.mlid);

  // All hosts, and a group that is only sent to.
  const auto all_hosts = join_like(first, broadcast, mgid("ff12:401b:ffff::1"), 1);
  ASSERT_EQ(all_hosts.mad.status(), 0);
  EXPECT_EQ(join_like(second, broadcast, mgid("ff12:401b:ffff::1"), 1).mad.status(), 0);
  const auto send_only = join_like(first, broadcast, mgid("ff12:401b:ffff::16"), 8);
  ASSERT_EQ(send_only.mad.status(), 0);
  EXPECT_EQ(ib::wire::body<McMemberRecord>(send_only.mad).join_state, 8);

  // path_rec_start(): the first packet to a neighbour.
  PathRecord wish;
  wish.sgid = first.gid;
  wish.dgid = second.gid;
  wish.numb_path = 1;
  wish.p_key = ib::kDefaultPKey;
  wish.traffic_class = broadcast.traffic_class;
  const auto answer = first.ask(
      Method::Get, wish, kPathDgid | kPathSgid | kPathNumbPath | kPathTrafficClass | kPathPKey);
  ASSERT_EQ(answer.mad.status(), 0);
  const auto path = ib::wire::body<PathRecord>(answer.mad);
  EXPECT_EQ(path.dlid, second.lid);
  EXPECT_EQ(path.slid, first.lid);
  EXPECT_GE(path.mtu, broadcast.mtu);

  // send_leave() of multicast.c, for each group, the broadcast group last.
  for (const char* group : {"ff12:401b:ffff::1", "ff12:401b:ffff::ffff:ffff"}) {
    McMemberRecord leave;
    leave.mgid = mgid(group);
    leave.port_gid = first.gid;
    leave.join_state = 1;
    const auto left = first.ask(Method::Delete, leave, kMcMgid | kMcPortGid | kMcJoinState);
    EXPECT_EQ(left.mad.method(), Method::DeleteResp);
    EXPECT_EQ(left.mad.status(), 0) << group;
  }
  // And comes back later.
  world_.run_for(std::chrono::seconds(1));
  EXPECT_EQ(join_broadcast(first, broadcast_gid).mlid, broadcast.mlid);
}

/// cma_query_ib_route(), with the ServiceID of a TCP port and a type of service.
TEST_F(KernelClients, RdmaCmResolvesARoute) {
  Client from(world_, host(1)), to(world_, host(5));
  PathRecord wish;
  wish.service_id = 0x0000000001061234ULL;
  wish.sgid = from.gid;
  wish.dgid = to.gid;
  wish.p_key = ib::kDefaultPKey;
  wish.numb_path = 1;
  wish.reversible = true;
  const auto answer = from.ask(Method::Get, wish,
                               kPathDgid | kPathSgid | kPathPKey | kPathNumbPath | kPathReversible |
                                   kPathServiceId | kPathQosClass);
  ASSERT_EQ(answer.mad.status(), 0);
  const auto path = ib::wire::body<PathRecord>(answer.mad);
  EXPECT_TRUE(path.reversible);
  EXPECT_EQ(path.dlid, to.lid);
  EXPECT_EQ(path.service_id, wish.service_id);
}

/// srp_daemon: ports with device management by capability, else all nodes and each one's port.
TEST_F(KernelClients, SrpDaemonWalksTheTargets) {
  Client client(world_, host(1));
  constexpr std::uint16_t kMaskMatch = 1U << 13;
  constexpr std::uint32_t kIsDeviceManagement = 1U << 19, kMatch = 1U << 31;
  ASSERT_NE(client.class_port_info().capability_mask & kMaskMatch, 0);

  // do_dm_port_list(): RMPP version and type are set, the ACTIVE flag is not.
  PortInfoRecord with;
  with.port_info.capability_mask = kIsDeviceManagement;
  const auto targets = client.ask(Method::GetTable, with, 1U << 7, kMatch);
  ASSERT_EQ(targets.mad.status(), 0);
  const auto matching = read_table<PortInfoRecord>(targets);
  ASSERT_TRUE(matching);
  for (const auto& record : *matching)
    EXPECT_NE(record.port_info.capability_mask & kIsDeviceManagement, 0U);

  // do_full_port_list(): NodeType, then PortInfoRecord and NodeRecord of each LID.
  NodeRecord cas;
  cas.node_info.node_type = ib::wire::NodeType::ChannelAdapter;
  const auto nodes = read_table<NodeRecord>(client.ask(Method::GetTable, cas, 1U << 4));
  ASSERT_TRUE(nodes);
  EXPECT_THAT(*nodes, SizeIs(32));
  std::size_t managed = 0;
  for (const auto& node : *nodes) {
    PortInfoRecord of;
    of.end_port_lid = node.lid;
    const auto info = client.ask(Method::Get, of, 1);
    ASSERT_EQ(info.mad.status(), 0);
    const auto record = ib::wire::body<PortInfoRecord>(info.mad);
    EXPECT_EQ(record.port_info.lid, node.lid);
    managed += (record.port_info.capability_mask & kIsDeviceManagement) != 0 ? 1 : 0;
    NodeRecord by_lid;
    by_lid.lid = node.lid;
    const auto again = client.ask(Method::Get, by_lid, 1);
    ASSERT_EQ(again.mad.status(), 0);
    EXPECT_EQ(ib::wire::body<NodeRecord>(again.mad).node_info.port_guid, node.node_info.port_guid);
  }
  EXPECT_EQ(matching->size(), managed);

  // get_shared_pkeys(): which of the own keys lead there.
  PathRecord shared;
  shared.slid = client.lid;
  shared.dlid = nodes->back().lid;
  shared.p_key = ib::kDefaultPKey;
  const auto path = client.ask(Method::Get, shared, kPathDlid | kPathSlid | kPathPKey);
  ASSERT_EQ(path.mad.status(), 0);
  EXPECT_EQ(ib::wire::body<PathRecord>(path.mad).p_key.base(), ib::kDefaultPKey.base());
}

}  // namespace
}  // namespace scenario
