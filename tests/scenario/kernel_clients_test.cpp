// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What the kernel's and the field's clients ask, MAD for MAD and in their order, of ibsm on a
// simulated fabric: component masks and values are theirs (Linux ipoib_multicast.c, ipoib_main.c,
// multicast.c and cma.c of drivers/infiniband; srp_daemon.c, ibacm's acm.c and acmp.c of
// rdma-core).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

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
                        kMcScope = 1 << 15, kMcJoinState = 1 << 16;
constexpr std::uint64_t kPathServiceId = 3, kPathDgid = 1 << 2, kPathSgid = 1 << 3,
                        kPathDlid = 1 << 4, kPathSlid = 1 << 5, kPathReversible = 1 << 11,
                        kPathNumbPath = 1 << 12, kPathTrafficClass = 1 << 10, kPathPKey = 1 << 13,
                        kPathQosClass = 1 << 14, kPathFlowLabel = 1 << 8, kPathHopLimit = 1 << 9,
                        kPathSl = 1 << 15, kPathMtuSelector = 1 << 16, kPathMtu = 1 << 17,
                        kPathRateSelector = 1 << 18, kPathRate = 1 << 19,
                        kPathLifeSelector = 1 << 20, kPathLife = 1 << 21;

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

// ---- ibacm

/// acmp_join_group(): the group in which endpoints of a partition ask for addresses, by the least
/// rate and MTU that all have.
McMemberRecord ibacm_group(const Client& client, std::uint8_t rate, std::uint8_t mtu) {
  McMemberRecord wish;
  wish.mgid = Gid::from(0xFF15400100000000ULL | std::uint64_t{ib::kDefaultPKey.value} << 16 | rate,
                        ib::Guid{std::uint64_t{mtu} << 56});
  wish.port_gid = client.gid;
  wish.q_key = 0x80010000;
  wish.p_key = ib::kDefaultPKey;
  wish.mtu_selector = wish.rate_selector = Selector::Exactly;
  wish.mtu = mtu;
  wish.rate = rate;
  wish.scope = 5;
  wish.join_state = 1;
  return wish;
}
Packet ibacm_join(Client& client, std::uint8_t rate, std::uint8_t mtu) {
  return client.ask(Method::Set, ibacm_group(client, rate, mtu),
                    kMcMgid | kMcPortGid | kMcQKey | kMcMtuSelector | kMcMtu | kMcTrafficClass |
                        kMcPKey | kMcRateSelector | kMcRate | kMcSl | kMcFlowLabel | kMcScope |
                        kMcJoinState);
}

/// acm_path_comp_mask(): a component for each field that is not 0; never NumbPath.
std::uint64_t ibacm_mask(const PathRecord& p) {
  std::uint64_t mask = 0;
  const auto add = [&](bool is_set, std::uint64_t bit) { mask |= is_set ? bit : 0; };
  add(p.service_id != 0, kPathServiceId);
  add(p.dgid != Gid{}, kPathDgid);
  add(p.sgid != Gid{}, kPathSgid);
  add(p.dlid != ib::Lid{}, kPathDlid);
  add(p.slid != ib::Lid{}, kPathSlid);
  add(p.flow_label != 0, kPathFlowLabel);
  add(p.hop_limit != 0, kPathHopLimit);
  add(p.traffic_class != 0, kPathTrafficClass);
  add(p.reversible, kPathReversible);
  add(p.p_key != ib::PKey{}, kPathPKey);
  add(p.qos_class != 0, kPathQosClass);
  add(p.sl != ib::Sl{}, kPathSl);
  add(p.mtu_selector != Selector::GreaterThan, kPathMtuSelector);
  add(p.mtu != 0, kPathMtu);
  add(p.rate_selector != Selector::GreaterThan, kPathRateSelector);
  add(p.rate != 0, kPathRate);
  add(p.packet_life_selector != Selector::GreaterThan, kPathLifeSelector);
  add(p.packet_life != 0, kPathLife);
  return mask;
}

