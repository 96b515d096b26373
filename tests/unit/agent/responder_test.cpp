// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "agent/responder.h"

#include <gtest/gtest.h>

#include <array>

#include "libdiag/wire/tracer_attributes.h"

namespace {

using agent::Ingress;
using agent::Responder;
using agent::ResponderOptions;
using ib::Instant;
using namespace ib::wire;  // NOLINT(google-build-using-namespace): the vocabulary of the whole test

ib::mad::Packet request(MgmtClass c, std::uint16_t attribute, Method method = Method::Get) {
  ib::mad::Packet p;
  p.address = ib::mad::gsi_address(ib::Lid{9}, ib::Sl{2});
  p.address.path_bits = 1;
  p.mad = make_mad(c, method, attribute);
  p.mad.set<&MadHeader::tid>(ib::Tid{0x1234});
  return p;
}

ib::mad::Packet source_route(std::uint8_t hop, std::uint8_t expected) {
  auto p = request(MgmtClass::VendorIbtracer, attr::kSourceRoute);
  SourceRoute r;
  r.hop = hop;
  if (hop < 64) r.expected_port[hop] = expected;
  set_body(p.mad, r);
  return p;
}

constexpr Ingress kCaPort2{2, true};
constexpr Ingress kSwitch{0, false};

Responder responder() {
  ResponderOptions o;
  o.host = "node1.example.org";
  return Responder(o);
}

TEST(Responder, ConfirmsTheExpectedIngressPort) {
  auto r = responder();
  const auto reply = r.answer(Instant{0}, kCaPort2, source_route(3, 2));
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->mad.method(), Method::GetResp);
  EXPECT_EQ(reply->mad.status(), 0);
  EXPECT_EQ(reply->mad.tid(), ib::Tid{0x1234});
  const auto body_read = body<SourceRoute>(reply->mad);
  EXPECT_EQ(body_read.actual_port, ib::PortNum{2});
  EXPECT_EQ(body_read.hop, 3);
  EXPECT_EQ(body_read.expected_port[3], 2);
}

TEST(Responder, ReportsStatusSevenAndTheActualPortOnMismatch) {
  auto r = responder();
  const auto reply = r.answer(Instant{0}, kCaPort2, source_route(1, 7));
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->mad.status(), 0x001C);
  EXPECT_EQ(body<SourceRoute>(reply->mad).actual_port, ib::PortNum{2});
  EXPECT_EQ(r.counters().mismatches, 1U);
}

TEST(Responder, RefusesHopZeroAndHopsAbove63ButStillFillsTheActualPort) {
  auto r = responder();
  for (const std::uint8_t hop : std::array<std::uint8_t, 3>{0, 64, 255}) {
    const auto reply = r.answer(Instant{0}, kCaPort2, source_route(hop, 2));
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->mad.status(), 0x001C) << int{hop};
    EXPECT_EQ(body<SourceRoute>(reply->mad).actual_port, ib::PortNum{2});
  }
}

TEST(Responder, ExpectingPortZeroAsksWhichPortItWas) {
  auto r = responder();
  const auto reply = r.answer(Instant{0}, kCaPort2, source_route(1, 0));
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->mad.status(), 0);
  EXPECT_EQ(body<SourceRoute>(reply->mad).actual_port, ib::PortNum{2});
}

TEST(Responder, ASwitchSaysThatItCannotKnow) {
  auto r = responder();
  const auto reply = r.answer(Instant{0}, kSwitch, source_route(1, 5));
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->mad.status(), 0);
  EXPECT_EQ(body<SourceRoute>(reply->mad).actual_port, ib::PortNum{0});

  const auto cpi =
      r.answer(Instant{0}, kSwitch, request(MgmtClass::VendorIbtracer, attr::kClassPortInfo));
  EXPECT_EQ(body<ClassPortInfo>(cpi->mad).capability_mask, 0x0200);
}

TEST(Responder, ClassPortInfoOfACaSaysItKnowsItsIngressAndMirrorsAGrh) {
  auto r = responder();
  const auto reply =
      r.answer(Instant{0}, kCaPort2, request(MgmtClass::VendorIbtracer, attr::kClassPortInfo));
  ASSERT_TRUE(reply);
  const auto cpi = body<ClassPortInfo>(reply->mad);
  EXPECT_EQ(cpi.capability_mask, 0x0300);
  EXPECT_EQ(cpi.base_version, 1);
  EXPECT_EQ(cpi.class_version, 1);
}

// A host of two ports, both served, and a third that is another program's.
constexpr Ingress kPort1{1, true, ib::Guid{0x10}, ib::Guid{0x11}};
constexpr Ingress kPort2{2, true, ib::Guid{0x10}, ib::Guid{0x12}};
constexpr Ingress kOtherNode{1, true, ib::Guid{0x20}, ib::Guid{0x21}};

