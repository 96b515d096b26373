// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A subnet for SA tests: a generated fabric dressed up as if a sweep had observed it, with tables
// by breadth-first search, and a client that speaks with sm::sa::Server as the kernel's RMPP would.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <vector>

#include "libdiag/fabric/generate.h"
#include "libdiag/mad/rmpp.h"
#include "libdiag/wire/rates.h"
#include "sm/sa/server.h"

namespace sm::sa::test {

using ib::Gid;
using ib::Guid;
using ib::Instant;
using ib::Lid;
using ib::fabric::Fabric;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using ib::mad::Packet;
using ib::wire::Mad;
using ib::wire::Method;

/// Shortest paths, the lowest port first.
inline ib::routes::LinearTables route(const ib::fabric::CompactGraph& graph) {
  ib::routes::LinearTables tables(graph.switch_count(), graph.max_lid());
  for (const auto& destination : graph.destinations()) {
    std::deque<ib::fabric::SwitchIndex> frontier{destination.leaf};
    tables.set(destination.leaf, destination.lid, destination.port);
    std::vector<bool> seen(graph.switch_count());
    seen[destination.leaf] = true;
    while (!frontier.empty()) {
      const auto at = frontier.front();
      frontier.pop_front();
      // A way back over each arc: the cable works both ways.
      for (const auto& arc : graph.arcs(at)) {
        if (seen[arc.to]) continue;
        seen[arc.to] = true;
        tables.set(arc.to, destination.lid, arc.in_port);
        frontier.push_back(arc.to);
      }
    }
  }
  return tables;
}

inline ib::wire::PortInfo port_info_of(const Fabric& fabric, PortRef at) {
  const auto& node = fabric.node(at.node);
  const auto& port = fabric.port(at);
  const bool end_port = !node.is_switch() || at.port == 0;
  ib::wire::PortInfo info;
  info.m_key = 0x1122334455667788ULL;
  info.gid_prefix = ib::kDefaultSubnetPrefix;
  info.lid = end_port ? port.lid : ib::kNoLid;
  info.lmc = end_port ? port.lmc : std::uint8_t{0};
  info.master_sm_lid = Lid{1};
  info.capability_mask = node.is_switch() ? 0x4000U : 0x2594868U;
  info.local_port_num = ib::PortNum{at.port};
  info.link_width_enabled = info.link_width_supported = 3;
  info.link_speed_supported = info.link_speed_enabled = 7;
  const bool linked = at.port == 0 || static_cast<bool>(port.peer);
  info.port_state = linked ? ib::wire::PortState::Active : ib::wire::PortState::Down;
  info.port_physical_state = linked ? ib::wire::PhysState::LinkUp : ib::wire::PhysState::Polling;
  info.link_down_default_state = 2;
  info.neighbor_mtu = linked ? std::uint8_t{5} : std::uint8_t{0};
  info.mtu_cap = 5;
  info.vl_cap = node.is_switch() ? 4 : 3;
  info.operational_vls = 1;
  info.guid_cap = end_port ? 8 : 0;
  info.subnet_timeout = 18;
  info.resp_time_value = static_cast<std::uint8_t>(at.port % 3 + 16);
  info.p_key_violations = static_cast<std::uint16_t>(at.node % 5);
  if (linked && at.port != 0) {
    ib::wire::set_active_width(info, port.width);
    ib::wire::set_active_speed(info, port.speed);
  }
  return info;
}

/// The fabric as a sweep would have seen it, every LID as the fabric has it.
inline std::shared_ptr<Snapshot> snapshot_of(Fabric fabric) {
  auto observed = std::make_shared<ib::discover::Observed>();
  observed->fabric = std::move(fabric);
  auto& f = observed->fabric;
  for (NodeIndex n = 0; n < f.nodes().size(); ++n) {
    const auto& node = f.node(n);
    ib::discover::ObservedNode seen;
    seen.info.node_type = node.type;
    seen.info.num_ports = node.num_ports;
    seen.info.node_guid = node.guid;
    seen.info.system_image_guid = node.guid;
    seen.info.port_guid = f.port(n, node.is_switch() ? 0 : 1).guid;
    seen.info.partition_cap = node.is_switch() ? 32 : 128;
    seen.info.device_id = node.device_id;
    seen.info.vendor_id = node.vendor_id;
    seen.info.revision = n % 4;
    seen.info.local_port_num = ib::PortNum{1};
    if (node.is_switch()) {
      seen.switch_info.emplace();
      seen.switch_info->linear_fdb_cap = 0xBFFF;
      seen.switch_info->multicast_fdb_cap = 64;
    }
    observed->nodes.push_back(seen);
    for (unsigned p = 0; p <= node.num_ports; ++p) observed->ports.emplace_back();
  }
  for (NodeIndex n = 0; n < f.nodes().size(); ++n) {
    for (unsigned p = f.node(n).is_switch() ? 0 : 1; p <= f.node(n).num_ports; ++p) {
      const PortRef at{n, static_cast<std::uint8_t>(p)};
      auto& port = observed->port(at);
      port.info = port_info_of(f, at);
      ib::wire::encode(port.info, port.bytes.data());
      port.known = true;
      f.port(at).state = port.info.port_state;
    }
  }
  f.reindex();
  observed->complete = true;

  auto snapshot = std::make_shared<Snapshot>();
  ib::fabric::CompactGraph graph(f);
  auto tables = route(graph);
  snapshot->routing =
      std::make_shared<Routing>(Routing{std::move(graph), std::move(tables), "test"});
  for (NodeIndex n = 0; n < f.nodes().size(); ++n) {
    if (f.node(n).is_switch()) continue;
    snapshot->sm_port = {n, 1};
    snapshot->sm_lid = f.port(n, 1).lid;
    snapshot->sm_port_guid = f.port(n, 1).guid;
    break;
  }
  snapshot->observed = observed;
  snapshot->generation = 1;
  snapshot->up = true;
  return snapshot;
}

/// 2-level tree: 4 leaves of 4 hosts, 2 spines, EDR.
inline Fabric small_tree() {
  ib::fabric::FatTree tree;
  tree.radix = 8;
  tree.hosts_per_leaf = 4;
  tree.leaves = 4;
  tree.spines = 2;
  auto fabric = ib::fabric::generate(tree);
  EXPECT_TRUE(fabric);
  return std::move(*fabric);
}

inline std::vector<PortRef> hosts_of(const Fabric& fabric) {
  std::vector<PortRef> hosts;
  for (NodeIndex n = 0; n < fabric.nodes().size(); ++n)
    if (fabric.node(n).type == ib::wire::NodeType::ChannelAdapter) hosts.push_back({n, 1});
  return hosts;
}

/// A server with a subnet, a store in memory, and a clock that only the test moves.
class Bench {
 public:
  explicit Bench(Fabric fabric, Options options = {}, const store::Contents& contents = {})
      : snapshot(snapshot_of(std::move(fabric))),
        store(store::make_memory_store(contents)),
        server(options, contents),
        hosts(hosts_of(snapshot->fabric())) {
    run_commits(server, *store, now);
    server.publish(now, snapshot);
  }