TEST_F(KernelClients, IbacmJoinsAndResolves) {
  constexpr std::uint8_t k10Gbps = 3, k2048 = 4;
  Client first(world_, host(1)), second(world_, host(20)), third(world_, host(31));
  ib::Lid mlid;
  for (auto* client : {&first, &second, &third}) {
    const auto answer = ibacm_join(*client, k10Gbps, k2048);
    ASSERT_EQ(answer.mad.status(), 0);
    const auto group = ib::wire::body<McMemberRecord>(answer.mad);
    if (client == &first) mlid = group.mlid;
    EXPECT_EQ(group.mlid, mlid);
    // acmp_record_mc_av() makes an address handle of these.
    EXPECT_EQ(group.mgid, ibacm_group(*client, k10Gbps, k2048).mgid);
    EXPECT_EQ(group.port_gid, client->gid);
    EXPECT_EQ(group.mtu, k2048);
    EXPECT_EQ(group.rate, k10Gbps);
    EXPECT_EQ(group.scope, 5);
  }
  // With `route_prot acm` a second group, by what the port has.
  const auto own = ibacm_join(first, 16, 5);
  ASSERT_EQ(own.mad.status(), 0);
  EXPECT_NE(ib::wire::body<McMemberRecord>(own.mad).mlid, mlid);

  // acmp_resolve_path_sa(), once the address was resolved in the group.
  PathRecord wish;
  wish.sgid = first.gid;
  wish.dgid = second.gid;
  wish.p_key = ib::kDefaultPKey;
  const auto resolved = first.ask(Method::Get, wish, ibacm_mask(wish));
  ASSERT_EQ(resolved.mad.status(), 0);
  const auto path = ib::wire::body<PathRecord>(resolved.mad);
  EXPECT_EQ(path.slid, first.lid);
  EXPECT_EQ(path.dlid, second.lid);

  // acmp_query(): `ib_acme -v` has what was resolved confirmed, every field of it.
  const auto confirmed = first.ask(Method::Get, path, ibacm_mask(path));
  ASSERT_EQ(confirmed.mad.status(), 0);
  EXPECT_EQ(ib::wire::body<PathRecord>(confirmed.mad), path);
  auto wrong = path;
  wrong.dlid = third.lid;
  EXPECT_NE(first.ask(Method::Get, wrong, ibacm_mask(wrong)).mad.status(), 0);

  // A host of the address file: no source GID, no LID of its own.
  PathRecord from_file;
  from_file.slid = first.lid;
  from_file.dgid = third.gid;
  from_file.reversible = true;
  from_file.p_key = ib::kDefaultPKey;
  const auto known = first.ask(Method::Get, from_file, ibacm_mask(from_file));
  ASSERT_EQ(known.mad.status(), 0);
  EXPECT_EQ(ib::wire::body<PathRecord>(known.mad).dlid, third.lid);

  // The kernel asks it instead of the SA (acm_nl_process_resolve): ServiceID and QoS class as well.
  auto of_kernel = wish;
  of_kernel.reversible = true;
  of_kernel.service_id = 0x0000000001064711ULL;
  of_kernel.qos_class = 3;
  const auto for_kernel = first.ask(Method::Get, of_kernel, ibacm_mask(of_kernel));
  ASSERT_EQ(for_kernel.mad.status(), 0);
  EXPECT_TRUE(ib::wire::body<PathRecord>(for_kernel.mad).reversible);

  // IBV_EVENT_CLIENT_REREGISTER: it joins again, and is where it was.
  world_.run_for(std::chrono::seconds(40));
  const auto again = ibacm_join(first, k10Gbps, k2048);
  ASSERT_EQ(again.mad.status(), 0);
  EXPECT_EQ(ib::wire::body<McMemberRecord>(again.mad).mlid, mlid);
}

/// All paths from one's own LID, as ibacm's route cache and MPI libraries take them.
TEST_F(KernelClients, EveryHostTakesItsTableOfPaths) {
  const auto& fabric = world_.model().topology();
  std::size_t ports = 0;
  for (ib::fabric::NodeIndex n = 0; n < fabric.nodes().size(); ++n)
    ports += fabric.node(n).is_switch() ? 1 : fabric.node(n).num_ports;
  for (std::size_t i = 0; i < 32; ++i) {
    Client client(world_, host(i));
    PathRecord wish;
    wish.slid = client.lid;
    wish.reversible = true;
    wish.numb_path = 1;
    const auto answer =
        client.ask(Method::GetTable, wish, kPathSlid | kPathReversible | kPathNumbPath);
    ASSERT_EQ(answer.mad.status(), 0);
    const auto table = read_table<PathRecord>(answer);
    ASSERT_TRUE(table);
    std::set<ib::Lid> reached;
    for (const auto& path : *table) {
      EXPECT_EQ(path.slid, client.lid);
      EXPECT_EQ(path.sgid, client.gid);
      EXPECT_TRUE(path.reversible);
      reached.insert(path.dlid);
      // What a Get of the pair would have said.
      if (path.dlid.value % 7 != i % 7) continue;
      auto one = path;
      const auto single = client.ask(Method::Get, one, kPathDgid | kPathSgid | kPathReversible);
      ASSERT_EQ(single.mad.status(), 0);
      EXPECT_EQ(ib::wire::body<PathRecord>(single.mad), path);
    }
    EXPECT_EQ(table->size(), reached.size());
    EXPECT_EQ(reached.size(), ports);
  }
}

}  // namespace
}  // namespace scenario
