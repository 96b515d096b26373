// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/mad/dispatcher.h"

#include <gtest/gtest.h>

#include <random>

namespace ib::mad {
namespace {

using wire::Method;
using wire::MgmtClass;
namespace attr = wire::attr;
namespace status = wire::status;

constexpr Instant kNow{1000};

Packet request(MgmtClass c, Method m, std::uint16_t attribute) {
  Packet packet;
  packet.address = gsi_address(Lid{7}, Sl{2});
  packet.mad = wire::make_mad(c, m, attribute, 5);
  packet.mad.set<&wire::MadHeader::tid>(Tid{0xAABBCCDD11223344});
  return packet;
}

/// Serves SMInfo by Get and Set, and traps.
Dispatcher sm_dispatcher(int& traps) {
  Dispatcher d;
  const auto answer = [](Instant, const Packet&, Packet& reply) {
    wire::SmInfo info;
    info.guid = Guid{0x1234};
    wire::set_body(reply.mad, info);
    return true;
  };
  for (const MgmtClass c : {MgmtClass::SubnLid, MgmtClass::SubnDirected}) {
    d.serve(c, Method::Get, attr::kSmInfo, answer);
    d.serve(c, Method::Trap, attr::kNotice, [&traps](Instant, const Packet&, Packet&) {
      ++traps;
      return false;
    });
  }
  return d;
}

TEST(Dispatcher, AnswersToWhereItCameFrom) {
  int traps = 0;
  Dispatcher d = sm_dispatcher(traps);
  Packet asked = request(MgmtClass::SubnLid, Method::Get, attr::kSmInfo);
  asked.address.path_bits = 3;
  asked.address.p_key_index = 1;
  asked.address.grh = Grh{.gid = Gid::from(kDefaultSubnetPrefix, Guid{9}), .hop_limit = 1};
  const auto reply = d.on_packet(kNow, asked);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->mad.method(), Method::GetResp);
  EXPECT_EQ(reply->mad.tid(), asked.mad.tid());
  EXPECT_EQ(reply->mad.attribute_modifier(), 5U);
  EXPECT_EQ(reply->mad.status(), 0);
  EXPECT_EQ(wire::body<wire::SmInfo>(reply->mad).guid, Guid{0x1234});
  EXPECT_EQ(reply->address.lid, Lid{7});
  EXPECT_EQ(reply->address.sl, Sl{2});
  EXPECT_EQ(reply->address.path_bits, 3);
  EXPECT_EQ(reply->address.p_key_index, 1);
  ASSERT_TRUE(reply->address.grh);
  EXPECT_EQ(reply->address.grh->gid, asked.address.grh->gid);
  EXPECT_EQ(reply->address.grh->hop_limit, 0xFF);
}

TEST(Dispatcher, DirectedRouteAnswerTurnsAround) {
  int traps = 0;
  Dispatcher d = sm_dispatcher(traps);
  const auto reply =
      d.on_packet(kNow, request(MgmtClass::SubnDirected, Method::Get, attr::kSmInfo));
  ASSERT_TRUE(reply);
  EXPECT_TRUE(reply->mad.get<&wire::SmpHeader::direction>());
  EXPECT_EQ(reply->mad.status(), 0);
}

TEST(Dispatcher, UnknownIsAnsweredAsTheSpecificationSays) {
  int traps = 0;
  Dispatcher d = sm_dispatcher(traps);
  // Attribute not served with this method.
  auto reply = d.on_packet(kNow, request(MgmtClass::SubnLid, Method::Get, attr::kPortInfo));
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->mad.status(), status::kBadAttribute);
  // Method not served at all.
  reply = d.on_packet(kNow, request(MgmtClass::SubnDirected, Method::Set, attr::kSmInfo));
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->mad.status(), status::kBadMethod);
  // Version.
  Packet newer = request(MgmtClass::SubnLid, Method::Get, attr::kSmInfo);
  newer.mad.set<&wire::MadHeader::class_version>(std::uint8_t{9});
  reply = d.on_packet(kNow, newer);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->mad.status(), status::kBadVersion);
  EXPECT_EQ(d.counters().bad_attribute, 1U);
  EXPECT_EQ(d.counters().bad_method, 1U);
  EXPECT_EQ(d.counters().bad_version, 1U);
}

TEST(Dispatcher, WhatExpectsNoAnswerGetsNone) {
  int traps = 0;
  Dispatcher d = sm_dispatcher(traps);
  EXPECT_FALSE(d.on_packet(kNow, request(MgmtClass::SubnLid, Method::Trap, attr::kNotice)));
  EXPECT_EQ(traps, 1);
  EXPECT_FALSE(d.on_packet(kNow, request(MgmtClass::SubnLid, Method::Trap, attr::kPortInfo)));
  EXPECT_FALSE(d.on_packet(kNow, request(MgmtClass::SubnLid, Method::TrapRepress, attr::kNotice)));
  EXPECT_FALSE(d.on_packet(kNow, request(MgmtClass::SubnLid, Method{0x55}, attr::kSmInfo)));
  EXPECT_EQ(d.counters().dropped, 3U);
  EXPECT_FALSE(d.on_packet(kNow, request(MgmtClass::SubnLid, Method::GetResp, attr::kSmInfo)));
  EXPECT_EQ(d.counters().responses, 1U);
  EXPECT_FALSE(d.on_packet(kNow, request(MgmtClass::Perf, Method::Get, attr::kPortCounters)));
  EXPECT_EQ(d.counters().unknown_class, 1U);
}

TEST(Dispatcher, ResponseMethods) {
  EXPECT_EQ(response_method(Method::Set), Method::GetResp);
  EXPECT_EQ(response_method(Method::GetTable), Method::GetTableResp);
  EXPECT_EQ(response_method(Method::GetMulti), Method::GetMultiResp);
  EXPECT_EQ(response_method(Method::Delete), Method::DeleteResp);
  EXPECT_EQ(response_method(Method::Report), Method::ReportResp);
  EXPECT_EQ(response_method(Method::Trap), Method::TrapRepress);
  EXPECT_FALSE(response_method(Method::GetResp));
  EXPECT_FALSE(response_method(Method::TrapRepress));
}

TEST(Dispatcher, GarbageIsNeverFatalAndNeverHandled) {
  int traps = 0;
  Dispatcher d = sm_dispatcher(traps);
  std::mt19937 random(20);
  std::uint64_t seen = 0;
  for (int i = 0; i < 20'000; ++i) {
    Packet packet;
    for (std::byte& b : packet.mad.bytes) b = static_cast<std::byte>(random());
    // Half of them with a class that is served.
    if (i % 2 == 0) packet.mad.set<&wire::MadHeader::mgmt_class>(MgmtClass::SubnLid);
    const auto reply = d.on_packet(kNow, packet);
    EXPECT_TRUE(!reply || reply->mad.status() != 0);
    ++seen;
  }
  const auto& c = d.counters();
  EXPECT_EQ(c.handled, 0U);
  EXPECT_EQ(c.responses + c.unknown_class + c.bad_version + c.bad_method + c.bad_attribute, seen);
}

}  // namespace
}  // namespace ib::mad
