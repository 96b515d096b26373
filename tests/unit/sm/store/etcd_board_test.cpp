// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/store/etcd/etcd_board.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sm/store/etcd/etcd_store.h"
#include "tests/unit/sm/store/etcd_fake.h"

namespace sm::store::etcd {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* kPrefix = "/ibkit/default/";

EtcdBoard board(FakeEtcd& etcd, const std::string& who, const std::string& prefix = kPrefix) {
  return {prefix, who, std::make_unique<FakeCluster>(etcd)};
}

TEST(EtcdBoard, EachSeesWhatTheOthersPostedLast) {
  FakeEtcd etcd;
  auto a = board(etcd, "a"), b = board(etcd, "b"), c = board(etcd, "c", "/ibkit/rail-2/");
  EXPECT_THAT(a.exchange("one").value(), IsEmpty());
  EXPECT_THAT(b.exchange("two").value(), ElementsAre(Posting{"a", "one"}));
  EXPECT_THAT(c.exchange("of another fabric").value(), IsEmpty());
  EXPECT_THAT(a.exchange("three").value(), ElementsAre(Posting{"b", "two"}));
  EXPECT_THAT(b.exchange("four").value(), ElementsAre(Posting{"a", "three"}));
  ASSERT_TRUE(a.withdraw());
  EXPECT_THAT(b.exchange("five").value(), IsEmpty());
}

TEST(EtcdBoard, IsNoBusinessOfTheStore) {
  FakeEtcd etcd;
  auto a = board(etcd, "a");
  ASSERT_TRUE(a.exchange("one"));
  BookOptions options;
  options.prefix = kPrefix;
  options.fabric = "fe80000000000000";
  options.holder = "a";
  auto opened = EtcdStore::open(options, std::make_unique<FakeCluster>(etcd));
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->found, Found::Nothing);
  ASSERT_TRUE(opened->store->take());
  Batch batch;
  batch.lids = {{ib::Guid{1}, ib::Lid{1}, 0}};
  ASSERT_TRUE(opened->store->commit(batch));
  EXPECT_THAT(board(etcd, "b").exchange("two").value(), ElementsAre(Posting{"a", "one"}));
}

TEST(EtcdBoard, OneThatIsAwayIsAnError) {
  FakeEtcd etcd;
  etcd.always = FakeEtcd::Fault::Away;
  const auto answer = board(etcd, "a").exchange("one");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, ib::ErrorKind::TimedOut);
}

}  // namespace
}  // namespace sm::store::etcd
