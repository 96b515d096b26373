// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Keys, the enhanced trust model, borrowed GIDs, and what ClassPortInfo says.
#include "sm/sa/intake/trust.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libdiag/query/sa_client.h"
#include "libdiag/wire/gmp_attributes.h"
#include "sm/sa/class_port_info.h"
#include "sm/sa/records/record_source.h"
#include "sm/sa/registry/writes.h"
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
  // The SM's GID is the SM's alone, too.
  auto as_sm = bench.request(Method::Get, attr::kClassPortInfo, std::uint64_t{0}, std::uint32_t{0},
                             std::size_t{1});
  as_sm.address.grh.emplace();
  as_sm.address.grh->gid = Gid::from(ib::kDefaultSubnetPrefix, bench.snapshot->sm_port_guid);
  ASSERT_NE(as_sm.address.grh->gid, bench.gid(1));
  EXPECT_EQ(bench.ask(as_sm).mad.status(), status::kSaInvalidGid);
  EXPECT_EQ(bench.server.counters().denied_source_gid, 2U);
  // A GID that is nobody's here claims nothing: a router's other side.
  request.mad.set<&ib::wire::MadHeader::tid>(ib::Tid{2});
  request.address.grh->gid = Gid::from(ib::kDefaultSubnetPrefix, Guid{0x7777});
  EXPECT_EQ(bench.ask(request).mad.status(), status::kOk);

  const Gid alias = request.address.grh->gid;
  store::Contents contents;
  contents.aliases.push_back({bench.host(0).guid, 1, alias.guid()});
  Bench with_alias(small_tree(), {}, contents);
  for (const std::size_t from : {0U, 1U}) {
    auto own = with_alias.request(Method::Get, attr::kClassPortInfo, std::uint64_t{0},
                                  std::uint32_t{0}, from);
    own.address.grh.emplace();
    own.address.grh->gid = alias;
    EXPECT_EQ(with_alias.ask(own).mad.status(), from == 0 ? status::kOk : status::kSaInvalidGid);
  }

  Options trusting;
  trusting.trust.check_source_gid = false;
  Bench other(small_tree(), trusting);
  auto borrowed = other.request(Method::Get, attr::kClassPortInfo);
  borrowed.address.grh.emplace();
  borrowed.address.grh->gid = other.gid(1);
  EXPECT_EQ(other.ask(borrowed).mad.status(), status::kOk);
}

/// With the enhanced model and its option.
TEST(SaTrust, ProxyJoinsMayBeDenied) {
  for (const bool enhanced : {false, true}) {
    Options options;
    options.trust.enhanced = enhanced;
    options.trust.untrusted_proxies = false;
    Bench bench(small_tree(), options);
    ib::wire::McMemberRecord member;
    member.mgid = ipoib_group(ib::kDefaultPKey).mgid;
    member.port_gid = bench.gid(3);
    member.join_state = 1;
    const auto join = [&](std::size_t from) {
      return bench.ask(bench.request(Method::Set, attr::kMcMemberRecord, member, 0x10003, 0, from))
          .mad.status();
    };
    EXPECT_EQ(join(2), enhanced ? status::kSaReqDenied : status::kOk);
    EXPECT_EQ(join(3), status::kOk);
    bench.sm_key = options.trust.sa_key;
    member.port_gid = bench.gid(4);
    EXPECT_EQ(join(2), status::kOk);
  }
}

/// Every bit is of something that is served, as asking for it shows; no other bit is set.
class SaCapabilities : public ::testing::Test {
 protected:
  static std::shared_ptr<Snapshot> subnet() {
    auto snapshot = snapshot_of(small_tree());
    auto observed = std::make_shared<ib::discover::Observed>(*snapshot->observed);
    for (auto& node : observed->nodes)
      if (node.switch_info) node.switch_info->multicast_fdb_top = 0xC012;
    auto fields = fields_of(observed->port(hosts_of(observed->fabric)[5]));
    fields.set<&ib::wire::PortInfo::capability_mask>(0x300);
    fields.set<&ib::wire::PortInfo::capability_mask2>(0x30);
    snapshot->observed = std::move(observed);
    return snapshot;
  }
  Bench bench{subnet()};

