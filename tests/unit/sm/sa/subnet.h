// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A subnet for SA tests, and a client that speaks with sm::sa::Server as the kernel's RMPP would.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "libdiag/mad/rmpp.h"
#include "sm/sa/server.h"
#include "tests/unit/sm/sa/run_commits.h"
#include "tests/unit/sm/sa/snapshot_of.h"

namespace sm::sa::test {

using ib::Gid;
using ib::Guid;
using ib::Instant;
using ib::mad::Packet;
using ib::wire::Mad;
using ib::wire::Method;

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

inline ib::wire::RmppHeader header_of(const Mad& mad) {
  return ib::wire::decode<ib::wire::RmppHeader>(mad.bytes.data());
}

/// A server with a subnet, a store in memory, and a clock that only the test moves.
class Bench {
 public:
  explicit Bench(Fabric fabric, const Options& options = {}, const store::Contents& contents = {})
      : Bench(snapshot_of(std::move(fabric)), options, contents) {}
  explicit Bench(std::shared_ptr<Snapshot> subnet, const Options& options = {},
                 const store::Contents& contents = {})
      : snapshot(std::move(subnet)),
        store(store::make_memory_store(contents)),
        server(options, contents),
        hosts(hosts_of(snapshot->fabric())) {
    run_commits(server, *store, now);
    server.publish(now, snapshot);
    groups_at_start = server.take_multicast_changed();  // a deadline until it is taken
  }

  std::shared_ptr<Snapshot> snapshot;
  std::unique_ptr<store::Store> store;
  Instant now{1'000'000'000};
  Server server;
  std::vector<PortRef> hosts;
  std::uint64_t sm_key{0};  // of the requests
  bool groups_at_start{};   // there were groups to be routed when the server began

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

  /// `packet` arrives and is served; nothing that the server wants is done.
  void give(const Packet& packet) {
    server.on_packet(now, packet);
    while (server.work(now)) {
    }
  }

  /// Everything the server wants to send now; commits are made on the way.
  std::vector<Packet> drain() {
    do {
      while (server.work(now)) {
      }
      run_commits(server, *store, now);
    } while (server.has_work());
    std::vector<Packet> sent;
    while (auto packet = server.next_send(now)) sent.push_back(std::move(*packet));
    return sent;
  }

  /// The one answer to `packet`, which is no table.
  Packet ask(const Packet& packet) {
    server.on_packet(now, packet);
    auto sent = drain();
    if (sent.empty() && server.next_deadline() != ib::kNever) {
      // A write may be held for a moment, to share a transaction.
      now = std::max(now, server.next_deadline());
      server.on_time(now);
      sent = drain();
    }
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

/// `question` is asked, and with every step of its search somebody else something simple, which is
/// answered with the next step or the one after it. How many of those there were; the answer.
inline std::pair<std::size_t, Packet> ask_beside_others(Bench& bench, const Packet& question) {
  bench.server.on_packet(bench.now, question);
  bench.server.work(bench.now);
  std::optional<Packet> answer;
  std::size_t others = 0;
  while (!answer && others < 10'000) {
    const auto simple = bench.request(Method::Get, ib::wire::attr::kClassPortInfo, std::uint64_t{0},
                                      std::uint32_t{0}, std::size_t{5});
    bench.server.on_packet(bench.now, simple);
    bench.server.work(bench.now);
    bench.server.work(bench.now);
    bool served = false;
    while (const auto packet = bench.server.next_send(bench.now)) {
      if (packet->mad.tid() == question.mad.tid()) answer = *packet;
      if (packet->mad.tid() == simple.mad.tid()) served = true;
    }
    EXPECT_TRUE(served);
    ++others;
  }
  return {others, answer.value_or(Packet{})};
}

}  // namespace sm::sa::test