struct Said {
  std::uint16_t status;
  MulticastRoute body;
};
Said ask_multicast(const Ingress& at, std::initializer_list<std::uint8_t> ingress,
                   std::initializer_list<std::uint8_t> egress = {}, std::uint32_t chosen = 0) {
  auto r = responder();
  r.set_ports({kPort1, kOtherNode, kPort2});
  auto p = request(MgmtClass::VendorIbtracer, attr::kMulticastRoute);
  p.mad.set<&MadHeader::attribute_modifier>(chosen);
  MulticastRoute route;
  route.mlid = ib::Lid{0xC001};
  for (const auto port : ingress) add_port(route.expected_ingress, port);
  for (const auto port : egress) add_port(route.expected_egress, port);
  set_body(p.mad, route);
  const auto reply = r.answer(Instant{0}, at, p);
  EXPECT_TRUE(reply);
  return {reply->mad.status(), body<MulticastRoute>(reply->mad)};
}

TEST(Responder, OfAGroupItSpeaksOfThePortThatWasAsked) {
  const auto said = ask_multicast(kPort1, {1});
  EXPECT_EQ(said.status, 0);
  EXPECT_EQ(said.body.mlid, ib::Lid{0xC001});
  EXPECT_EQ(said.body.known, kKnowsIngress | kKnowsEgress);
  EXPECT_EQ(said.body.answers, 1);
  EXPECT_EQ(said.body.port, ib::PortNum{1});
  EXPECT_EQ(said.body.port_guid, ib::Guid{0x11});
  EXPECT_TRUE(has_port(said.body.actual_ingress, 1) && has_port(said.body.actual_ingress, 2));
}

TEST(Responder, OfAGroupItHasAnAnswerForEachNamedPortOfItsNode) {
  EXPECT_EQ(ask_multicast(kPort2, {1, 2, 3}).body.answers, 2) << "nobody serves port 3";
  const auto second = ask_multicast(kPort2, {1, 2, 3}, {}, 1);
  EXPECT_EQ(second.status, 0);
  EXPECT_EQ(second.body.answer, 1);
  EXPECT_EQ(second.body.port, ib::PortNum{1});
  EXPECT_EQ(second.body.port_guid, ib::Guid{0x11});
  EXPECT_EQ(ask_multicast(kPort2, {1, 2, 3}, {}, 2).status, 0x001C) << "there is no third answer";
}

TEST(Responder, OfAGroupThatComesOrGoesByOtherPortsItSaysStatusSeven) {
  EXPECT_EQ(ask_multicast(kPort1, {2}).status, 0x001C);
  EXPECT_EQ(ask_multicast(kPort1, {2}, {}, 1).status, 0) << "of port 2 that is right";
  EXPECT_EQ(ask_multicast(kPort1, {1}, {2}).status, 0x001C) << "a host passes nothing on";
  EXPECT_EQ(ask_multicast(kPort1, {}).status, 0) << "no port named: which is it?";
}

TEST(Responder, OfAGroupASwitchSaysThatItCannotKnow) {
  const auto said = ask_multicast({0, false, ib::Guid{0x30}, ib::Guid{0x30}}, {3}, {1, 2});
  EXPECT_EQ(said.status, 0);
  EXPECT_EQ(said.body.known, 0);
  EXPECT_EQ(said.body.actual_ingress, PortSetBytes{});
  EXPECT_EQ(said.body.port_guid, ib::Guid{0x30});
}

TEST(Responder, AnswersStockPingWithTheHostName) {
  auto r = responder();
  const auto reply = r.answer(Instant{0}, kCaPort2, request(MgmtClass::VendorPing, attr::kPing));
  ASSERT_TRUE(reply);
  EXPECT_STREQ(body<Ping>(reply->mad).host.data(), "node1.example.org");
}

TEST(Responder, AnOverlongHostNameStaysTerminated) {
  ResponderOptions o;
  o.host = std::string(400, 'h');
  Responder r(o);
  const auto reply = r.answer(Instant{0}, kCaPort2, request(MgmtClass::VendorPing, attr::kPing));
  EXPECT_EQ(std::string(body<Ping>(reply->mad).host.data()).size(), 215U);
}

