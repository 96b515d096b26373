// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/config/store_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sm::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(StorePlace, HasTheMembersOfACluster) {
  EXPECT_THAT(StorePlace::read("")->endpoints, IsEmpty());
  EXPECT_THAT(StorePlace::read("etcd://sm1")->endpoints, ElementsAre("http://sm1:2379"));
  EXPECT_THAT(StorePlace::read("etcds://sm1:23790, 192.0.2.7,[fd00::7],[fd00::8]:9")->endpoints,
              ElementsAre("https://sm1:23790", "https://192.0.2.7:2379", "https://[fd00::7]:2379",
                          "https://[fd00::8]:9"));
}

TEST(StorePlace, WhatIsNoneIsSaid) {
  for (const char* wrong :
       {"etcd", "etcd://", "http://sm1", "etcd://sm1,", "etcd://sm1:0", "etcd://sm1:65536",
        "etcd://sm1:", "etcd://sm1:2379/x", "etcd://a b", "etcd://[fd00::7", "etcd://[fd00::7]x",
        "etcd://u:p@sm1", "etcd://fd00::7"}) {
    const auto place = StorePlace::read(wrong);
    ASSERT_FALSE(place) << wrong;
    EXPECT_EQ(place.error().kind, ib::ErrorKind::Usage);
    EXPECT_THAT(place.error().message, HasSubstr("expected etcd://HOST[:PORT]"));
  }
}

TEST(StorePlace, APrefixIsAFolder) {
  EXPECT_TRUE(check_store_prefix("/ibkit/rail-1/"));
  for (const char* wrong : {"", "/", "ibkit/", "/ibkit", "/ib kit/"})
    EXPECT_FALSE(check_store_prefix(wrong)) << wrong;
}

}  // namespace
}  // namespace sm::config
