// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/core/unsolicited.h"

#include <gtest/gtest.h>

namespace {

using ib::wire::Method;
using ib::wire::MgmtClass;
using ib::wire::SmInfo;
using sm::core::answer_request;

ib::mad::Packet request(MgmtClass c, Method m, std::uint16_t attribute) {
  ib::mad::Packet p;
  p.address = ib::mad::smi_address(ib::Lid{7});
  p.mad = ib::wire::make_mad(c, m, attribute);
  p.mad.set<&ib::wire::MadHeader::tid>(ib::Tid{0x1122334455667788});
  return p;
}

const SmInfo kMaster{ib::Guid{0xABC}, 0, 1234, 5, ib::wire::SmState::Master};

TEST(Unsolicited, AnswersGetSmInfoWithWhatItIs) {
  const auto reply =
      answer_request(request(MgmtClass::SubnLid, Method::Get, ib::wire::attr::kSmInfo), kMaster);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->mad.method(), Method::GetResp);
  EXPECT_EQ(reply->mad.status(), 0);
  EXPECT_EQ(reply->mad.tid(), ib::Tid{0x1122334455667788});
  EXPECT_EQ(reply->address.lid, ib::Lid{7});
  EXPECT_EQ(ib::wire::body<SmInfo>(reply->mad), kMaster);
}

TEST(Unsolicited, DirectedAnswersCarryTheDirectionBit) {
  const auto reply = answer_request(
      request(MgmtClass::SubnDirected, Method::Get, ib::wire::attr::kSmInfo), kMaster);
  ASSERT_TRUE(reply);
  EXPECT_TRUE(reply->mad.get<&ib::wire::SmpHeader::direction>());
  EXPECT_EQ(reply->mad.status(), 0);
}

TEST(Unsolicited, RefusesSetSmInfoAsInvalidUnlessItIsGranted) {
  const auto set = request(MgmtClass::SubnLid, Method::Set, ib::wire::attr::kSmInfo);
  EXPECT_EQ(answer_request(set, kMaster)->mad.status(), ib::wire::status::kBadValue);
  EXPECT_EQ(answer_request(set, kMaster, true)->mad.status(), ib::wire::status::kOk);
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
