// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// MAD congestion control of a port, as the kernel has it for subnet administration.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/sim/kernel_fixture.h"

namespace ib::sim {
namespace {

using std::chrono::milliseconds;
using wire::Method;
using wire::MgmtClass;

class SaCongestionOfAPort : public Kernel {
 protected:
  void SetUp() override {
    port.sa_congestion = true;
    agent = kernel.register_agent(file, client_of(MgmtClass::SubnAdm, 2));
  }
  static wire::Mad path_get() {
    return wire::make_mad(MgmtClass::SubnAdm, Method::Get, wire::attr::kPathRecord);
  }
  /// Sends requests of these TIDs.
  void ask(std::uint32_t first, std::uint32_t last, int ms = 0) {
    for (auto tid = first; tid <= last; ++tid)
      ASSERT_EQ(send(file, message(agent, path_get(), tid, 1000), ms), 0);
  }
  std::uint32_t sent_tid(std::size_t i) const {
    return static_cast<std::uint32_t>(port.sent.at(i).packet.mad.tid().value);
  }
  std::int32_t agent{};
};

TEST_F(SaCongestionOfAPort, SendsKeepsAndDrops) {
  EXPECT_EQ(kernel.sa_limits(), (mad::SaLimits{16, 16, 20}));
  ask(1, 40);
  EXPECT_EQ(port.sent.size(), 16U);
  EXPECT_EQ(kernel.sa_drops(), 8U);
  const auto back = read(file);
  ASSERT_EQ(back.size(), 8U) << "those that were dropped are told";
  for (const UserMad& m : back) EXPECT_EQ(m.status, kStatusDropped);
  EXPECT_EQ(back.front().length, kMadHeaderBytes);
  kernel.reset_sa_drops();
  EXPECT_EQ(kernel.sa_drops(), 0U);
  // An answer lets the oldest of those that wait go.
  kernel.on_delivery(at(1), arrival(answer_to(port.sent.at(3).packet)));
  ASSERT_EQ(port.sent.size(), 17U);
  EXPECT_EQ(sent_tid(16), 17U);
}

TEST_F(SaCongestionOfAPort, WhatWaitsTooLongComesBack) {
  ask(1, 20);
  EXPECT_EQ(kernel.next_event(), at(20));
  kernel.advance(at(19));
  EXPECT_TRUE(read(file).empty());
  kernel.advance(at(20));
  const auto back = read(file);
  ASSERT_EQ(back.size(), 4U);
  EXPECT_EQ(back.front().status, kStatusTimedOut);
  EXPECT_EQ(static_cast<std::uint32_t>(back.front().packet.mad.tid().value), 17U);
  EXPECT_EQ(kernel.sa_drops(), 0U);
  kernel.advance(at(1000));  // the others found no answer
  EXPECT_EQ(read(file).size(), 16U);
  ask(41, 56, 1000);
  EXPECT_EQ(port.sent.size(), 32U);
}

TEST_F(SaCongestionOfAPort, IsOfAllProgramsOfThePortAndOfTheSaAlone) {
  ask(1, 16);
  const FileId other = kernel.open();
  const auto sa = kernel.register_agent(other, client_of(MgmtClass::SubnAdm, 2));
  const auto perf = kernel.register_agent(other, client_of(MgmtClass::Perf));
  ASSERT_EQ(send(other, message(sa, path_get(), 90, 1000)), 0);
  EXPECT_EQ(port.sent.size(), 16U);
  ASSERT_EQ(send(other, message(perf, perf_get(), 91, 1000)), 0);
  EXPECT_EQ(port.sent.size(), 17U);
  // Who goes makes room for others.
  kernel.close(file);
  EXPECT_LE(kernel.next_event(), at(1));
  kernel.advance(at(1));
  ASSERT_EQ(port.sent.size(), 18U);
  EXPECT_EQ(sent_tid(17), 90U);
}

TEST_F(SaCongestionOfAPort, LimitsHoldFromTheNextOn) {
  ask(1, 20);
  kernel.set_sa_limits({18, 16, 500});
  EXPECT_LE(kernel.next_event(), at(0));
  kernel.advance(at(30));
  EXPECT_EQ(port.sent.size(), 18U);
  EXPECT_TRUE(read(file).empty());
  kernel.advance(at(500));
  EXPECT_EQ(read(file).size(), 2U);
}

TEST_F(SaCongestionOfAPort, AProgramThatLeavesWhileItsRequestsWaitIsForgotten) {
  ask(1, 40);
  kernel.close(file);
  kernel.advance(at(5000));
  EXPECT_EQ(port.sent.size(), 16U);
  EXPECT_EQ(kernel.next_event(), kNever);
}

}  // namespace
}  // namespace ib::sim
