// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The managers' channel to QP1: whose answer is whose, how much is under way, what ends a request.
#include "sm/managers/client_channel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>

#include "tests/unit/sm/managers/reader.h"
#include "tests/unit/sm/sa/snapshot_of.h"

namespace sm::managers {
namespace {

using ib::Instant;
using ib::wire::MgmtClass;
using test::Reader;

ib::fabric::Fabric tree() {
  ib::fabric::FatTree tree;
  tree.radix = 8;
  tree.hosts_per_leaf = 4;
  tree.leaves = 4;
  tree.spines = 2;
  return *ib::fabric::generate(tree);
}
constexpr std::size_t kEndPorts = 4 * 4 + 4 + 2;

/// Devices that answer whatever they are asked 10 us later, but for those that are silent.
class Devices {
 public:
  explicit Devices(ClientChannel& channel) : channel_(channel) {}

  std::vector<ib::Lid> silent;
  ib::Lid unreachable{};  // the transport refuses it
  std::map<std::uint16_t, std::size_t> asked;
  std::size_t of_one_most{0};
  std::vector<std::string> log;
  Instant now{1'000'000'000};

  /// Until nothing is under way or due any more.
  void run() {
    for (take_all(); !answers_.empty() || channel_.next_deadline() != ib::kNever; take_all()) {
      const Instant arrival = answers_.empty() ? ib::kNever : answers_.front().first;
      now = std::max(now, std::min(arrival, channel_.next_deadline()));
      if (arrival <= now) {
        const ib::mad::Packet packet = answers_.front().second;
        answers_.pop_front();
        --of_one_[packet.address.lid.value];
        EXPECT_TRUE(channel_.on_packet(now, packet));
      }
      if (channel_.next_deadline() <= now) channel_.on_time(now);
    }
  }

 private:
  void take_all() {
    while (const auto order = channel_.next_send(now)) {
      ++asked[order->address.lid.value];
      if (order->address.lid == unreachable) {
        channel_.on_send_failed(*order, {ib::ErrorKind::Io, "no such path"});
        continue;
      }
      if (std::ranges::find(silent, order->address.lid) != silent.end()) continue;
      of_one_most = std::max(of_one_most, ++of_one_[order->address.lid.value]);
      ib::mad::Packet answer{order->address, order->mad, {}};
      answer.mad.set<&ib::wire::MadHeader::method>(ib::wire::Method::GetResp);
      answers_.emplace_back(now + std::chrono::microseconds(10), answer);
    }
    while (const auto event = channel_.next_log()) log.push_back(event->message);
  }

  ClientChannel& channel_;
  std::deque<std::pair<Instant, ib::mad::Packet>> answers_;
  std::map<std::uint16_t, std::size_t> of_one_;
};

Reader& add_reader(ClientChannel& channel, MgmtClass mgmt_class, std::size_t most = 256) {
  auto reader = std::make_unique<Reader>(mgmt_class, most);
  Reader& it = *reader;
  channel.add(std::move(reader));
  return it;
}

TEST(ClientChannel, EveryEndPortIsAskedOnceTheSubnetIsUp) {
  ClientChannel channel;
  Reader& reader = add_reader(channel, MgmtClass::Perf);
  Devices devices(channel);
  devices.run();
  EXPECT_TRUE(devices.asked.empty()) << "there is no subnet yet";

  channel.on_subnet_up(devices.now, sa::test::snapshot_of(tree()));
  EXPECT_FALSE(channel.idle());
  devices.run();
  EXPECT_TRUE(channel.idle());
  EXPECT_EQ(reader.answered, kEndPorts);
  EXPECT_EQ(devices.asked.size(), kEndPorts);
  EXPECT_EQ(channel.counters().sends, kEndPorts);
}

TEST(ClientChannel, NoMoreIsUnderWayThanAManagerWants) {
  ClientChannel channel;
  Reader& reader = add_reader(channel, MgmtClass::Perf, 3);
  Devices devices(channel);
  channel.on_subnet_up(devices.now, sa::test::snapshot_of(tree()));
  devices.run();
  EXPECT_EQ(reader.under_way_most, 3U);
  EXPECT_EQ(reader.answered, kEndPorts);
}

TEST(ClientChannel, EachManagerGetsItsOwnAnswersAndEachClassOneAgent) {
  ClientChannel channel;
  Reader& one = add_reader(channel, MgmtClass::Perf);
  Reader& two = add_reader(channel, MgmtClass::CongestionControl, 5);
  Reader& three = add_reader(channel, MgmtClass::Perf, 1);
  ASSERT_EQ(channel.agents().size(), 2U);
  Devices devices(channel);
  channel.on_subnet_up(devices.now, sa::test::snapshot_of(tree()));
  devices.run();
  for (const Reader* reader : {&one, &two, &three}) {
    EXPECT_EQ(reader->answered, kEndPorts);
    EXPECT_EQ(reader->under_way, 0U);
  }
  EXPECT_LE(devices.of_one_most, ib::mad::TransactorOptions{}.window_per_target);
}

TEST(ClientChannel, WhoIsSilentIsAskedAgainAndThenGivenUpAlone) {
  const auto subnet = sa::test::snapshot_of(tree());
  ClientChannel channel;
  Reader& reader = add_reader(channel, MgmtClass::Perf);
  Devices devices(channel);
  const EndPort deaf = end_ports(*subnet).at(7);
  devices.silent = {deaf.address.lid};
  channel.on_subnet_up(devices.now, subnet);
  devices.run();
  EXPECT_EQ(reader.answered, kEndPorts - 1);
  ASSERT_EQ(reader.failed, std::vector<std::string>{deaf.name});
  EXPECT_EQ(devices.asked[deaf.address.lid.value], ib::mad::TransactorOptions{}.attempts_min);
  EXPECT_EQ(devices.log, std::vector<std::string>{deaf.name + " does not answer"});
  EXPECT_TRUE(channel.idle());
}

TEST(ClientChannel, WhatTheTransportRefusesIsAFailureAtOnce) {
  const auto subnet = sa::test::snapshot_of(tree());
  ClientChannel channel;
  Reader& reader = add_reader(channel, MgmtClass::Perf);
  Devices devices(channel);
  devices.unreachable = end_ports(*subnet).at(3).address.lid;
  channel.on_subnet_up(devices.now, subnet);
  devices.run();
  EXPECT_EQ(reader.answered, kEndPorts - 1);
  EXPECT_EQ(reader.failed.size(), 1U);
  EXPECT_EQ(devices.asked[devices.unreachable.value], 1U);
}

TEST(ClientChannel, AManagerIsWokenWhenItWantsToBe) {
  ClientChannel channel;
  Reader& reader = add_reader(channel, MgmtClass::Perf);
  Devices devices(channel);
  reader.wake = devices.now + std::chrono::seconds(5);
  EXPECT_EQ(channel.next_deadline(), reader.wake);
  const Instant due = reader.wake;
  devices.run();
  EXPECT_EQ(reader.woken, due);
}

TEST(ClientChannel, WithoutRoutesNobodyIsTold) {
  ClientChannel channel;
  Reader& reader = add_reader(channel, MgmtClass::Perf);
  channel.on_subnet_up(Instant{1}, nullptr);
  EXPECT_EQ(reader.sweeps, 0U);
}

TEST(ClientChannel, AnAnswerThatNobodyAskedForIsNobodys) {
  ClientChannel channel;
  add_reader(channel, MgmtClass::Perf);
  ib::mad::Packet packet;
  packet.mad = ib::wire::make_mad(MgmtClass::Perf, ib::wire::Method::GetResp,
                                  ib::wire::attr::kClassPortInfo);
  packet.mad.set<&ib::wire::MadHeader::tid>(ib::Tid{4711});
  EXPECT_FALSE(channel.on_packet(Instant{1}, packet));
}

TEST(EndPorts, AreThoseThatAreInUse) {
  const auto subnet = sa::test::snapshot_of(tree());
  auto observed = std::make_shared<ib::discover::Observed>(*subnet->observed);
  const auto before = end_ports(*subnet);
  ASSERT_EQ(before.size(), kEndPorts);
  std::size_t switches = 0;
  for (const EndPort& end : before) {
    if (end.type == ib::wire::NodeType::Switch) {
      ++switches;
      EXPECT_EQ(end.port.port, 0);
    }
    EXPECT_EQ(end.address.qpn, 1U);
    EXPECT_EQ(end.address.lid, subnet->fabric().port(end.port).lid);
  }
  EXPECT_EQ(switches, 6U);

  // A host that is not ACTIVE, one without a LID, a switch that is quarantined.
  std::vector<EndPort> hosts, others;
  for (const EndPort& end : before)
    (end.type == ib::wire::NodeType::Switch ? others : hosts).push_back(end);
  sa::test::fields_of(observed->port(hosts[0].port))
      .set<&ib::wire::PortInfo::port_state>(ib::wire::PortState::Initialize);
  sa::test::fields_of(observed->port(hosts[1].port)).set<&ib::wire::PortInfo::lid>(ib::kNoLid);
  observed->nodes[others[0].port.node].usable = false;
  subnet->observed = observed;
  const auto after = end_ports(*subnet);
  EXPECT_EQ(after.size(), kEndPorts - 3);
  for (const EndPort& end : after) {
    EXPECT_NE(end.port, hosts[0].port);
    EXPECT_NE(end.port, hosts[1].port);
    EXPECT_NE(end.port, others[0].port);
  }
}

}  // namespace
}  // namespace sm::managers