TEST(Responder, MirrorsTheWholeAddress) {
  auto r = responder();
  auto p = source_route(1, 2);
  p.address.qpn = 77;
  p.address.p_key_index = 3;
  p.address.grh =
      ib::mad::Grh{ib::Gid::from(ib::kDefaultSubnetPrefix, ib::Guid{5}), 0, 64, 9, 0x123};
  const auto reply = r.answer(Instant{0}, kCaPort2, p);
  ASSERT_TRUE(reply);
  auto wanted = p.address;
  wanted.q_key = kQp1QKey;
  wanted.grh->hop_limit = 0xFF;
  EXPECT_EQ(reply->address, wanted) << "the hop limit aside: it is the way back that begins";
  EXPECT_TRUE(reply->more.empty());
}

TEST(Responder, UnknownAttributesMethodsAndVersionsGetTheirStatus) {
  auto r = responder();
  EXPECT_EQ(
      r.answer(Instant{0}, kCaPort2, request(MgmtClass::VendorIbtracer, 0x0099))->mad.status(),
      0x000C);
  EXPECT_EQ(r.answer(Instant{0}, kCaPort2, request(MgmtClass::VendorPing, attr::kSourceRoute))
                ->mad.status(),
            0x000C);
  EXPECT_EQ(r.answer(Instant{0}, kCaPort2,
                     request(MgmtClass::VendorIbtracer, attr::kSourceRoute, Method::Set))
                ->mad.status(),
            0x0008);
  auto old = request(MgmtClass::VendorIbtracer, attr::kClassPortInfo);
  old.mad.set<&MadHeader::class_version>(2);
  EXPECT_EQ(r.answer(Instant{0}, kCaPort2, old)->mad.status(), 0x0004);
}

TEST(Responder, NeverAnswersAnswersOtherClassesOrOtherOuis) {
  auto r = responder();
  EXPECT_FALSE(r.answer(Instant{0}, kCaPort2,
                        request(MgmtClass::VendorIbtracer, attr::kSourceRoute, Method::GetResp)));
  EXPECT_FALSE(
      r.answer(Instant{0}, kCaPort2, request(MgmtClass::VendorPing, attr::kPing, Method::Trap)));
  EXPECT_FALSE(r.answer(Instant{0}, kCaPort2, request(MgmtClass::Perf, attr::kPortCounters)));
  auto foreign = request(MgmtClass::VendorIbtracer, attr::kClassPortInfo);
  foreign.mad.set<&VendorHeader::oui>(0x0002C9);
  EXPECT_FALSE(r.answer(Instant{0}, kCaPort2, foreign));
  EXPECT_EQ(r.counters().ignored, 4U);
  EXPECT_EQ(r.counters().answered, 0U);
}

TEST(Responder, AnswersNobodyWhoseLidIsNotOnePorts) {
  Responder r({});
  for (const unsigned lid : {0x0000U, 0xC000U, 0xFFFEU, 0xFFFFU}) {
    auto p = request(MgmtClass::VendorIbtracer, attr::kSourceRoute);
    p.address.lid = ib::Lid{static_cast<std::uint16_t>(lid)};
    EXPECT_FALSE(r.answer(Instant{0}, kCaPort2, p)) << lid;
  }
  EXPECT_EQ(r.counters().ignored, 4U);
  auto p = request(MgmtClass::VendorIbtracer, attr::kSourceRoute);
  p.address.lid = ib::Lid{0xBFFF};
  EXPECT_TRUE(r.answer(Instant{0}, kCaPort2, p));
}

TEST(Responder, LimitsOneSourceWithoutStarvingOthers) {
  ResponderOptions o;
  o.source_rate = 50;  // burst 10
  Responder r(o);
  int answered = 0;
  for (int i = 0; i < 100; ++i)
    if (r.answer(Instant{0}, kCaPort2, request(MgmtClass::VendorPing, attr::kPing))) ++answered;
  EXPECT_EQ(answered, 10);
  EXPECT_EQ(r.counters().limited, 90U);

  auto other = request(MgmtClass::VendorPing, attr::kPing);
  other.address.lid = ib::Lid{10};
  EXPECT_TRUE(r.answer(Instant{0}, kCaPort2, other));
  // A tenth of a second later five more tokens are there.
  answered = 0;
  for (int i = 0; i < 100; ++i)
    if (r.answer(Instant{100'000'000}, kCaPort2, request(MgmtClass::VendorPing, attr::kPing)))
      ++answered;
  EXPECT_EQ(answered, 5);
}

TEST(Responder, LimitsAllSourcesTogether) {
  ResponderOptions o;
  o.total_rate = 100;  // burst 20
  Responder r(o);
  int answered = 0;
  for (std::uint16_t lid = 1; lid <= 200; ++lid) {
    auto p = request(MgmtClass::VendorPing, attr::kPing);
    p.address.lid = ib::Lid{lid};
    if (r.answer(Instant{0}, kCaPort2, p)) ++answered;
  }
  EXPECT_EQ(answered, 20);
}

}  // namespace
