// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/core/unsolicited.h"

#include <gtest/gtest.h>

namespace {

using ib::wire::Method;
using ib::wire::MgmtClass;
using ib::wire::SmInfo;
using sm::core::answer_request;
using sm::core::SmIdentity;

ib::mad::Packet request(MgmtClass c, Method m, std::uint16_t attribute) {
  ib::mad::Packet p;
  p.address = ib::mad::smi_address(ib::Lid{7});
  p.mad = ib::wire::make_mad(c, m, attribute);
  p.mad.set<&ib::wire::MadHeader::tid>(ib::Tid{0x1122334455667788});
  return p;
}

const SmIdentity kMaster{ib::Guid{0xABC}, 5, 99, 1234, true};

TEST(Unsolicited, AnswersGetSmInfoAsMasterWithoutASecretKey) {
  const auto reply =
      answer_request(request(MgmtClass::SubnLid, Method::Get, ib::wire::attr::kSmInfo), kMaster);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->mad.method(), Method::GetResp);
  EXPECT_EQ(reply->mad.status(), 0);
  EXPECT_EQ(reply->mad.tid(), ib::Tid{0x1122334455667788});
  EXPECT_EQ(reply->address.lid, ib::Lid{7});
  const auto info = ib::wire::body<SmInfo>(reply->mad);
  EXPECT_EQ(info.guid, ib::Guid{0xABC});
  EXPECT_EQ(info.priority, 5);
  EXPECT_EQ(info.sm_state, ib::wire::SmState::Master);
  EXPECT_EQ(info.act_count, 1234U);
  EXPECT_EQ(info.sm_key, 0U);
}

TEST(Unsolicited, TheKeyThatEverybodyKnowsIsShownSinceOpensmWantsToSeeIt) {
  SmIdentity open = kMaster;
  open.sm_key = 1;
  const auto reply =
      answer_request(request(MgmtClass::SubnLid, Method::Get, ib::wire::attr::kSmInfo), open);
  ASSERT_TRUE(reply);
  EXPECT_EQ(ib::wire::body<SmInfo>(reply->mad).sm_key, 1U);
}

TEST(Unsolicited, DirectedAnswersCarryTheDirectionBit) {
  const auto reply = answer_request(
      request(MgmtClass::SubnDirected, Method::Get, ib::wire::attr::kSmInfo), kMaster);
  ASSERT_TRUE(reply);
  EXPECT_TRUE(reply->mad.get<&ib::wire::SmpHeader::direction>());
  EXPECT_EQ(reply->mad.status(), 0);
}

TEST(Unsolicited, RefusesSetSmInfoAsInvalid) {
  const auto reply =
      answer_request(request(MgmtClass::SubnLid, Method::Set, ib::wire::attr::kSmInfo), kMaster);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->mad.status(), ib::wire::status::kBadValue);
}

TEST(Unsolicited, RefusesOtherAttributesAsUnknown) {
  const auto reply =
      answer_request(request(MgmtClass::SubnLid, Method::Get, ib::wire::attr::kGuidInfo), kMaster);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->mad.status(), ib::wire::status::kBadAttribute);
}

TEST(Unsolicited, AnswersNoAnswers) {
  EXPECT_FALSE(answer_request(request(MgmtClass::SubnLid, Method::GetResp, ib::wire::attr::kSmInfo),
                              kMaster));
}

TEST(Unsolicited, RepressesATrapWithTheSameNotice) {
  auto trap = request(MgmtClass::SubnLid, Method::Trap, ib::wire::attr::kNotice);
  ib::wire::Notice notice;
  notice.trap_number = ib::wire::trap::kLinkStateChange;
  notice.issuer_lid = ib::Lid{7};
  ib::wire::set_body(trap.mad, notice);
  const auto reply = sm::core::trap_repress(trap);
  EXPECT_EQ(reply.mad.method(), Method::TrapRepress);
  EXPECT_EQ(reply.mad.tid(), trap.mad.tid());
  EXPECT_EQ(ib::wire::body<ib::wire::Notice>(reply.mad), notice);
  EXPECT_EQ(reply.address, trap.address);
}

}  // namespace