  std::shared_ptr<Snapshot> snapshot;
  std::unique_ptr<store::Store> store;
  Instant now{1'000'000'000};
  Server server;
  std::vector<PortRef> hosts;
  std::uint64_t sm_key{0};  // of the requests

  const ib::fabric::Port& host(std::size_t i) const { return snapshot->fabric().port(hosts[i]); }
  Gid gid(std::size_t i) const { return Gid::from(ib::kDefaultSubnetPrefix, host(i).guid); }

  Packet request(Method method, std::uint16_t attribute, std::uint64_t mask = 0,
                 std::uint32_t modifier = 0, std::size_t from = 0) {
    Packet packet;
    packet.address = ib::mad::gsi_address(host(from).lid);
    packet.mad = ib::wire::make_mad(ib::wire::MgmtClass::SubnAdm, method, attribute, modifier);
    packet.mad.set<&ib::wire::MadHeader::tid>(ib::Tid{++last_tid_});
    packet.mad.set<&ib::wire::SaHeader::component_mask>(mask);
    packet.mad.set<&ib::wire::SaHeader::sm_key>(sm_key);
    return packet;
  }
  template <class Record>
  Packet request(Method method, std::uint16_t attribute, const Record& record, std::uint64_t mask,
                 std::uint32_t modifier = 0, std::size_t from = 0) {
    auto packet = request(method, attribute, mask, modifier, from);
    ib::wire::set_body(packet.mad, record);
    return packet;
  }

  /// Everything the server wants to send now; commits are made on the way.
  std::vector<Packet> drain() {
    run_commits(server, *store, now);
    std::vector<Packet> sent;
    while (auto packet = server.next_send(now)) sent.push_back(std::move(*packet));
    return sent;
  }

  /// The one answer to `packet`, which is no table.
  Packet ask(const Packet& packet) {
    server.on_packet(now, packet);
    auto sent = drain();
    EXPECT_EQ(sent.size(), 1U);
    if (sent.empty()) return {};
    EXPECT_EQ(sent[0].mad.tid(), packet.mad.tid());
    EXPECT_EQ(sent[0].address.lid, packet.address.lid);
    return sent[0];
  }

  /// The table answer to `packet`, received as the kernel receives it.
  Packet ask_table(const Packet& packet) {
    server.on_packet(now, packet);
    ib::mad::rmpp::Receiver receiver;
    const auto server_address = ib::mad::gsi_address(snapshot->sm_lid);
    for (int turn = 0; turn < 100'000; ++turn) {
      auto sent = drain();
      if (sent.empty()) break;
      for (auto& segment : sent) {
        if (!ib::mad::rmpp::is_active(segment.mad)) return segment;  // refused
        receiver.on_mad(now, server_address, segment.mad);
      }
      while (auto ack = receiver.next_send()) {
        Packet back = *ack;
        back.address = packet.address;
        server.on_packet(now, back);
      }
      if (auto message = receiver.next_message()) return *message;
    }
    ADD_FAILURE() << "the table never ended";
    return {};
  }

 private:
  std::uint64_t last_tid_{0x1000};
};

}  // namespace sm::sa::test