  bool serves(Method method, std::uint16_t attribute) {
    const auto status = bench.ask_table(bench.request(method, attribute)).mad.status();
    return status != status::kBadAttribute && status != status::kBadMethod;
  }
  template <class Record>
  std::vector<Record> table(std::uint16_t attribute, const Record& wanted, std::uint64_t mask,
                            std::uint32_t modifier = 0) {
    auto read = ib::query::read_table<Record>(
        bench.ask_table(bench.request(Method::GetTable, attribute, wanted, mask, modifier)));
    return read ? *read : std::vector<Record>{};
  }
  std::size_t ports(const ib::wire::PortInfo& some, unsigned component,
                    std::uint32_t modifier = 0) {
    ib::wire::PortInfoRecord wanted;
    wanted.port_info = some;
    return table(attr::kPortInfoRecord, wanted, bit(component), modifier).size();
  }
  /// Whether a PortInfoRecord is found by some of the bits of a mask when bit 31 says so.
  bool matches_bits(const ib::wire::PortInfo& some, unsigned component) {
    return ports(some, component) == 0 && ports(some, component, 1U << 31) == 1;
  }
  std::uint16_t join_status(std::uint8_t state) {
    ib::wire::McMemberRecord member;
    member.mgid = ipoib_group(ib::kDefaultPKey).mgid;
    member.port_gid = bench.gid(0);
    member.join_state = state;
    return bench.ask(bench.request(Method::Set, attr::kMcMemberRecord, member, 0x10003))
        .mad.status();
  }
  std::uint16_t group_service_status() {
    ib::wire::ServiceRecord service;
    service.service_id = 7;
    service.service_gid = ipoib_group(ib::kDefaultPKey).mgid;
    return bench.ask(bench.request(Method::Set, attr::kServiceRecord, service, 3)).mad.status();
  }
};

TEST_F(SaCapabilities, TheMaskTellsTheTruth) {
  const auto answer = bench.ask(bench.request(Method::Get, attr::kClassPortInfo));
  const auto info = ib::wire::body<ib::wire::ClassPortInfo>(answer.mad);
  EXPECT_EQ(info, class_port_info(16));
  EXPECT_EQ(info.base_version, 1);
  EXPECT_EQ(info.class_version, 2);
  std::uint32_t mask = 0;
  const auto says = [&mask](unsigned n, bool served) { mask |= served ? 1U << n : 0U; };
  // Bit 0 would be traps that the SA itself sends to a manager: it has none.
  says(1, serves(Method::Get, attr::kNotice));
  constexpr std::uint16_t kRandomForwardingTable = 0x16, kServiceAssociation = 0x3B;
  says(8, serves(Method::GetTable, kRandomForwardingTable) &&
              serves(Method::GetTable, kServiceAssociation));
  says(9, join_status(1) == status::kOk);
  says(10, serves(Method::GetMulti, attr::kMultiPathRecord) &&
               serves(Method::GetTraceTable, attr::kTraceRecord));
  ib::wire::PortInfo some;
  some.capability_mask = 0x100;
  says(13, matches_bits(some, 7));
  EXPECT_EQ(info.capability_mask, mask);
}

TEST_F(SaCapabilities, TheSecondMaskTellsTheTruth) {
  std::uint32_t mask = 0;
  const auto says = [&mask](unsigned n, bool served) { mask |= served ? 1U << n : 0U; };
  // Bits 1 and 2: QoS needs a policy, and so does a P_Key of the way back that is another.
  const auto switches =
      table(attr::kSwitchInfoRecord, ib::wire::SwitchInfoRecord{}, std::uint64_t{0});
  EXPECT_FALSE(switches.empty());
  says(3, std::ranges::all_of(
              switches, [](const auto& r) { return r.switch_info.multicast_fdb_top == 0xC012; }));
  says(5, serves(Method::Set, attr::kGuidInfoRecord));
  ib::wire::PortInfo some;
  some.capability_mask2 = 0x30;
  says(6, ports(some, 53) == 1);
  ASSERT_EQ(join_status(8), status::kOk);
  says(8, group_service_status() == status::kOk);
  some.capability_mask2 = 0x10;
  says(10, matches_bits(some, 53));
  says(12, join_status(8) == status::kOk);
  // Speeds and widths that paths and port records tell: extended ones, 2x, HDR, NDR.
  for (const unsigned n : {7U, 13U, 15U, 17U}) says(n, true);
  EXPECT_EQ(class_port_info(16).capability_mask2, mask);
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
