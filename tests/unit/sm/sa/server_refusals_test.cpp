// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What the SA refuses or drops, and what it mirrors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/sm/sa/subnet.h"

namespace sm::sa::test {
namespace {

using ::testing::IsEmpty;
namespace attr = ib::wire::attr;
namespace status = ib::wire::status;

TEST(SaServer, AnswersWhatItDoesNotKnow) {
  Bench bench(small_tree());
  const auto status_of = [&](Method method, std::uint16_t attribute) {
    const auto answer = bench.ask(bench.request(method, attribute));
    EXPECT_NE(static_cast<unsigned>(answer.mad.method()) & 0x80U, 0U);
    return answer.mad.status();
  };
  for (const std::uint16_t attribute :
       std::initializer_list<std::uint16_t>{0x0000, 0x0016, 0x0039, 0x003B, 0xFFFF}) {
    EXPECT_EQ(status_of(Method::Get, attribute), status::kBadAttribute) << attribute;
    EXPECT_EQ(status_of(Method::GetTable, attribute), status::kBadAttribute) << attribute;
    EXPECT_EQ(status_of(Method::Set, attribute), status::kBadAttribute) << attribute;
    EXPECT_EQ(status_of(Method::Delete, attribute), status::kBadAttribute) << attribute;
  }
  EXPECT_EQ(status_of(Method::GetTable, attr::kClassPortInfo), status::kBadAttribute);
  EXPECT_EQ(status_of(Method::Set, attr::kNodeRecord), status::kBadAttribute);
  EXPECT_EQ(status_of(Method::GetTraceTable, attr::kNodeRecord), status::kBadAttribute);
  EXPECT_EQ(status_of(Method::GetMulti, attr::kPathRecord), status::kBadAttribute);
  EXPECT_EQ(status_of(static_cast<Method>(0x7F), attr::kNodeRecord), status::kBadMethod);
  EXPECT_EQ(bench.ask(bench.request(Method::Delete, 0x16)).mad.method(), Method::DeleteResp);
  EXPECT_EQ(bench.ask(bench.request(Method::Set, 0x16)).mad.method(), Method::GetResp);
}

/// It would take "there is no such thing" for good, and the next sweep may show it again.
TEST(SaServer, WhoIsNotKnownNowMayTakeBackWhatItHasLater) {
  Bench bench(small_tree());
  ib::wire::InformInfo cancel;
  cancel.is_generic = 1;
  auto inform = bench.request(Method::Set, attr::kInformInfo);
  ib::wire::set_body(inform.mad, cancel);
  for (auto request : {bench.request(Method::Delete, attr::kMcMemberRecord),
                       bench.request(Method::Delete, attr::kServiceRecord), inform}) {
    request.address.lid = Lid{0xBFFF};
    EXPECT_EQ(bench.ask(request).mad.status(), status::kBusy) << request.mad.attribute_id();
  }
}

TEST(SaServer, AnswersAnotherClassVersionWithAStatus) {
  Bench bench(small_tree());
  auto request = bench.request(Method::Get, attr::kClassPortInfo);
  request.mad.set<&ib::wire::MadHeader::class_version>(std::uint8_t{1});
  EXPECT_EQ(bench.ask(request).mad.status(), status::kBadVersion);
}

TEST(SaServer, NeverAnswersAnAnswer) {
  Bench bench(small_tree());
  for (const auto method : {Method::GetResp, Method::ReportResp, Method::GetTableResp, Method::Trap,
                            Method::TrapRepress})
    bench.server.on_packet(bench.now, bench.request(method, attr::kNodeRecord));
  EXPECT_THAT(bench.drain(), IsEmpty());
  EXPECT_EQ(bench.server.counters().dropped_stray, 3U);
  EXPECT_EQ(bench.server.counters().dropped_unanswerable, 2U);
}

TEST(SaServer, DropsAForeignSmKey) {
  Options options;
  options.trust.sa_key = 42;
  Bench bench(small_tree(), options);
  for (const std::uint64_t key : {0U, 42U}) {
    bench.sm_key = key;
    const auto answer = bench.ask(bench.request(Method::Get, attr::kClassPortInfo));
    EXPECT_EQ(answer.mad.status(), status::kOk);
    EXPECT_EQ(answer.mad.get<&ib::wire::SaHeader::sm_key>(), 0U) << "the key is not told";
  }
  bench.sm_key = 1;
  bench.server.on_packet(bench.now, bench.request(Method::Get, attr::kClassPortInfo));
  EXPECT_THAT(bench.drain(), IsEmpty());
  EXPECT_EQ(bench.server.counters().dropped_sm_key, 1U);
}

TEST(SaServer, IsSilentBeforeTheFirstSnapshot) {
  Bench bench(small_tree());
  Server fresh({}, {});
  fresh.on_packet(bench.now, bench.request(Method::Get, attr::kClassPortInfo));
  EXPECT_FALSE(fresh.next_send(bench.now));
  EXPECT_EQ(fresh.counters().dropped_not_ready, 1U);
}

TEST(SaServer, MirrorsTheGlobalRouteHeader) {
  Bench bench(small_tree());
  auto request = bench.request(Method::Get, attr::kClassPortInfo);
  ib::mad::Grh grh;
  grh.gid = bench.gid(0);
  grh.gid_index = 2;
  grh.hop_limit = 1;
  grh.traffic_class = 5;
  grh.flow_label = 0x123;
  request.address.grh = grh;
  request.address.qpn = 77;
  request.address.p_key_index = 3;
  request.address.path_bits = 1;
  const auto answer = bench.ask(request);
  ASSERT_TRUE(answer.address.grh);
  EXPECT_EQ(answer.address.grh->gid, grh.gid);
  EXPECT_EQ(answer.address.grh->gid_index, 2);
  EXPECT_EQ(answer.address.grh->traffic_class, 5);
  EXPECT_EQ(answer.address.grh->flow_label, 0x123U);
  EXPECT_EQ(answer.address.grh->hop_limit, 0xFF);
  EXPECT_EQ(answer.address.qpn, 77U);
  EXPECT_EQ(answer.address.q_key, ib::wire::kQp1QKey);
  EXPECT_EQ(answer.address.p_key_index, 3);
  EXPECT_EQ(answer.address.path_bits, 1);
}

}  // namespace
}  // namespace sm::sa::test
