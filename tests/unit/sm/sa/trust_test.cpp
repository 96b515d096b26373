// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Keys, the enhanced trust model, borrowed GIDs, and what ClassPortInfo says.
#include "sm/sa/trust.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libdiag/wire/gmp_attributes.h"
#include "sm/sa/class_port_info.h"
#include "sm/sa/records.h"
#include "sm/sa/writes.h"
#include "tests/unit/sm/sa/subnet.h"

namespace sm::sa::test {
namespace {

using ib::wire::SaHeader;
using ::testing::IsEmpty;
namespace attr = ib::wire::attr;
namespace status = ib::wire::status;

TEST(Trust, TheKeyDecides) {
  TrustOptions options;
  EXPECT_EQ(trust_of(0, options), Trust::Untrusted);
  EXPECT_EQ(trust_of(1, options), Trust::Trusted);
  EXPECT_EQ(trust_of(2, options), Trust::Wrong);
  options.sa_key = 42;
  EXPECT_EQ(trust_of(42, options), Trust::Trusted);
  EXPECT_EQ(trust_of(1, options), Trust::Wrong);
  options.sa_key_is_secret = true;
  EXPECT_EQ(trust_of(42, options), Trust::Trusted);
  EXPECT_EQ(trust_of(1, options), Trust::Untrusted) << "what clients send without being told to";
  EXPECT_EQ(trust_of(2, options), Trust::Wrong);
}

TEST(Trust, WhatIsOpenToAll) {
  const auto open = [](Method method, std::uint16_t attribute, std::uint64_t mask = 0,
                       const TrustOptions& options = {}) {
    auto mad = ib::wire::make_mad(ib::wire::MgmtClass::SubnAdm, method, attribute);
    mad.set<&SaHeader::component_mask>(mask);
    return is_open_to_all(mad, options);
  };
  for (const auto attribute : {attr::kMcMemberRecord, attr::kServiceRecord}) {
    EXPECT_TRUE(open(Method::Get, attribute));
    EXPECT_TRUE(open(Method::Set, attribute));
    EXPECT_TRUE(open(Method::Delete, attribute));
    EXPECT_FALSE(open(Method::GetTable, attribute));
  }
  EXPECT_TRUE(open(Method::Get, attr::kClassPortInfo));
  EXPECT_TRUE(open(Method::Set, attr::kInformInfo));
  EXPECT_TRUE(open(Method::Get, attr::kPathRecord));
  // A table needs both ends: DGID or DLID, SGID or SLID.
  EXPECT_FALSE(open(Method::GetTable, attr::kPathRecord));
  for (const unsigned one : {2U, 3U, 4U, 5U})
    EXPECT_FALSE(open(Method::GetTable, attr::kPathRecord, bit(one))) << one;
  EXPECT_FALSE(open(Method::GetTable, attr::kPathRecord, bit(2) | bit(4)));
  EXPECT_TRUE(open(Method::GetTable, attr::kPathRecord, bit(2) | bit(5)));
  EXPECT_TRUE(open(Method::GetTable, attr::kPathRecord, bit(4) | bit(3)));
  EXPECT_FALSE(open(Method::Set, attr::kGuidInfoRecord));
  TrustOptions guids;
  guids.untrusted_guid_info = true;
  EXPECT_TRUE(open(Method::Set, attr::kGuidInfoRecord, 0, guids));
  EXPECT_TRUE(open(Method::Delete, attr::kGuidInfoRecord, 0, guids));
  EXPECT_FALSE(open(Method::Get, attr::kGuidInfoRecord, 0, guids));
  for (const auto attribute : {attr::kNodeRecord, attr::kPortInfoRecord, attr::kPKeyTableRecord,
                               attr::kInformInfoRecord, attr::kMultiPathRecord})
    EXPECT_FALSE(open(Method::Get, attribute)) << attribute;
}

TEST(SaTrust, WithTheEnhancedModelTheRestIsDenied) {
  Options options;
  options.trust.enhanced = true;
  Bench bench(small_tree(), options);
  const auto ask = [&](std::uint16_t attribute) {
    return bench.ask(bench.request(Method::GetTable, attribute)).mad.status();
  };
  EXPECT_EQ(ask(attr::kNodeRecord), status::kSaReqDenied);
  EXPECT_EQ(ask(attr::kPathRecord), status::kSaReqDenied);
  EXPECT_EQ(bench.server.counters().denied_untrusted, 2U);
  EXPECT_EQ(bench.ask(bench.request(Method::Get, attr::kClassPortInfo)).mad.status(), status::kOk);
  bench.sm_key = options.trust.sa_key;
  EXPECT_EQ(ask(attr::kNodeRecord), status::kOk);
}

TEST(SaTrust, WithASecretKeyTheKnownOneIsUntrusted) {
  Options options;
  options.trust.sa_key = 0x1234567890;
  options.trust.sa_key_is_secret = true;
  Bench bench(small_tree(), options);
  const auto m_key_shown = [&] {
    ib::wire::PortInfoRecord wanted;
    wanted.end_port_lid = bench.host(2).lid;
    const auto answer = bench.ask(bench.request(Method::Get, attr::kPortInfoRecord, wanted, 1));
    EXPECT_EQ(answer.mad.status(), status::kOk);
    EXPECT_EQ(answer.mad.get<&SaHeader::sm_key>(), 0U) << "no answer tells the key";
    return ib::wire::body<ib::wire::PortInfoRecord>(answer.mad).port_info.m_key != 0;
  };
  bench.sm_key = 1;
  EXPECT_FALSE(m_key_shown());
  bench.sm_key = options.trust.sa_key;
  EXPECT_TRUE(m_key_shown());
  bench.sm_key = 2;
  bench.server.on_packet(bench.now, bench.request(Method::Get, attr::kClassPortInfo));
  EXPECT_THAT(bench.drain(), IsEmpty());
  EXPECT_EQ(bench.server.counters().dropped_sm_key, 1U);
}

TEST(SaTrust, AGrhBearsTheGidOfItsSender) {
  Bench bench(small_tree());
  auto request = bench.request(Method::Get, attr::kClassPortInfo);
  request.address.grh.emplace();
  request.address.grh->gid = bench.gid(0);
  EXPECT_EQ(bench.ask(request).mad.status(), status::kOk);
  request.mad.set<&ib::wire::MadHeader::tid>(ib::Tid{1});
  request.address.grh->gid = bench.gid(1);
  EXPECT_EQ(bench.ask(request).mad.status(), status::kSaInvalidGid);
  EXPECT_EQ(bench.server.counters().denied_source_gid, 1U);
  // A GID that is nobody's here claims nothing: an alias, a router's other side.
  request.mad.set<&ib::wire::MadHeader::tid>(ib::Tid{2});
  request.address.grh->gid = Gid::from(ib::kDefaultSubnetPrefix, Guid{0x7777});
  EXPECT_EQ(bench.ask(request).mad.status(), status::kOk);

  Options trusting;
  trusting.trust.check_source_gid = false;
  Bench other(small_tree(), trusting);
  auto borrowed = other.request(Method::Get, attr::kClassPortInfo);
  borrowed.address.grh.emplace();
  borrowed.address.grh->gid = other.gid(1);
  EXPECT_EQ(other.ask(borrowed).mad.status(), status::kOk);
}

/// Bits follow from what is served.
TEST(SaTrust, ClassPortInfoTellsTheTruth) {
  const auto info = class_port_info(16);
  EXPECT_EQ((info.capability_mask >> 10 & 1) != 0, is_known_record(attr::kMultiPathRecord));
  EXPECT_EQ((info.capability_mask >> 9 & 1) != 0, is_writable(attr::kMcMemberRecord));
  EXPECT_EQ((info.capability_mask2 >> 5 & 1) != 0, is_writable(attr::kGuidInfoRecord));
  EXPECT_EQ(info.capability_mask2 >> 1 & 1, 0U) << "no QoS without a policy";
  EXPECT_EQ(info.capability_mask & 3, 0) << "no traps, no Notice to get";
  EXPECT_EQ(info.base_version, 1);
  EXPECT_EQ(info.class_version, 2);
}

TEST(SaCounters, EveryOneHasANameAndBooksBalance) {
  Bench bench(small_tree());
  EXPECT_EQ(describe(Counters{}), "");
  bench.ask(bench.request(Method::Get, attr::kClassPortInfo));
  bench.ask(bench.request(Method::Get, 0x7777));
  EXPECT_EQ(describe(bench.server.counters()), "requests=2 answers=2 errors=1 waiting_most=1");
  for (const auto& a : named_counters())
    for (const auto& b : named_counters()) EXPECT_EQ(a.name == b.name, a.value == b.value);
}

}  // namespace
}  // namespace sm::sa::test
